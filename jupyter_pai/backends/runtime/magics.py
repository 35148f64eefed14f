"""The magics inside a job, which do not submit: ``%%pai_train`` runs its cell in place, ``%pai …`` is skipped.

Standard library only; copied into jobs that run a notebook.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from ...core.i18n import _

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell


def register(shell: InteractiveShell) -> None:
    """Register the magics without options; those were used by the submit."""
    transformers = shell.input_transformers_cleanup
    if _in_place not in transformers:
        transformers.insert(0, _in_place)
    cast(Any, shell).register_magic_function(_pai, magic_kind="line", magic_name="pai")


def _in_place(lines: list[str]) -> list[str]:
    """Return a cell's lines with ``%%pai_train`` as a comment, so that line numbers are unchanged."""
    first = next((n for n, line in enumerate(lines) if line.strip()), None)
    if first is not None and lines[first].split()[0] == "%%pai_train":
        lines = [*lines[:first], "# " + lines[first].lstrip(), *lines[first + 1 :]]
    return lines


def _pai(line: str) -> None:
    print(_("`%pai {line}` is skipped inside a job.").format(line=line))
