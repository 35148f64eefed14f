"""Metrics out of what a job's supervisor notes of the machine's use."""

from __future__ import annotations

import time
from pathlib import Path

from .reader import Reader
from .samples import METRICS, RECORD
from .series import SYSTEM, Cursor, Piece, SeriesWriter, pack

__all__ = ["UsageReader"]

_KEY = "usage"
# Seconds between two readings of samples: the first ones come soon, later ones seldom.
_FIRST, _GROWS, _LAST = 2.0, 3.0, 60.0


class UsageReader(Reader):
    """Reads the samples of one job. The last two metrics are of jobs that have GPUs."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.look_at = 0.0  # By the monotonic clock.
        self.pause = _FIRST

    def has_news(self, cursor: Cursor) -> bool:
        """Not all the time: a hundred jobs that do nothing are sampled too."""
        if time.monotonic() < self.look_at:
            return False
        try:
            return self.path.stat().st_size >= cursor.offsets.get(_KEY, 0) + RECORD.size
        except FileNotFoundError:
            return False

    def advance(self, writer: SeriesWriter, *, ended: bool) -> bool:
        """Samples are few: all that there are."""
        if ended:
            self.look_at = 0.0
        if not self.has_news(writer.at):
            return True
        self.look_at = time.monotonic() + self.pause
        self.pause = min(self.pause * _GROWS, _LAST)
        start = writer.at.offsets.get(_KEY, 0)
        with open(self.path, "rb") as file:
            file.seek(start)
            data = file.read()
        whole = data[: len(data) // RECORD.size * RECORD.size]
        points = dict.fromkeys(METRICS, b"")
        for number, (when, *values) in enumerate(RECORD.iter_unpack(whole), start // RECORD.size):
            for metric, value in zip(METRICS, values, strict=True):
                points[metric] += pack(when, number, value)
        if not writer.at.counts.get(METRICS[3]) and not any(sample[4] for sample in RECORD.iter_unpack(whole)):
            del points[METRICS[2]], points[METRICS[3]]
        named = {writer.at.name_of(metric, SYSTEM): data for metric, data in points.items()}
        writer.append(Piece(_KEY, start + len(whole), named, SYSTEM))
        return True
