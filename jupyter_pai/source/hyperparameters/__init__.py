"""Hyperparameters that code declares, read from its syntax tree. The code never runs.

`syntax` parses the modules of a program and `values` evaluates constant expressions. `command_line` and
`parameters_cell` find declarations, `programs` those of a job; `check` compares values with them, `launch` a whole
launch line.
"""

from __future__ import annotations

from .check import check_values, is_closed
from .launch import refusals
from .programs import read
from .syntax import Module, Program, parse
from .values import Hyperparameter

__all__ = ["Hyperparameter", "Module", "Program", "check_values", "is_closed", "parse", "read", "refusals"]
