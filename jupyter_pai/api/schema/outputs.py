"""What the verbs about outputs answer."""

from __future__ import annotations

from typing import Any, Literal

from .base import Reply

__all__ = ["Copies", "CopyView", "FileText", "Outputs"]


class OutputFile(Reply):
    """`modified` is in seconds since 1970. `problem` says why it cannot be read; empty if it can."""

    path: str
    bytes: int
    modified: float
    problem: str


class OutputChannel(Reply):
    """`count` and `bytes` are those of all its files, `matching` of those that were asked for, `files` a page of them.

    `state`: `gone` if its folder was removed, `unknown` if nobody can look, and `problem` says why. `place` is its path
    below the folder that JupyterLab shows; null if it is not in there.
    """

    name: str
    uri: str
    place: str | None
    state: Literal["files", "empty", "gone", "unknown"]
    problem: str
    count: int
    bytes: int
    matching: int
    files: list[OutputFile]


class Outputs(Reply):
    channels: list[OutputChannel]


class FileText(Reply):
    """The beginning of a file as text, empty if it is `binary`; `whole` if that is all of it."""

    path: str
    bytes: int
    whole: bool
    binary: bool
    text: str


class CopyView(Reply):
    """A copy of `files` files below `uri` into a folder, or the other way (`put`): `done` of `bytes` bytes. `remove`
    removes them, `move` gives them the URI `folder`, `bring` brings the inputs of a job to where it runs, `upload` a
    file of the browser's to `uri`. `left_out` counts what is there and nobody can
    read. `place` is the folder's path below the one that JupyterLab shows; null if it is not in there. `job` and
    `channel` are empty if it is of no job."""

    id: str
    verb: Literal["get", "put", "remove", "move", "bring", "upload"]
    uri: str
    job: str
    channel: str
    folder: str
    place: str | None
    files: int
    bytes: int
    done: int
    left_out: int
    status: Literal["waiting", "running", "done", "failed", "cancelled"]
    error: dict[str, Any] | None


class Copies(Reply):
    copies: list[CopyView]
