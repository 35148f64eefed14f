"""The tasks that are followed: their states by lists of 50, and the details of watched and of ended tasks."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, ClassVar

from ....cloud.tencent.reading import number_of, rows_of, text_of, time_of
from ....core.errors import Conflict, NotFound
from ....core.i18n import _
from ....jobs.instances import Instance
from ....jobs.job import JobStatus, now
from ...reports import EventPage, LogPiece, Report
from ...rows import Followed, RowFollower, keep_reading
from ...terminals import TerminalPage
from ..api import TioneApi
from ..console import task_url
from .events import event_page, events_request
from .logs import read_log
from .task_replies import Pod, has_ended, instances_of, is_failure, pods_of, report_of

__all__ = ["Follower", "poll_interval"]

# The rows of one list.
_PAGE = 50
# Seconds between two polls for each list that they need, at least those of a few tasks, and the longest pause between
# two polls of watched tasks.
_LIST_PAUSE, _FEW_PAUSE, _WATCHED_PAUSE = 0.63, 5.0, 5.0
# A time before the first line and event of a task.
_MARGIN = timedelta(minutes=1)
# The default of `Follower`.
_PAUSES = (0.5, 1, 2, 4, 8, 15)


def poll_interval(jobs: int, *, watched: bool) -> float:
    """Return the seconds until the next poll of some of this number of tasks."""
    if watched:
        return min(max(1.0, 0.3 * jobs), _WATCHED_PAUSE)
    return max(_FEW_PAUSE, _LIST_PAUSE * math.ceil(jobs / _PAGE))


@dataclass
class _Task(Followed):
    """The known state of a task."""

    # The last detail, which has fields that a row has not.
    detail: Mapping[str, Any] | None = None
    pods: list[Pod] = field(default_factory=list)
    # Why it waits, if its events are read.
    waiting: str = ""


class Follower(RowFollower[_Task]):
    """The tasks of one profile that are followed.

    `pauses`: seconds between the attempts to stop a task that is being submitted, and to delete one that is stopping.
    """

    most_rows: ClassVar[int] = _PAGE

    def __init__(
        self, api: TioneApi, pauses: Sequence[float] = _PAUSES, clock: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__(_Task, clock)
        self.api = api
        self._pauses = pauses

    # States.

    def has_ended(self, row: Mapping[str, Any]) -> bool:
        return has_ended(row)

    async def list_rows(self, remote_ids: Sequence[str]) -> Mapping[str, Mapping[str, Any]]:
        query = {"Filters": [{"Name": "Id", "Values": [*remote_ids]}], "Offset": 0, "Limit": _PAGE}
        reply = await self.api.call("DescribeTrainingTasks", query)
        return {text_of(row.get("Id")): row for row in rows_of(reply, "TrainingTaskSet")}

    async def latest(self, remote_id: str) -> Report | None:
        try:
            detail = await self.detail(remote_id)
        except NotFound:
            # A workspace that does not exist is an error of the list.
            if remote_id not in await self.rows([remote_id]):
                return None
            raise
        if not has_ended(detail):
            return self.last(remote_id)
        pods = await self._pods(remote_id) if is_failure(detail) and _nodes(detail) > 1 else ()
        return report_of(detail, pods, self._page(remote_id))

    def last(self, remote_id: str) -> Report:
        """Return the state of a task that has not ended, with the reason why it waits."""
        task = self.state_of(remote_id)
        report = report_of(task.row, console_url=self._page(remote_id))
        waits = report.status in (JobStatus.QUEUED, JobStatus.STARTING)
        return replace(report, reason=task.waiting) if waits and task.waiting and not report.reason else report

    def _page(self, remote_id: str) -> str:
        return task_url(self.api.settings, remote_id)

    async def detail(self, remote_id: str) -> Mapping[str, Any]:
        """Return the detail of a task.

        Raises:
            NotFound: if the platform does not have the task.
        """
        begun = self._clock()
        detail = (await self.api.call("DescribeTrainingTask", {"Id": remote_id})).get("TrainingTaskDetail")
        if not isinstance(detail, Mapping) or not detail:
            raise NotFound(_("The platform does not have the task {id}.").format(id=remote_id))
        self.update(remote_id, detail, begun).detail = detail
        return detail

    async def _known(self, remote_id: str) -> _Task:
        """Return a task whose detail has been requested: of the current run, as each run has an instance of its own."""
        task = self.state_of(remote_id)
        detail = task.detail
        if not detail or not detail.get("LatestInstanceId") or (has_ended(detail) and not has_ended(task.row)):
            await self.detail(remote_id)
        return task

    # Instances and logs.

    async def _pods(self, remote_id: str) -> list[Pod]:
        """Return the pods of a task by rank; none before the platform lists them."""
        task = await self._known(remote_id)
        if not self.has_current_pods(task):
            begun = self._clock()
            reply = await self.api.call("DescribeTrainingTaskPods", {"Id": remote_id})
            # Those of an ended task may be gone.
            task.pods = pods_of(reply, task.detail or {}) or (task.pods if has_ended(task.row) else [])
            task.pods_requested = begun
        return task.pods

    async def instances(self, remote_id: str) -> Sequence[Instance]:
        """Return the instances of a task by rank; none before the platform lists them."""
        try:
            pods = await self._pods(remote_id)
        except NotFound:
            return ()
        return instances_of(pods, self.state_of(remote_id).row)

    async def _pod(self, remote_id: str, instance: str) -> Pod | None:
        return next((pod for pod in await self._pods(remote_id) if pod.instance == instance), None)

    async def log(self, remote_id: str, instance: str, cursor: str) -> LogPiece:
        """Return the log of an instance after a cursor.

        Raises:
            PaiError: if the log cannot be read.
        """
        try:
            pod = await self._pod(remote_id, instance)
            if pod is None:
                return LogPiece(b"", cursor)
            task = self.state_of(remote_id)
            piece, is_complete = await read_log(self.api, pod.name, int(_since(task.row).timestamp()) * 10**9, cursor)
        except NotFound:
            if self.state_of(remote_id).ended is not None:
                raise
            return LogPiece(b"", cursor)
        may_lag = pod.has_started and self.may_lag(task, time_of(task.row.get("EndTime")))
        return await keep_reading(piece, may_lag=may_lag and not is_complete)

    async def events(self, remote_id: str, cursor: str) -> EventPage:
        """Return the events of a task after a cursor: why it waits, and what happened to its pods."""
        try:
            task = await self._known(remote_id)
            run = text_of((task.detail or {}).get("LatestInstanceId"))
            if not run:
                return EventPage((), cursor)
            reply = await self.api.call("DescribeEvents", events_request(run, _since(task.row), cursor))
            pods = {pod.name: pod.instance for pod in await self._pods(remote_id)}
        except NotFound:
            return EventPage((), cursor)
        page = event_page(reply, cursor, pods)
        if warnings := [event.text for event in page.events if event.warning]:
            task.waiting = warnings[-1]
        return page

    async def terminal(self, remote_id: str, instance: str) -> TerminalPage:
        """Return the page of a new terminal in an instance.

        Raises:
            NotFound: if the instance does not run.
        """
        pod = await self._pod(remote_id, instance)
        reply = await self.api.call("DescribeTrainingTaskPodUrl", {"PodName": pod.name}) if pod else {}
        url = text_of(reply.get("PodUrl"))
        if not url.startswith(("https://", "http://")):
            raise NotFound(_("The instance does not run."), fix=_("See why it waits in the events of the job."))
        return TerminalPage(url)

    # Search and change.

    async def lists_any(self, remote_ids: Collection[str]) -> bool:
        """Return whether one of these is among the last tasks of the platform's list."""
        query = {"Order": "DESC", "OrderField": "CreateTime", "Offset": 0, "Limit": _PAGE}
        rows = rows_of(await self.api.call("DescribeTrainingTasks", query), "TrainingTaskSet")
        return any(text_of(row.get("Id")) in remote_ids for row in rows)

    async def stop(self, remote_id: str) -> None:
        """Request the end of a task. Does nothing to an ended one. One that is being submitted cannot be stopped yet.

        Raises:
            Conflict: if the platform refuses it for a while.
        """
        for pause in (*self._pauses, None):
            try:
                detail = await self.detail(remote_id)
                if has_ended(detail) or detail.get("Status") == "STOPPING":
                    return
                await self.api.call("StopTrainingTask", {"Id": remote_id})
            except NotFound:  # Deleted, in the console or by another process.
                return
            except Conflict:
                if pause is None:
                    raise
                await asyncio.sleep(pause)
            else:
                self.state_of(remote_id).requested = -math.inf
                return

    async def delete(self, remote_id: str) -> None:
        """Delete a task, which is stopped before."""
        for pause in (*self._pauses, None):
            try:
                await self.api.call("DeleteTrainingTask", {"Id": remote_id})
            except NotFound:  # Deleted already, in the console or by a call without a reply.
                break
            except Conflict:
                if pause is None:
                    raise
                await self.stop(remote_id)
                await asyncio.sleep(pause)
            else:
                break
        self._jobs.pop(remote_id, None)


def _nodes(task: Mapping[str, Any]) -> int:
    """Return the number of instances of a task."""
    configs = rows_of(task, "ResourceConfigInfos")
    return sum(int(number_of(config.get("InstanceNum")) or 1) for config in configs)


def _since(task: Mapping[str, Any]) -> datetime:
    """Return a time before the first line and event of a task."""
    return (time_of(task.get("CreateTime")) or datetime.fromtimestamp(0, now().tzinfo)) - _MARGIN
