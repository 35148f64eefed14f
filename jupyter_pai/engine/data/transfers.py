"""Copies between storages and this machine that are under way: they go on whoever listens, and can be asked after and
ended."""

from __future__ import annotations

import asyncio
import contextvars
import threading
import uuid
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

from ...core.errors import EngineError, NotFound, PaiError
from ...core.i18n import _
from ...storage.base import Progress, Storage
from ...storage.staging import check_targets

__all__ = ["Copies", "Copy", "Plan", "plan_get"]

# At a time; others wait. More would only share the same disk and the same line.
_AT_A_TIME = 2
# Of those that are over, so many of the last are remembered.
_REMEMBERED = 100


@dataclass
class Copy:
    """A copy of files below `uri` into `folder`, or the other way (`put`). `remove` removes them, `move` gives them
    another URI, which is `folder` then; `bring` brings the inputs of a job to where it runs, `upload` a file of a
    browser to `uri`. `done` and `bytes` are bytes; `left_out` counts what is there and nobody can read,
    as links out of a channel. `job` and `channel` are those whose output it is, if it is one."""

    verb: Literal["get", "put", "remove", "move", "bring", "upload"]
    uri: str
    folder: str
    files: int
    bytes: int
    left_out: int = 0
    job: str = ""
    channel: str = ""
    id: str = field(default_factory=lambda: uuid.uuid4().hex[:12])
    status: Literal["waiting", "running", "done", "failed", "cancelled"] = "waiting"
    done: int = 0
    error: dict[str, Any] | None = None
    ending: threading.Event = field(default_factory=threading.Event)

    @property
    def is_over(self) -> bool:
        return self.status in ("done", "failed", "cancelled")

    def as_json(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "ending"}


class Plan(NamedTuple):
    """A copy that can begin, and what does it: that is told whom to tell, and gives the number of files."""

    copy: Copy
    work: Callable[[Progress], int]


class _Ended(Exception):
    """Somebody has ended the copy."""


class Copies:
    """The copies of one engine; they end with it."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(_AT_A_TIME, "jupyter-pai copy")
        self._copies: dict[str, Copy] = {}

    async def start(self, plan: Callable[[], Plan]) -> Copy:
        """Begin a copy. It is planned in a thread: all that can be seen to be wrong is said at once.

        Raises:
            PaiError: as `plan` does.
        """
        copy, work = await asyncio.to_thread(plan)
        self.expect(copy)
        self.go(copy, work)
        return copy

    def expect(self, copy: Copy) -> None:
        """Let a copy be known that is to begin later."""
        over = [known for known in self._copies.values() if known.is_over]
        for known in over[: max(len(over) - _REMEMBERED, 0)]:
            del self._copies[known.id]
        self._copies[copy.id] = copy

    def go(self, copy: Copy, work: Callable[[Progress], int]) -> Future[None]:
        """Begin one that is known."""
        # Errors are said in the language of who asked.
        return self._pool.submit(contextvars.copy_context().run, _run, copy, work)

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


def plan_get(
    storage: Storage, uri: str, folder: Path, files: Sequence[str] | None, *, overwrite: bool, nothing: NotFound
) -> Plan:
    """A copy of the files below a URI, or those of these paths, into a folder. May block.

    Raises:
        NotFound: if one of the files is not there; `nothing`, if nothing is.
        Conflict: if files are in the folder already.
    """
    found = storage.chosen(uri, files)
    if not found:
        raise nothing
    check_targets(folder, [file.path for file in found], overwrite=overwrite)
    left_out = len(storage.list(uri)) - len(found) if files is None else 0
    copy = Copy("get", uri, str(folder), len(found), sum(file.size for file in found), left_out)
    return Plan(copy, lambda tell: storage.get_tree(uri, folder, files, overwrite=overwrite, progress=tell))


def _run(copy: Copy, work: Callable[[Progress], int]) -> None:
    def tell(done: int, whole: int) -> None:
        copy.done, copy.bytes = done, whole
        if copy.ending.is_set():
            raise _Ended

    try:
        if copy.ending.is_set():
            raise _Ended
        copy.status = "running"
        copy.files = work(tell)
        copy.status = "done"
    except _Ended:
        copy.status = "cancelled"
    except PaiError as error:
        copy.error, copy.status = error.as_json(), "failed"
    except Exception as error:  # Whoever waits for it must hear of it.
        said = EngineError(_("The copy broke off: {error}").format(error=repr(error)))
        copy.error, copy.status = said.as_json(), "failed"
