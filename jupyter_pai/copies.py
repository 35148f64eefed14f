"""Copies of output channels that are under way: they go on whoever listens, and can be asked after and ended."""

from __future__ import annotations

import asyncio
import contextvars
import threading
import uuid
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from .errors import EngineError, NotFound, PaiError
from .i18n import _
from .storage import storage_of
from .storage.staging import check_targets

__all__ = ["Copies", "Copy"]

# At a time; others wait. More would only share the same disk.
_AT_A_TIME = 2
# Of those that are over, so many of the last are remembered.
_REMEMBERED = 100


@dataclass
class Copy:
    """A copy of files of a channel into a folder. `done` and `bytes` are bytes; `left_out` counts what the channel has
    and nobody can read, as links out of it."""

    id: str
    job: str
    channel: str
    folder: str
    files: int
    bytes: int
    left_out: int
    status: Literal["waiting", "running", "done", "failed", "cancelled"] = "waiting"
    done: int = 0
    error: dict[str, Any] | None = None
    ending: threading.Event = field(default_factory=threading.Event)

    @property
    def is_over(self) -> bool:
        return self.status in ("done", "failed", "cancelled")

    def as_json(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "ending"}


class _Ended(Exception):
    """Somebody has ended the copy."""


class Copies:
    """The copies of one engine; they end with it."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(_AT_A_TIME, "jupyter-pai copy")
        self._copies: dict[str, Copy] = {}

    async def start(
        self, job: str, channel: str, uri: str, folder: Path, files: list[str] | None, *, overwrite: bool
    ) -> Copy:
        """Begin a copy; all that can be seen to be wrong is said at once.

        Raises:
            NotFound: if one of the files is not there, or nothing is.
            Conflict: if files are in the folder already.
        """
        copy = await asyncio.to_thread(_planned, job, channel, uri, folder, files, overwrite)
        over = [known for known in self._copies.values() if known.is_over]
        for known in over[: max(len(over) - _REMEMBERED, 0)]:
            del self._copies[known.id]
        self._copies[copy.id] = copy
        # Errors are said in the language of who asked.
        self._pool.submit(contextvars.copy_context().run, _run, copy, uri, files, overwrite)
        return copy

    def get(self, copy_id: str) -> Copy:
        """A copy by its id.

        Raises:
            NotFound: if there is none.
        """
        if copy_id not in self._copies:
            raise NotFound(
                _("There is no copy `{copy}`.").format(copy=copy_id),
                fix=_("A copy ends with the server that made it. Look at the folder, and start it again."),
            )
        return self._copies[copy_id]

    def of(self, job: str) -> list[Copy]:
        """A job's copies, oldest first."""
        return [copy for copy in self._copies.values() if copy.job == job]

    def cancel(self, copy_id: str) -> Copy:
        """End a copy; soon nothing is left of it. Does nothing to one that is over."""
        copy = self.get(copy_id)
        copy.ending.set()
        return copy

    async def close(self) -> None:
        """End all of them, and wait until they have cleared up."""
        for copy in self._copies.values():
            copy.ending.set()
        await asyncio.to_thread(self._pool.shutdown)


def _planned(job: str, channel: str, uri: str, folder: Path, files: list[str] | None, overwrite: bool) -> Copy:
    storage = storage_of(uri)
    found = storage.chosen(uri, files)
    if not found:
        raise NotFound(
            _("The job {job} has written nothing to `{name}`.").format(job=job, name=channel),
            fix=_("Its script finds the folder in the variable PAI_OUTPUT_{name}.").format(name=channel.upper()),
        )
    check_targets(folder, [file.path for file in found], overwrite=overwrite)
    left_out = len(storage.list(uri)) - len(found) if files is None else 0
    whole = sum(file.size for file in found)
    return Copy(uuid.uuid4().hex[:12], job, channel, str(folder), len(found), whole, left_out)


def _run(copy: Copy, uri: str, files: list[str] | None, overwrite: bool) -> None:
    def progress(done: int, whole: int) -> None:
        copy.done, copy.bytes = done, whole
        if copy.ending.is_set():
            raise _Ended

    try:
        if copy.ending.is_set():
            raise _Ended
        copy.status = "running"
        copy.files = storage_of(uri).get_tree(uri, Path(copy.folder), files, overwrite=overwrite, progress=progress)
        copy.status = "done"
    except _Ended:
        copy.status = "cancelled"
    except PaiError as error:
        copy.error, copy.status = error.as_json(), "failed"
    except Exception as error:  # Whoever waits for it must hear of it.
        said = EngineError(_("The copy broke off: {error}").format(error=repr(error)))
        copy.error, copy.status = said.as_json(), "failed"
