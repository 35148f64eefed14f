"""TensorBoards of DLC, and the pages behind their addresses."""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from .clock import Clock, iso
from .service_errors import Refusal
from .services import Operation, Reply, Request
from .settings import Settings

__all__ = ["Tensorboards"]

_MOST = 5
_BOARD = "/tensorboards/{TensorboardId}"
_ECHOED = (
    "Accessibility Cpu DataSourceId DataSourceType DisplayName JobId MaxRunningTimeMinutes Memory Options Priority "
    "QuotaId SummaryPath SummaryRelativePath TensorboardDataSources TensorboardSpec WorkspaceId"
).split()


@dataclass
class Board:
    """A TensorBoard; its status follows from when it was started and stopped."""

    request: dict[str, Any]
    user_id: str
    created: float
    started: float
    stopped: float | None = None
    id: str = field(default_factory=lambda: f"tensorboard{secrets.token_hex(6)}")
    pages: int = 0
    # Why it does not come up.
    fate: str = ""


class Tensorboards:
    """Five at most run at a time."""

    def __init__(self, settings: Settings, clock: Clock) -> None:
        self._settings, self._clock = settings, clock
        self._boards: dict[str, Board] = {}
        # Those that are started next do not come up, for these reasons.
        self._fates: list[str] = []
        # Base URL of the pages, set once the port is known.
        self.address = ""

    def operations(self) -> list[Operation]:
        """The operations of this service."""
        table = [
            ("CreateTensorboard", "POST", "/tensorboards", self._create),
            ("ListTensorboards", "GET", "/tensorboards", self._list),
            ("GetTensorboard", "GET", _BOARD, lambda request: self._fields(self._find(request))),
            ("DeleteTensorboard", "DELETE", _BOARD, self._delete),
            ("StartTensorboard", "PUT", f"{_BOARD}/start", self._start),
            ("StopTensorboard", "PUT", f"{_BOARD}/stop", self._stop),
            ("GetTensorboardSharedUrl", "GET", f"{_BOARD}/sharedurl", self._share),
        ]
        return [Operation("dlc", name, method, path, handler) for name, method, path, handler in table]

    def _status(self, board: Board) -> str:
        now = self._clock.now()
        minutes = board.request.get("MaxRunningTimeMinutes")
        if board.stopped is None and minutes and now >= board.started + 60 * minutes:
            board.stopped = board.started + 60 * minutes
        if board.stopped is not None:
            return "Stopped"
        if now < board.started + self._settings.board_start:
            return "Creating"
        return "Creating_Failed" if board.fate else "Running"

    def _fields(self, board: Board) -> Reply:
        status = self._status(board)
        reply = {name: board.request[name] for name in _ECHOED if board.request.get(name) is not None}
        reply |= {
            "TensorboardId": board.id,
            "Status": status,
            "UserId": board.user_id,
            "Username": "ada",
            "GmtCreateTime": iso(board.created),
            "GmtModifyTime": iso(board.stopped or board.started),
            "Duration": str(int((board.stopped or self._clock.now()) - board.started)),
            "ReasonCode": "PodFailed" if status == "Creating_Failed" else "",
            "ReasonMessage": board.fate if status == "Creating_Failed" else "",
        }
        if status == "Running":
            reply["TensorboardUrl"] = f"{self.address}/{board.id}/"
        return reply

    def _find(self, request: Request) -> Board:
        board = self._boards.get(request.path["TensorboardId"])
        if board is None:
            raise Refusal(404, "TensorboardNotFound", f"Tensorboard {request.path['TensorboardId']} is not found.")
        return board

    def _check_room(self) -> None:
        if sum(self._status(board) in ("Creating", "Running") for board in self._boards.values()) >= _MOST:
            message = f"The number of running tensorboards exceeds the limit of {_MOST}."
            raise Refusal(400, "TensorboardLimitExceeded", message)

    def _create(self, request: Request) -> Reply:
        body = request.body
        if not body.get("WorkspaceId"):
            raise Refusal(400, "MissingWorkspaceId", "WorkspaceId is mandatory for this action.")
        uri = body.get("Uri", "")
        if body.get("DataSourceType") == "OSS" and not re.fullmatch(r"oss://[^./]+\.[^/]+/.*", uri):
            raise Refusal(400, "InvalidUri", f"Uri must have the form oss://bucket.endpoint/path/, not {uri!r}.")
        self._check_room()
        now = self._clock.now()
        board = Board(body, request.key.user_id, now, now, fate=self._fate())
        self._boards[board.id] = board
        return {"TensorboardId": board.id}

    def _list(self, request: Request) -> Reply:
        results = [board for board in self._boards.values() if self._matches(board, request.query)]
        results.sort(key=lambda board: board.created, reverse=request.query.get("Order", "desc") != "asc")
        return {"Tensorboards": [self._fields(board) for board in request.page(results)], "TotalCount": len(results)}

    def _matches(self, board: Board, query: dict[str, str]) -> bool:
        same = all(query.get(n) in (None, "", board.request.get(n)) for n in ("WorkspaceId", "SourceType", "SourceId"))
        named = query.get("DisplayName", "") in board.request.get("DisplayName", "")
        return same and named and query.get("Status") in (None, "", self._status(board))

    def _delete(self, request: Request) -> Reply:
        del self._boards[self._find(request).id]
        return {}

    def _start(self, request: Request) -> Reply:
        board = self._find(request)
        if self._status(board) == "Stopped":
            self._check_room()
            board.started, board.stopped, board.pages, board.fate = self._clock.now(), None, 0, self._fate()
        return {"TensorboardId": board.id}

    def fail_next(self, reason: str) -> None:
        """Let the next started TensorBoard fail."""
        self._fates.append(reason)

    def _fate(self) -> str:
        return self._fates.pop(0) if self._fates else ""

    def _stop(self, request: Request) -> Reply:
        board = self._find(request)
        if self._status(board) != "Stopped":
            board.stopped = self._clock.now()
        return {"TensorboardId": board.id}

    def _share(self, request: Request) -> Reply:
        board = self._find(request)
        seconds = int(request.query.get("ExpireTimeSeconds") or 604800)
        if seconds > 604800:
            raise Refusal(400, "InvalidExpireTimeSeconds", "ExpireTimeSeconds must not exceed 604800.")
        return {"TensorboardSharedUrl": f"{self.address}/{board.id}/?token={secrets.token_hex(8)}"}

    async def handle(self, request: web.BaseRequest) -> web.Response:
        """Serve a page: a gateway error until the program behind it is ready."""
        board = self._boards.get(request.path.strip("/").split("/")[0])
        if board is None or self._status(board) != "Running":
            return web.Response(status=404, text="no such application")
        ready = board.started + self._settings.board_start + self._settings.board_warm
        board.pages += 1
        if self._clock.now() < ready:
            return web.Response(status=502, text="bad gateway")
        return web.Response(text=f"<title>TensorBoard</title>{board.id}", content_type="text/html")
