"""Streams of live data for views that a kernel feeds, from the engine in this process or on the server.

A stream is bidirectional. Its methods return at once and may be called from any thread.
"""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import socket
import ssl
import threading
import time
from collections import deque
from collections.abc import Callable
from multiprocessing.connection import wait
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from ..core.cleanup import on_failure
from ..core.i18n import language
from .connection import connect_to, path_of

if TYPE_CHECKING:
    from websocket import WebSocket

    from ..api.endpoint import Context
    from ..core.discovery import ServerInfo

# Bytes per second. A Jupyter server drops kernel messages above 1 MB/s.
_PACE = 400_000
# Kinds of WebSocket messages.
_TEXT, _CLOSE = 1, 8


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
        self._waiting: deque[str | None] = deque()
        self._wake, self._waker = socket.socketpair()
        threading.Thread(target=self._run, name="jupyter-pai stream", daemon=True).start()

    def close(self) -> None:
        self.receive(None)

    def receive(self, text: str | None) -> None:
        """Send a message of the page to the server. None closes the connection."""
        self._waiting.append(text)
        with contextlib.suppress(OSError):  # The stream has ended, or the thread has much to read.
            self._waker.send(b"\0", socket.MSG_DONTWAIT)

    def _run(self) -> None:
        from websocket import WebSocketException

        with self._wake, self._waker, contextlib.suppress(OSError, http.client.HTTPException, WebSocketException):
            with contextlib.closing(self._connect()) as connection:
                self._serve(connection)
        self._closed()

    def _connect(self) -> WebSocket:
        """Return a WebSocket over a connection on which the server has proved its identity."""
        from websocket import WebSocket

        proved, websocket = connect_to(self._info), WebSocket()
        host = "localhost" if self._info.socket else urlsplit(self._info.url).netloc
        with on_failure(proved.close):
            websocket.connect(
                f"ws://{host}{path_of(self._info, '/stream')}",
                socket=proved.sock,
                header={"Authorization": f"jupyter-pai {self._info.secret}", "Accept-Language": language()},
                suppress_origin=True,
                redirect_limit=0,
            )
        return websocket

    def _serve(self, connection: WebSocket) -> None:
        """Exchange messages until either side closes the connection. One thread, since an encrypted connection cannot
        be read and written at the same time."""
        free_at = 0.0
        assert connection.sock
        while True:
            pause = max(free_at - time.monotonic(), 0)
            # Bytes that an encrypted connection has read already are invisible to `wait`.
            buffered = not pause and isinstance(connection.sock, ssl.SSLSocket) and connection.sock.pending()
            sources: list[socket.socket] = [self._wake] if pause else [self._wake, connection.sock]
            ready = wait(sources, 0 if buffered else pause or None)
            if self._wake in ready and not self._send_waiting(connection):
                return
            if buffered or connection.sock in ready:
                opcode, data = connection.recv_data(control_frame=True)
                if opcode == _TEXT:
                    self._send(data.decode())
                    free_at = time.monotonic() + len(data) / _PACE
                elif opcode == _CLOSE:
                    return

    def _send_waiting(self, connection: WebSocket) -> bool:
        """Send the waiting messages of the page. Return False if it has closed the stream."""
        self._wake.recv(1 << 12)
        while self._waiting:
            if (text := self._waiting.popleft()) is None:
                return False
            connection.send(text)
        return True


Stream = EngineStream | ServerStream
