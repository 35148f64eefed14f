"""One address for the REST server, the log manager, and further handlers, as the gateway of a cluster has it."""

from __future__ import annotations

import asyncio
import socket
import struct
import time
from pathlib import Path
from secrets import token_bytes
from typing import Any

from aiohttp import web

from ..alibaba.clock import Clock, http_time
from ..alibaba.faults import Fault, Faults
from ..alibaba.service_errors import CutOff, Refusal
from .accounts import Accounts
from .calls import Call, Reply, refused
from .cluster import Cluster
from .jobs import Job
from .logs import LogManager
from .routes import Rates, Route, routes
from .runs import Runs
from .settings import Settings
from .submits import LIMIT, Jobs

__all__ = ["Site"]

_TOO_MANY = b"Too many requests, please try again later."


class Site:
    """All services of a cluster over the files of a folder. `requests` is the log of the calls."""

    def __init__(self, folder: Path, settings: Settings) -> None:
        self.settings, self.clock, self.faults = settings, Clock(settings.clock_offset), Faults(settings.seed)
        self.accounts = Accounts(self.clock, token_bytes(32))
        self.folder = folder
        self.jobs: dict[str, Job] = {}
        self.runs = Runs(folder / "jobs", self.clock, settings)
        self.requests: list[dict[str, Any]] = []
        logs = LogManager(self.clock, settings)
        calls = Jobs(self.jobs, self.accounts, settings, logs, self.runs.now, self._start)
        self._routes = routes(Cluster(self.accounts, settings, self.jobs), calls, logs)
        self._rates = Rates(self.clock)
        self._lives: set[asyncio.Task[None]] = set()

    def _start(self, job: Job) -> None:
        life = asyncio.get_running_loop().create_task(self.runs.run(job))
        self._lives.add(life)
        life.add_done_callback(self._lives.discard)

    async def close(self) -> None:
        """End all jobs."""
        for life in self._lives:
            life.cancel()
        await asyncio.gather(*self._lives, return_exceptions=True)
        await self.runs.close()

    async def serve(self, request: web.Request) -> web.StreamResponse:
        """Answer any request."""
        path = request.rel_url.path
        if not self.settings.gateway:
            path = f"/rest-server{path}" if path.startswith("/api/") else f"/none{path}"
        note: dict[str, Any] = {"time": time.time(), "method": request.method, "path": path, "status": 0}
        note |= {"query": dict(request.query), "headers": dict(request.headers), "action": "", "fault": "", "sent": 0}
        self.requests.append(note)
        if path == "/healthz":
            note["status"] = 200
            return web.Response(text="ok")
        route, words = self._find(request.method, path)
        note["action"] = route.action if route else "rest:none"
        fault = self.faults.pick(note["action"])
        note["fault"] = fault.kind if fault else ""
        call = Call(request.method, path, dict(request.query), dict(request.headers), await request.read(), words)
        try:
            reply = await self._answered(route, call, fault)
            note |= {"status": reply.status, "sent": len(reply.body)}
            reply.headers.setdefault("Date", http_time(self.clock.now()))
            return await _send(request, reply, bool(fault and fault.kind == "cut"))
        except CutOff:
            note["status"] = 0
            _reset(request)
            return web.Response()

    def _find(self, method: str, path: str) -> tuple[Route | None, dict[str, str]]:
        for route in self._routes:
            if route.method == method and (match := route.path.match(path)):
                return route, match.groupdict()
        return None, {}

    async def _answered(self, route: Route | None, call: Call, fault: Fault | None) -> Reply:
        if fault and fault.kind == "throttled":
            return _throttled({"Retry-After": str(int(fault.seconds) or 1)})
        if fault and fault.kind in ("500", "503", "refused"):
            status = fault.status or (403 if fault.kind == "refused" else int(fault.kind))
            return refused(Refusal(status, "UnknownError" if fault.kind != "refused" else fault.code, fault.message))
        if fault and fault.kind == "reset":
            raise CutOff
        if fault and fault.kind == "delay":
            await asyncio.sleep(fault.seconds)
        try:
            reply = self._reply(route, call)
        except Refusal as refusal:
            reply = refused(refusal)
        if fault and fault.kind == "lost":
            raise CutOff
        return reply

    def _reply(self, route: Route | None, call: Call) -> Reply:
        if len(call.body) > LIMIT:
            return refused(Refusal(413, "", "request entity too large"))
        if route is None:
            path = call.path.removeprefix("/rest-server")
            raise Refusal(404, "NoApiError", f"API {path} is not found.")
        if not route.is_open:
            call.user, call.token, call.claims = self.accounts.authenticate(call.headers.get("Authorization", ""))
        if route.action.startswith("logs:"):
            return route.answer(call)
        is_allowed, headers = self._take(route, call)
        if not is_allowed:
            return _throttled(headers)
        try:
            reply = route.answer(call)
        except Refusal as refusal:
            reply = refused(refusal)
        reply.headers |= headers
        return reply

    def _take(self, route: Route, call: Call) -> tuple[bool, dict[str, str]]:
        is_allowed, headers = self._rates.take("all", self.settings.requests_a_minute, 60)
        limits = {"rest:submit": (self.settings.submits_an_hour, 3600), "rest:list": (self.settings.lists_a_minute, 60)}
        if is_allowed and route.action in limits:
            limit, seconds = limits[route.action]
            return self._rates.take(f"{route.action} {call.account.name}", limit, seconds)
        return is_allowed, headers


def _throttled(headers: dict[str, str]) -> Reply:
    return Reply(429, _TOO_MANY, {"Content-Type": "text/html; charset=utf-8"} | headers)


async def _send(request: web.Request, reply: Reply, is_cut: bool) -> web.StreamResponse:
    if not is_cut:
        return web.Response(status=reply.status, body=reply.body, headers=reply.headers)
    response = web.StreamResponse(status=reply.status, headers=reply.headers)
    response.content_length = len(reply.body)
    await response.prepare(request)
    await response.write(reply.body[: len(reply.body) // 2])
    raise CutOff


def _reset(request: web.Request) -> None:
    """Reset a connection."""
    if request.transport is None:
        return
    connection = request.transport.get_extra_info("socket")
    if connection is not None:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    request.transport.abort()
