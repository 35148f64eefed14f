"""Parses PaiStudio's replies on a training job (GetTrainingJob, items of ListTrainingJobs, instance metrics, models).

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

from ...core.errors import SpecError
from ...core.i18n import N_, _
from ...jobs.datasets import DataSet
from ...jobs.events import MetricPoint
from ...jobs.instances import Instance
from ...jobs.job import JobStatus, now
from ...jobs.metrics.log_source import compile_pattern
from ...jobs.spec import JobSpec, MetricDefinition
from ..reports import OutputModel, RemoteJob, Report, Sample
from .api import PaiApi, stamp
from .request_body import HOME_LABEL, JOB_LABEL

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
# Those of an instance: unlike a job's, an unknown one is not shown as running.
_INSTANCE_STATUSES = {**_STATUSES, "Pending": JobStatus.QUEUED}
_LONGEST_NAME = 200
# Reason codes that add nothing to the status.
_IDLE_REASONS = ("", "TrainingJobSucceed", "TrainingJobRunning")

# Fixes by patterns of the platform's messages; the first that matches counts.
_REMEDIES = {
    r"ecsspec|instance ?type": N_("List the instance types: %pai instances"),
    r"(?=.*image).*(pull|not ?found|not exist)": N_("List the images: %pai images"),
    r"outofstock|sold out|no ?stock|insufficient": N_("List the available instance types: %pai instances"),
    r"dataset": N_("The platform's console lists the data sets of the workspace, with their ids and versions."),
    r"quota": N_("Check the free resources: %pai instances. Stop unneeded jobs, or request less."),
    r"exec.*\bsh\b.*(not found|no such file)": N_("Use another image: it needs `sh`, and `tar` with `gzip`."),
    r"oom|out of memory": N_("Use an instance type with more memory, or smaller batches."),
}

# Metric types of instances, in the order of a sample's fields.
_KINDS = ("CpuCoreUsage", "MemoryUsage", "GpuCoreUsage", "GpuMemoryUsage")
# The intervals between points that the service supports, in seconds, and the most points of one request.
_STEPS = {"10s": 10, "5m": 300, "30m": 1800, "1h": 3600}
_MOST_POINTS = 5000


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


def instances_of(job: Mapping[str, Any]) -> list[Instance]:
    """Return the instances of a job's own reply, which lists them in the order of their ranks."""
    items = [item for item in job.get("Instances") or () if isinstance(item, Mapping) and item.get("Name")]
    return [
        Instance(
            str(item["Name"]),
            str(item.get("Role") or "").lower(),
            rank,
            _INSTANCE_STATUSES.get(str(item.get("Status"))),
            str(item.get("Status") or ""),
        )
        for rank, item in enumerate(items)
    ]


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


async def samples(
    api: PaiApi, job_id: str, after: float, started: datetime | None, ended: datetime | None, instances: int
) -> list[Sample]:
    """Fetch the resource usage after a Unix time, summed over all instances; one request per metric.

    Without a start time, the service begins at the start of the job. It documents no unit of these metrics, so the
    values are returned unchanged. Source: ListTrainingJobInstanceMetrics in Alibaba Cloud's reference of PaiStudio.
    """
    begin = datetime.fromtimestamp(after, UTC) if after > 0 else started
    span = ((ended or now()) - begin).total_seconds() if begin else 0.0
    query = {
        "StartTime": stamp(datetime.fromtimestamp(after, UTC)) if after > 0 else None,
        "EndTime": stamp(ended) if ended else None,
        "TimeStep": _time_step(span * max(instances, 1)),
    }
    requests = [api.items(job_id, "InstanceMetrics", once=True, MetricType=kind, **query) for kind in _KINDS]
    columns = [_sums(instances) for instances in await asyncio.gather(*requests)]
    # The latest values may still be missing from some metrics.
    common = set[float].intersection(*[{*column} for column in columns if column] or [set()])
    times = sorted(time for time in common if time > after)
    return [Sample(time, *(column.get(time, math.nan) for column in columns)) for time in times]


