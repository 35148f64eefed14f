"""The time of the services, which tests can change."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from email.utils import formatdate

__all__ = ["Clock", "http_time", "iso"]


class Clock:
    """The machine's clock and an offset in seconds."""

    def __init__(self, offset: float = 0) -> None:
        self.offset = offset

    def now(self) -> float:
        """Seconds since 1970."""
        return time.time() + self.offset


def iso(moment: float, millis: bool = False) -> str:
    """`2024-07-10T11:49:47Z`; OSS writes milliseconds, which are always 0."""
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z" if millis else "%Y-%m-%dT%H:%M:%SZ")


def http_time(moment: float) -> str:
    """`Wed, 10 Jul 2024 11:49:47 GMT`."""
    return formatdate(moment, usegmt=True)
