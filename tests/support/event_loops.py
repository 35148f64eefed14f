"""An event loop in a thread, for servers that run in the process of a test."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from aiohttp import web

__all__ = ["close_server", "loop_in_thread"]


@contextmanager
def loop_in_thread(name: str) -> Iterator[asyncio.AbstractEventLoop]:
    """Run an event loop in a thread of this name. At the end, its tasks are canceled and its connections closed."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name=name, daemon=True)
    thread.start()
    try:
        yield loop
    finally:
        asyncio.run_coroutine_threadsafe(_finish(), loop).result(30)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(30)
        loop.close()


async def _finish() -> None:
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    for _ in range(3):  # A closed transport closes its socket in the next iteration.
        await asyncio.sleep(0)


async def close_server(runner: web.BaseRunner) -> None:
    """Stop listening, and abort all connections: an encrypted one would wait for its peer."""
    for site in [*runner.sites]:
        await site.stop()
    for connection in runner.server.connections if runner.server else ():
        if connection.transport:
            connection.transport.abort()
    await runner.cleanup()
