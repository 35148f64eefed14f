"""PAI-DLC (version 2020-12-03): the operations on jobs. Replies are returned unchanged."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

from ....cloud.alibaba.account import AlibabaAccount
from ....cloud.alibaba.openapi import DLC
from ....cloud.http import Retries
from ....core.errors import NotFound
from ..api import ONCE, list_items, list_query, stamp

__all__ = ["JOBS_PATH", "LARGEST_LIST", "MOST_EVENTS", "MOST_LINES", "DlcApi"]

JOBS_PATH = "/api/v1/jobs"
LARGEST_LIST, MOST_LINES, MOST_EVENTS = 100, 2000, 10_000
"""Items of a page, lines of a log and events that one request returns at most."""


class DlcApi:
    """The jobs of one account's workspace."""

    def __init__(self, account: AlibabaAccount) -> None:
        self.account = account

    async def create(self, body: Mapping[str, Any]) -> str:
        """Create a job and return its id. The request is never repeated.

        Raises:
            ReplyLost: if it is unknown whether the job was created.
        """
        return str((await self._call("CreateJob", "POST", "", body=body, repeat=False))["JobId"])

    async def get(self, job_id: str) -> dict[str, Any]:
        """Fetch a job with its pods, statuses and reasons."""
        return await self._call("GetJob", "GET", f"/{job_id}", {"NeedDetail": True})

    async def jobs(
        self, query: Mapping[str, object], *, until: datetime | None = None, size: int = LARGEST_LIST
    ) -> AsyncIterator[dict[str, Any]]:
        """Yield the workspace's jobs of a query, newest first. Pages are fetched on demand. They have no pods."""
        fields = {**await list_query(self.account, until), **query}
        async for job in list_items(self.account.api, DLC, "ListJobs", JOBS_PATH, "Jobs", fields, size):
            yield job

    async def rows(self, job_ids: Sequence[str]) -> dict[str, dict[str, Any]]:
        """Fetch at most 100 jobs by id, in one request. Jobs that the service does not list are left out."""
        query = await list_query(self.account)
        query |= {"JobIds": list(job_ids), "PageNumber": 1, "PageSize": LARGEST_LIST}
        reply = await self._call("ListJobs", "GET", "", query)
        rows = [row for row in reply.get("Jobs") or () if isinstance(row, dict)]
        return {str(row.get("JobId")): row for row in rows}

    async def stop(self, job_id: str) -> None:
        """Request the end of a job."""
        await self._call("StopJob", "POST", f"/{job_id}/stop")

    async def delete(self, job_id: str) -> None:
        """Delete an ended job."""
        await self._call("DeleteJob", "DELETE", f"/{job_id}")

    async def logs(self, job_id: str, pod_id: str, pod_uid: str, start: int, end: int) -> list[str]:
        """Fetch the lines of a pod that were written from one Unix second to another, both included: at most 2,000,
        the first or the last ones. Empty if the pod does not exist, as before it starts."""
        query = {
            "MaxLines": MOST_LINES,
            "StartTime": stamp(datetime.fromtimestamp(start, UTC)),
            "EndTime": stamp(datetime.fromtimestamp(end, UTC)),
            "PodUid": pod_uid or None,
        }
        path = f"/{job_id}/pods/{quote(pod_id, safe='')}/logs"
        try:
            reply = await self._call("GetPodLogs", "GET", path, query)
        except NotFound:
            return []
        return [str(line) for line in reply.get("Logs") or ()]

    async def events(self, job_id: str, since: datetime, pod_id: str = "", pod_uid: str = "") -> list[str]:
        """Fetch the events of a job since a time, or those of one of its pods."""
        action, path = "GetJobEvents", f"/{job_id}/events"
        if pod_id:
            action, path = "GetPodEvents", f"/{job_id}/pods/{quote(pod_id, safe='')}/events"
        query = {"StartTime": stamp(since), "MaxEventsNum": MOST_EVENTS, "PodUid": pod_uid or None}
        return [str(text) for text in (await self._call(action, "GET", path, query)).get("Events") or ()]

    async def metrics(self, job_id: str, query: Mapping[str, object]) -> list[Mapping[str, Any]]:
        """Fetch the points of one metric of each pod."""
        reply = await self._call("GetJobMetrics", "GET", f"/{job_id}/metrics", query, retries=ONCE)
        return [pod for pod in reply.get("PodMetrics") or () if isinstance(pod, Mapping)]

    async def terminal(self, job_id: str, pod_id: str, pod_uid: str) -> str:
        """Return the WebSocket address of a new terminal in a pod. It can be used once, without a login to the
        console."""
        path = f"/{job_id}/pods/{quote(pod_id, safe='')}/webterminal"
        query = {"IsShared": True, "PodUid": pod_uid or None}
        return str((await self._call("GetWebTerminal", "GET", path, query)).get("WebTerminalUrl") or "")

    async def _call(
        self,
        action: str,
        method: str,
        path: str,
        query: Mapping[str, object] | None = None,
        *,
        body: Mapping[str, Any] | None = None,
        repeat: bool = True,
        retries: Retries | None = None,
    ) -> dict[str, Any]:
        return await self.account.api.call(
            DLC, action, method, f"{JOBS_PATH}{path}", query, body, repeat=repeat, retries=retries
        )
