"""What a job used of its machines, out of PaiStudio's instance metrics: each kind is a question of its own.

Their units are not documented: cores and percent are taken as they are said, memory as bytes. See
`docs/unverified.md`.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from ..reports import Sample
from .api import PaiStudio
from .job_response import moment

__all__ = ["samples"]

# In the order of a sample's fields.
_KINDS = ("CpuCoreUsage", "MemoryUsage", "GpuCoreUsage", "GpuMemoryUsage")
_STEP = "10s"


async def samples(studio: PaiStudio, job_id: str, after: float) -> list[Sample]:
    """The job's use after a time (seconds since 1970), over all its instances."""
    since = datetime.fromtimestamp(max(after, 0), UTC)
    asked = [studio.instance_metrics(job_id, kind, since, _STEP) for kind in _KINDS]
    columns = [_sums(answer) for answer in await asyncio.gather(*asked)]
    times = sorted({time for column in columns for time in column if time > after})
    return [Sample(time, *(column.get(time, math.nan) for column in columns)) for time in times]


def _sums(instances: Sequence[Mapping[str, Any]]) -> dict[float, float]:
    """Time to value, summed over the instances."""
    found: dict[float, float] = {}
    for instance in instances:
        for point in instance.get("Metrics") or ():
            time, value = _seconds(point.get("Time")), point.get("Value")
            if time is not None and value is not None:
                found[time] = found.get(time, 0.0) + float(value)
    return found


def _seconds(value: object) -> float | None:
    """A time that the wire has as text, or as milliseconds since 1970."""
    if isinstance(value, int | float) or str(value).isdigit():
        number = float(str(value))
        return number / 1000 if number > 1e11 else number
    time = moment(value)
    return time.timestamp() if time else None
