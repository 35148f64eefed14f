"""A terminal in a job, attached to the local terminal over a WebSocket.

Messages are JSON objects, as PAI documents them for its terminals: ``stdin`` and ``resize`` are sent, ``stdout`` is
received.
"""

from __future__ import annotations

import asyncio
import codecs
import json
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from ..core.errors import BackendError, Unsupported
from ..core.i18n import _

# Seconds: the connection timeout, and between two pings, without which a proxy may close the connection.
_TIMEOUT, _PING_INTERVAL = 20.0, 20.0


def is_attachable(url: str) -> bool:
    """Return whether a URL is a terminal's WebSocket. Other URLs are web pages."""
    return url.startswith(("ws://", "wss://"))


def attach(url: str) -> None:
    """Attach to a terminal until its shell exits. Ctrl+C is sent to the remote program.

    Raises:
        BackendError: if the terminal is unreachable.
        Unsupported: on an operating system without termios.
    """
    try:
        import termios  # noqa: F401  Missing on Windows.
    except ImportError:
        raise Unsupported(_("Attaching to a terminal requires Linux or macOS.")) from None
    with _raw(sys.stdin.fileno()):
        asyncio.run(_relay(url, sys.stdin.fileno()))


@contextmanager
def _raw(keys: int) -> Iterator[None]:
    """Put the terminal into raw mode within the block: every key is passed on as it is pressed."""
    import termios
    import tty

    before = termios.tcgetattr(keys)
    tty.setraw(keys)
    try:
        yield
    finally:
        termios.tcsetattr(keys, termios.TCSADRAIN, before)


async def _relay(url: str, keys: int) -> None:
    socket = await _connect(url)
    decode = codecs.getincrementaldecoder("utf-8")("replace").decode
    loop = asyncio.get_running_loop()

    def send_keys() -> None:
        try:
            data = os.read(keys, 1 << 16)
        except OSError:
            data = b""  # The local terminal was closed.
        if data:
            _send(socket, {"operation": "stdin", "data": decode(data)})
        else:
            loop.remove_reader(keys)
            socket.close()

    def send_size() -> None:
        columns, rows = os.get_terminal_size(keys)
        _send(socket, {"operation": "resize", "cols": columns, "rows": rows})

    loop.add_signal_handler(signal.SIGWINCH, send_size)
    loop.add_reader(keys, send_keys)
    send_size()
    try:
        while (message := await socket.read_message()) is not None:
            sys.stdout.buffer.write(_output(message))
            sys.stdout.buffer.flush()
    finally:
        loop.remove_reader(keys)
        loop.remove_signal_handler(signal.SIGWINCH)
        socket.close()


async def _connect(url: str) -> Any:
    """Connect. Errors omit the URL, which grants access to the terminal."""
    from tornado.httpclient import HTTPClientError
    from tornado.websocket import WebSocketError, websocket_connect

    try:
        return await websocket_connect(url, connect_timeout=_TIMEOUT, ping_interval=_PING_INTERVAL)
    except (HTTPClientError, WebSocketError, OSError) as error:
        raise BackendError(
            _("Cannot connect to the terminal: {error}.").format(error=str(error).replace(url, "…")),
            fix=_("Try again: a new link is created each time."),
        ) from None


def _send(socket: Any, message: dict[str, object]) -> None:
    from tornado.websocket import WebSocketClosedError

    # A broken connection is detected by the reader.
    with suppress(WebSocketClosedError):
        socket.write_message(json.dumps(message)).add_done_callback(lambda done: done.cancelled() or done.exception())


def _output(message: str | bytes) -> bytes:
    """Return the output of a message; a message of an unknown form is returned unchanged."""
    try:
        content = json.loads(message)
        return str(content["data"]).encode() if content["operation"] in ("stdout", "stderr") else b""
    except (ValueError, TypeError, KeyError):
        return message.encode() if isinstance(message, str) else message