def _time_step(seconds: float) -> str:
    """Return the smallest interval of the service that divides a time span into few enough points."""
    return next((name for name, step in _STEPS.items() if seconds / step <= _MOST_POINTS), [*_STEPS][-1])


def _sums(instances: Sequence[Mapping[str, Any]]) -> dict[float, float]:
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
    return time.timestamp() if (time := moment(value)) else None


def remote_job(job: Mapping[str, Any]) -> RemoteJob:
    """Return a job of GetTrainingJob or ListTrainingJobs."""
    report = report_of(job)
    return RemoteJob(
        remote_id=str(job.get("TrainingJobId") or ""),
        spec=_spec(job),
        report=report,
        submitted_at=moment(job.get("GmtCreateTime")) or now(),
        user=str(job.get("UserId") or ""),
        console_url=report.console_url,
        outputs=_channels(job.get("OutputChannels"), "OutputUri"),
    )


def _spec(job: Mapping[str, Any]) -> JobSpec:
    algorithm, compute = job.get("AlgorithmSpec") or {}, job.get("ComputeResource") or {}
    remote_id = str(job.get("TrainingJobId") or "")
    return JobSpec(
        name="".join(filter(str.isprintable, str(job.get("TrainingJobName") or remote_id))).strip()[:128] or "job",
        command=_command(algorithm.get("Command")) or str(job.get("AlgorithmName") or "") or remote_id,
        image=str(algorithm.get("Image") or ""),
        instance_type=str(compute.get("EcsSpec") or ""),
        instance_count=int(compute.get("EcsCount") or compute.get("InstanceCount") or 1),
        hyperparameters=_pairs(job.get("HyperParameters"), "Name"),
        inputs=_channels(job.get("InputChannels"), "InputUri"),
        environment={str(name): str(value) for name, value in (job.get("Environments") or {}).items()},
        requirements=tuple(map(str, job.get("PythonRequirements") or ())),
        metric_definitions=_definitions(algorithm),
        labels={k: v for k, v in _pairs(job.get("Labels"), "Key").items() if k not in (JOB_LABEL, HOME_LABEL)},
    )


def _command(words: Any) -> str:
    """Return the script of ``sh -c``; for other commands, their words in one line."""
    if isinstance(words, str):
        return words
    words = [str(word) for word in words or ()]
    return words[2] if len(words) == 3 and words[1] == "-c" else " ".join(words)


def _channels(items: Any, uri: str) -> dict[str, str]:
    """Return channel to URI; a ``dataset://`` URI for data sets of the platform, which have none."""
    return {
        str(item["Name"]): str(item.get(uri) or DataSet(str(item["DatasetId"]), str(item.get("VersionName") or "")).uri)
        for item in items or ()
        if item.get("Name") and (item.get(uri) or item.get("DatasetId"))
    }


def _pairs(items: Any, name: str) -> dict[str, str]:
    """Return a list of name and `Value` objects as a dict; `name` is the key of the name."""
    return {str(item[name]): str(item.get("Value") or "") for item in items or () if item.get(name)}


def _definitions(algorithm: Mapping[str, Any]) -> tuple[MetricDefinition, ...]:
    """Return the metrics that can be read from the log here. The platform supplies the points of all others."""
    patterns = {
        str(item["Name"]): str(item["Regex"])
        for item in algorithm.get("MetricDefinitions") or ()
        if item.get("Name") and item.get("Regex") and len(str(item["Name"])) <= _LONGEST_NAME
    }
    return tuple(filter(_is_readable, (MetricDefinition(name=name, regex=regex) for name, regex in patterns.items())))


def _is_readable(definition: MetricDefinition) -> bool:
    try:
        compile_pattern(definition)
    except SpecError:
        return False
    return True


def output_model(item: Mapping[str, Any]) -> OutputModel:
    """Return a model that a job registered, an item of ListTrainingJobOutputModels."""
    return OutputModel(
        uri=str(item.get("Uri") or ""),
        channel=str(item.get("OutputChannelName") or ""),
        labels=_pairs(item.get("Labels"), "Key"),
        metrics=dict(item.get("Metrics") or {}),
    )
