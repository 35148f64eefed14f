"""The resource usage of a job as series, read from the samples of its supervisor."""

from __future__ import annotations

from pathlib import Path

from ..events import MetricPoint
from .resource_samples import METRICS, RECORD
from .series import Columns


class ResourceUsage:
    """The samples of one job, with the read methods of `Series`. The step of a sample is its index."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def counts(self) -> dict[str, int]:
        """Return the number of points of each metric. GPU metrics are missing for a job without GPUs."""
        first = self._records(0, 1)
        if not first:
            return {}
        count = self.path.stat().st_size // RECORD.size
        return {name: count for name, value in zip(METRICS, first[0][1:], strict=True) if value == value}

    def read(self, name: str, start: int = 0, end: int | None = None) -> list[MetricPoint]:
        """Return the points of a metric with index `start` up to `end`, in order."""
        place = 1 + METRICS.index(name)
        records = self._records(start, end)
        return [MetricPoint(name, step, record[place], record[0]) for step, record in enumerate(records, start)]

    def columns(self, name: str, start: int = 0, end: int | None = None) -> Columns:
        """Return the points as arrays."""
        import numpy as np

        points = self.read(name, start, end)
        steps, values, times = ([point[field] for point in points] for field in (1, 2, 3))
        return Columns(np.array(steps, "<i8"), np.array(values, "<f8"), np.array(times, "<f8"))

    def latest(self) -> dict[str, MetricPoint]:
        """Return the last point of each metric."""
        try:
            step = self.path.stat().st_size // RECORD.size - 1
        except FileNotFoundError:
            return {}
        records = self._records(step, step + 1) if step >= 0 else []
        return {
            name: MetricPoint(name, step, value, time)
            for time, *values in records
            for name, value in zip(METRICS, values, strict=True)
            if value == value
        }

    def _records(self, start: int, end: int | None) -> list[tuple[float, ...]]:
        size = -1 if end is None else max(end - start, 0) * RECORD.size
        try:
            with open(self.path, "rb") as file:
                file.seek(start * RECORD.size)
                data = file.read(size)
        except FileNotFoundError:
            return []  # A queued job, or a platform without samples.
        return list(RECORD.iter_unpack(data[: len(data) // RECORD.size * RECORD.size]))
