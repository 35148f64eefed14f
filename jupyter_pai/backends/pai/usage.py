"""The resource usage of a job, from the metrics of its instances.

Both services of jobs send points of the same form, in units that they do not document, so that the values are returned
unchanged.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from ...jobs.job import now
from ..reports import Sample
from .api import stamp
from .replies import seconds

__all__ = ["samples"]

# Metric types of instances, in the order of a sample's fields.
_KINDS = ("CpuCoreUsage", "MemoryUsage", "GpuCoreUsage", "GpuMemoryUsage")
# The intervals between points that the service supports, in seconds, and the most points of one request.
_STEPS = {"10s": 10, "5m": 300, "30m": 1800, "1h": 3600}
_MOST_POINTS = 5000

# Fetches the points of each instance for a query.
Fetch = Callable[[Mapping[str, object]], Awaitable[Sequence[Mapping[str, Any]]]]


async def samples(
    fetch: Fetch, after: float, started: datetime | None, ended: datetime | None, instances: int
) -> list[Sample]:
    """Fetch the resource usage after a Unix time, summed over all instances; one request per metric.

    Without a time before, the query has no start time. Source: ListTrainingJobInstanceMetrics of PaiStudio and
    GetJobMetrics of PAI-DLC in Alibaba Cloud's reference.
    """
    begin = datetime.fromtimestamp(after, UTC) if after > 0 else started
    span = ((ended or now()) - begin).total_seconds() if begin else 0.0
    query = {
        "StartTime": stamp(datetime.fromtimestamp(after, UTC)) if after > 0 else None,
        "EndTime": stamp(ended) if ended else None,
        "TimeStep": _time_step(span * max(instances, 1)),
    }
    columns = [_sums(one) for one in await asyncio.gather(*(fetch({"MetricType": kind, **query}) for kind in _KINDS))]
    # The latest values may still be missing from some metrics.
    common = set[float].intersection(*[{*column} for column in columns if column] or [set()])
    times = sorted(time for time in common if time > after)
    return [Sample(time, *(column.get(time, math.nan) for column in columns)) for time in times]


def _time_step(span: float) -> str:
    """Return the smallest interval of the service that divides a time span into few enough points."""
    return next((name for name, step in _STEPS.items() if span / step <= _MOST_POINTS), [*_STEPS][-1])


def _sums(instances: Sequence[Mapping[str, Any]]) -> dict[float, float]:
    sums: dict[float, float] = {}
    for instance in instances:
        for point in instance.get("Metrics") or ():
            time, value = seconds(point.get("Time")), point.get("Value")
            if time is not None and value is not None:
                sums[time] = sums.get(time, 0.0) + float(value)
    return sums
