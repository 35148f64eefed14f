"""An event loop in a thread of its own, in which all requests to HDFS run. Connections belong to an event loop, and the
methods of a storage are called from any thread."""

from __future__ import annotations

import asyncio
import os
import threading
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator
from concurrent.futures import Future, wait as wait_for
from typing import Any, TypeVar

from ...core.cleanup import on_failure
from ..meter import Meter

T = TypeVar("T")
_REPORT_INTERVAL = 0.2

_lock = threading.Lock()
# The loop, and the process whose thread runs it: a fork has no threads.
_running: tuple[int, asyncio.AbstractEventLoop] | None = None


def _loop() -> asyncio.AbstractEventLoop:
    global _running
    with _lock:
        if _running is None or _running[0] != os.getpid():
            loop = asyncio.new_event_loop()
            threading.Thread(target=loop.run_forever, name="jupyter-pai hdfs", daemon=True).start()
            _running = os.getpid(), loop
        return _running[1]


def wait(work: Coroutine[Any, Any, T], meter: Meter | None = None) -> T:
    """Run a coroutine in the loop and return its result. Reports the progress of `meter` meanwhile; an exception of
    the report cancels the coroutine."""
    return _result(asyncio.run_coroutine_threadsafe(work, _loop()), meter)


def wait_in_order(works: Iterable[Coroutine[Any, Any, T]], meter: Meter, ahead: int) -> Iterator[T]:
    """Run coroutines in the loop, some of them ahead of the consumer, and yield their results in order."""
    futures: deque[Future[T]] = deque()
    with on_failure(lambda: [future.cancel() for future in futures]):
        for work in works:
            futures.append(asyncio.run_coroutine_threadsafe(work, _loop()))
            if len(futures) > ahead:
                yield _result(futures.popleft(), meter)
        while futures:
            yield _result(futures.popleft(), meter)


def _result(future: Future[T], meter: Meter | None) -> T:
    with on_failure(future.cancel):
        if meter:
            meter.report()
            while wait_for([future], _REPORT_INTERVAL).not_done:
                meter.report()
        result = future.result()
        if meter:
            meter.report()
        return result


async def run_parallel(works: Iterable[Callable[[], Awaitable[object]]], most: int) -> None:
    """Run functions, at most `most` at a time. The first failure cancels the others."""
    waiting = iter(works)

    async def run() -> None:
        for work in waiting:
            await work()

    tasks = [asyncio.ensure_future(run()) for _number in range(most)]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            # A second cancellation would interrupt the close of a connection.
            if not task.cancelling():
                task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
