"""The jobs that are followed: their states by lists of 100, and the own replies of watched and of ended jobs.

State is a cache only: any number of processes may follow a job.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from ....core.errors import Conflict, NotFound, PaiError, Refused
from ....core.i18n import _
from ....jobs.instances import Instance
from ....jobs.job import JobStatus, now
from ...reports import EventPage, LogPiece, Report, Sample
from ...terminals import TerminalSocket
from ..api import stamp
from ..replies import moment
from ..usage import samples
from .api import LARGEST_LIST, DlcApi
from .events import event_page
from .job_response import has_ended, report_of
from .logs import read_log
from .pods import Pod, instances_of, pods_of

__all__ = ["Follower"]

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
# The most pods whose own events are requested.
_MOST_PODS = 4
_MARGIN = timedelta(minutes=1)


@dataclass
class _Job:
    """The known state of a job. Times are those of the follower's clock."""

    # The last row of a list or own reply, and the time of its request.
    row: Mapping[str, Any] = field(default_factory=dict)
    requested: float = -math.inf
    # The pods of the last own reply, and the time of its request.
    pods: list[Pod] = field(default_factory=list)
    pods_requested: float = -math.inf
    polled: float = -math.inf
    # It was seen active, and since then ended.
    was_active: bool = False
    ended: float | None = None

    def update(self, row: Mapping[str, Any], requested: float, received: float) -> None:
        """Take a reply."""
        if has_ended(row):
            self.ended = self.ended if self.ended is not None else received
        else:
            self.was_active, self.ended = True, None
        self.row, self.requested = row, requested


