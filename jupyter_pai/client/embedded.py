"""The client of an engine in this process."""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ..api.api import call
from ..api.endpoint import Context, encode
from ..api.routes import ROUTES
from ..core.cleanup import on_failure
from ..engine.service import JobService
from .base import Client

if TYPE_CHECKING:
    from pathlib import Path

    from ..engine.watcher.timings import Timings
    from .streams import Stream


class EmbeddedClient(Client):
    """Runs the engine in this process, in its own thread."""

    embedded = True

    def __init__(self, timings: Timings | None = None, system_file: Path | None = None) -> None:
        self._context = Context(JobService(timings=timings, system_file=system_file))
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="jupyter-pai engine", daemon=True)
        self._thread.start()
        with on_failure(self.close):
            self._wait(self._context.service.start())

    def close(self) -> None:
        """Stop the engine. Jobs continue."""
        self._wait(self._context.service.close(_cancel_calls))
        self._wait(self._loop.shutdown_default_executor())  # Requests to a storage run in threads.
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _call(self, verb: str, body: object, arguments: Mapping[str, object]) -> Any:
        values = {name: value for name, value in arguments.items() if value is not None}
        if ROUTES[verb].body:
            values["body"] = body
        # JSON in both directions, so that both clients accept and return the same values.
        return json.loads(encode(self._wait(call(self._context, verb, **json.loads(json.dumps(values))))))

    def _read(self, verb: str, arguments: Mapping[str, object]) -> Iterator[bytes]:
        chunks = self._wait(call(self._context, verb, **arguments))
        try:
            while (chunk := self._wait(_next(chunks))) is not None:
                yield chunk.data
        finally:
            # After an interrupt the generator is being cancelled: closing it as well raises RuntimeError.
            with contextlib.suppress(RuntimeError):
                self._wait(chunks.aclose())

    def open_stream(self, send: Callable[[str], None], closed: Callable[[], None]) -> Stream:
        from .streams import EngineStream

        return EngineStream(self._context, self._loop, send)

    def _wait(self, coroutine: Any) -> Any:
        future = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise


async def _cancel_calls() -> None:
    """Cancel the calls of other threads that still wait, such as for the end of a job."""
    calls = asyncio.all_tasks() - {asyncio.current_task()}
    for call_ in calls:
        call_.cancel()
    await asyncio.gather(*calls, return_exceptions=True)


async def _next(chunks: Any) -> Any:
    return await anext(chunks, None)
