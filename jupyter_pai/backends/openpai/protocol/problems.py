"""Findings about a job document: a place, the fault, and its fix."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .scalars import Value

__all__ = ["Path", "Problem", "path_text"]

Path = tuple[str | int, ...]
"""Keys and positions from the root of a document to a value."""


@dataclass(frozen=True)
class Problem:
    """A fault of a document.

    `path`: the place, such as `taskRoles.worker.commands[0]`; empty for the whole document. `text`: the fault. `fix`:
    how to repair it. `line`: the line in the file, from 1; 0 if unknown. `mendable`: `mend` can repair it.
    """

    path: str
    text: str
    fix: str = ""
    line: int = 0
    mendable: bool = False


def path_text(path: Path) -> str:
    """Return a path as messages show it."""
    parts = (f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return "".join(parts).removeprefix(".")


def entry(value: Value, *keys: str) -> Value:
    """Return the value below nested keys; None if one is absent."""
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value
