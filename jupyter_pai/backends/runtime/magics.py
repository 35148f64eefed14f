"""Our magics inside a job, from where nothing is submitted: a cell of ``%%pai_train`` runs in place, ``%pai …`` is
passed over. Standard library only; travels with jobs that run a notebook."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from ...core.i18n import _

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

__all__ = ["register"]


def register(shell: InteractiveShell) -> None:
    """Add them to a shell. They have no options: what a job runs with was said when it was submitted."""
    transformers = shell.input_transformers_cleanup
    if _in_place not in transformers:
        transformers.insert(0, _in_place)
    cast(Any, shell).register_magic_function(_pai, magic_kind="line", magic_name="pai")


def _in_place(lines: list[str]) -> list[str]:
    """A cell's lines, that of ``%%pai_train`` made a comment: lines keep their numbers in tracebacks."""
    first = next((n for n, line in enumerate(lines) if line.strip()), None)
    if first is None or lines[first].split()[0] != "%%pai_train":
        return lines
    return [*lines[:first], "# " + lines[first].lstrip(), *lines[first + 1 :]]


def _pai(line: str) -> None:
    print(_("`%pai {line}` is passed over: this is a job itself.").format(line=line))
