"""The interface of metric sources: logs, event files."""

from __future__ import annotations

from abc import ABC, abstractmethod

from .series import Cursor, SeriesWriter


class MetricSource(ABC):
    """Reads one source of a job's metrics, chunk by chunk. Its position is stored in the cursor under its own keys, so
    that it can be killed at any time."""

    @abstractmethod
    def has_news(self, cursor: Cursor) -> bool:
        """Return whether there may be unread data. Called several times a second."""

    @abstractmethod
    def advance(self, writer: SeriesWriter, *, ended: bool) -> bool:
        """Append new data to the series, up to the last byte if the job has ended. May block.

        Returns False if it stopped early to let other jobs proceed, and must be called again.
        """

    def notes(self) -> list[str]:
        """Return messages for the user about unreadable data."""
        return []
