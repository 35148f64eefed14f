"""The magics: ``%%pai_train`` trains a cell's code, ``%pai VERB …`` looks after jobs.

What is imported here loads with ``%load_ext jupyter_pai`` and so must be next to nothing; bodies import what they need.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

__all__ = ["Pai", "PaiTrain", "register"]


def register(shell: InteractiveShell) -> None:
    """Add the magics and their completion to a shell."""
    add, hook = cast(Any, shell).register_magic_function, cast(Any, shell).set_hook
    for magic, kind, prefix in ((Pai(shell), "line", "%"), (PaiTrain(shell), "cell", "%%")):
        add(magic, magic_kind=kind, magic_name=magic.__name__)
        hook("complete_command", magic.complete, str_key=prefix + magic.__name__)


class _Magic:
    """A magic of one shell."""

    # IPython's own expansion would take `$PAI_USER_ARGS` and `([0-9]{1,3})` for variables.
    _ipython_magic_no_var_expand = True
    __name__ = "pai"

    def __init__(self, shell: InteractiveShell) -> None:
        self.shell = shell

    def complete(self, shell: InteractiveShell, event: Any) -> list[str]:
        """What may follow: verbs, options, profiles, jobs, hyperparameters."""
        from ..client.context import of_shell
        from .completion import complete

        return complete(event.line[: len(event.text_until_cursor)] or event.line, event.symbol, of_shell(shell))


class Pai(_Magic):
    """``%pai VERB …``: submit training jobs and look after them."""

    def __call__(self, line: str) -> object:
        from .notebook import run_line

        return run_line(self.shell, line)

    def getdoc(self) -> str:
        """For ``%pai?``."""
        from .parser.parser import parser

        return parser("%pai").format_help()


class PaiTrain(_Magic):
    """``%%pai_train [options]``: train the code of the cell as a job."""

    __name__ = "pai_train"

    def __call__(self, line: str, cell: str) -> None:
        from .notebook import run_cell

        run_cell(self.shell, line, cell)

    def getdoc(self) -> str:
        """For ``%%pai_train?``."""
        from .parser.parser import cell_parser

        return cell_parser().format_help()
