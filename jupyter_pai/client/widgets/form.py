"""`form`: a form that submits a job from a notebook. The first call imports the widgets."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from ..connect import connect
from ..context import NotebookContext, current_shell, follow_notebook, shell_context

if TYPE_CHECKING:
    from .form_view import Form


def form(path: str | os.PathLike[str] = "", *, profile: str = "", backend: str = "") -> Form:
    """Return a form that submits a notebook, a script or a folder; this notebook if no `path` is given. It starts with
    the settings of the newest job of the same code.

    Raises:
        NotFound: if the path does not exist.
        BadInput: if a form cannot submit the file.
    """
    follow_notebook(connect().call)
    shell = current_shell()
    context = shell_context(shell) if shell else NotebookContext(Path.cwd())
    return form_at(context, os.fspath(path), profile=profile, backend=backend)


def form_at(context: NotebookContext, path: str, *, profile: str = "", backend: str = "") -> Form:
    """Return a form for a path relative to the caller's folder."""
    from .form_view import Form

    target = context.path(path) if path else context.notebook or context.path(".")
    return Form(connect(), str(target), profile, backend)
