"""PaiStudio (version 2022-01-12): the operations on training jobs.

Replies are returned unchanged. The API may send numbers as text and omit empty lists; callers accept both.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

from ...cloud.alibaba.account import AlibabaAccount
from ...cloud.alibaba.openapi import STUDIO, OpenApi, Service
from ...cloud.http import Retries
from ...core.errors import PaiError
from ..pages import Pages, every_item

# The status of a running job.
RUNNING = "Running"

_LARGEST_LIST = 100
# Of data that the caller requests again later.
ONCE = Retries(attempts=1)
# Older than any job: without a start time, the service lists the last seven days only.
_LONG_AGO = datetime(2015, 1, 1, tzinfo=UTC)


class PaiApi:
    """The training jobs of one account's workspace."""

    def __init__(self, account: AlibabaAccount) -> None:
        self.account = account

    async def create(self, body: Mapping[str, Any]) -> str:
        """Create a job and return its id. The request is never repeated.

        Raises:
            ReplyLost: if it is unknown whether the job was created.
        """
        reply = await self._call("CreateTrainingJob", "POST", "/trainingjobs", body=body, repeat=False)
        return str(reply["TrainingJobId"])

    async def get(self, job_id: str) -> dict[str, Any]:
        """Fetch a job with its instances, transitions and reasons."""
        return await self._call("GetTrainingJob", "GET", _path(job_id))

    async def jobs(
        self,
        *,
        labels: Mapping[str, str] | None = None,
        status: str = "",
        until: datetime | None = None,
        size: int = _LARGEST_LIST,
    ) -> AsyncIterator[dict[str, Any]]:
        """Yield the workspace's jobs with these labels and this status, newest first. Pages are fetched on demand."""
        query = await list_query(self.account, until) | {"Labels": labels, "Status": status or None}
        path = "/api/v1/trainingjobs"
        async for job in list_items(self.account.api, STUDIO, "ListTrainingJobs", path, "TrainingJobs", query, size):
            yield job

    async def stop(self, job_id: str) -> None:
        """Request the end of a job."""
        await self._call("StopTrainingJob", "PUT", f"{_path(job_id)}/stop")

    async def delete(self, job_id: str) -> None:
        """Delete an ended job."""
        await self._call("DeleteTrainingJob", "DELETE", _path(job_id))

    async def logs(self, job_id: str, instance: str, page: int, size: int) -> tuple[list[str], int | None]:
        """Fetch a page of log lines, oldest first, and the total number of lines. Empty before the instance starts."""
        query = {"InstanceId": instance, "PageNumber": page, "PageSize": size}
        try:
            reply = await self._call("ListTrainingJobLogs", "GET", f"{_path(job_id)}/logs", query=query)
        except PaiError as error:
            if error.details.get("code") == "TRAINING_JOB_INSTANCE_NOT_FOUND":
                return [], 0
            raise
        return list(reply.get("Logs") or ()), _total(reply)

    async def error_info(self, job_id: str) -> dict[str, Any]:
        """Fetch the platform's reason for a failed job."""
        reply = await self._call("GetTrainingJobErrorInfo", "GET", f"{_path(job_id)}/errorinfo")
        return dict(reply.get("ErrorInfo") or {})

    async def terminal(self, job_id: str, instance: str) -> str:
        """Return the WebSocket address of a new terminal in an instance, including a token."""
        path = f"{_path(job_id)}/instances/{quote(instance, safe='')}/webterminals"
        return str((await self._call("CreateInstanceWebTerminal", "POST", path)).get("WebTerminalId") or "")

    async def spot_prices(self, instance_type: str, since: datetime) -> list[Mapping[str, Any]]:
        """Fetch the spot price history of an instance type since a time: one page with the newest entries.

        Only the Lingjun pool has pages. The ECS pool sends all entries at once, in no particular order.

        A failed request is retried once only, because a submit waits for this optional information.
        """
        query = {"StartTime": stamp(since), "SortBy": "GmtCreatedTime", "Order": "desc", "PageSize": _LARGEST_LIST}
        path = f"/api/v1/spots/{instance_type}/pricehistory"
        reply = await self.account.api.call(
            STUDIO, "GetSpotPriceHistory", "GET", path, query, retries=Retries(attempts=2)
        )
        return list(reply.get("SpotPriceHistory") or ())

    def pages(self, job_id: str, kind: str, **query: object) -> Pages[Any]:
        """Return a function that fetches a page of a list of a job, oldest first. A failed request is not repeated.

        `kind` is its name in the reply: Events or Metrics.
        """

        async def fetch(number: int, size: int) -> tuple[Sequence[Any], int | None]:
            reply = await self._list(job_id, kind, ONCE, **query, PageNumber=number, PageSize=size)
            return list(reply.get(kind) or ()), _total(reply)

        return fetch

    async def items(self, job_id: str, kind: str, *, once: bool = False, **query: object) -> list[Any]:
        """Fetch a list of a job without pages, oldest first. With `once`, a failed request is not repeated.

        `kind` is its name in the reply: InstanceMetrics or OutputModels.
        """
        return list((await self._list(job_id, kind, ONCE if once else None, **query)).get(kind) or ())

    async def _list(self, job_id: str, kind: str, retries: Retries | None, **query: object) -> dict[str, Any]:
        path = f"{_path(job_id)}/{kind.lower()}"
        return await self._call(f"ListTrainingJob{kind}", "GET", path, query=query, retries=retries)

    async def _call(
        self,
        action: str,
        method: str,
        path: str,
        *,
        query: Mapping[str, object] | None = None,
        body: Mapping[str, Any] | None = None,
        repeat: bool = True,
        retries: Retries | None = None,
    ) -> dict[str, Any]:
        return await self.account.api.call(
            STUDIO, action, method, f"/api/v1{path}", query, body, repeat=repeat, retries=retries
        )


async def list_query(account: AlibabaAccount, until: datetime | None = None) -> dict[str, object]:
    """Return the query for all jobs of the account's workspace up to a time, newest first."""
    return {
        "WorkspaceId": await account.workspace_id(),
        "StartTime": stamp(_LONG_AGO),
        "EndTime": stamp(until) if until else None,
        "SortBy": "GmtCreateTime",
        "Order": "desc",
    }


def stamp(time: datetime) -> str:
    """Return a time in the API's format."""
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def filled(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a request that are set. The services have their own defaults for the others."""
    return {name: value for name, value in values.items() if value not in (None, "", [], {}) and value is not False}


def _path(job_id: str) -> str:
    return f"/trainingjobs/{job_id}"


async def list_items(
    api: OpenApi, service: Service, action: str, path: str, key: str, query: Mapping[str, object], size: int
) -> AsyncIterator[dict[str, Any]]:
    """Yield all items of a list; `key` is the list's name in the reply, `size` the page size.

    Pages are fetched on demand. The number of all items may be sent as text or be missing.
    """

    async def pages(number: int, size: int) -> tuple[Sequence[dict[str, Any]], int | None]:
        reply = await api.call(service, action, "GET", path, {**query, "PageNumber": number, "PageSize": size})
        return [item for item in reply.get(key) or () if isinstance(item, dict)], _total(reply) or None

    async for item in every_item(pages, size):
        yield item


def _total(reply: Mapping[str, Any]) -> int | None:
    """Return the number of all items of a list, which may be sent as text; None if it is missing."""
    total = str(reply.get("TotalCount"))
    return int(total) if total.isdigit() else None
