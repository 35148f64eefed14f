"""Adaptation: a request as a backend can run it."""

from __future__ import annotations

from collections.abc import Set
from pathlib import Path

from ..backends.base import Capability
from ..core.field_errors import fields
from ..core.i18n import _
from ..jobs.spec import JobSpec
from ..source.entry_point import script_of
from .requests import SubmitRequest

__all__ = ["adapted"]


def adapted(request: SubmitRequest, backend: str, capabilities: Set[Capability]) -> tuple[JobSpec, tuple[str, ...]]:
    """The spec of a request for a backend with these capabilities, and what is to be said of that: a notebook's code as
    a script, where no notebooks run and the request asks for that. May read the notebook.

    Raises:
        NotebookError: if it cannot be read, or one of its cells is no Python.
    """
    spec = request.spec
    if not request.script_if_needed or not spec.notebook or Capability.NOTEBOOKS in capabilities:
        return spec, ()
    with fields("entry_point"):
        name, text = script_of(Path(spec.source.folder), spec.entry_point)
    source = spec.source.model_copy(update={"files": {**spec.source.files, name: text}})
    note = _("The backend `{name}` runs no notebooks, cell by cell: the code goes as the script {script}.")
    made = spec.model_copy(update={"entry_point": name, "source": source})
    return made, (note.format(name=backend, script=name),)
