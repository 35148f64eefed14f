"""Small files, each with both of its requests in a thread, by http.client: httpx takes eight times the processor
time.

Nothing is repeated here, and no error is read. A transfer that does not succeed is done again by `HdfsClient`.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from types import TracebackType
from typing import TYPE_CHECKING, NamedTuple, Self, TypeVar
from urllib.parse import SplitResult, urlsplit, urlunsplit

from ...cloud.hadoop import HdfsSettings
from ...cloud.http import is_proxied, trust
from .address import data_address, operation_address
from .loop import run_parallel
from .uri import HdfsUri

if TYPE_CHECKING:
    import ssl
    from http.client import HTTPConnection

__all__ = ["LARGEST", "SmallFiles"]

T = TypeVar("T")
R = TypeVar("R")
# Bytes. Larger files are not transferred here.
LARGEST = 1 << 20
# Bytes that are sent within one time-out.
_SLICE = 1 << 16
# Bytes. Larger replies without data of a file are not read.
_LARGEST_REPLY = 1 << 16
# Seconds.
_CONNECT_TIMEOUT = 5.0
_NAME_NODE_TIMEOUT = 10.0
_DATA_NODE_TIMEOUT = 60.0
# Seconds in which requests in transit may end after a failure. A request that is broken off may still write its file.
_GRACE = 2.0
# Connections of a thread. A large cluster has hundreds of DataNodes.
_KEPT = 4


class _Reply(NamedTuple):
    status: int
    location: str
    content: bytes


class SmallFiles:
    """Threads and connections for the small files of one copy. Its end waits for the requests in transit."""

    def __init__(self, base: str, settings: HdfsSettings, threads: int) -> None:
        self._base, self._settings = base, settings
        self._threads, self._most = ThreadPoolExecutor(threads, "jupyter-pai hdfs"), threads
        self._own = threading.local()
        self._connections: set[HTTPConnection] = set()
        self._is_proxied: dict[str, bool] = {}
        self._tls: ssl.SSLContext | None = None
        self._is_stopped = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._is_stopped = True
        timer = threading.Timer(_GRACE, self._break_off)
        timer.daemon = True
        if kind:
            timer.start()
        self._threads.shutdown(cancel_futures=True)
        timer.cancel()
        for connection in self._connections:
            connection.close()

    def _break_off(self) -> None:
        """End the requests in transit, from another thread."""
        for connection in tuple(self._connections):
            if connection.sock:
                with contextlib.suppress(OSError):
                    # Not the method of TLS sockets, which would end TLS and leave the connection.
                    socket.socket.shutdown(connection.sock, socket.SHUT_RDWR)

    async def each(
        self, items: Iterable[T], quick: Callable[[T], bool], slow: Callable[[T], Awaitable[object]]
    ) -> None:
        """Call `quick`, which may call `write` and `read`, for all items in the threads. Where it returns False, call
        `slow` in the running loop. The first failure cancels the others."""
        waiting = deque(items)

        def work() -> T | None:
            """Return an item that is to be done by `slow`, None at the end. A change of threads takes as long as a
            file."""
            while True:
                try:
                    item = waiting.popleft()
                except IndexError:
                    return None
                if not quick(item):
                    return item

        async def run() -> None:
            while (item := await self._in_thread(work)) is not None:
                await slow(item)

        await run_parallel([run] * self._most, self._most)

    async def _in_thread(self, work: Callable[[], R]) -> R:
        try:
            future = self._threads.submit(copy_context().run, work)
        except RuntimeError:  # The copy has ended.
            raise asyncio.CancelledError from None
        return await asyncio.wrap_future(future)

    def write(self, uri: HdfsUri, data: bytes) -> bool:
        """Write a file and create the folders above it. An existing file is replaced. Return whether HDFS has it.

        Raises:
            PermissionDenied: if HDFS redirects to a host that the profile does not allow.
            BadInput: if it redirects to an invalid address.
        """
        return self._transfer("PUT", uri, "CREATE", {"overwrite": "true"}, data, _LARGEST_REPLY) is not None

    def read(self, uri: HdfsUri, size: int) -> bytes | None:
        """Return the bytes of a file of a known size, None if HDFS does not return as many. A change of the file in the
        meantime changes its size, or comes as a whole. Raises like `write`."""
        if not size:
            return b""
        data = self._transfer("GET", uri, "OPEN", {"offset": "0", "length": str(size)}, None, size)
        return data if data is not None and len(data) == size else None

    def _transfer(
        self, method: str, uri: HdfsUri, name: str, query: dict[str, str], data: bytes | None, most: int
    ) -> bytes | None:
        """Return the reply of the DataNode to an operation, None if there is none or it is an error."""
        address = operation_address(self._base, uri, self._settings, name, query)
        first = self._exchange(method, address, None, _NAME_NODE_TIMEOUT, _LARGEST_REPLY)
        if first is None or not 300 <= first.status < 400 or not first.location.isascii():
            return None
        address = data_address(first.location, self._base, self._settings)
        reply = self._exchange(method, address, data, _DATA_NODE_TIMEOUT, most)
        return reply.content if reply and 200 <= reply.status < 300 else None

    def _exchange(self, method: str, url: str, data: bytes | None, timeout: float, most: int) -> _Reply | None:
        """Send a request and return the reply, None if there is none or it is larger than `most` bytes."""
        from http.client import HTTPException

        parts = urlsplit(url)
        if self._needs_proxy(parts):
            return None
        connection = self._connection(parts)
        headers = {"user-agent": "jupyter-pai", "accept": "application/json"}
        if data is not None:
            # A gateway of Hadoop (HttpFS) requires the type.
            headers |= {"content-type": "application/octet-stream", "content-length": str(len(data))}
        reply = None
        try:
            if connection.sock is None:
                connection.connect()
            if self._is_stopped:
                return None
            connection.sock.settimeout(timeout)
            connection.request(method, urlunsplit(parts._replace(scheme="", netloc="")), _slices(data or b""), headers)
            response = connection.getresponse()
            content = response.read(most + 1)
            # The length is the number of bytes that are missing; None for replies that the server ends by a close.
            if len(content) <= most and not response.length:
                reply = _Reply(response.status, response.headers.get("location", ""), content)
            return reply
        except (HTTPException, OSError, ValueError):
            return None
        finally:
            if reply is None:
                connection.close()

    def _needs_proxy(self, parts: SplitResult) -> bool:
        site = f"{parts.scheme}://{parts.netloc}"
        if site not in self._is_proxied:
            self._is_proxied[site] = is_proxied(site)
        return self._is_proxied[site]

    def _connection(self, parts: SplitResult) -> HTTPConnection:
        """Return this thread's connection to a host."""
        own: dict[tuple[str, str], HTTPConnection] = self._own.__dict__.setdefault("connections", {})
        site = parts.scheme, parts.netloc
        connection = own.pop(site, None)
        if connection is None:
            connection = self._new(*site)
            self._connections.add(connection)
        own[site] = connection  # The one that was used last is the last one.
        if len(own) > _KEPT:
            oldest = own.pop(next(iter(own)))
            oldest.close()
            self._connections.discard(oldest)
        return connection

    def _new(self, scheme: str, netloc: str) -> HTTPConnection:
        from http.client import HTTPConnection, HTTPSConnection

        if scheme == "http":
            return HTTPConnection(netloc, timeout=_CONNECT_TIMEOUT)
        self._tls = self._tls or trust(self._settings.ca_file)
        return HTTPSConnection(netloc, timeout=_CONNECT_TIMEOUT, context=self._tls)


def _slices(data: bytes) -> bytes | Iterator[bytes] | None:
    """Return the bytes in slices, each of which is sent within one time-out; None for no bytes."""
    if len(data) <= _SLICE:
        return data or None
    return (data[start : start + _SLICE] for start in range(0, len(data), _SLICE))
