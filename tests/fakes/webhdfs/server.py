"""The process of a stand-in: a NameNode, a DataNode, a gateway, and the port of the test."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

from aiohttp import web

from .handlers import WebHdfs
from .settings import Settings

__all__ = ["serve"]

Handler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]


async def serve(folder: Path, settings: Settings) -> None:
    """Print the ports, and serve until standard input ends."""
    hdfs = WebHdfs(folder / "files", settings)
    runners: list[web.ServerRunner] = []

    async def control(request: web.BaseRequest) -> web.Response:
        return web.json_response({"result": hdfs.control(await request.text())})

    data_node = await _listen(hdfs.serve_data_node, settings.host, 0, runners)
    hdfs.data_node = f"{settings.host}:{data_node}"
    ports = {
        "data_node": data_node,
        "name_node": await _listen(hdfs.serve_name_node, settings.host, settings.name_node_port, runners),
        "gateway": await _listen(hdfs.serve_gateway, settings.host, 0, runners),
        "control": await _listen(control, settings.host, 0, runners),
    }
    print(json.dumps(ports), flush=True)
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    await reader.read()
    for runner in runners:
        await runner.cleanup()


async def _listen(handler: Handler, host: str, port: int, runners: list[web.ServerRunner]) -> int:
    server = web.Server(handler, access_log=None, auto_decompress=False, read_bufsize=1 << 20)
    runner = web.ServerRunner(server, shutdown_timeout=0.01)
    await runner.setup()
    await web.TCPSite(runner, host, port, backlog=1024).start()
    runners.append(runner)
    return int(runner.addresses[0][1])
