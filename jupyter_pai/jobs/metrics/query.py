"""Points of a metric as JSON columns, optionally downsampled, and the resource usage of a job as series."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol

from ...core.filesystem import read_at
from ..events import MetricPoint, json_number
from .resource_samples import METRICS, RECORD
from .series import Columns, Source

# The most points of a metric in one message.
_MOST_POINTS = 1 << 14


class PointSource(Protocol):
    """A source of points: a `Series` or the `ResourceUsage` of a job."""

    def read(self, name: str, start: int = 0, end: int | None = None) -> list[MetricPoint]: ...

    def columns(self, name: str, start: int = 0, end: int | None = None) -> Columns: ...


class Metric(NamedTuple):
    """A metric of a job: its points, their number, and where they come from. That is `system` for resource usage in
    known units, else `platform`."""

    points: PointSource
    size: int
    source: Source | Literal["system"]


def read_columns(
    source: PointSource,
    name: str,
    start: int,
    end: int,
    *,
    most: int = 0,
    first: int | None = None,
    last: int | None = None,
) -> dict[str, Any]:
    """Return the points of a metric with index `start` up to `end` and steps `first` to `last`, downsampled to at most
    `most` points (0: all).

    The `end` of the result is the index at which to continue.
    """
    if first is None and last is None and not 0 < most < end - start:
        points = source.read(name, start, end)
        return _reply(start, start + len(points), *([point[n] for point in points] for n in (1, 2, 3)))
    # Imports numpy, so only on demand.
    from .downsample import downsample, select_steps

    arrays = source.columns(name, start, end)
    if first is not None or last is not None:
        arrays = select_steps(arrays, first, last)
    if most:
        arrays = downsample(arrays, most)
    return _reply(start, end, *(column.tolist() for column in arrays))


def _reply(start: int, end: int, steps: list[Any], values: list[Any], times: list[Any]) -> dict[str, Any]:
    return {
        "start": start,
        "end": max(end, start),
        "step": steps,
        "value": [json_number(value) for value in values],
        "time": times,
    }


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
        # A platform may have some metrics later than others.
        ends = (*first, *self._records(count - 1, count))
        return {name: count for n, name in enumerate(METRICS, 1) if any(record[n] == record[n] for record in ends)}

    def read(self, name: str, start: int = 0, end: int | None = None) -> list[MetricPoint]:
        """Return the points of a metric with index `start` up to `end`, in order."""
        place = 1 + METRICS.index(name)
        return [
            MetricPoint(name, step, record[place], record[0])
            for step, record in enumerate(self._records(start, end), start)
        ]

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
        # Missing for a queued job, or a platform without samples.
        data = read_at(self.path, start * RECORD.size, None if end is None else max(end - start, 0) * RECORD.size)
        return list(RECORD.iter_unpack(data[: len(data) // RECORD.size * RECORD.size]))


def new_points(
    metrics: Mapping[str, Metric], counts: Mapping[str, int], sources: Mapping[str, str], most: int
) -> dict[str, dict[str, Any]]:
    """Return the next points of each metric after the first `counts` ones, or all points if they have another source
    than those."""
    points = {}
    for name, (source, n, kind) in metrics.items():
        start = counts.get(name, 0)
        if start > n or sources.get(name, kind) != kind:
            start = 0
        if start < n:
            part = read_columns(source, name, start, n if most else min(n, start + _MOST_POINTS), most=most)
            if part["end"] > start:
                points[name] = {"source": kind} | part
    return points
