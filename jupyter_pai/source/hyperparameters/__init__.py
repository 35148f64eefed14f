"""Hyperparameters that code declares, read from its syntax tree. The code never runs.

`syntax` parses the modules of a program and `values` evaluates constant expressions. `command_line` and
`parameters_cell` find declarations; `check` compares values with them, `launch` a whole launch line.
"""

from __future__ import annotations

from .check import check_values, is_closed
from .command_line import read_argparse, read_click, read_typer
from .launch import refusals
from .parameters_cell import read_cells, read_dataclasses, read_dicts
from .syntax import Module, Program, parse
from .values import Hyperparameter, Values

__all__ = ["Hyperparameter", "Module", "Program", "check_values", "is_closed", "parse", "read", "refusals"]

# The command line first: `--hp` sets its options.
_READERS = (read_argparse, read_click, read_typer, read_cells, read_dicts, read_dataclasses)


def read(program: Program) -> list[Hyperparameter]:
    """Return every hyperparameter that a program declares, with duplicates."""
    values = Values(program)
    return [one for reader in _READERS for one in reader(program, values)]
