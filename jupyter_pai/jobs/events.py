"""What a running job gives back: changes of its state, lines of its log, points of its metrics."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

__all__ = ["JobEvent", "LogChunk", "MetricPoint", "json_number"]


@dataclass(frozen=True)
class JobEvent:
    """Something that happened to a job. `id` grows with every event of a store, over all jobs."""

    id: int
    job_id: str
    time: datetime
    kind: str
    data: dict[str, Any]


class LogChunk(NamedTuple):
    """Bytes of an instance's log as the job wrote them; `offset` is where they begin, in bytes. Of a page of lines,
    `line` is the number of the first one, and `lines` how many the log has by now."""

    instance: str
    offset: int
    data: bytes
    line: int | None = None
    lines: int | None = None

    def headers(self) -> dict[str, str]:
        """What the first chunk of an answer tells of it."""
        told = {"X-Offset": self.offset, "X-Line": self.line, "X-Lines": self.lines}
        return {name: str(value) for name, value in told.items() if value is not None}


class MetricPoint(NamedTuple):
    """One value of a metric. `step` counts from 0 where the job names none; `time` is in seconds since 1970."""

    name: str
    step: int
    value: float
    time: float


def json_number(value: float) -> float | str:
    """A number as JSON can hold it: ``NaN``, ``Infinity`` and ``-Infinity``, which a diverged loss is, become texts
    that both Python's `float` and JavaScript's `Number` read."""
    if value != value:
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "Infinity" if value > 0 else "-Infinity"
    return value
