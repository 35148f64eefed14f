"""The seam to what metrics are read from: a log, event files, whatever comes beside them."""

from __future__ import annotations

from abc import ABC, abstractmethod

from .series import Cursor, SeriesWriter

__all__ = ["MetricSource"]


class MetricSource(ABC):
    """Turns one source of a job's metrics into pieces. Its place in it is in the cursor, under keys of its own, so
    that it can be killed at any moment."""

    @abstractmethod
    def has_news(self, cursor: Cursor) -> bool:
        """Whether there may be something that was not read yet. Asked several times a second: cheap."""

    @abstractmethod
    def advance(self, writer: SeriesWriter, *, ended: bool) -> bool:
        """Read what is new and append it; to the last byte when the job has ended. May block.

        False if it stopped before all was read, so as not to hold up other jobs: it wants to be called again.
        """

    def notes(self) -> list[str]:
        """What the user should know: what could not be read."""
        return []
