"""A training job as PaiStudio tells of it (GetTrainingJob, items of ListTrainingJobs), in our words.

The platform documents no list of its statuses; these are the ones that its SDK knows, with `CreateFailed`, which it
forgets. One that nobody has heard of is no end: the job counts as running, and the word is shown as it is.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from ...core.i18n import _
from ...jobs.events import MetricPoint
from ...jobs.job import JobStatus, now
from ..reports import Report

__all__ = ["moment", "points_of", "remedy", "report_of"]

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
# Reason codes that say nothing which the status does not.
_IDLE_REASONS = ("", "TrainingJobSucceed", "TrainingJobRunning")


def report_of(job: Mapping[str, Any], error: Mapping[str, Any] | None = None) -> Report:
    """Where a job stands; `error` is what GetTrainingJobErrorInfo tells of one that failed."""
    word = str(job.get("Status") or "")
    status = _STATUSES.get(word, JobStatus.RUNNING)
    reason, fix = _reason(job, error or {}) if status is not JobStatus.SUCCEEDED else ("", "")
    exit_code = _exit_code(reason) if status is JobStatus.FAILED else 0 if status is JobStatus.SUCCEEDED else None
    if status is JobStatus.STOPPED and not reason:
        reason = _("Stopped on the platform.")
    return Report(
        status,
        word,
        # That the command failed is no reason: the log says more.
        "" if exit_code and not fix else reason,
        fix,
        exit_code,
        started_at=_began(job, "Running"),
        ended_at=(_began(job, word) or moment(job.get("GmtModifiedTime"))) if status.ended else None,
        console_url=str(job.get("TrainingJobUrl") or ""),
        progress=_progress(job),
        metrics=_metrics(job),
    )


def moment(text: object) -> datetime | None:
    """A time as the wire has it, ``2024-07-10T11:49:47Z``; None for anything else."""
    try:
        found = datetime.fromisoformat(str(text))
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def _began(job: Mapping[str, Any], word: str) -> datetime | None:
    """When the job came to a status, the first time."""
    for step in job.get("StatusTransitions") or ():
        if step.get("Status") == word:
            return moment(step.get("StartTime"))
    return None


def _reason(job: Mapping[str, Any], error: Mapping[str, Any]) -> tuple[str, str]:
    """Why, and what to do: the message and the code, from the most telling place that has one."""
    steps = list(job.get("StatusTransitions") or ())
    for place in (error, job, steps[-1] if steps else {}):
        message = str(place.get("Message") or place.get("ReasonMessage") or "").strip()
        code = str(place.get("Code") or place.get("ReasonCode") or "")
        if message or code not in _IDLE_REASONS:
            return _told(message, code), remedy(f"{code} {message}")
    return "", ""


def _exit_code(reason: str) -> int | None:
    """The exit code of the command, where the reason tells one."""
    found = re.search(r"exit(?:ed)?(?: with)?(?: code| status)?[ :=]+(\d{1,3})\b", reason, re.IGNORECASE)
    return int(found[1]) if found else None


def _told(message: str, code: str) -> str:
    return f"{message} ({code})" if message and code not in (*_IDLE_REASONS, message) else message or code


def remedy(text: str) -> str:
    """What to do about what a platform says; empty where that is not known."""
    words = text.lower()
    if any(word in words for word in ("ecsspec", "instance type", "instancetype")):
        return _("See which instance types there are: %pai instances")
    if "image" in words and any(word in words for word in ("pull", "not found", "notfound", "not exist")):
        return _("See which images there are: %pai images")
    if any(word in words for word in ("outofstock", "sold out", "no stock", "insufficient", "nostock")):
        return _("See which instance types can be had: %pai instances")
    if "dataset" in words:
        return _("The platform's console lists the data sets of the workspace, with their ids and versions.")
    if "quota" in words:
        return _("See what is free: %pai instances. Stop jobs that are not needed, or ask for less.")
    if "oom" in words or "out of memory" in words:
        return _("Ask for an instance type with more memory, or make batches smaller.")
    return ""


def _progress(job: Mapping[str, Any]) -> float | None:
    overall = (job.get("LatestProgress") or {}).get("OverallProgress") or {}
    value = _number(overall.get("Value"))
    return min(max(value, 0.0), 1.0) if value is not None else None


def _metrics(job: Mapping[str, Any]) -> dict[str, MetricPoint]:
    """The newest value of each metric that is defined, as the platform read it from the log."""
    return {point.name: point for point in points_of(job.get("LatestMetrics") or ()) if point.name}


def points_of(items: Iterable[Mapping[str, Any]]) -> list[MetricPoint]:
    """Points as the wire has them: without steps."""
    return [_point(item) for item in items]


def _point(item: Mapping[str, Any]) -> MetricPoint:
    """What is no number is none here, so that points can be counted."""
    value = _number(item.get("Value"))
    time = moment(item.get("Timestamp")) or now()
    return MetricPoint(str(item.get("Name") or ""), 0, math.nan if value is None else value, time.timestamp())


def _number(value: object) -> float | None:
    """A number, which the wire may send as text."""
    try:
        return float(value)  # type: ignore[arg-type]  # whatever the wire has
    except (TypeError, ValueError):
        return None
