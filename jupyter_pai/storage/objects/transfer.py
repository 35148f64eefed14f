"""Transfer of the bytes of objects: in pieces, in parallel threads, with progress and CRC checks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from contextvars import copy_context
from dataclasses import dataclass
from functools import cache, reduce
from mmap import mmap
from typing import Any, TypeVar

from ...core.cleanup import on_failure
from ..meter import Meter

__all__ = ["DamagedBody", "UploadBody", "combine_crc64", "crc64", "read_body", "run_ordered", "run_parallel"]

T = TypeVar("T")
# Parallel requests. More do not help on a fast line, and each needs memory for its part.
_THREADS = 6
_SLICE = 1 << 18
_REPORT_INTERVAL = 0.2


class DamagedBody(Exception):
    """The service has other bytes than those sent."""


@dataclass
class UploadBody:
    """A request body. Sent in larger chunks than the 16 KiB in which requests reads a file."""

    data: bytes
    meter: Meter
    piece: object

    def __len__(self) -> int:
        return len(self.data)

    def __iter__(self) -> Iterator[memoryview]:
        for start in range(0, len(self.data), _SLICE):
            self.meter.count(self.piece, start)
            yield memoryview(self.data)[start : start + _SLICE]
        self.meter.count(self.piece, len(self.data))


def read_body(raw: Any, size: int, meter: Meter | None, piece: object) -> bytes:
    """Read the body of a urllib3 response.

    Raises:
        urllib3.exceptions.HTTPError: if it is incomplete.
    """
    pieces, done = [], 0
    with on_failure(raw.close):
        while data := raw.read(_SLICE):
            pieces.append(data)
            done += len(data)
            if meter:
                meter.count(piece, done)
    raw.release_conn()
    if done != size:
        import urllib3

        raise urllib3.exceptions.IncompleteRead(done, size - done)
    return b"".join(pieces)


def run_parallel(tasks: Iterable[Callable[[], T]], meter: Meter, threads: int = _THREADS) -> list[T]:
    """Run tasks in parallel threads and return their results in order. The first failure cancels the others."""
    with _pool(meter, threads) as pool:
        meter.report()
        # Keep the language of the caller for messages.
        futures = [pool.submit(copy_context().run, task) for task in tasks]
        while wait(futures, _REPORT_INTERVAL, FIRST_EXCEPTION).not_done:
            meter.report()
            for future in futures:
                if future.done():
                    future.result()
        meter.report()
        return [future.result() for future in futures]


@contextmanager
def _pool(meter: Meter, threads: int) -> Iterator[ThreadPoolExecutor]:
    """Open a thread pool. An error in the block cancels its tasks."""
    with ThreadPoolExecutor(threads, "jupyter-pai objects") as pool, on_failure(lambda: _cancel(pool, meter)):
        yield pool


def _cancel(pool: ThreadPoolExecutor, meter: Meter) -> None:
    meter.cancelled.set()
    pool.shutdown(wait=True, cancel_futures=True)


def run_ordered(tasks: Iterable[Callable[[], bytes]], meter: Meter, threads: int = _THREADS) -> Iterator[bytes]:
    """Run tasks in parallel threads, a few ahead of the consumer, and yield their results in order."""
    with _pool(meter, threads) as pool:
        ahead: list[Future[bytes]] = []
        for task in tasks:
            ahead.append(pool.submit(copy_context().run, task))
            if len(ahead) > threads:
                yield _result(ahead.pop(0), meter)
        while ahead:
            yield _result(ahead.pop(0), meter)


def _result(future: Future[bytes], meter: Meter) -> bytes:
    while wait([future], _REPORT_INTERVAL).not_done:
        meter.report()
    meter.report()
    return future.result()


@cache
def _model() -> Any:
    import anycrc

    # The crc64ecma of the services is CRC-64/XZ: the reflected polynomial of ECMA-182.
    return anycrc.Model("CRC64-XZ")


def crc64(data: bytes | mmap, before: int = 0) -> int:
    """Return the CRC of bytes, continuing from the CRC `before`."""
    return int(_model().calc(data, before))


def combine_crc64(parts: Iterable[tuple[int, int]]) -> int:
    """Return the CRC of concatenated parts, given as pairs of CRC and length."""
    return reduce(lambda joined, part: int(_model().combine(joined, *part)), parts, 0)