class Follower:
    """The jobs of one profile that are followed. `page` returns the console's page of a job, `clock` a time in seconds
    that never decreases."""

    def __init__(self, api: DlcApi, page: Callable[[str], str], clock: Callable[[], float] = time.monotonic) -> None:
        self.api = api
        self._page, self._clock = page, clock
        self._jobs: dict[str, _Job] = {}

    # States.

    async def poll(self, remote_ids: Sequence[str]) -> dict[str, Report]:
        """Return the states of jobs. A job that the platform does not have is left out."""
        for remote_id in remote_ids:
            self._job(remote_id).polled = self._clock()
        if len(remote_ids) <= _FEW:
            return await self._replies(remote_ids)
        await self._list(remote_ids)
        reports = {one: self._active(one) for one in remote_ids if self._is_active(one)}
        missing = [one for one in remote_ids if one not in reports]
        reports |= await self._replies(missing[:_MOST_REPLIES])
        for remote_id in missing[_MOST_REPLIES:]:  # The next poll requests their replies.
            row = self._job(remote_id).row
            reports[remote_id] = self._active(remote_id) if row and not has_ended(row) else Report(JobStatus.RUNNING)
        return reports

    def _job(self, remote_id: str) -> _Job:
        """Return what is known of a job."""
        while len(self._jobs) >= _MOST_KEPT and remote_id not in self._jobs:
            del self._jobs[next(iter(self._jobs))]
        return self._jobs.setdefault(remote_id, _Job())

    async def _list(self, remote_ids: Sequence[str]) -> None:
        """Refresh the rows of jobs. Each request also has the rows of other jobs that are due next."""
        begun = self._clock()
        due = [one for one in remote_ids if self._job(one).requested < begun - _ROW_AGE]
        if not due:
            return
        due += self._due_next({*due}, begun)[: -len(due) % LARGEST_LIST]
        pages = [due[place : place + LARGEST_LIST] for place in range(0, len(due), LARGEST_LIST)]
        for page, rows in zip(pages, await asyncio.gather(*map(self._rows, pages)), strict=True):
            for one in page:
                if one in rows:
                    self._job(one).update(rows[one], begun, self._clock())
                else:
                    self._job(one).requested = -math.inf

    def _due_next(self, without: Collection[str], begun: float) -> list[str]:
        """Return other active jobs that are followed, that with the oldest poll first."""
        polled = {
            one: job.polled
            for one, job in self._jobs.items()
            if one not in without
            and job.polled > begun - _FORGET
            and job.requested < begun - _ROW_AGE
            and job.row
            and not has_ended(job.row)
        }
        return sorted(polled, key=lambda one: polled[one])

    async def _rows(self, remote_ids: Sequence[str]) -> dict[str, dict[str, Any]]:
        try:
            return await self.api.rows(remote_ids)
        except Refused:  # The service does not know the filter by ids: own replies are requested.
            return {}

    def _is_active(self, remote_id: str) -> bool:
        job = self._job(remote_id)
        return job.requested > -math.inf and not has_ended(job.row)

    async def _replies(self, remote_ids: Sequence[str]) -> dict[str, Report]:
        found = await asyncio.gather(*map(self._latest, remote_ids))
        return {one: report for one, report in zip(remote_ids, found, strict=True) if report}

    async def _latest(self, remote_id: str) -> Report | None:
        """Return the state of a job by its own reply; None if the platform does not have it."""
        try:
            await self._fetch(remote_id)
        except NotFound:
            return None
        return self._active(remote_id)

    def _active(self, remote_id: str) -> Report:
        job = self._job(remote_id)
        return report_of(job.row, job.pods, self._page(remote_id))

    async def _fetch(self, remote_id: str) -> _Job:
        """Request the own reply of a job.

        Raises:
            NotFound: if the platform does not have it.
        """
        begun = self._clock()
        reply = await self.api.get(remote_id)
        job = self._job(remote_id)
        job.update(reply, begun, self._clock())
        # Those of an ended job may be gone.
        job.pods = pods_of(reply) or (job.pods if has_ended(reply) else [])
        job.pods_requested = begun
        return job

    # Instances, logs and events.

    async def _known(self, remote_id: str) -> _Job:
        """Return a job with its current pods; those of an ended job are final."""
        job = self._job(remote_id)
        if job.pods_requested < (self._clock() - _POD_AGE if job.ended is None else job.ended):
            await self._fetch(remote_id)
        return self._job(remote_id)

    async def instances(self, remote_id: str) -> Sequence[Instance]:
        """Return the instances of a job by rank; none before the platform lists them."""
        try:
            job = await self._known(remote_id)
        except NotFound:
            return ()
        return instances_of(job.pods, report_of(job.row).status, str(job.row.get("ReasonMessage") or ""))

    async def _pod(self, remote_id: str, instance: str) -> Pod | None:
        return next((pod for pod in (await self._known(remote_id)).pods if pod.name == instance), None)

    async def log(self, remote_id: str, instance: str, cursor: str) -> LogPiece:
        """Return the log of an instance after a cursor.

        Raises:
            PaiError: if the log cannot be read.
        """
        try:
            pod = await self._pod(remote_id, instance)
        except NotFound:
            if self._job(remote_id).ended is not None:
                raise
            return LogPiece(b"", cursor)
        if pod is None:
            return LogPiece(b"", cursor)
        job = self._job(remote_id)
        piece, is_complete, has_next = await read_log(self.api, remote_id, pod, cursor, int(now().timestamp()))
        waits = has_next and job.ended is not None
        if piece.data or piece.more or is_complete or not (waits or self._may_lag(job)):
            return piece
        await asyncio.sleep(_LAG_PAUSE)
        return piece._replace(more=True)

    def _may_lag(self, job: _Job) -> bool:
        """Return whether lines of an ended job may still be found later."""
        if job.ended is None or self._clock() >= job.ended + _LAG:
            return False
        ended = report_of(job.row).ended_at
        return job.was_active or (ended is not None and (now() - ended).total_seconds() < _LAG)

    async def events(self, remote_id: str, cursor: str) -> EventPage:
        """Return the events of a job and of its first pods after a cursor."""
        try:
            job = await self._known(remote_id)
            since = _since(job.row)
            texts: dict[str, Sequence[str]] = {"": await self.api.events(remote_id, since)}
        except NotFound:
            return EventPage((), cursor)
        for pod in job.pods[:_MOST_PODS]:
            with suppress(PaiError):  # Those of the job are more important.
                texts[pod.name] = await self.api.events(remote_id, since, pod.latest.pod_id)
        return event_page(texts, cursor)

    async def samples(self, remote_id: str, after: float) -> Sequence[Sample]:
        """Return the resource usage of a job after a Unix time."""
        job = await self._known(remote_id)
        report = report_of(job.row)
        begin = report.started_at or _since(job.row)

        async def fetch(query: Mapping[str, object]) -> Sequence[Mapping[str, Any]]:
            # The service would begin one hour ago.
            return await self.api.metrics(remote_id, {**query, "StartTime": query["StartTime"] or stamp(begin)})

        return await samples(fetch, after, begin, report.ended_at, len(job.pods))

    async def terminal(self, remote_id: str, instance: str) -> TerminalSocket:
        """Return a new terminal in an instance.

        Raises:
            NotFound: if the instance does not run.
        """
        pod = await self._pod(remote_id, instance)
        url = await self.api.terminal(remote_id, pod.latest.pod_id, pod.latest.uid) if pod else ""
        if not url.startswith(("wss://", "ws://")):
            raise NotFound(_("The instance does not run."), fix=_("See why it waits in the events of the job."))
        return TerminalSocket(url, "pai")

    # Search and change.

    async def lists_any(self, remote_ids: Collection[str]) -> bool:
        """Return whether the platform lists one of these jobs."""
        rows = await self.api.rows([*remote_ids][:LARGEST_LIST])
        return bool(rows.keys() & {*remote_ids})

    async def stop(self, remote_id: str) -> None:
        """Request the end of a job. Does nothing to one that has ended or is ending."""
        with suppress(NotFound):  # Deleted, in the console or by another process.
            job = await self._fetch(remote_id)
            if has_ended(job.row) or job.row.get("Status") == "Stopping":
                return
            try:
                await self.api.stop(remote_id)
            except (Conflict, Refused):
                # It has ended in the meantime.
                if not has_ended((await self._fetch(remote_id)).row):
                    raise
            job.requested = -math.inf

    async def delete(self, remote_id: str) -> None:
        """Delete an ended job."""
        with suppress(NotFound):  # Deleted already, in the console or by a call without a reply.
            await self.api.delete(remote_id)
        self._jobs.pop(remote_id, None)


def _since(job: Mapping[str, Any]) -> datetime:
    """Return a time before the first event and value of a job."""
    return (moment(job.get("GmtCreateTime")) or datetime.fromtimestamp(0, UTC)) - _MARGIN
