"""Parses PaiStudio's replies on a training job (GetTrainingJob, items of ListTrainingJobs, instance metrics).

The platform does not document its statuses. These are those of its SDK, and `CreateFailed`. Unknown statuses are not
terminal: the job counts as running, and the status is shown unchanged.
"""

from __future__ import annotations

import asyncio
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from ...core.i18n import _
from ...jobs.events import MetricPoint
from ...jobs.job import JobStatus, now
from ..reports import Report, Sample
from .api import PaiApi

_STATUSES = {
    "Creating": JobStatus.STARTING,
    "Created": JobStatus.QUEUED,
    "Submitted": JobStatus.QUEUED,
    "Initializing": JobStatus.STARTING,
    "Running": JobStatus.RUNNING,
    "Succeed": JobStatus.SUCCEEDED,
    "Succeeded": JobStatus.SUCCEEDED,
    "Failed": JobStatus.FAILED,
    "CreateFailed": JobStatus.FAILED,
    "InitializeFailed": JobStatus.FAILED,
    "Terminated": JobStatus.STOPPED,
    "Stopped": JobStatus.STOPPED,
}
# Reason codes that add nothing to the status.
_IDLE_REASONS = ("", "TrainingJobSucceed", "TrainingJobRunning")

# Metric types of instances, in the order of a sample's fields.
_KINDS = ("CpuCoreUsage", "MemoryUsage", "GpuCoreUsage", "GpuMemoryUsage")
_STEP = "10s"


def report_of(job: Mapping[str, Any], error: Mapping[str, Any] | None = None) -> Report:
    """Return the state of a job; `error` is the reply of GetTrainingJobErrorInfo for a failed one."""
    name = str(job.get("Status") or "")
    status = _STATUSES.get(name, JobStatus.RUNNING)
    reason, fix = _reason(job, error or {}) if status is not JobStatus.SUCCEEDED else ("", "")
    exit_code = _exit_code(reason) if status is JobStatus.FAILED else 0 if status is JobStatus.SUCCEEDED else None
    if status is JobStatus.STOPPED and not reason:
        reason = _("Stopped on the platform.")
    return Report(
        status,
        name,
        # The log explains more than the failure of the command.
        "" if exit_code and not fix else reason,
        fix,
        exit_code,
        started_at=_began(job, "Running"),
        ended_at=(_began(job, name) or moment(job.get("GmtModifiedTime"))) if status.ended else None,
        console_url=str(job.get("TrainingJobUrl") or ""),
        progress=_progress(job),
        metrics=_metrics(job),
    )


def moment(text: object) -> datetime | None:
    """Parse a time such as ``2024-07-10T11:49:47Z``; return None for other values."""
    try:
        time = datetime.fromisoformat(str(text))
    except ValueError:
        return None
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def _began(job: Mapping[str, Any], status: str) -> datetime | None:
    """Return the time of the first transition to a status."""
    for step in job.get("StatusTransitions") or ():
        if step.get("Status") == status:
            return moment(step.get("StartTime"))
    return None


def _reason(job: Mapping[str, Any], error: Mapping[str, Any]) -> tuple[str, str]:
    """Return reason and fix: message and code of the most specific source that has one."""
    steps = list(job.get("StatusTransitions") or ())
    for source in (error, job, steps[-1] if steps else {}):
        message = str(source.get("Message") or source.get("ReasonMessage") or "").strip()
        code = str(source.get("Code") or source.get("ReasonCode") or "")
        if message or code not in _IDLE_REASONS:
            return _reason_text(message, code), remedy(f"{code} {message}")
    return "", ""


def _exit_code(reason: str) -> int | None:
    """Return the command's exit code if the reason has one."""
    match = re.search(r"exit(?:ed)?(?: with)?(?: code| status)?[ :=]+(\d{1,3})\b", reason, re.IGNORECASE)
    return int(match[1]) if match else None


def _reason_text(message: str, code: str) -> str:
    return f"{message} ({code})" if message and code not in (*_IDLE_REASONS, message) else message or code


def remedy(text: str) -> str:
    """Return the fix for a platform's message; empty if unknown."""
    words = text.lower()
    if any(word in words for word in ("ecsspec", "instance type", "instancetype")):
        return _("List the instance types: %pai instances")
    if "image" in words and any(word in words for word in ("pull", "not found", "notfound", "not exist")):
        return _("List the images: %pai images")
    if any(word in words for word in ("outofstock", "sold out", "no stock", "insufficient", "nostock")):
        return _("List the available instance types: %pai instances")
    if "dataset" in words:
        return _("The platform's console lists the data sets of the workspace, with their ids and versions.")
    if "quota" in words:
        return _("Check the free resources: %pai instances. Stop unneeded jobs, or request less.")
    if "oom" in words or "out of memory" in words:
        return _("Use an instance type with more memory, or smaller batches.")
    return ""


def _progress(job: Mapping[str, Any]) -> float | None:
    value = _number(((job.get("LatestProgress") or {}).get("OverallProgress") or {}).get("Value"))
    return min(max(value, 0.0), 1.0) if value is not None else None


def _metrics(job: Mapping[str, Any]) -> dict[str, MetricPoint]:
    """Return the latest value of each defined metric, as the platform read it from the log."""
    return {point.name: point for point in points_of(job.get("LatestMetrics") or ()) if point.name}


def points_of(items: Iterable[Mapping[str, Any]]) -> list[MetricPoint]:
    """Return points of a reply; they have no steps."""
    return [_point(item) for item in items]


def _point(item: Mapping[str, Any]) -> MetricPoint:
    """Return a point. An invalid number becomes NaN, so that the count of points is kept."""
    value = _number(item.get("Value"))
    time = moment(item.get("Timestamp")) or now()
    return MetricPoint(str(item.get("Name") or ""), 0, math.nan if value is None else value, time.timestamp())


def _number(value: object) -> float | None:
    """Return a number, which the API may send as text."""
    try:
        return float(value)  # type: ignore[arg-type]  # any JSON value
    except (TypeError, ValueError):
        return None


async def samples(api: PaiApi, job_id: str, after: float) -> list[Sample]:
    """Fetch the resource usage after a Unix time, summed over all instances; one request per metric.

    The units are not documented: cores and percent are taken unchanged, memory as bytes (`docs/unverified.md`).
    """
    since = datetime.fromtimestamp(max(after, 0), UTC)
    requests = [api.instance_metrics(job_id, kind, since, _STEP) for kind in _KINDS]
    columns = [_sums(instances) for instances in await asyncio.gather(*requests)]
    times = sorted({time for column in columns for time in column if time > after})
    return [Sample(time, *(column.get(time, math.nan) for column in columns)) for time in times]


def _sums(instances: Sequence[Mapping[str, Any]]) -> dict[float, float]:
    """Return time to value, summed over the instances."""
    sums: dict[float, float] = {}
    for instance in instances:
        for point in instance.get("Metrics") or ():
            time, value = _seconds(point.get("Time")), point.get("Value")
            if time is not None and value is not None:
                sums[time] = sums.get(time, 0.0) + float(value)
    return sums


def _seconds(value: object) -> float | None:
    """Return a time as Unix seconds; the API sends text or milliseconds."""
    if isinstance(value, int | float) or str(value).isdigit():
        number = float(str(value))
        return number / 1000 if number > 1e11 else number
    time = moment(value)
    return time.timestamp() if time else None
