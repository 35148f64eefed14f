"""Points of a metric as JSON columns, optionally downsampled."""

from __future__ import annotations

from typing import Any, Protocol

from ..events import MetricPoint, json_number
from .series import Columns


class PointSource(Protocol):
    """A source of points: a `Series` or the `ResourceUsage` of a job."""

    def read(self, name: str, start: int = 0, end: int | None = None) -> list[MetricPoint]: ...

    def columns(self, name: str, start: int = 0, end: int | None = None) -> Columns: ...


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
        steps, values, times = ([point[n] for point in points] for n in (1, 2, 3))
        return _reply(start, start + len(points), steps, values, times)
    # Imports numpy, so only on demand.
    from .downsample import downsample, select_steps

    arrays = source.columns(name, start, end)
    if first is not None or last is not None:
        arrays = select_steps(arrays, first, last)
    if most:
        arrays = downsample(arrays, most)
    return _reply(start, end, *(column.tolist() for column in arrays))


def _reply(start: int, end: int, steps: list[Any], values: list[Any], times: list[Any]) -> dict[str, Any]:
    numbers = [json_number(value) for value in values]
    return {"start": start, "end": max(end, start), "step": steps, "value": numbers, "time": times}
