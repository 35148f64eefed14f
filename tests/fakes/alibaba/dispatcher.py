"""The dispatcher of a service: it records each request, injects faults, and sends the replies."""

from __future__ import annotations

import asyncio
import socket
import struct
import time
from abc import ABC, abstractmethod
from typing import Any

from aiohttp import web

from .blobs import Blob
from .calls import Answer, Call
from .clock import Clock, http_time
from .faults import Fault, Faults
from .service_errors import CutOff, Refusal

__all__ = ["Dispatcher", "Service"]

_SMALL = 1 << 16


class Service(ABC):
    """A service behind a dispatcher."""

    name = ""
    # The header that tells a request's id.
    id_header = ""

    @abstractmethod
    def accept(self, call: Call) -> None:
        """Find the service and the action of a call."""

    @abstractmethod
    async def answer(self, call: Call) -> Answer:
        """Execute the call. Raises Refusal."""

    @abstractmethod
    def refuse(self, call: Call, refusal: Refusal) -> Answer:
        """Return an error in the format of this service."""

    @abstractmethod
    def injected(self, kind: str) -> Refusal:
        """Return the error of this service for a fault: `500`, `503`, `throttled`."""


class Dispatcher:
    """Receives requests for one service and records them in `notes`. Replies have the time of `clock`."""

    def __init__(self, service: Service, faults: Faults, notes: list[dict[str, Any]], clock: Clock) -> None:
        self._service, self._faults, self._notes, self._clock = service, faults, notes, clock

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Process one request."""
        call = Call(request, self._service.name)
        began = time.time()
        note: dict[str, Any] = {"time": began, "method": call.method, "path": call.path, "query": call.query}
        self._notes.append(note)
        try:
            self._service.accept(call)
            note |= {"service": call.service, "action": call.action, "status": 0}
            fault = self._faults.pick(f"{call.service}:{call.action}")
            note["fault"] = fault.kind if fault else ""
            answer = await self._answered(call, fault)
            answer.headers[self._service.id_header] = call.id
            answer.headers["Date"] = http_time(self._clock.now())
            note |= {"status": answer.status, "sent": answer.size}
            return await self._send(call, answer, bool(fault and fault.kind == "cut"))
        except CutOff:
            note["status"] = 0
            _reset(request)
            return web.Response()
        finally:
            note |= {"key": call.key.id if call.key else "", "received": call.received, "id": call.id}
            note["seconds"] = time.time() - began

    async def _answered(self, call: Call, fault: Fault | None) -> Answer:
        try:
            if fault:
                await self._go_wrong(fault)
            answer = await self._service.answer(call)
        except Refusal as refusal:
            answer = self._service.refuse(call, refusal)
        if fault and fault.kind == "lost":
            raise CutOff
        return answer

    async def _go_wrong(self, fault: Fault) -> None:
        if fault.kind in ("500", "503", "throttled"):
            refusal = self._service.injected(fault.kind)
            refusal.status = fault.status or refusal.status
            raise refusal
        if fault.kind == "refused":
            raise Refusal(fault.status or 403, fault.code, fault.message)
        if fault.kind == "reset":
            raise CutOff
        await asyncio.sleep(fault.seconds)

    async def _send(self, call: Call, answer: Answer, cut: bool) -> web.StreamResponse:
        if call.method == "HEAD" or (answer.size <= _SMALL and not cut):
            if answer.blob and call.method != "HEAD":
                answer.body = answer.blob.read(answer.start, answer.length)
            return _whole(call, answer)
        response = web.StreamResponse(status=answer.status, headers=answer.headers)
        response.content_length = answer.size
        writer = await response.prepare(call.request)
        assert writer is not None
        if cut:
            half = answer.size // 2
            await response.write(answer.blob.read(answer.start, half) if answer.blob else answer.body[:half])
            raise CutOff
        if answer.blob is None:
            await response.write(answer.body)
        else:
            await _send_blob(call.request, response, answer.blob, answer)
        await response.write_eof()
        return response


def _whole(call: Call, answer: Answer) -> web.Response:
    response = web.Response(status=answer.status, headers=answer.headers, body=answer.body)
    if call.method == "HEAD" and answer.status == 200:
        response.headers["Content-Length"] = str(answer.size)
    return response


async def _send_blob(request: web.BaseRequest, response: web.StreamResponse, blob: Blob, answer: Answer) -> None:
    """Send a blob with `sendfile`."""
    assert request.transport is not None
    # The headers are held back until the first byte of the body.
    first = min(1024, answer.length)
    await response.write(blob.read(answer.start, first))
    loop = asyncio.get_running_loop()
    for piece, start, count in blob.spans(answer.start + first, answer.length - first):
        with piece.path.open("rb") as file:
            await loop.sendfile(request.transport, file, start, count)


def _reset(request: web.BaseRequest) -> None:
    """Reset a connection."""
    if request.transport is None:
        return
    connection = request.transport.get_extra_info("socket")
    if connection is not None:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    request.transport.abort()
