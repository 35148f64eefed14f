"""Following the jobs of a platform by lists of rows, and by the own replies of a few jobs and of ended ones.

State is a cache only: any number of processes may follow a job.
"""

from __future__ import annotations

import asyncio
import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, ClassVar, Generic, TypeVar

from ..core.errors import Refused
from ..jobs.job import JobStatus, now
from .reports import LogPiece, Report

__all__ = ["Followed", "RowFollower", "keep_reading"]

# The most jobs whose own replies are requested instead of a list.
_FEW = 3
# The most own replies of ended jobs that are requested in one poll, as other jobs wait for it.
_MOST_REPLIES = 40
_MOST_KEPT = 3000
# Seconds for which a row of a list, and the pods of an active job, are used. A job that was not polled for the last
# time is no longer followed.
_ROW_AGE, _POD_AGE, _FORGET = 2.0, 1.0, 60.0
# Seconds after its end for which lines of a job's log may still be found, and between two searches for them.
_LAG, _LAG_PAUSE = 5.0, 1.0


async def keep_reading(piece: LogPiece, *, may_lag: bool) -> LogPiece:
    """Return a piece of a log. If lines may still be found, it has a next one: after an empty piece, with a pause."""
    if not may_lag:
        return piece
    if not (piece.data or piece.more):
        await asyncio.sleep(_LAG_PAUSE)
    return piece._replace(more=True)


@dataclass
class Followed:
    """The known state of a job. Times are those of the follower's clock."""

    # The last row of a list or own reply, and the time of its request.
    row: Mapping[str, Any] = field(default_factory=dict)
    requested: float = -math.inf
    # The time of the request for its pods.
    pods_requested: float = -math.inf
    polled: float = -math.inf
    # It was seen active, and since then ended.
    was_active: bool = False
    ended: float | None = None


J = TypeVar("J", bound=Followed)


class RowFollower(ABC, Generic[J]):
    """The jobs of one profile that are followed. `clock` returns a time in seconds that never decreases."""

    # The rows of one list.
    most_rows: ClassVar[int]

    def __init__(self, new: Callable[[], J], clock: Callable[[], float] = time.monotonic) -> None:
        self._new, self._clock = new, clock
        self._jobs: dict[str, J] = {}

    @abstractmethod
    def has_ended(self, row: Mapping[str, Any]) -> bool:
        """Return whether a row is that of an ended job."""

    @abstractmethod
    async def list_rows(self, remote_ids: Sequence[str]) -> Mapping[str, Mapping[str, Any]]:
        """Return the rows of jobs by id.

        Raises:
            Refused: if the platform cannot list jobs by their ids: then own replies are requested.
        """

    @abstractmethod
    async def latest(self, remote_id: str) -> Report | None:
        """Return the state of a job by its own reply; None if the platform does not have it."""

    @abstractmethod
    def last(self, remote_id: str) -> Report:
        """Return the last known state of a job."""

    async def poll(self, remote_ids: Sequence[str]) -> dict[str, Report]:
        """Return the states of jobs. A job that the platform does not have is left out."""
        for remote_id in remote_ids:
            self.state_of(remote_id).polled = self._clock()
        if len(remote_ids) <= _FEW:
            return await self._replies(remote_ids)
        await self._list(remote_ids)
        reports = {one: self.last(one) for one in remote_ids if self._is_active(one)}
        missing = [one for one in remote_ids if one not in reports]
        reports |= await self._replies(missing[:_MOST_REPLIES])
        for remote_id in missing[_MOST_REPLIES:]:  # The next poll requests their replies.
            row = self.state_of(remote_id).row
            reports[remote_id] = self.last(remote_id) if row and not self.has_ended(row) else Report(JobStatus.RUNNING)
        return reports

    def state_of(self, remote_id: str) -> J:
        """Return what is known of a job."""
        while len(self._jobs) >= _MOST_KEPT and remote_id not in self._jobs:
            del self._jobs[next(iter(self._jobs))]
        return self._jobs.setdefault(remote_id, self._new())

    def update(self, remote_id: str, row: Mapping[str, Any], requested: float) -> J:
        """Take a row or an own reply, and return the job."""
        job = self.state_of(remote_id)
        if self.has_ended(row):
            job.ended = job.ended if job.ended is not None else self._clock()
        else:
            job.was_active, job.ended = True, None
        job.row, job.requested = row, requested
        return job

    def has_current_pods(self, job: J) -> bool:
        """Return whether the pods of a job need not be requested again. Those of an ended job are final, once they were
        requested after its end."""
        return job.pods_requested >= (self._clock() - _POD_AGE if job.ended is None else job.ended)

    def may_lag(self, job: J, ended_at: datetime | None) -> bool:
        """Return whether lines of an ended job may still be found later. `ended_at`: as the platform reports it."""
        if job.ended is None or self._clock() >= job.ended + _LAG:
            return False
        return job.was_active or (ended_at is not None and (now() - ended_at).total_seconds() < _LAG)

    async def rows(self, remote_ids: Sequence[str]) -> Mapping[str, Mapping[str, Any]]:
        """Return the rows of jobs by id; none if the platform cannot list them."""
        try:
            return await self.list_rows(remote_ids)
        except Refused:
            return {}

    async def _list(self, remote_ids: Sequence[str]) -> None:
        """Refresh the rows of jobs. Each request also has the rows of other jobs that are due next."""
        begun = self._clock()
        due = [one for one in remote_ids if self.state_of(one).requested < begun - _ROW_AGE]
        if not due:
            return
        due += self._due_next({*due}, begun)[: -len(due) % self.most_rows]
        pages = [due[place : place + self.most_rows] for place in range(0, len(due), self.most_rows)]
        for page, rows in zip(pages, await asyncio.gather(*map(self.rows, pages)), strict=True):
            for one in page:
                if one in rows:
                    self.update(one, rows[one], begun)
                else:
                    self.state_of(one).requested = -math.inf

    def _due_next(self, without: Collection[str], begun: float) -> list[str]:
        """Return other active jobs that are followed, that with the oldest poll first."""
        polled = {
            one: job.polled
            for one, job in self._jobs.items()
            if one not in without
            and job.polled > begun - _FORGET
            and job.requested < begun - _ROW_AGE
            and job.row
            and not self.has_ended(job.row)
        }
        return sorted(polled, key=lambda one: polled[one])

    def _is_active(self, remote_id: str) -> bool:
        job = self.state_of(remote_id)
        return job.requested > -math.inf and not self.has_ended(job.row)

    async def _replies(self, remote_ids: Sequence[str]) -> dict[str, Report]:
        found = await asyncio.gather(*map(self.latest, remote_ids))
        return {one: report for one, report in zip(remote_ids, found, strict=True) if report}
