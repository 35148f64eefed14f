"""Hyperparameters as code declares them, read from its syntax tree. Code is never run.

`syntax` has the modules of a program, `values` what their expressions are worth as far as that is written down; the
readers (`argparse_reader`, `click_reader`, `table_reader`) find definitions; `openness` tells whether a program takes
names that nobody declares, and `question` what is wrong with values that are given.
"""

from __future__ import annotations

from .check import questions
from .model import Hyperparameter
from .openness import is_closed
from .reader import read
from .syntax import Module, Program, parse

__all__ = ["Hyperparameter", "Module", "Program", "is_closed", "parse", "questions", "read"]
