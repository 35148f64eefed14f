"""The jobs that are followed: their states by lists of 100, and the own replies of watched and of ended jobs."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar

from ....core.errors import Conflict, NotFound, PaiError, Refused
from ....core.i18n import _
from ....jobs.instances import Instance
from ....jobs.job import now
from ...reports import EventPage, LogPiece, Report, Sample
from ...rows import Followed, RowFollower, keep_reading
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

# The most pods whose own events are requested.
_MOST_PODS = 4
_MARGIN = timedelta(minutes=1)


@dataclass
class _Job(Followed):
    """The known state of a job, with the pods of the last own reply."""

    pods: list[Pod] = field(default_factory=list)


class Follower(RowFollower[_Job]):
    """The jobs of one profile that are followed. `page` returns the console's page of a job."""

    most_rows: ClassVar[int] = LARGEST_LIST

    def __init__(self, api: DlcApi, page: Callable[[str], str], clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(_Job, clock)
        self.api = api
        self._page = page

    # States.

    def has_ended(self, row: Mapping[str, Any]) -> bool:
        return has_ended(row)

    async def list_rows(self, remote_ids: Sequence[str]) -> Mapping[str, Mapping[str, Any]]:
        return await self.api.rows(remote_ids)

    async def latest(self, remote_id: str) -> Report | None:
        try:
            await self._fetch(remote_id)
        except NotFound:
            return None
        return self.last(remote_id)

    def last(self, remote_id: str) -> Report:
        job = self.state_of(remote_id)
        return report_of(job.row, job.pods, self._page(remote_id))

    async def _fetch(self, remote_id: str) -> _Job:
        """Request the own reply of a job.

        Raises:
            NotFound: if the platform does not have it.
        """
        begun = self._clock()
        reply = await self.api.get(remote_id)
        job = self.update(remote_id, reply, begun)
        # Those of an ended job may be gone.
        job.pods = pods_of(reply) or (job.pods if has_ended(reply) else [])
        job.pods_requested = begun
        return job

    # Instances, logs and events.

    async def _known(self, remote_id: str) -> _Job:
        """Return a job with its current pods; those of an ended job are final."""
        job = self.state_of(remote_id)
        return job if self.has_current_pods(job) else await self._fetch(remote_id)

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
            if self.state_of(remote_id).ended is not None:
                raise
            return LogPiece(b"", cursor)
        if pod is None:
            return LogPiece(b"", cursor)
        job = self.state_of(remote_id)
        piece, is_complete, has_next = await read_log(self.api, remote_id, pod, cursor, int(now().timestamp()))
        waits = has_next and job.ended is not None
        may_lag = waits or self.may_lag(job, report_of(job.row).ended_at)
        return await keep_reading(piece, may_lag=may_lag and not is_complete)

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
