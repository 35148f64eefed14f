"""Data of a job as its platform reports it: status, logs, samples and metrics.

A cursor is text of the backend's own format that marks a position in a log. It is stored with the data, so another
process continues there without losing or repeating a byte.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from ..core.errors import BadInput
from ..core.i18n import _
from ..jobs.events import MetricPoint, PlatformEvent
from ..jobs.job import JobStatus
from ..jobs.limits import shortened
from ..jobs.spec import JobSpec, parse_spec

# The platform's status of a failed job whose command certainly never ran, because its submit was interrupted. A step of
# a workflow is then submitted again.
NEVER_STARTED = "never started"
# Bytes of the largest piece of a log.
LOG_PIECE = 1 << 20


@dataclass(frozen=True)
class Report:
    """The state of a job on its platform. `exit_code` is 128 + n if signal n ended the command.

    `instance` is the first failed instance of a multi-instance job. `elsewhere`: the job runs on another host, whose
    engine records its end. `silent`: that host sends no sign of life. `notes` are added to those of the job. `progress`
    (0 to 1) and the latest point of each metric are set by platforms that read them from the log. `is_general`: the fix
    is one for any failed command, and a fix that is found in the log takes its place.
    """

    status: JobStatus
    platform_status: str = ""
    reason: str = ""
    fix: str = ""
    exit_code: int | None = None
    instance: str = ""
    started_at: datetime | None = None
    ended_at: datetime | None = None
    output_parameters: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    elsewhere: bool = False
    silent: bool = False
    console_url: str = ""
    progress: float | None = None
    metrics: Mapping[str, MetricPoint] = field(default_factory=dict)
    is_general: bool = False

    def __post_init__(self) -> None:
        """Shorten the texts of a platform."""
        for name in ("platform_status", "reason", "fix"):
            object.__setattr__(self, name, shortened(getattr(self, name)))


class LogPiece(NamedTuple):
    """The next part of an instance's log. `more`: further data is available now.

    `times` has offsets in `data`, in order and beginning with 0, and the Unix times at which the job wrote the bytes
    from there. Without it, the bytes count as written when they were fetched. `attempt` counts from 1: the attempt of
    the instance that wrote all of `data`. The log continues with each further attempt. `missing`: the number of lines
    that the platform counts and does not return.
    """

    data: bytes
    cursor: str
    more: bool = False
    times: Sequence[tuple[int, float]] = ()
    attempt: int = 1
    missing: int = 0


def log_part(cursor: str, attempts: int, read: Callable[[int, int, int], bytes]) -> LogPiece:
    """Return the part of a log after a cursor, which is the attempt and a position in its log.

    `attempts`: the number of attempts that have begun. `read` returns at most some bytes of the log of an attempt, from
    a position on.
    """
    number, _colon, offset = (cursor or "1:0").partition(":")
    attempt, start = int(number), int(offset)
    data = read(attempt, start, LOG_PIECE)
    while not data and attempt < attempts:
        attempt, start = attempt + 1, 0
        data = read(attempt, start, LOG_PIECE)
    more = len(data) == LOG_PIECE or (bool(data) and attempt < attempts)
    return LogPiece(data, f"{attempt}:{start + len(data)}", more=more, attempt=attempt)


def whole_log(cursor: str, *logs: bytes) -> LogPiece:
    """Return the part of a log after a cursor, for platforms that return the log of each attempt as a whole."""

    def read(attempt: int, start: int, size: int) -> bytes:
        return logs[attempt - 1][start : start + size] if logs else b""

    return log_part(cursor, len(logs), read)


class EventPage(NamedTuple):
    """The next events of a job. `more`: further events are available now."""

    events: Sequence[PlatformEvent]
    cursor: str
    more: bool = False


class Sample(NamedTuple):
    """Resource usage at a time (Unix seconds): cores, bytes, GPU percent and bytes of GPU memory; NaN if unknown. The
    units of a platform without `Capability.USAGE_UNITS` are unknown."""

    time: float
    cpu: float
    memory: float
    gpu: float
    gpu_memory: float


class PointPage(NamedTuple):
    """The next points of a platform metric. `more`: further points are available now. `have_steps`: the platform keeps
    the steps; otherwise the points are counted."""

    points: Sequence[MetricPoint]
    more: bool = False
    have_steps: bool = False


@dataclass(frozen=True)
class RemoteJob:
    """A job as its platform lists it, also one submitted elsewhere. `spec` has the fields that the platform returns,
    `job_id` our id in its label or name; empty if it has none."""

    remote_id: str
    spec: JobSpec
    report: Report
    submitted_at: datetime
    user: str = ""
    console_url: str = ""
    outputs: dict[str, str] = field(default_factory=dict)
    job_id: str = ""


async def newest(jobs: AsyncIterator[RemoteJob], before: datetime | None, limit: int) -> list[RemoteJob]:
    """Return the first of some jobs, which are listed newest first; with `before`, older ones only."""
    found: dict[str, RemoteJob] = {}
    async for one in jobs:
        if before is None or one.submitted_at < before:
            found.setdefault(one.remote_id, one)
        if len(found) >= limit:
            break
    return [*found.values()]


def elsewhere(name: str) -> JobSpec:
    """Return the spec of a job that was submitted elsewhere, of which only the name is known."""
    return JobSpec.model_construct(name=name, command=_("(submitted elsewhere)"))


def spec_of_parts(fields: Mapping[str, Any], parts: Iterable[Mapping[str, Any]]) -> JobSpec:
    """Return the spec of a job that was submitted elsewhere: these fields, and the parts that are valid here."""
    valid = dict(fields)
    for part in parts:
        try:
            parse_spec({**valid, **part})
        except BadInput:
            continue
        valid |= part
    return parse_spec(valid)
