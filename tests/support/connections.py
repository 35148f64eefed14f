"""Requests of tests without a server, which has an event loop of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from jupyter_pai.cloud import http as transport

__all__ = ["run_and_close"]

T = TypeVar("T")


def run_and_close(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run a coroutine in a new event loop, and close its connections."""

    async def closing() -> T:
        try:
            return await work()
        finally:
            await transport.close()

    return asyncio.run(closing())
