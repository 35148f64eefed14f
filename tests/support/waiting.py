"""The patience of all tests."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

__all__ = ["PATIENCE", "until"]

T = TypeVar("T")

# Seconds for all that is awaited: a wait that succeeds costs nothing, and a loaded machine can be very late.
PATIENCE = 180


def until(condition: Callable[[], T], timeout: float = PATIENCE) -> T:
    """Wait for a condition, and return its value. The pauses grow, because checks of a server take processor time."""
    end, pause = time.monotonic() + timeout, 0.01
    while not (result := condition()):
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(pause)
        pause = min(pause * 1.2, 0.1)
    return result
