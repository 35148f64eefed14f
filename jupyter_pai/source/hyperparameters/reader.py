"""All definitions of a program."""

from __future__ import annotations

from .from_argparse import read_argparse
from .from_click import read_click, read_typer
from .model import Hyperparameter
from .parameters_cell import read_cells, read_dataclasses, read_dicts
from .syntax import Program
from .values import Values

__all__ = ["read"]

# What a command line declares comes first: it is what `--hp` reaches.
_READERS = (read_argparse, read_click, read_typer, read_cells, read_dicts, read_dataclasses)


def read(program: Program) -> list[Hyperparameter]:
    """Every hyperparameter that a program declares, as often as it does."""
    values = Values(program)
    return [found for reader in _READERS for found in reader(program, values)]
