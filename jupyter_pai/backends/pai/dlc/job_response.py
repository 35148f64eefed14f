"""State of a job, from its own reply (GetJob) or a row of a list (ListJobs).

Unknown statuses are not terminal: the job counts as running, and the status is shown unchanged.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from ....core.i18n import _
from ....jobs.job import JobStatus
from ...reports import Report
from ..replies import exit_code, moment, reason_of
from .pods import Pod, names_pod

__all__ = ["has_ended", "report_of"]

_STATES = {
    "Creating": JobStatus.STARTING,
    "Queuing": JobStatus.QUEUED,
    "Dequeued": JobStatus.QUEUED,
    "Bidding": JobStatus.QUEUED,
    "EnvPreparing": JobStatus.STARTING,
    "SanityChecking": JobStatus.STARTING,
    "Running": JobStatus.RUNNING,
    "Restarting": JobStatus.RUNNING,
    "Stopping": JobStatus.RUNNING,
    "SucceededReserving": JobStatus.RUNNING,
    "FailedReserving": JobStatus.RUNNING,
    "Succeeded": JobStatus.SUCCEEDED,
    "Failed": JobStatus.FAILED,
    "Stopped": JobStatus.STOPPED,
}
# Statuses in which the command has ended and the job still has its resources.
_RESERVING = ("SucceededReserving", "FailedReserving")
# Reason codes that add nothing to the status.
_IDLE = ("", "JobSucceeded", "JobRunning", "JobStoppedByUser", "JobFailed")


def has_ended(job: Mapping[str, Any]) -> bool:
    """Return whether a job has ended."""
    return _state(job).ended


def _state(job: Mapping[str, Any]) -> JobStatus:
    return _STATES.get(str(job.get("Status") or ""), JobStatus.RUNNING)


def report_of(job: Mapping[str, Any], pods: Iterable[Pod] = (), console_url: str = "") -> Report:
    """Return the state of a job. `pods`: those of one that has failed, to name the one that failed first."""
    name, status = str(job.get("Status") or ""), _state(job)
    reason, fix = reason_of((job, *_steps(job)[-1:]), _IDLE)
    code, instance, is_general = None, "", False
    if status is JobStatus.SUCCEEDED:
        reason, fix, code = "", "", 0
    elif status is JobStatus.FAILED:
        code, instance = exit_code(reason), _failed(reason, [*pods])
        # The log explains more than the failure of the command.
        reason = "" if code and not fix else reason or _("The platform gives no reason.")
        is_general = not fix
        fix = fix or _("See the log and the events of the job.")
    elif status is JobStatus.STOPPED:
        reason, fix = _("Stopped on the platform."), ""
    elif name in _RESERVING:
        reason, fix = _("The command has ended. The platform reserves the instances, which are billed until then."), ""
    elif status is JobStatus.RUNNING and name != "Restarting":
        reason, fix = "", ""
    return Report(
        status,
        name,
        reason,
        fix,
        code,
        instance,
        started_at=_time(job, "GmtRunningTime", "Running"),
        ended_at=_ended_at(job, name) if status.ended else None,
        console_url=console_url,
        is_general=is_general,
    )


def _failed(reason: str, pods: list[Pod]) -> str:
    """Return the instance that failed first, of a job with several ones."""
    if len(pods) < 2:
        return ""
    failed = [pod for pod in pods if pod.latest.fields.get("Status") == "Failed"]
    named = [pod for pod in pods if names_pod(reason, pod.latest.pod_id)]
    first = min(failed, key=lambda pod: pod.latest.ended_at or float("inf"), default=None)
    return named[0].name if named else first.name if first else ""


def _time(job: Mapping[str, Any], field: str, status: str) -> datetime | None:
    """Return the time in a field, or that of the first transition to a status."""
    return moment(job.get(field)) or next(
        (moment(step.get("StartTime")) for step in _steps(job) if step.get("Status") == status), None
    )


def _steps(job: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the statuses of a job, oldest first."""
    return [step for step in job.get("StatusHistory") or () if isinstance(step, Mapping)]


def _ended_at(job: Mapping[str, Any], status: str) -> datetime | None:
    return _time(job, "GmtFinishTime", status) or moment(job.get("GmtModifiedTime"))
