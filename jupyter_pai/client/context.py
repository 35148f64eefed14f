"""Where a line was written: the notebook and its folder, as each front end tells it."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..core.errors import NotebookError
from ..core.i18n import _

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

__all__ = ["Place", "current_shell", "notebook_here", "of_command_line", "of_shell", "page_of"]


@dataclass(frozen=True)
class Place:
    """`folder` is where relative paths start; None where it cannot be known, as for a notebook that lies in no file
    system. `live`: somebody looks at a page that can show a job as it runs."""

    folder: Path | None
    name: str = ""
    notebook: Path | None = None
    live: bool = False
    shell: Any = None

    def path(self, text: str) -> Path:
        """The absolute path that a relative one means here.

        Raises:
            NotebookError: asking for an absolute one, if the notebook's folder is not known.
        """
        path = Path(text).expanduser()
        if not path.is_absolute() and self.folder is None:
            raise NotebookError(
                _("The folder of this notebook is not known."),
                fix=_(
                    "Say it by an absolute path: --source /path/of/folder (and for every relative path in the line)."
                ),
            )
        return Path(os.path.normpath(self.folder / path if self.folder else path))


def of_command_line() -> Place:
    """The current folder."""
    return Place(Path.cwd())


def of_shell(shell: InteractiveShell) -> Place:
    """Where the notebook of an IPython shell lies.

    JupyterLab and Notebook 7 tell it by ``JPY_SESSION_NAME``, VS Code by a variable in the notebook; Colab's notebooks
    lie in no folder, its files in the current one. nbconvert, papermill and plain IPython run where they were started,
    and nobody watches.
    """
    if "google.colab" in sys.modules:
        return Place(Path.cwd(), _colab_name(), live=True, shell=shell)
    path = shell.user_ns.get("__vsc_ipynb_file__")
    session = os.environ.get("JPY_SESSION_NAME")
    if not path and session and hasattr(shell, "kernel"):
        # A console's session has a name of its own, in the folder in which it was opened.
        path = session if session.endswith(".ipynb") else None
        if path is None:
            return Place(Path.cwd(), live=True, shell=shell)
    if path:
        notebook = Path(path)
        folder = notebook.parent if notebook.parent.is_dir() else None
        return Place(folder, notebook.stem, notebook if notebook.is_file() else None, True, shell)
    return Place(Path.cwd(), live=False, shell=shell)


def current_shell() -> InteractiveShell | None:
    """Return the IPython shell of this process; None outside of IPython."""
    if "IPython" not in sys.modules:
        return None
    from IPython import get_ipython

    shell: InteractiveShell | None = get_ipython()
    return shell


def notebook_here() -> str:
    """The path of the notebook whose kernel this process is; empty where there is none, or none that is a file."""
    shell = None if "google.colab" in sys.modules else current_shell()
    return str(of_shell(shell).notebook or "") if shell else ""


def page_of(shell: InteractiveShell | None) -> str:
    """Whose page shows the outputs of a shell: ``jupyter``, ``vscode``, ``colab``; empty where nobody watches."""
    if "google.colab" in sys.modules:
        return "colab"
    if shell is None or not hasattr(shell, "kernel"):
        return ""
    if "__vsc_ipynb_file__" in shell.user_ns:
        return "vscode"
    return "jupyter" if os.environ.get("JPY_SESSION_NAME") else ""


def _colab_name() -> str:
    try:
        from google.colab import _message

        found = _message.blocking_request("get_ipynb", timeout_sec=5)
        return str(found["ipynb"]["metadata"]["colab"]["name"]).removesuffix(".ipynb")
    except Exception:
        return ""  # The name is for looks only, and Colab's insides are not ours to rely on.
