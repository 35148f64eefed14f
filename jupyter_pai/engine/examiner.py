"""Reads the code of requests in threads."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")

# Requests whose code is examined at a time.
_AT_A_TIME = 2


class Examiner:
    """Runs functions that read code in threads, a few at a time: other requests need threads too."""

    def __init__(self) -> None:
        self.free = asyncio.Semaphore(_AT_A_TIME)

    async def __call__(self, read: Callable[..., T], *args: Any, **options: Any) -> T:
        """Return what `read` returns."""
        async with self.free:
            return await asyncio.to_thread(read, *args, **options)
