"""`form`: the form that submits a job, for a notebook. Loads widgets when it is called, not before."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from ..connect import connect
from ..context import Place, of_command_line, of_shell

if TYPE_CHECKING:
    from .widget_form import Form

__all__ = ["form", "form_at"]


def form(path: str | os.PathLike[str] = "", *, profile: str = "", backend: str = "") -> Form:
    """A form that submits a notebook, a script or a folder: this notebook, if no `path` is given. It begins with the
    settings of the newest job of the same.

    Raises:
        NotFound: if there is nothing at the path.
        BadInput: if it is nothing that a form can submit.
    """
    return form_at(_here(), os.fspath(path), profile=profile, backend=backend)


def form_at(place: Place, path: str, *, profile: str = "", backend: str = "") -> Form:
    """A form for a path that is written at a place."""
    from .widget_form import Form

    found: Path = place.path(path) if path else place.notebook or place.path(".")
    return Form(connect(), str(found), profile, backend)


def _here() -> Place:
    if "IPython" in sys.modules:
        from IPython import get_ipython

        if shell := get_ipython():
            return of_shell(shell)
    return of_command_line()
