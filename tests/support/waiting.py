"""The patience of all tests, and the haste of their engines."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from jupyter_pai.engine.watcher.timings import Timings

__all__ = ["PATIENCE", "QUICK", "until"]

T = TypeVar("T")

# Seconds for all that is awaited: a wait that succeeds costs nothing, and a loaded machine can be very late.
PATIENCE = 180
# An engine of a test that is not about its intervals: a stand-in accepts more requests than a platform.
QUICK = Timings(
    polls=0.1, refresh=0.1, events=0.5, samples=0.5, event_files=0.5, points=0.5, log_quiet=0.2, incomplete_retry=0.2,
    optional_retries=(0.1, 0.5, 1.0),
)  # fmt: skip


def until(condition: Callable[[], T], timeout: float = PATIENCE) -> T:
    """Wait for a condition, and return its value. The pauses grow, because checks of a server take processor time."""
    end, pause = time.monotonic() + timeout, 0.01
    while not (result := condition()):
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(pause)
        pause = min(pause * 1.2, 0.1)
    return result
