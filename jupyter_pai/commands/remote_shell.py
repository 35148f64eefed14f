"""A terminal in a job, opened in the local terminal: by a command, or over a WebSocket in a dialect of its backend."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from ..backends import load_backends
from ..backends.terminals import TerminalDialect
from ..core.errors import BackendError, Unsupported
from ..core.i18n import _

# Seconds: the connection timeout, and between two pings, without which a proxy may close the connection.
_TIMEOUT, _PING_INTERVAL = 20.0, 20.0


def run(arguments: Sequence[str]) -> None:
    """Run a command that opens a terminal, until it ends. It handles Ctrl+C itself.

    Raises:
        Unsupported: if its program is not installed.
    """
    # The command inherits no handler, but it would inherit an ignored signal.
    before = signal.signal(signal.SIGINT, lambda number, frame: None)
    try:
        subprocess.run(arguments, check=False)
    except OSError as error:
        raise Unsupported(
            _("Cannot run `{program}` here: {error}.").format(program=arguments[0], error=error.strerror),
            fix=_("Install it, or run the command in a terminal of a machine that has it."),
        ) from None
    finally:
        signal.signal(signal.SIGINT, before)


def attach(url: str, dialect: str) -> None:
    """Attach to a terminal until its shell exits. Ctrl+C is sent to the remote program.

    Raises:
        BackendError: if the terminal is unreachable.
        Unsupported: on an operating system without termios, or if no installed backend has this dialect.
    """
    messages = _dialect(dialect)
    try:
        import termios  # noqa: F401  Missing on Windows.
    except ImportError:
        raise Unsupported(_("Attaching to a terminal requires Linux or macOS.")) from None
    with _raw(sys.stdin.fileno()):
        asyncio.run(_relay(url, messages, sys.stdin.fileno()))


def _dialect(name: str) -> TerminalDialect:
    for backend in load_backends().values():
        if name in backend.terminal_dialects:
            return backend.terminal_dialects[name]()
    raise Unsupported(
        _("No installed backend can read the messages of this terminal: `{name}`.").format(name=name),
        fix=_("Install the plug-in of the job's backend in this environment."),
    )


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


async def _relay(url: str, messages: TerminalDialect, keys: int) -> None:
    socket = await _connect(url)
    loop = asyncio.get_running_loop()

    def send_keys() -> None:
        try:
            data = os.read(keys, 1 << 16)
        except OSError:
            data = b""  # The local terminal was closed.
        if data:
            _send(socket, messages.keys(data))
        else:
            loop.remove_reader(keys)
            socket.close()

    def send_size() -> None:
        _send(socket, messages.size(*os.get_terminal_size(keys)))

    loop.add_signal_handler(signal.SIGWINCH, send_size)
    loop.add_reader(keys, send_keys)
    send_size()
    try:
        while (message := await socket.read_message()) is not None:
            sys.stdout.buffer.write(messages.output(message))
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


def _send(socket: Any, message: str | bytes) -> None:
    from tornado.websocket import WebSocketClosedError

    # A broken connection is detected by the reader.
    with suppress(WebSocketClosedError):
        if message:
            done = socket.write_message(message, binary=isinstance(message, bytes))
            done.add_done_callback(lambda done: done.cancelled() or done.exception())
