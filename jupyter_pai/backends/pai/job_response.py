"""Parses PaiStudio's replies on a training job (GetTrainingJob, items of ListTrainingJobs).

The platform does not document its statuses. These are those of its SDK, and `CreateFailed`. Unknown statuses are not
terminal: the job counts as running, and the status is shown unchanged.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from ...core.errors import SpecError
from ...core.i18n import _
from ...jobs.datasets import DataSet
from ...jobs.events import MetricPoint
from ...jobs.instances import Instance
from ...jobs.job import JobStatus, now
from ...jobs.metrics.log_source import compile_pattern
from ...jobs.spec import JobSpec, MetricDefinition
from ..reports import RemoteJob, Report
from .replies import exit_code, moment, number, reason_of
from .site import HOME_LABEL, JOB_LABEL

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


def report_of(job: Mapping[str, Any], error: Mapping[str, Any] | None = None) -> Report:
    """Return the state of a job; `error` is the reply of GetTrainingJobErrorInfo for a failed one."""
    name = str(job.get("Status") or "")
    status = _STATUSES.get(name, JobStatus.RUNNING)
    reason, fix = _reason(job, error or {}) if status is not JobStatus.SUCCEEDED else ("", "")
    code = exit_code(reason) if status is JobStatus.FAILED else 0 if status is JobStatus.SUCCEEDED else None
    if status is JobStatus.STOPPED and not reason:
        reason = _("Stopped on the platform.")
    return Report(
        status,
        name,
        # The log explains more than the failure of the command.
        "" if code and not fix else reason,
        fix,
        code,
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


def _began(job: Mapping[str, Any], status: str) -> datetime | None:
    """Return the time of the first transition to a status."""
    steps = job.get("StatusTransitions") or ()
    return next((moment(step.get("StartTime")) for step in steps if step.get("Status") == status), None)


def _reason(job: Mapping[str, Any], error: Mapping[str, Any]) -> tuple[str, str]:
    """Return reason and fix of the most specific source."""
    return reason_of((error, job, *list(job.get("StatusTransitions") or ())[-1:]), _IDLE_REASONS)


def _progress(job: Mapping[str, Any]) -> float | None:
    value = number(((job.get("LatestProgress") or {}).get("OverallProgress") or {}).get("Value"))
    return None if math.isnan(value) else min(max(value, 0.0), 1.0)


def points_of(items: Iterable[Mapping[str, Any]]) -> list[MetricPoint]:
    """Return points of a reply; they have no steps. An invalid number becomes NaN: the count of points is kept."""
    return [
        MetricPoint(
            str(item.get("Name") or ""),
            0,
            number(item.get("Value")),
            (moment(item.get("Timestamp")) or now()).timestamp(),
        )
        for item in items
    ]


def remote_job(job: Mapping[str, Any]) -> RemoteJob:
    """Return a job of GetTrainingJob or ListTrainingJobs."""
    report = report_of(job)
    return RemoteJob(
        remote_id=str(job.get("TrainingJobId") or ""),
        spec=_spec(job),
        report=report,
        submitted_at=submitted_at(job),
        user=str(job.get("UserId") or ""),
        console_url=report.console_url,
        outputs=_channels(job.get("OutputChannels"), "OutputUri"),
        job_id=our_id(job),
    )


def our_id(job: Mapping[str, Any]) -> str:
    """Return our id in the label of a job; empty if it has none."""
    return _pairs(job.get("Labels"), "Key").get(JOB_LABEL, "")


def submitted_at(job: Mapping[str, Any]) -> datetime:
    """Return the time at which a job was created."""
    return moment(job.get("GmtCreateTime")) or now()


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
