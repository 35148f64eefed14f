"""The log of an instance: the logs of all attempts of its task, one after the other.

A job that is tried again has new tasks, whose attempts count from 0 again.
"""

from __future__ import annotations

import json
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import quote

from ....core.errors import BackendError, NotFound
from ....core.i18n import _
from ...reports import LogPiece
from ..client import OpenPaiClient, job_path
from .log_files import LogFiles, Mark, Part, own_line

__all__ = ["Logs", "TaskLog"]

# Seconds for which the node of an earlier attempt may not respond, before its log is left out; and the node of a task
# that has probably never started.
_PATIENCE, _SHORT_PATIENCE = 60.0, 3.0
# The generation of files that the cluster no longer has.
_GONE = "gone"


@dataclass(frozen=True)
class TaskLog:
    """The log of one task. `last`: its last attempt, as attempt of the job and of the task.

    `has_started`: its last attempt may have a log. `is_over`: the job has ended. `may_have_run`: it is not one that was
    probably ended before its start.
    """

    remote_id: str
    role: str
    index: int
    last: tuple[int, int]
    has_started: bool
    is_over: bool
    may_have_run: bool = True


class _Cursor(NamedTuple):
    """The attempt of the job and of its task, their number from 1, and the position in the log of that attempt."""

    job_attempt: int = 0
    attempt: int = 0
    number: int = 1
    mark: Mark = Mark()


class Logs:
    """The logs of the jobs that are followed."""

    def __init__(self, client: OpenPaiClient) -> None:
        self._files = LogFiles(client)
        # The time of the monotonic clock since which a log is out of reach, by its path.
        self._failing: dict[str, float] = {}

    async def piece(self, task: TaskLog, cursor: str, last_attempt: Callable[[int], Awaitable[int]]) -> LogPiece:
        """Return the bytes after a cursor. `last_attempt`: the last attempt of the task in an attempt of the job.

        Raises:
            NotFound: if the job has ended, and the cluster does not have its log.
            BackendError: if its node does not respond.
        """
        at = _parse(cursor)
        while True:
            is_last = (at.job_attempt, at.attempt) >= task.last
            part, is_complete = await self._last(task, at) if is_last else await self._earlier(task, at)
            after = at._replace(mark=part.mark)
            if part.data or part.more or is_last or not is_complete:
                more = part.more or (is_complete and not is_last)
                return LogPiece(part.data, cursor if after == _parse(cursor) else _text(after), more, (), at.number)
            at = await _next(at, task, last_attempt)

    async def _last(self, task: TaskLog, at: _Cursor) -> tuple[Part, bool]:
        """Return the next bytes of the last attempt, none if it has no log yet."""
        none = Part(b"", at.mark, False), True
        if not task.has_started:
            return none
        try:
            return await self._files.read(_path(task, at), at.mark), True
        except (NotFound, BackendError):
            is_expected = not task.may_have_run and at.mark == Mark()
            if task.is_over and not (is_expected and self._fails_for(_path(task, at)) >= _SHORT_PATIENCE):
                raise
            return none  # The next call tries again.

    async def _earlier(self, task: TaskLog, at: _Cursor) -> tuple[Part, bool]:
        """Return the next bytes of an earlier attempt, and whether an empty part is its end."""
        path, end = _path(task, at), Part(b"", at.mark, False)
        if at.mark.generation == _GONE:
            return end, True
        try:
            part = await self._files.read(path, at.mark)
        except (NotFound, BackendError) as error:
            if not isinstance(error, NotFound) and self._fails_for(path) < _PATIENCE:
                return end, False
            text = _("The cluster has no further log of attempt {n}.").format(n=at.number)
            return Part(own_line(text, at.mark), Mark(generation=_GONE), True), True
        self._failing.pop(path, None)
        return part, True

    def _fails_for(self, path: str) -> float:
        """Return the seconds for which a log has been out of reach."""
        now = time.monotonic()
        return now - self._failing.setdefault(path, now)


async def _next(at: _Cursor, task: TaskLog, last_attempt: Callable[[int], Awaitable[int]]) -> _Cursor:
    """Return the begin of the next attempt."""
    known = at.job_attempt == task.last[0]
    last = task.last[1] if known else await last_attempt(at.job_attempt)
    if at.attempt < last:
        return _Cursor(at.job_attempt, at.attempt + 1, at.number + 1)
    return _Cursor(at.job_attempt + 1, 0, at.number + 1)


def _path(task: TaskLog, at: _Cursor) -> str:
    """Return the path of the list of an attempt's log files."""
    place = f"attempts/{at.job_attempt}/taskRoles/{quote(task.role, safe='')}/taskIndex/{task.index}"
    return f"{job_path(task.remote_id)}/{place}/attempts/{at.attempt}/logs"


def _parse(cursor: str) -> _Cursor:
    if not cursor:
        return _Cursor()
    job_attempt, attempt, number, mark = json.loads(cursor)
    return _Cursor(job_attempt, attempt, number, Mark(*mark))


def _text(at: _Cursor) -> str:
    return json.dumps(at, separators=(",", ":"))
