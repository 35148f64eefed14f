"""Streams of live data for views that a kernel feeds, from the engine in this process or on the server.

A stream is bidirectional. Its methods return at once and may be called from any thread.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from ..api.route import PREFIX
from ..core.i18n import language

if TYPE_CHECKING:
    from ..api.endpoint import Context
    from ..core.discovery import ServerInfo

# Bytes per second. A Jupyter server drops kernel messages above 1 MB/s.
_PACE = 400_000


class EngineStream:
    """A stream from an engine in this process, which runs in the event loop `loop`."""

    def __init__(self, context: Context, loop: asyncio.AbstractEventLoop, send: Callable[[str], None]) -> None:
        from ..api.subscriptions import Subscriptions

        turn = asyncio.Lock()

        async def paced(text: str) -> None:
            async with turn:
                send(text)
                await asyncio.sleep(len(text) / _PACE)

        async def ready() -> Context:
            return context

        self._loop = loop
        self._subscriptions = Subscriptions(ready, paced)

    def receive(self, text: str) -> None:
        self._later(lambda: self._loop.create_task(self._subscriptions.receive(text)))

    def close(self) -> None:
        self._later(self._subscriptions.close)

    def _later(self, call: Callable[[], object]) -> None:
        with contextlib.suppress(RuntimeError):  # The engine is closed.
            self._loop.call_soon_threadsafe(call)


class ServerStream:
    """A stream from the server, over a WebSocket in its own thread. `closed` is called when the connection breaks."""

    def __init__(self, info: ServerInfo, send: Callable[[str], None], closed: Callable[[], None]) -> None:
        self._info, self._send, self._closed = info, send, closed
        self._loop = asyncio.new_event_loop()
        self._waiting: asyncio.Queue[str | None] = asyncio.Queue()
        threading.Thread(target=self._run, name="jupyter-pai stream", daemon=True).start()

    def close(self) -> None:
        self.receive(None)

    def receive(self, text: str | None) -> None:
        """Send a message of the page to the server. None closes the connection."""
        with contextlib.suppress(RuntimeError):  # The stream has ended.
            self._loop.call_soon_threadsafe(self._waiting.put_nowait, text)

    def _run(self) -> None:
        with contextlib.closing(self._loop):
            self._loop.run_until_complete(self._serve())
        self._closed()

    async def _serve(self) -> None:
        from tornado.httpclient import HTTPError
        from tornado.websocket import WebSocketClosedError

        with contextlib.suppress(OSError, HTTPError, WebSocketClosedError):
            connection = await self._connect()
            writer = asyncio.create_task(self._write(connection))
            try:
                while isinstance(text := await connection.read_message(), str):
                    self._send(text)
                    await asyncio.sleep(len(text) / _PACE)
            finally:
                writer.cancel()
                connection.close()

    async def _connect(self) -> Any:
        from tornado.httpclient import HTTPRequest
        from tornado.websocket import websocket_connect

        parts = urlsplit(self._info.url)
        scheme = "wss" if parts.scheme == "https" else "ws"
        url = f"{scheme}://{parts.netloc or 'localhost'}{parts.path.rstrip('/')}/{PREFIX}/stream"
        context = None
        if scheme == "wss":
            # The certificate is issued for the server's public name; we connect to the loopback address.
            context = ssl.create_default_context(cafile=self._info.certificate or None)
            context.check_hostname = False
        headers = {"Authorization": f"{self._info.scheme} {self._info.secret}", "Accept-Language": language()}
        return await websocket_connect(
            HTTPRequest(url, headers=headers, ssl_options=context),
            resolver=_at(self._info.socket) if self._info.socket else None,
        )

    async def _write(self, connection: Any) -> None:
        while (text := await self._waiting.get()) is not None:
            await connection.write_message(text)
        connection.close()


def _at(path: str) -> Any:
    """Return a resolver that maps every host to the Unix socket of a server that was started with --sock."""
    from tornado.netutil import Resolver

    class _Socket(Resolver):
        async def resolve(self, host: str, port: int, family: Any = None) -> list[tuple[int, Any]]:
            return [(socket.AF_UNIX, path)]

    return _Socket()


Stream = EngineStream | ServerStream
