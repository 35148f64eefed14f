"""The callers of this process that wait for jobs or look at them, and how the end of a job wakes them."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress

__all__ = ["Waiting", "pause"]

# The shortest pause in seconds: an end that could not be stored yet does not keep the event loop busy.
_SHORTEST = 0.001


class Waiting:
    """Counts the callers by job, and wakes them at its end. Belongs to one event loop."""

    def __init__(self) -> None:
        self.watchers = Counter[str]()
        # Those of the watchers that look at events, metrics or resource usage.
        self.viewers = Counter[str]()
        self._ends: dict[str, asyncio.Event] = {}
        # Set at the next end of a job, and replaced then.
        self.next_end = asyncio.Event()

    @contextmanager
    def count(self, job_id: str, *, details: bool) -> Iterator[asyncio.Event]:
        """Count a caller within the block. The event is set when the job has ended."""
        counters = [self.watchers, self.viewers] if details else [self.watchers]
        for counter in counters:
            counter[job_id] += 1
        try:
            yield self._ends.setdefault(job_id, asyncio.Event())
        finally:
            for counter in counters:
                counter[job_id] -= 1
                if not counter[job_id]:
                    del counter[job_id]
            if job_id not in self.watchers:
                del self._ends[job_id]

    def end(self, job_id: str) -> None:
        """Wake the callers of a job that has ended, and those of the next end."""
        if event := self._ends.get(job_id):
            event.set()
        self.next_end.set()
        self.next_end = asyncio.Event()


async def pause(ended: asyncio.Event, seconds: float) -> None:
    """Wait for an end, at most `seconds`."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await asyncio.sleep(_SHORTEST)
            await ended.wait()
