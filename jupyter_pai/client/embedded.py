"""The client of an engine in this process."""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from ..api.routes import ROUTES
from .base import Client

if TYPE_CHECKING:
    from .streams import Stream

__all__ = ["EmbeddedClient"]


class EmbeddedClient(Client):
    """Runs the engine in this process, in a thread of its own."""

    embedded = True

    def __init__(self) -> None:
        from ..api.api import Api, encode
        from ..engine.service import JobService

        self._encode = encode
        self._api = Api(JobService())
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="jupyter-pai engine", daemon=True)
        self._thread.start()
        try:
            self._wait(self._api.service.start())
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """End the engine. Jobs go on."""
        self._wait(self._api.service.close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def call(self, verb: str, *, body: object = None, **arguments: object) -> Any:
        given = {name: value for name, value in arguments.items() if value is not None}
        if ROUTES[verb].body:
            given["body"] = body
        # Through JSON both ways, so that the two clients cannot differ.
        return json.loads(self._encode(self._wait(self._api.call(verb, **json.loads(json.dumps(given))))))

    def read(self, verb: str, **arguments: object) -> Iterator[bytes]:
        pieces = self._wait(self._api.call(verb, **arguments))
        try:
            while (chunk := self._wait(_next(pieces))) is not None:
                yield chunk.data
        finally:
            # After an interrupt it is being cancelled already, and must not be closed as well.
            with contextlib.suppress(RuntimeError):
                self._wait(pieces.aclose())

    def open_stream(self, send: Callable[[str], None], closed: Callable[[], None]) -> Stream:
        from .streams import EngineStream

        return EngineStream(self._api.service, self._loop, send)

    def _wait(self, coroutine: Any) -> Any:
        future = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise


async def _next(pieces: Any) -> Any:
    return await anext(pieces, None)
