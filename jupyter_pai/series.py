"""A job's metrics on disk: one append-only file of points for each metric.

A point takes 24 bytes: float64 time, int64 step, float64 value. `cursor.json` says how much of each file counts and
how far into the log they reach; it is replaced as a whole after the points are written. A follower that is killed in
between leaves points that do not count; the next one cuts them off and reads that part of the log again. So nothing
is lost and nothing is there twice.
"""

from __future__ import annotations

import json
import os
import struct
from dataclasses import asdict, dataclass, field
from pathlib import Path

from .event import MetricPoint

__all__ = ["Cursor", "Series"]

_POINT = struct.Struct("<dqd")


@dataclass
class Cursor:
    """How far the metrics of a job are known: bytes of each instance's log, and points of each metric."""

    offsets: dict[str, int] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    progress: float | None = None


class Series:
    """The metrics of one job. Any number of readers, one writer."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._cursor = folder / "cursor.json"

    def cursor(self) -> Cursor:
        """What counts by now. The order of the metrics is the order in which they first appeared."""
        try:
            return Cursor(**json.loads(self._cursor.read_text("utf-8")))
        except FileNotFoundError:
            return Cursor()

    def read(self, name: str, start: int = 0, end: int | None = None) -> list[MetricPoint]:
        """The points of a metric from index `start` up to `end`, in order; none for an unknown name."""
        counts = self.cursor().counts
        if name not in counts:
            return []
        stop = counts[name] if end is None else min(end, counts[name])
        if start >= stop:
            return []
        with open(self._file(counts, name), "rb") as file:
            data = os.pread(file.fileno(), (stop - start) * _POINT.size, start * _POINT.size)
        return [MetricPoint(name, step, value, time) for time, step, value in _POINT.iter_unpack(data)]

    def latest(self) -> dict[str, MetricPoint]:
        """The last point of each metric."""
        return {name: self.read(name, count - 1)[-1] for name, count in self.cursor().counts.items() if count}

    def append(self, points: list[MetricPoint], cursor: Cursor) -> None:
        """Add points to those that `cursor` counts, and count them. `cursor` comes back up to date; after an error,
        as on a full disk, it must not be used again.

        For the one follower of the job. Its first call cuts off what an earlier follower left uncounted.
        """
        by_name: dict[str, list[MetricPoint]] = {}
        for point in points:
            by_name.setdefault(point.name, []).append(point)
        self.folder.mkdir(parents=True, exist_ok=True)
        for name, new in by_name.items():
            counted = cursor.counts.setdefault(name, 0)
            data = b"".join(_POINT.pack(point.time, point.step, point.value) for point in new)
            with open(self._file(cursor.counts, name), "ab") as file:
                file.truncate(counted * _POINT.size)
                file.write(data)
            cursor.counts[name] += len(new)
        self._replace(cursor)

    def _replace(self, cursor: Cursor) -> None:
        text = json.dumps(asdict(cursor))
        temporary = self._cursor.with_suffix(".new")
        temporary.write_text(text, "utf-8")
        os.replace(temporary, self._cursor)

    def _file(self, counts: dict[str, int], name: str) -> Path:
        """Files are numbered as their metrics appear: a metric may be called anything."""
        return self.folder / str(list(counts).index(name))
