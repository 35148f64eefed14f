"""The progress of a copy whose pieces are in transit at the same time."""

from __future__ import annotations

import threading

from .base import Progress

__all__ = ["Meter", "TransferCancelled"]


class TransferCancelled(Exception):
    """The copy was cancelled while this piece was in transit."""


class Meter:
    """Progress by piece. A retried piece counts from zero."""

    def __init__(self, whole: int, progress: Progress | None = None) -> None:
        self.whole = whole
        self.cancelled = threading.Event()
        self._progress = progress
        self._done: dict[object, int] = {}
        self._reported = -1

    def count(self, piece: object, done: int) -> None:
        """Record the progress of a piece.

        Raises:
            TransferCancelled: if the copy is cancelled.
        """
        self._done[piece] = done
        if self.cancelled.is_set():
            raise TransferCancelled

    def report(self) -> None:
        """Report the progress from the waiting thread. The callback may raise to cancel the copy."""
        done = sum([*self._done.values()])
        if self._progress and done > self._reported:
            self._reported = done
            self._progress(done, max(self.whole, done))
