"""The HTTP side: a NameNode that redirects, the DataNode it redirects to, and a gateway that rewrites redirects."""

from __future__ import annotations

import asyncio
import json
import re
import socket
import struct
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from aiohttp import web
from yarl import URL

from ..alibaba.faults import Fault, Faults
from .operations import Operations
from .settings import Settings
from .tree import Refusal, Tree

__all__ = ["WebHdfs"]

_PIECE = 1 << 20
_REDIRECTED = ("CREATE", "APPEND", "OPEN")


class WebHdfs:
    """HDFS over the files of a folder. `requests` is the log, `faults` lets requests fail."""

    def __init__(self, folder: Path, settings: Settings) -> None:
        self.settings, self.faults = settings, Faults(settings.seed)
        self._first = dict(vars(settings))
        self.tree = Tree(folder)
        self.operations = Operations(self.tree, settings)
        self.requests: list[dict[str, Any]] = []
        # The address of the DataNode in redirects. A gateway shows it in its own.
        self.data_node = "127.0.0.1:9864"

    def routes(self) -> list[web.RouteDef]:
        """Return the routes of a site that is a gateway to this HDFS, for an aiohttp application."""
        patterns = (r"/webhdfs/api/v1{path:.*}", r"/a/{node}/webhdfs/v1{path:.*}")
        return [web.route("*", pattern, self.serve_gateway) for pattern in patterns]

    async def serve_name_node(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer a request to a NameNode."""
        return await self._serve(request, "/webhdfs/v1", is_data_node=False)

    async def serve_data_node(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer a request to a DataNode."""
        return await self._serve(request, "/webhdfs/v1", is_data_node=True)

    async def serve_gateway(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer a request to a gateway, which passes it on to the NameNode or a DataNode."""
        rewritten = re.match(r"/a/[^/]+/webhdfs/v1", request.rel_url.raw_path)
        base = rewritten[0] if rewritten else "/webhdfs/api/v1"
        return await self._serve(request, base, is_data_node=bool(rewritten))

    async def _serve(self, request: web.BaseRequest, base: str, is_data_node: bool) -> web.StreamResponse:
        raw = request.rel_url.raw_path
        if not f"{raw}/".startswith(f"{base}/"):
            return web.Response(status=404, text="<html>Not Found</html>", content_type="text/html")
        path = unquote(raw.removeprefix(base)) or "/"
        operation = request.query.get("op", "").upper()
        service = "datanode" if is_data_node else "namenode"
        note: dict[str, Any] = {"service": service, "operation": operation, "path": path}
        note |= {"time": time.time(), "query": dict(request.query), "received": 0, "sent": 0, "status": 0}
        note["user"] = request.query.get("user.name", "")
        self.requests.append(note)
        fault = self.faults.pick(f"{service}:{operation}")
        response: web.StreamResponse | None = await self._faulty(fault)
        if response is None:
            response = await self._answered(request, base, note)
        if fault and fault.kind in ("reset", "lost", "cut"):
            return await self._broken(request, fault, response)
        note["status"] = response.status
        return response

    async def _faulty(self, fault: Fault | None) -> web.Response | None:
        if fault is None:
            return None
        if fault.kind in ("500", "503"):
            return web.Response(status=int(fault.kind), text="Bad gateway")
        if fault.kind == "throttled":
            return web.Response(status=429, text="<html>Slow down.</html>", content_type="text/html")
        if fault.kind == "reset":
            return web.Response()
        await asyncio.sleep(fault.seconds)
        return None

    async def _broken(self, request: web.BaseRequest, fault: Fault, response: web.StreamResponse) -> web.Response:
        if fault.kind == "cut" and isinstance(response, web.Response) and isinstance(response.body, bytes):
            half = web.StreamResponse(status=response.status, headers={"Content-Type": response.content_type})
            half.content_length = len(response.body) or 10
            await half.prepare(request)
            await half.write(response.body[: len(response.body) // 2])
        connection = request.transport and request.transport.get_extra_info("socket")
        if connection:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            assert request.transport is not None
            request.transport.abort()
        return web.Response()

    async def _answered(self, request: web.BaseRequest, base: str, note: dict[str, Any]) -> web.StreamResponse:
        operation, path = note["operation"], note["path"]
        try:
            if self.settings.kerberos:
                return web.Response(status=401, headers={"WWW-Authenticate": "Negotiate"}, text="Unauthorized")
            if note["service"] == "datanode":
                return await self._transfer(request, note)
            self.operations.check(operation, request.method)
            if operation in _REDIRECTED:
                self._check_redirect(note["user"], operation, path, note["query"])
                return web.Response(status=307, headers={"Location": self._location(request, base, path)})
            reply = self.operations.answer(operation, note["user"], path, note["query"])
            return web.json_response(reply) if reply is not None else web.Response()
        except Refusal as refusal:
            return web.json_response(refusal.body, status=refusal.status)
        except PermissionError as error:
            return web.json_response(Refusal(403, "IOException", str(error)).body, status=403)

    def _check_redirect(self, user: str, operation: str, path: str, query: dict[str, str]) -> None:
        if operation == "CREATE":
            self.operations.check_create(user, path, query)
        else:
            if self.tree.status(path)["type"] != "FILE":
                raise Refusal(404, "FileNotFoundException", f"Path is not a file: {path}")
            self.tree.may_read(user, path)

    def _location(self, request: web.BaseRequest, base: str, path: str) -> str:
        """Return the address of the bytes. The query is that of the request, as Hadoop repeats it."""
        node = self.settings.data_node or self.data_node
        query = request.rel_url.raw_query_string + "&namenoderpcaddress=127.0.0.1:8020"
        site = f"{request.host}/a/{node}" if "/api/" in base and not self.settings.data_node else node
        return str(URL(f"http://{site}/webhdfs/v1{quote(path)}?{query}", encoded=True))

    async def _transfer(self, request: web.BaseRequest, note: dict[str, Any]) -> web.StreamResponse:
        if note["operation"] == "OPEN":
            return await self._send(request, note)
        path, place = note["path"], self.tree.place(note["path"])
        self.operations.check_space(int(request.headers.get("Content-Length", 0)))
        self.tree.make_folders(path.rpartition("/")[0] or "/", note["user"])
        if note["operation"] == "CREATE":
            place.unlink(missing_ok=True)
            self.tree.own(path, note["user"], int(note["query"].get("permission", "644"), 8))
        with place.open("ab") as file:
            async for piece in request.content.iter_any():
                note["received"] += len(piece)
                file.write(piece)
        if note["operation"] == "APPEND":
            return web.Response()
        return web.Response(status=201, headers={"Location": f"hdfs://127.0.0.1:8020{quote(path)}"})

    async def _send(self, request: web.BaseRequest, note: dict[str, Any]) -> web.StreamResponse:
        place, query = self.tree.place(note["path"]), note["query"]
        with place.open("rb") as file:
            size, offset = place.stat().st_size, int(query.get("offset", 0))
            if offset > size:
                raise Refusal(403, "IOException", f"Offset={offset} out of the range [0, {size})")
            rest = min(size - offset, int(query.get("length", size)))
            note["sent"] = rest
            file.seek(offset)
            if rest <= _PIECE:
                return web.Response(body=file.read(rest), content_type="application/octet-stream")
            response = web.StreamResponse(headers={"Content-Type": "application/octet-stream"})
            response.content_length = rest
            await response.prepare(request)
            while rest and (piece := file.read(min(_PIECE, rest))):
                await response.write(piece)
                rest -= len(piece)
            await response.write_eof()
            return response

    def _reset(self) -> None:
        vars(self.settings).update(self._first)
        self.faults.reset()
        self.requests.clear()

    def control(self, message: str) -> Any:
        """Execute a call of the test, as JSON, and return its result."""
        call = json.loads(message)
        calls: dict[str, Callable[..., Any]] = {
            "requests": lambda: self.requests,
            "reset": self._reset,
            "add_fault": lambda **fault: self.faults.add(Fault(**fault)),
            "clear_faults": self.faults.clear,
            "struck": lambda: self.faults.struck,
            "set": lambda **values: vars(self.settings).update(values),
            "own": self.tree.own,
        }
        return calls[call["call"]](**call["arguments"])
