"""The caller's notebook and folder, as each front end reports them."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..core.errors import NotebookError, PaiError
from ..core.i18n import _

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell


# The notebook of a kernel, from Jupyter.
_SESSION = "JPY_SESSION_NAME"
_WIDGET_TYPE = "application/vnd.jupyter.widget-view+json"


@dataclass(frozen=True)
class NotebookContext:
    """The notebook or terminal that a line was written in.

    `folder` is the base of relative paths; None if it is unknown, as for a notebook outside the file system. `live` is
    true if a page can show a job while it runs.
    """

    folder: Path | None
    name: str = ""
    notebook: Path | None = None
    live: bool = False
    shell: Any = None

    def path(self, text: str) -> Path:
        """Return the absolute path of a path that the user wrote.

        Raises:
            NotebookError: if the path is relative and the notebook's folder is unknown.
        """
        path = Path(text).expanduser()
        if not path.is_absolute() and self.folder is None:
            raise NotebookError(
                _("The notebook's folder is unknown."),
                fix=_("Use absolute paths, starting with: --source /path/of/folder"),
            )
        return Path(os.path.normpath(self.folder / path if self.folder else path))


def shell_context(shell: InteractiveShell) -> NotebookContext:
    """Return the context of an IPython shell.

    JupyterLab and Notebook 7 set ``JPY_SESSION_NAME``; VS Code sets a variable in the notebook. A Colab notebook lies
    in no folder; its files are in the current one. nbconvert, papermill and plain IPython run where they were started,
    without a page.
    """
    if "google.colab" in sys.modules:
        return NotebookContext(Path.cwd(), _colab_name(), live=True, shell=shell)
    session = os.environ.get(_SESSION, "") if hasattr(shell, "kernel") else ""
    # The session of a console is named after the console, and its folder is the current one.
    file = shell.user_ns.get("__vsc_ipynb_file__") or (session if session.endswith(".ipynb") else "")
    if not file:
        return NotebookContext(Path.cwd(), live=bool(session), shell=shell)
    notebook = Path(file)
    folder = notebook.parent if notebook.parent.is_dir() else None
    return NotebookContext(folder, notebook.stem, notebook if notebook.is_file() else None, True, shell)


def follow_notebook(call: Callable[..., Any]) -> None:
    """Set the name of this kernel's notebook anew if the notebook was renamed: Jupyter sets it at the kernel's start
    only. `call` calls a verb of the engine. Does nothing outside a notebook of a server with this extension.
    """
    shell = current_shell()
    before = os.environ.get(_SESSION, "")
    if not hasattr(shell, "kernel") or not before.endswith(".ipynb"):
        return
    from ipykernel.connect import get_connection_file

    kernel = Path(get_connection_file()).stem.removeprefix("kernel-")
    with suppress(PaiError):
        notebook = call("kernel_notebook", kernel=kernel)["notebook"]
        if notebook and notebook != os.path.realpath(before):
            os.environ[_SESSION] = notebook


def current_shell() -> InteractiveShell | None:
    """Return the IPython shell of this process, if any. Does not import IPython."""
    if "IPython" not in sys.modules:
        return None
    from IPython import get_ipython

    shell: InteractiveShell | None = get_ipython()
    return shell


def current_notebook() -> str:
    """Return the path of this kernel's notebook; empty outside a notebook, and for a notebook that is not a file."""
    shell = None if "google.colab" in sys.modules else current_shell()
    return str(shell_context(shell).notebook or "") if shell else ""


def front_end_of(shell: InteractiveShell | None) -> str:
    """Return the front end that shows a shell's outputs: ``jupyter``, ``vscode``, ``colab``; empty without a page."""
    if "google.colab" in sys.modules:
        return "colab"
    if shell is None or not hasattr(shell, "kernel"):
        return ""
    if "__vsc_ipynb_file__" in shell.user_ns:
        return "vscode"
    return "jupyter" if os.environ.get(_SESSION) else ""


def widget_part(widget: Callable[[], Any], snapshot: str, *, embedded: bool) -> dict[str, Any]:
    """Return the part of a MIME bundle with a widget for pages without our extension, and for an `embedded` engine, to
    which our extension has no connection. Empty elsewhere: our extension needs no kernel, and a widget as well would
    show the same twice."""
    front_end = front_end_of(current_shell())
    if front_end not in ("vscode", "colab") and not (front_end and embedded):
        return {}
    shown = widget()
    shown.snapshot = snapshot
    return {_WIDGET_TYPE: {"version_major": 2, "version_minor": 1, "model_id": shown.model_id}}


def _colab_name() -> str:
    try:
        from google.colab import _message

        reply = _message.blocking_request("get_ipynb", timeout_sec=5)
        return str(reply["ipynb"]["metadata"]["colab"]["name"]).removesuffix(".ipynb")
    except Exception:
        return ""  # A private API of Colab. The name is only a default for the job's name.
