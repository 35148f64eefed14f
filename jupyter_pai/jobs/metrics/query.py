"""Points of a metric as JSON has them: columns, thinned if so asked."""

from __future__ import annotations

from typing import Any, Protocol

from ..events import MetricPoint, json_number
from .series import Columns

__all__ = ["PointSource", "read_columns"]


class PointSource(Protocol):
    """Where points come from: a `Series`, or the machine's `Usage`."""

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
    """The points of a metric from index `start` up to `end`, at most `most` of them (0: all), of steps `first` to
    `last`. `end` says where to go on, however few are given."""
    if first is None and last is None and not 0 < most < end - start:
        points = source.read(name, start, end)
        steps, values, times = ([point[n] for point in points] for n in (1, 2, 3))
        return _reply(start, start + len(points), steps, values, times)
    # Loads numpy: not before somebody asks for what needs it.
    from .downsample import downsample, select_steps

    found = source.columns(name, start, end)
    if first is not None or last is not None:
        found = select_steps(found, first, last)
    if most:
        found = downsample(found, most)
    return _reply(start, end, *(column.tolist() for column in found))


def _reply(start: int, end: int, steps: list[Any], values: list[Any], times: list[Any]) -> dict[str, Any]:
    numbers = [json_number(value) for value in values]
    return {"start": start, "end": max(end, start), "step": steps, "value": numbers, "time": times}
