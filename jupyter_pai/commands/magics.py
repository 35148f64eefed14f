"""The magics: ``%%pai_train`` trains a cell's code, ``%pai VERB …`` submits and manages jobs.

``%load_ext jupyter_pai`` imports this module, so it imports nothing heavy itself; the bodies import on first use.
"""

from __future__ import annotations

import contextlib
import os
import threading
from typing import TYPE_CHECKING, Any, cast

from ..core.discovery import VARIABLE

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell


def register(shell: InteractiveShell) -> None:
    """Register the magics and their completion with a shell."""
    add, hook = cast(Any, shell).register_magic_function, cast(Any, shell).set_hook
    for magic, kind, prefix in ((Pai(shell), "line", "%"), (PaiTrain(shell), "cell", "%%")):
        add(magic, magic_kind=kind, magic_name=magic.__name__)
        hook("complete_command", magic.complete, str_key=prefix + magic.__name__)
    if VARIABLE in os.environ:
        threading.Thread(target=_announce, name="jupyter-pai announce", daemon=True).start()


def _announce() -> None:
    from ..client.connect import announce

    with contextlib.suppress(Exception):  # The first magic reports it.
        announce()


class _Magic:
    """A magic of one shell."""

    # IPython's own expansion treats `$PAI_USER_ARGS` and `([0-9]{1,3})` as variables.
    _ipython_magic_no_var_expand = True
    __name__ = "pai"

    def __init__(self, shell: InteractiveShell) -> None:
        self.shell = shell

    def complete(self, shell: InteractiveShell, event: Any) -> list[str]:
        """Return the completions of a line."""
        from ..client.context import shell_context
        from .completion import complete

        return complete(event.line[: len(event.text_until_cursor)] or event.line, event.symbol, shell_context(shell))


class Pai(_Magic):
    """``%pai VERB …``: submit and manage training jobs."""

    def __call__(self, line: str) -> object:
        from .notebook import run_line

        return run_line(self.shell, line)

    def getdoc(self) -> str:
        """Return the text of ``%pai?``."""
        from .parser.parser import parser

        return parser("%pai").format_help()


class PaiTrain(_Magic):
    """``%%pai_train [options]``: train the code of the cell as a job."""

    __name__ = "pai_train"

    def __call__(self, line: str, cell: str) -> None:
        from .notebook import run_cell

        run_cell(self.shell, line, cell)

    def getdoc(self) -> str:
        """Return the text of ``%%pai_train?``."""
        from .parser.parser import cell_parser

        return cell_parser().format_help()
