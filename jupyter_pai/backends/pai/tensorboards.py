"""TensorBoards on PAI. Five may run at a time in an account: the one of a job is used again, and each ends by itself.

Source: operations of PAI-DLC on TensorBoards, and ``pai.tensorboard`` of PAI's Python SDK.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any, ClassVar, Literal

from ...cloud import http as transport
from ...cloud.alibaba.account import AlibabaAccount
from ...cloud.alibaba.openapi import DLC
from ...core.errors import QuotaExceeded, ReplyLost, SpecError
from ...core.i18n import _
from ..tensorboards import Board, Boards
from .pagination import gather

__all__ = ["PaiBoards"]

_PATH = "/api/v1/tensorboards"
_SOURCE = "TrainingJob"
_PAGE = 100
# The union of what the SDK and the documents have.
_STATUSES: dict[str, Literal["starting", "running", "stopped", "failed"]] = {
    "Pending": "starting",
    "Creating": "starting",
    "Running": "running",
    "Creating_Failed": "failed",
    "Failed": "failed",
}
_DELETED = ("Deleting", "Deleted")


class PaiBoards(Boards):
    """Those of an account's workspace."""

    most: ClassVar[int] = 5
    # One counts against the five even if nobody looks.
    minutes: ClassVar[int] = 240

    def __init__(self, account: AlibabaAccount) -> None:
        self.account = account

    async def all(self, remote_id: str = "") -> list[Board]:
        found = await self._listed(remote_id)
        return list(await asyncio.gather(*map(_seen, found))) if remote_id else found

    async def _listed(self, remote_id: str = "") -> list[Board]:
        """What the service tells of one does not name its job: that is only asked for."""
        query: dict[str, object] = {
            "WorkspaceId": await self.account.workspace_id(),
            "SortBy": "GmtCreateTime",
            "Order": "desc",
        }
        if remote_id:
            query |= {"SourceType": _SOURCE, "SourceId": remote_id}
        found = await gather(self.account.api, DLC, "ListTensorboards", _PATH, "Tensorboards", query, _PAGE)
        return [_board(fields) for fields in found if fields.get("Status") not in _DELETED]

    async def open(self, remote_id: str, name: str, uri: str) -> Board:
        found = await self._of_job(remote_id)
        try:
            if found is None:
                return await self._look(await self._create(remote_id, name, uri))
            if found.status == "stopped":
                await self._call("StartTensorboard", "PUT", f"{_PATH}/{found.id}/start")
        except QuotaExceeded as error:
            raise await self._full(error) from None
        return await self._look(found.id)

    async def stop(self, board_id: str) -> Board:
        await self._call("StopTensorboard", "PUT", f"{_PATH}/{board_id}/stop")
        return await self._look(board_id)

    async def delete(self, board_id: str) -> None:
        await self._call("DeleteTensorboard", "DELETE", f"{_PATH}/{board_id}")

    async def _of_job(self, remote_id: str) -> Board | None:
        """The job's own: rather one that runs than one that could."""
        found = [board for board in await self._listed(remote_id) if board.status != "failed"]
        return min(found, key=lambda board: ("running", "starting", "stopped").index(board.status), default=None)

    async def _create(self, remote_id: str, name: str, uri: str) -> str:
        if not uri.startswith("oss://"):
            raise SpecError(
                _("The output `tensorboard` of the job is not in OSS: {uri}").format(uri=uri or "-"),
                fix=_("Open it here instead: %pai tensorboard ID"),
            )
        body = {
            "WorkspaceId": await self.account.workspace_id(),
            "DisplayName": name[:256],
            "SourceType": _SOURCE,
            "SourceId": remote_id,
            "DataSourceType": "OSS",
            "Uri": uri,
            "SummaryRelativePath": "/",
            "MaxRunningTimeMinutes": self.minutes,
        }
        try:
            reply = await self.account.api.call(DLC, "CreateTensorboard", "POST", _PATH, body=body, repeat=False)
            return str(reply["TensorboardId"])
        except ReplyLost:
            if made := await self._of_job(remote_id):
                return made.id
            raise

    async def _look(self, board_id: str) -> Board:
        return await _seen(_board(await self._call("GetTensorboard", "GET", f"{_PATH}/{board_id}")))

    async def _call(self, action: str, method: str, path: str) -> dict[str, Any]:
        return await self.account.api.call(
            DLC, action, method, path, {"WorkspaceId": await self.account.workspace_id()}
        )

    async def _full(self, error: QuotaExceeded) -> QuotaExceeded:
        running = [board for board in await self._listed() if board.status in ("starting", "running")]
        if not running:  # They are those of other workspaces.
            return error
        names = ", ".join(f"{board.name} ({board.id})" for board in running)
        return QuotaExceeded(
            _("No more TensorBoards may run on PAI. These do: {names}.").format(names=names),
            fix=_("Stop one: %pai tensorboard --on-platform --stop {id}").format(id=running[-1].id),
            **error.details | {"boards": [asdict(board) for board in running]},
        )


async def _seen(board: Board) -> Board:
    """How one stands. It runs when its page answers, which is some time after the service says so."""
    if board.status == "running" and not (board.url and await transport.is_reachable(board.url)):
        return replace(board, status="starting", url="")
    return board


def _board(fields: Mapping[str, Any]) -> Board:
    said = str(fields.get("Status") or "")
    status = _STATUSES.get(said, "stopped")
    reason = ": ".join(str(fields[name]) for name in ("ReasonCode", "ReasonMessage") if fields.get(name))
    return Board(
        id=str(fields.get("TensorboardId") or ""),
        name=str(fields.get("DisplayName") or fields.get("TensorboardId") or ""),
        status=status,
        url=str(fields.get("TensorboardUrl") or "") if status == "running" else "",
        reason=reason,
        created=str(fields.get("GmtCreateTime") or ""),
        user=str(fields.get("Username") or fields.get("UserId") or ""),
    )
