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

from ...core.i18n import N_, _
from ...jobs.events import MetricPoint
from ...jobs.job import JobStatus, now
from ..reports import Report, Sample
from .api import PaiApi, stamp

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

# Fixes by patterns of the platform's messages; the first that matches counts.
_REMEDIES = {
    r"ecsspec|instance ?type": N_("List the instance types: %pai instances"),
    r"(?=.*image).*(pull|not ?found|not exist)": N_("List the images: %pai images"),
    r"outofstock|sold out|no ?stock|insufficient": N_("List the available instance types: %pai instances"),
    r"dataset": N_("The platform's console lists the data sets of the workspace, with their ids and versions."),
    r"quota": N_("Check the free resources: %pai instances. Stop unneeded jobs, or request less."),
    r"oom|out of memory": N_("Use an instance type with more memory, or smaller batches."),
}

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
        # The latest value of each defined metric, as the platform read it from the log.
        metrics={point.name: point for point in points_of(job.get("LatestMetrics") or ()) if point.name},
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
    steps = job.get("StatusTransitions") or ()
    return next((moment(step.get("StartTime")) for step in steps if step.get("Status") == status), None)


def _reason(job: Mapping[str, Any], error: Mapping[str, Any]) -> tuple[str, str]:
    """Return reason and fix: message and code of the most specific source that has one."""
    steps = list(job.get("StatusTransitions") or ())
    for source in (error, job, steps[-1] if steps else {}):
        message = str(source.get("Message") or source.get("ReasonMessage") or "").strip()
        code = str(source.get("Code") or source.get("ReasonCode") or "")
        if message or code not in _IDLE_REASONS:
            text = f"{message} ({code})" if message and code not in (*_IDLE_REASONS, message) else message or code
            return text, remedy(f"{code} {message}")
    return "", ""


def _exit_code(reason: str) -> int | None:
    """Return the command's exit code if the reason has one."""
    match = re.search(r"exit(?:ed)?(?: with)?(?: code| status)?[ :=]+(\d{1,3})\b", reason, re.IGNORECASE)
    return int(match[1]) if match else None


def remedy(text: str) -> str:
    """Return the fix for a platform's message; empty if unknown."""
    return next(
        (_(fix) for pattern, fix in _REMEDIES.items() if re.search(pattern, text, re.IGNORECASE | re.DOTALL)), ""
    )


def _progress(job: Mapping[str, Any]) -> float | None:
    value = _number(((job.get("LatestProgress") or {}).get("OverallProgress") or {}).get("Value"))
    return None if math.isnan(value) else min(max(value, 0.0), 1.0)


def points_of(items: Iterable[Mapping[str, Any]]) -> list[MetricPoint]:
    """Return points of a reply; they have no steps. An invalid number becomes NaN: the count of points is kept."""
    return [
        MetricPoint(
            str(item.get("Name") or ""),
            0,
            _number(item.get("Value")),
            (moment(item.get("Timestamp")) or now()).timestamp(),
        )
        for item in items
    ]


def _number(value: object) -> float:
    """Return a number, which the API may send as text; NaN for other values."""
    try:
        return float(value)  # type: ignore[arg-type]  # any JSON value
    except (TypeError, ValueError):
        return math.nan


async def samples(api: PaiApi, job_id: str, after: float) -> list[Sample]:
    """Fetch the resource usage after a Unix time, summed over all instances; one request per metric.

    The units are not documented: cores and percent are taken unchanged, memory as bytes (`docs/unverified.md`).
    """
    since = stamp(datetime.fromtimestamp(max(after, 0), UTC))
    requests = [
        api.items(job_id, "InstanceMetrics", MetricType=kind, StartTime=since, TimeStep=_STEP) for kind in _KINDS
    ]
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
