"""A terminal in a job, at the terminal where somebody sits: keys go there, what it says comes here.

Messages are JSON objects, as PAI documents them for its terminals: ``stdin`` and ``resize`` to there, ``stdout`` from
there.
"""

from __future__ import annotations

import asyncio
import codecs
import json
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..core.errors import BackendError, Unsupported
from ..core.i18n import _

__all__ = ["attach", "is_attachable"]

# Seconds: to be let in, and between two signs of life, without which what lies between may close the connection.
_PATIENCE, _PULSE = 20.0, 20.0


def is_attachable(url: str) -> bool:
    """Whether an address is that of a terminal's WebSocket; others are pages."""
    return url.startswith(("ws://", "wss://"))


def attach(url: str) -> None:
    """Be in a terminal until it ends, as its shell does by ``exit``; Ctrl+C is for what runs there.

    Raises:
        BackendError: if it cannot be reached.
        Unsupported: where this side has no terminal.
    """
    try:
        import termios  # noqa: F401  There is none on Windows.
    except ImportError:
        raise Unsupported(_("A terminal opens only in a terminal of Linux or macOS.")) from None
    with _raw(sys.stdin.fileno()):
        asyncio.run(_talk(url, sys.stdin.fileno()))


@contextmanager
def _raw(keys: int) -> Iterator[None]:
    """Within the block, keys come as they are pressed and nothing is done about them here."""
    import termios
    import tty

    before = termios.tcgetattr(keys)
    tty.setraw(keys)
    try:
        yield
    finally:
        termios.tcsetattr(keys, termios.TCSADRAIN, before)


async def _talk(url: str, keys: int) -> None:
    socket = await _connect(url)
    decode = codecs.getincrementaldecoder("utf-8")("replace").decode
    loop = asyncio.get_running_loop()

    def typed() -> None:
        if data := _pressed(keys):
            _send(socket, {"operation": "stdin", "data": decode(data)})
        else:
            loop.remove_reader(keys)
            socket.close()

    def resized() -> None:
        columns, rows = os.get_terminal_size(keys)
        _send(socket, {"operation": "resize", "cols": columns, "rows": rows})

    loop.add_signal_handler(signal.SIGWINCH, resized)
    loop.add_reader(keys, typed)
    resized()
    try:
        while (message := await socket.read_message()) is not None:
            sys.stdout.buffer.write(_said(message))
            sys.stdout.buffer.flush()
    finally:
        loop.remove_reader(keys)
        loop.remove_signal_handler(signal.SIGWINCH)
        socket.close()


def _pressed(keys: int) -> bytes:
    """What was typed; nothing when nobody sits there any more."""
    try:
        return os.read(keys, 1 << 16)
    except OSError:
        return b""


async def _connect(url: str) -> Any:
    """The connection. What goes wrong does not say the address: it lets in whoever reads it."""
    from tornado.httpclient import HTTPClientError
    from tornado.websocket import WebSocketError, websocket_connect

    try:
        return await websocket_connect(url, connect_timeout=_PATIENCE, ping_interval=_PULSE)
    except (HTTPClientError, WebSocketError, OSError) as error:
        raise BackendError(
            _("The terminal cannot be reached: {error}.").format(error=str(error).replace(url, "…")),
            fix=_("Try again: each time it has a new address."),
        ) from None


def _send(socket: Any, message: dict[str, object]) -> None:
    from tornado.websocket import WebSocketClosedError

    try:
        # That the connection ends meanwhile is told by what is read from it.
        socket.write_message(json.dumps(message)).add_done_callback(lambda done: done.cancelled() or done.exception())
    except WebSocketClosedError:
        pass


def _said(message: str | bytes) -> bytes:
    """What a message shows; one in no form that we know is shown as it is."""
    try:
        found = json.loads(message)
        return str(found["data"]).encode() if found["operation"] in ("stdout", "stderr") else b""
    except (ValueError, TypeError, KeyError):
        return message.encode() if isinstance(message, str) else message
