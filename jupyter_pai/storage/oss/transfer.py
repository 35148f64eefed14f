"""Bytes on their way to and from OSS: in pieces, in several threads, counted, and compared by their CRC."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextvars import copy_context
from functools import cache
from mmap import mmap
from typing import Any, TypeVar

from ..base import Progress

__all__ = ["Body", "Meter", "TransferCancelled", "combine_crc64", "crc64", "read_body", "run_ordered", "run_parallel"]

T = TypeVar("T")
# Requests at a time. More of them win nothing on a fast line, and each needs room for its part.
_THREADS = 6
_SLICE = 1 << 18
_TELL_EVERY = 0.2


class TransferCancelled(Exception):
    """Somebody has ended the copy while this piece was on its way."""


class Meter:
    """How many bytes of each piece are through. A piece that is sent again counts anew."""

    def __init__(self, whole: int, progress: Progress | None = None) -> None:
        self.whole = whole
        self.ended = threading.Event()
        self._progress = progress
        self._done: dict[object, int] = {}
        self._told = -1

    def count(self, piece: object, done: int) -> None:
        """Raises:
        Ended: if the copy is to end.
        """
        self._done[piece] = done
        if self.ended.is_set():
            raise TransferCancelled

    def tell(self) -> None:
        """Tell whoever listens, who may raise what ends the copy. Called in the thread that waits for it."""
        done = sum([*self._done.values()])
        if self._progress and done > self._told:
            self._told = done
            self._progress(done, max(self.whole, done))


class Body:
    """Bytes that are being sent. Not read by requests in pieces of 16 KiB, as a file would be."""

    def __init__(self, data: bytes, meter: Meter, piece: object) -> None:
        self._data = memoryview(data)
        self._meter = meter
        self._piece = piece

    def __len__(self) -> int:
        return len(self._data)

    def __iter__(self) -> Iterator[memoryview]:
        for start in range(0, len(self._data), _SLICE):
            self._meter.count(self._piece, start)
            yield self._data[start : start + _SLICE]
        self._meter.count(self._piece, len(self._data))


def read_body(result: Any, size: int, meter: Meter | None, piece: object) -> bytes:
    """The body of an answer of oss2.

    Raises:
        urllib3.exceptions.HTTPError: if it is not whole.
    """
    raw, pieces, done = result.resp.response.raw, [], 0
    try:
        while data := raw.read(_SLICE):
            pieces.append(data)
            done += len(data)
            if meter:
                meter.count(piece, done)
    except BaseException:
        raw.close()
        raise
    raw.release_conn()
    if done != size:
        import urllib3

        raise urllib3.exceptions.IncompleteRead(done, size - done)
    return b"".join(pieces)


def run_parallel(tasks: Iterable[Callable[[], T]], meter: Meter, threads: int = _THREADS) -> list[T]:
    """What the tasks give, in their order, done in several threads. The first that fails ends the others."""
    with ThreadPoolExecutor(threads, "jupyter-pai oss") as pool:
        futures: list[Future[T]] = []
        try:
            meter.tell()
            # Errors are said in the language of who asked.
            futures = [pool.submit(copy_context().run, task) for task in tasks]
            waiting: Iterable[Future[T]] = futures
            while waiting := wait(waiting, _TELL_EVERY, FIRST_EXCEPTION).not_done:
                meter.tell()
                _raise_of(futures)
            meter.tell()
            return [future.result() for future in futures]
        except BaseException:
            meter.ended.set()
            pool.shutdown(wait=True, cancel_futures=True)
            raise


def _raise_of(futures: Sequence[Future[Any]]) -> None:
    for future in futures:
        if future.done() and (error := future.exception()):
            raise error


def run_ordered(tasks: Iterable[Callable[[], bytes]], meter: Meter, threads: int = _THREADS) -> Iterator[bytes]:
    """What the tasks give, in their order, a few of them ahead of who takes it."""
    with ThreadPoolExecutor(threads, "jupyter-pai oss") as pool:
        ahead: list[Future[bytes]] = []
        try:
            for task in tasks:
                ahead.append(pool.submit(copy_context().run, task))
                if len(ahead) > threads:
                    yield _taken(ahead.pop(0), meter)
            while ahead:
                yield _taken(ahead.pop(0), meter)
        except BaseException:
            meter.ended.set()
            pool.shutdown(wait=True, cancel_futures=True)
            raise


def _taken(future: Future[bytes], meter: Meter) -> bytes:
    while wait([future], _TELL_EVERY).not_done:
        meter.tell()
    meter.tell()
    return future.result()


@cache
def _model() -> Any:
    import anycrc

    # What OSS calls crc64ecma is CRC-64/XZ: the polynomial of ECMA-182, reflected.
    return anycrc.Model("CRC64-XZ")


def crc64(data: bytes | mmap, before: int = 0) -> int:
    """The CRC of bytes as OSS has it, behind others whose CRC is `before`."""
    return int(_model().calc(data, before))


def combine_crc64(parts: Iterable[tuple[int, int]]) -> int:
    """The CRC of what is made of parts, each told by its CRC and its length."""
    found = 0
    for crc, length in parts:
        found = int(_model().combine(found, crc, length))
    return found
