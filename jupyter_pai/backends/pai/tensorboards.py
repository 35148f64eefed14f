"""TensorBoards on PAI. Five may run at a time per account: a job's own is reused, and each stops by itself.

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
from .api import list_items

_PATH = "/api/v1/tensorboards"
_TRAINING_JOB = "TrainingJob"
_PAGE = 100
# The statuses of the SDK and the documentation.
_STATUSES: dict[str, Literal["starting", "running", "stopped", "failed"]] = {
    "Pending": "starting",
    "Creating": "starting",
    "Running": "running",
    "Creating_Failed": "failed",
    "Failed": "failed",
}
_DELETED = ("Deleting", "Deleted")


class PaiBoards(Boards):
    """The TensorBoards of an account's workspace. `source` is the platform's word for the kind of their jobs."""

    most: ClassVar[int] = 5
    # Limited, since each counts against the five.
    minutes: ClassVar[int] = 240

    def __init__(self, account: AlibabaAccount, source: str = _TRAINING_JOB) -> None:
        self.account, self._source = account, source

    async def all(self, remote_id: str = "") -> list[Board]:
        boards = await self._listed(remote_id)
        return list(await asyncio.gather(*map(_checked, boards))) if remote_id else boards

    async def _listed(self, remote_id: str = "") -> list[Board]:
        """List the TensorBoards. Replies do not name the job, so it is part of the query."""
        query: dict[str, object] = {
            "WorkspaceId": await self.account.workspace_id(),
            "SortBy": "GmtCreateTime",
            "Order": "desc",
        }
        if remote_id:
            query |= {"SourceType": self._source, "SourceId": remote_id}
        items = list_items(self.account.api, DLC, "ListTensorboards", _PATH, "Tensorboards", query, _PAGE)
        return [_board(fields) async for fields in items if fields.get("Status") not in _DELETED]

    async def open(self, remote_id: str, name: str, uri: str, minutes: int = 0) -> Board:
        board = await self._of_job(remote_id) if remote_id else None
        try:
            if board is None:
                return await self.get(await self._create(remote_id, name, uri, minutes))
        except QuotaExceeded as error:
            raise await self._full(error) from None
        return await (self.start(board.id) if board.status == "stopped" else self.get(board.id))

    async def start(self, board_id: str) -> Board:
        try:
            await self._call("StartTensorboard", "PUT", f"{_PATH}/{board_id}/start")
        except QuotaExceeded as error:
            raise await self._full(error) from None
        return await self.get(board_id)

    async def stop(self, board_id: str) -> Board:
        await self._call("StopTensorboard", "PUT", f"{_PATH}/{board_id}/stop")
        return await self.get(board_id)

    async def delete(self, board_id: str) -> None:
        await self._call("DeleteTensorboard", "DELETE", f"{_PATH}/{board_id}")

    async def _of_job(self, remote_id: str) -> Board | None:
        """Return the TensorBoard of a job; running ones take precedence."""
        boards = [board for board in await self._listed(remote_id) if board.status != "failed"]
        return min(boards, key=lambda board: ("running", "starting", "stopped").index(board.status), default=None)

    async def _create(self, remote_id: str, name: str, uri: str, minutes: int) -> str:
        if not uri.startswith("oss://"):
            raise SpecError(
                _("The job's output `tensorboard` is not in OSS: {uri}").format(uri=uri or "-"),
                fix=_("Open it on this machine: %pai tensorboard ID"),
            )
        body = {
            "WorkspaceId": await self.account.workspace_id(),
            "DisplayName": name[:256],
            **({"SourceType": self._source, "SourceId": remote_id} if remote_id else {}),
            "DataSourceType": "OSS",
            # Required here, unlike in training jobs.
            "Uri": await self.account.with_endpoint(uri),
            "SummaryRelativePath": "/",
            "MaxRunningTimeMinutes": minutes or self.minutes,
        }
        try:
            reply = await self.account.api.call(DLC, "CreateTensorboard", "POST", _PATH, body=body, repeat=False)
            return str(reply["TensorboardId"])
        except ReplyLost:
            if remote_id and (board := await self._of_job(remote_id)):
                return board.id
            raise

    async def get(self, board_id: str) -> Board:
        return await _checked(_board(await self._call("GetTensorboard", "GET", f"{_PATH}/{board_id}")))

    async def _call(self, action: str, method: str, path: str) -> dict[str, Any]:
        return await self.account.api.call(
            DLC, action, method, path, {"WorkspaceId": await self.account.workspace_id()}
        )

    async def _full(self, error: QuotaExceeded) -> QuotaExceeded:
        running = [board for board in await self._listed() if board.status in ("starting", "running")]
        if not running:  # Those of other workspaces.
            return error
        return QuotaExceeded(
            _("The limit of running TensorBoards on PAI is reached: {names}.").format(
                names=", ".join(f"{board.name} ({board.id})" for board in running)
            ),
            fix=_("Stop one: %pai tensorboard --on-platform --stop {id}").format(id=running[-1].id),
            **error.details | {"boards": [asdict(board) for board in running]},
        )


async def _checked(board: Board) -> Board:
    """Return a TensorBoard with a checked status: its page responds some time after the service reports `Running`."""
    if board.status == "running" and not (board.url and await transport.is_reachable(board.url)):
        return replace(board, status="starting", url="")
    return board


def _board(fields: Mapping[str, Any]) -> Board:
    status = _STATUSES.get(str(fields.get("Status") or ""), "stopped")
    return Board(
        id=str(fields.get("TensorboardId") or ""),
        name=str(fields.get("DisplayName") or fields.get("TensorboardId") or ""),
        status=status,
        url=str(fields.get("TensorboardUrl") or "") if status == "running" else "",
        reason=": ".join(str(fields[name]) for name in ("ReasonCode", "ReasonMessage") if fields.get(name)),
        created=str(fields.get("GmtCreateTime") or ""),
        user=str(fields.get("Username") or fields.get("UserId") or ""),
    )
