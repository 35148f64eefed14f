"""The jobs that are followed: their states by one list for all, and the details of watched and of ended jobs.

State is a cache only: any number of processes may follow a job.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from ....core.errors import NotFound
from ....core.i18n import _
from ....jobs.instances import Instance
from ....jobs.job import JobStatus
from ...pages import every_page
from ...reports import EventPage, LogPiece, Report
from ...terminals import TerminalCommand
from ..client import OpenPaiClient, job_path
from ..names import remote_id
from ..replies import is_gone
from .events import event_page
from .job_documents import JobDocuments
from .logs import Logs, TaskLog
from .pages import job_page
from .reporting import ACTIVE, Task, has_ended, instances_of, report_of, tasks_of

__all__ = ["FEW", "Follower", "poll_interval"]

# The most jobs whose details are requested instead of a list.
FEW = 3
# Defaults of a `Follower`.
_PAGE, _MOST_DETAILS = 5000, 40
# The most jobs whose detail is kept, and that are known to have run.
_MOST_KEPT, _MOST_NAMES = 300, 10_000
# Seconds for which a list and the detail of an active job are used.
_LIST_AGE, _SHORT_LIST_AGE, _DETAIL_AGE = 5.0, 2.0, 1.0
_SHORT = 20


def poll_interval(jobs: int, *, watched: bool) -> float:
    """Return the seconds until the next poll of some of this number of jobs.

    The server allows 60 lists a minute for a user, who may have several clients; and 600 requests for an address.
    """
    if watched:
        return min(max(1.0, 0.4 * jobs), 5.0)
    return 5.0 if jobs <= _SHORT else 10.0


class _Known(NamedTuple):
    """The detail of a job, and the time of its request by the monotonic clock."""

    detail: Mapping[str, Any]
    requested: float


class Follower:
    """The jobs of one profile that are followed.

    `page`: the most rows of one reply. `most_details`: the most details of ended jobs that are requested in one poll,
    as other jobs wait for it.
    """

    def __init__(self, client: OpenPaiClient, page: int = _PAGE, most_details: int = _MOST_DETAILS) -> None:
        self.client = client
        self._page, self._most_details = page, most_details
        self.documents = JobDocuments(client)
        self.logs = Logs(client)
        self._known: dict[str, _Known] = {}
        # The active jobs of the user by remote id, and the time of the list by the monotonic clock.
        self._rows: Mapping[str, Mapping[str, Any]] = {}
        self._listed = float("-inf")
        self._listing: asyncio.Lock | None = None
        # Why jobs wait, of those whose events are read.
        self._waiting: dict[str, str] = {}
        # Jobs that were seen running.
        self._ran: dict[str, None] = {}
        # The last report of each job whose detail is still to be requested.
        self._last: dict[str, Report] = {}
        # The last attempts of tasks, by role and index, in earlier attempts of jobs.
        self._earlier: dict[tuple[str, int], Mapping[tuple[str, int], int]] = {}

    # States.

    async def poll(self, remote_ids: Sequence[str]) -> dict[str, Report]:
        """Return the states of jobs. A job that the cluster does not have is left out."""
        if len(remote_ids) <= FEW:
            found = await asyncio.gather(*(self._latest(name) for name in remote_ids))
            return {name: report for name, report in zip(remote_ids, found, strict=True) if report}
        listed = await self._active(_SHORT_LIST_AGE if len(remote_ids) <= _SHORT else _LIST_AGE)
        site = await self.client.site()
        rows = {name: report_of(listed[name], {}, job_page(site, name)) for name in remote_ids if name in listed}
        reports = {name: self._noted(name, report) for name, report in rows.items()}
        self._last.update(reports)
        missing = [name for name in remote_ids if name not in reports]
        found = await asyncio.gather(*(self._latest(name) for name in missing[: self._most_details]))
        reports |= {name: report for name, report in zip(missing, found, strict=False) if report}
        for name in missing[self._most_details :]:  # The next poll requests their details.
            reports[name] = self._last.get(name) or Report(JobStatus.RUNNING)
        return reports

    async def _active(self, age: float) -> Mapping[str, Mapping[str, Any]]:
        """Return the active jobs of the user by remote id, from a list of at most this age in seconds."""
        if self._listing is None:
            self._listing = asyncio.Lock()
        called = time.monotonic()
        async with self._listing:
            if self._listed < called - age:
                begun = time.monotonic()
                self._rows = {_id_of(row): row for row in await self._list() if not has_ended(row)}
                self._listed = begun
        return self._rows

    async def _list(self) -> list[dict[str, Any]]:
        """Return the rows of the active jobs of the user."""

        async def fetch(offset: int) -> tuple[list[dict[str, Any]], int | None]:
            return await self.client.job_page(state=",".join(ACTIVE), limit=self._page, offset=offset)

        return [row async for page in every_page(fetch) for row in page]

    async def _latest(self, name: str) -> Report | None:
        """Return the state of a job by its detail; None if the cluster does not have it."""
        try:
            detail = await self.detail(name, 0)
        except NotFound as error:
            if not is_gone(error):
                raise
            return None
        tasks = sum(1 for _task in tasks_of(detail, {}))
        roles = (await self.documents.of(name)).roles if has_ended(detail) and tasks > 1 else {}
        report = report_of(detail, roles, job_page(await self.client.site(), name))
        self._last.pop(name, None)
        return self._noted(name, report)

    def _noted(self, name: str, report: Report) -> Report:
        """Return a report with the reason why the job waits, if its events are read."""
        if report.status is not JobStatus.QUEUED:
            self._waiting.pop(name, None)
        if report.status is JobStatus.RUNNING:
            self._ran[name] = None
        while len(self._ran) > _MOST_NAMES:
            del self._ran[next(iter(self._ran))]
        return replace(report, reason=self._waiting[name]) if name in self._waiting else report

    async def detail(self, name: str, age: float = _DETAIL_AGE) -> Mapping[str, Any]:
        """Return the detail of a job, of an active one at most `age` seconds old.

        Raises:
            NotFound: if the cluster does not have the job.
        """
        known = self._known.get(name)
        if known and (has_ended(known.detail) or time.monotonic() < known.requested + age):
            return known.detail
        requested = time.monotonic()
        detail = await self.client.job(name)
        self._known.pop(name, None)
        while len(self._known) >= _MOST_KEPT:
            del self._known[next(iter(self._known))]
        self._known[name] = _Known(detail, requested)
        return detail

    # Instances and logs.

    async def instances(self, name: str) -> Sequence[Instance]:
        """Return the instances of a job by rank; none before the cluster lists them."""
        try:
            detail = await self.detail(name)
        except NotFound:
            return ()
        if not any(tasks_of(detail, {})):
            return ()
        earlier = await self._attempts_before(name, detail)
        return instances_of(detail, (await self.documents.of(name)).roles, earlier)

    async def log(self, name: str, instance: str, cursor: str) -> LogPiece:
        """Return the log of an instance after a cursor.

        Raises:
            NotFound: if the job has ended, and the cluster does not have its log.
            BackendError: if its node does not respond.
        """
        detail = await self.detail(name)
        task = await self._task(name, detail, instance)
        if task is None:
            return LogPiece(b"", cursor)
        last, may_have_run = (_attempt(detail), task.attempt), name in self._ran or not task.may_be_unstarted
        log = TaskLog(name, task.role, task.index, last, task.has_started, has_ended(detail), may_have_run)
        return await self.logs.piece(log, cursor, self._last_attempt(name, task))

    def _last_attempt(self, name: str, task: Task) -> Callable[[int], Awaitable[int]]:
        async def last_attempt(job_attempt: int) -> int:
            return (await self._attempts_in(name, job_attempt)).get((task.role, task.index), 0)

        return last_attempt

    async def _task(self, name: str, detail: Mapping[str, Any], instance: str) -> Task | None:
        """Return an instance by its name."""
        roles = (await self.documents.of(name)).roles
        return next((task for task in tasks_of(detail, roles) if task.name(roles) == instance), None)

    async def _attempts_before(self, name: str, detail: Mapping[str, Any]) -> Mapping[tuple[str, int], int]:
        """Return the number of attempts of each task in the earlier attempts of its job."""
        places = [(task.role, task.index) for task in tasks_of(detail, {})]
        earlier = [await self._attempts_in(name, number) for number in range(_attempt(detail))]
        return {place: sum(last.get(place, 0) + 1 for last in earlier) for place in places}

    async def _attempts_in(self, name: str, job_attempt: int) -> Mapping[tuple[str, int], int]:
        """Return the last attempt of each task in an earlier attempt of a job."""
        if (name, job_attempt) not in self._earlier:
            try:
                detail = await self.client.get(f"{job_path(name)}/attempts/{job_attempt}")
            except NotFound:
                detail = {}
            while len(self._earlier) >= _MOST_KEPT:
                del self._earlier[next(iter(self._earlier))]
            found = {(task.role, task.index): task.attempt for task in tasks_of(detail, {})}
            self._earlier[name, job_attempt] = found
        return self._earlier[name, job_attempt]

    async def events(self, name: str, cursor: str) -> EventPage:
        """Return the events of a job after a cursor: why it waits, and what happened to its containers."""
        try:
            reply = await self.client.get(f"{job_path(name)}/events")
            detail = await self.detail(name)
        except NotFound:
            return EventPage((), cursor)
        roles = (await self.documents.of(name)).roles
        page = event_page(reply, cursor, roles, detail, await self.client.site())
        if warnings := [event.text for event in page.events if event.warning]:
            self._waiting[name] = warnings[-1]
        return page

    async def terminal(self, name: str, instance: str) -> TerminalCommand:
        """Return the command that opens a terminal in an instance."""
        from .terminal import command_of

        detail = await self.detail(name, 0)
        if has_ended(detail):
            raise NotFound(_("The job does not run any more."))
        return command_of(await self._task(name, detail, instance), await self.documents.of(name))

    # Search and change.

    async def lists_any(self, remote_ids: Collection[str]) -> bool:
        """Return whether the cluster lists one of the last jobs of the user."""
        rows = await self.client.jobs(limit=200, order="submissionTime,DESC")
        return any(_id_of(row) in remote_ids for row in rows)

    async def stop(self, name: str) -> None:
        """Request the end of a job. Does nothing to an ended job."""
        await self.client.stop(name)
        known = self._known.get(name)
        if known and not has_ended(known.detail):
            del self._known[name]
        self._listed = float("-inf")


def _id_of(row: Mapping[str, Any]) -> str:
    return remote_id(str(row.get("username") or ""), str(row.get("name") or ""))


def _attempt(detail: Mapping[str, Any]) -> int:
    """Return the attempt of a job, from 0."""
    status = detail.get("jobStatus")
    value = status.get("attemptId") if isinstance(status, Mapping) else None
    return value if isinstance(value, int) else 0
