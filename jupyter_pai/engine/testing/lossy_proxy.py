"""An HTTP proxy between a backend and its platform that loses replies, as a network does."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

__all__ = ["LossyProxy"]

_PIECE = 1 << 16
_LONGEST_HEAD = 1 << 20


class LossyProxy:
    """Passes on the requests to a platform at an HTTP address.

    Replies to requests with `word` in their head or body are lost while `losing` is positive, which counts down, except
    of GET and HEAD. `executed`: the platform gets such a request nevertheless.
    """

    def __init__(self, address: str, word: str, *, executed: bool) -> None:
        self.word = word.encode()
        self.executed = executed
        self.losing = 0
        # The requests with the word.
        self.requests = 0
        self._target = urlsplit(address)
        self._server: asyncio.Server | None = None
        self._served: set[asyncio.Task[None]] = set()

    @property
    def url(self) -> str:
        assert self._server
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0, limit=_LONGEST_HEAD)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._server
        for listening in self._server.sockets:
            asyncio.get_running_loop().remove_reader(listening)
        # Connections that were just accepted begin to be served: asyncio would lose them with the server, and a task
        # that has not begun would not close its own.
        for _turn in range(4):
            await asyncio.sleep(0)
        self._server.close()
        for task in self._served:
            task.cancel()
        await asyncio.gather(*self._served, return_exceptions=True)

    def _accept(self, client: asyncio.StreamReader, reply: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(self._serve(client, reply))
        self._served.add(task)
        task.add_done_callback(self._served.discard)

    async def _serve(self, client: asyncio.StreamReader, reply: asyncio.StreamWriter) -> None:
        """Pass on one request, after which the connection ends."""
        try:
            head = await client.readuntil(b"\r\n\r\n")
            request = _one_request(head) + await _body(client, head)
            is_meant = self.word in request and not head.startswith((b"GET ", b"HEAD "))
            self.requests += is_meant
            is_lost = is_meant and self.losing > 0
            self.losing -= is_lost
            if self.executed or not is_lost:
                await self._pass_on(request, None if is_lost else reply)
            if is_lost:
                reply.transport.abort()
        except (OSError, asyncio.IncompleteReadError):
            reply.transport.abort()
        finally:
            await _close(reply)

    async def _pass_on(self, request: bytes, reply: asyncio.StreamWriter | None) -> None:
        """Send a request to the platform, and its reply to the client."""
        platform, sending = await asyncio.open_connection(self._target.hostname, self._target.port)
        try:
            sending.write(request)
            await sending.drain()
            while data := await platform.read(_PIECE):
                if reply:
                    reply.write(data)
                    await reply.drain()
        finally:
            await _close(sending)


async def _close(writer: asyncio.StreamWriter) -> None:
    writer.close()
    with suppress(OSError):
        await writer.wait_closed()


def _one_request(head: bytes) -> bytes:
    """Return the head of a request after which the platform closes the connection."""
    first, *fields = head.removesuffix(b"\r\n\r\n").split(b"\r\n")
    kept = [field for field in fields if not field.lower().startswith(b"connection:")]
    return b"\r\n".join([first, *kept, b"connection: close", b"", b""])


async def _body(client: asyncio.StreamReader, head: bytes) -> bytes:
    fields = dict(line.lower().split(b":", 1) for line in head.split(b"\r\n") if b":" in line)
    if b"chunked" not in fields.get(b"transfer-encoding", b""):
        return await client.readexactly(int(fields.get(b"content-length", b"0")))
    body = b""
    while True:
        line = await client.readuntil(b"\r\n")
        body += line + await client.readexactly(int(line.split(b";")[0], 16) + 2)
        if not int(line.split(b";")[0], 16):
            return body
