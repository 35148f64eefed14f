"""What the verbs answer that forms ask."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from .base import Reply

__all__ = ["Backends", "Form"]


class BackendView(Reply):
    """A platform that jobs can run on, as a form draws it: JSON Schemas of what its profiles set, of what
    ``spec.options`` may have, and of its credentials; null where it has none. `capabilities` are those of
    `backends.base.Capability`."""

    name: str
    title: str
    capabilities: list[str]
    settings: dict[str, Any]
    options: dict[str, Any] | None
    credentials: dict[str, Any] | None


class Backends(Reply):
    """`spec` is the JSON Schema of a job's spec. In all of these, fields have a title and a description in the reader's
    language, and nothing is by reference."""

    backends: list[BackendView]
    spec: dict[str, Any]


class LastJob(Reply):
    id: str
    name: str
    submitted_at: datetime


class FormRequest(Reply):
    """The body of a submit, as far as it is known: `spec` without what is as if nobody had said it."""

    spec: dict[str, Any]
    backend: str
    notebook: str
    script_if_needed: bool = False


class Form(Reply):
    """What a form begins with. `last` is the job whose settings these are; null where there was none. `entries` are the
    files of the folder that can be run, by their paths in it."""

    request: FormRequest
    kind: Literal["notebook", "script", "folder"]
    last: LastJob | None
    entries: list[str]
