"""Values that a running job produces: events, log chunks and points of metrics."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple


@dataclass(frozen=True)
class JobEvent:
    """An event of a job. `id` increases across all jobs of a store."""

    id: int
    job_id: str
    time: datetime
    kind: str
    data: dict[str, Any]


@dataclass(frozen=True)
class PlatformEvent:
    """An event of a job on its platform. `time` is None if the platform does not keep it: then it is that of the fetch.

    `instance` is empty for the whole job. An event with the `key` of an earlier one replaces it, such as one that the
    platform counts up.
    """

    text: str
    time: datetime | None = None
    warning: bool = False
    instance: str = ""
    key: str = ""


class LogChunk(NamedTuple):
    """Bytes of an instance's log as the job wrote them. `offset` is the position of the first byte.

    In a page of lines, `line` is the number of the first line, and `lines` the current number of lines of the log.
    """

    instance: str
    offset: int
    data: bytes
    line: int | None = None
    lines: int | None = None

    def headers(self) -> dict[str, str]:
        """Return the HTTP headers of a response that begins with this chunk."""
        values = {"X-Offset": self.offset, "X-Line": self.line, "X-Lines": self.lines}
        return {name: str(value) for name, value in values.items() if value is not None}


class MetricPoint(NamedTuple):
    """One value of a metric. `step` counts from 0 if the job does not set it. `time` is in seconds since 1970."""

    name: str
    step: int
    value: float
    time: float


def json_number(value: float) -> float | str:
    """Return a number, or ``NaN``, ``Infinity`` or ``-Infinity`` as text, which JSON lacks and which Python's `float`
    and JavaScript's `Number` both parse."""
    if value != value:
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "Infinity" if value > 0 else "-Infinity"
    return value
