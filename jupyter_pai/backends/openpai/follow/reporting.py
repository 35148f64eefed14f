"""State and instances of a job, from a row of a list or from its detail.

Source: the replies of `rest-server` 1.8. A row has the fields of the detail's `jobStatus`, without those of its end.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from ....core.i18n import N_, _
from ....jobs.instances import Instance
from ....jobs.job import JobStatus
from ...reports import Report
from .exits import STOPPED, cause_of, command_code, is_stop, never_ran, number

__all__ = ["ACTIVE", "Task", "has_ended", "instances_of", "moment", "report_of", "status_of", "tasks_of"]

# The states of jobs that have not ended.
ACTIVE = ("WAITING", "RUNNING", "STOPPING", "UNKNOWN")
_STATES = {
    "WAITING": JobStatus.QUEUED,
    "RUNNING": JobStatus.RUNNING,
    "STOPPING": JobStatus.RUNNING,
    "SUCCEEDED": JobStatus.SUCCEEDED,
    "FAILED": JobStatus.FAILED,
    "STOPPED": JobStatus.STOPPED,
}
_STOPPING = N_("stopping")
# A host of a reply: no word that begins as an option does.
_HOST = re.compile(r"[0-9A-Za-z][0-9A-Za-z.:-]*")
_ORIGINAL = re.compile(r"originUserExitCode:\s*(\d{1,3})\b")


@dataclass(frozen=True)
class Task:
    """An instance as the server lists it. `role`: its name in replies. `fields`: its own."""

    role: str
    index: int
    rank: int
    fields: Mapping[str, Any]

    @property
    def attempt(self) -> int:
        """The number of its last attempt, from 0."""
        return number(self.fields.get("attemptId")) or 0

    @property
    def has_started(self) -> bool:
        """Return whether its container may have written a log."""
        return self.fields.get("taskState") != "WAITING" and bool(self.fields.get("containerId"))

    @property
    def may_be_unstarted(self) -> bool:
        """Return whether it ended like a task whose container never ran."""
        return never_ran(number(self.fields.get("containerExitCode")))

    def address(self, label: str) -> tuple[str, int] | None:
        """Return host and port of a port with this label; None if it has none, or does not run."""
        ports = self.fields.get("containerPorts")
        port = number(str(ports.get(label) or "").partition(",")[0]) if isinstance(ports, Mapping) else None
        host = str(self.fields.get("containerIp") or "")
        if self.fields.get("taskState") != "RUNNING" or port is None or not _HOST.fullmatch(host):
            return None
        return host, port

    def name(self, roles: Mapping[str, str]) -> str:
        """Return the name of the instance. `roles`: names in the spec by those of replies."""
        return f"{roles.get(self.role, self.role)}-{self.index}"


def status_of(job: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the fields of the state, of a row or of a detail."""
    status = job.get("jobStatus")
    return status if isinstance(status, Mapping) else job


def has_ended(job: Mapping[str, Any]) -> bool:
    """Return whether a job has ended. No other state is an end, also none of a later version."""
    status = status_of(job)
    return status.get("subState") == "Completed" and status.get("state") in (
        "SUCCEEDED", "FAILED", "STOPPED",
    )  # fmt: skip


def report_of(job: Mapping[str, Any], roles: Mapping[str, str], console_url: str = "") -> Report:
    """Return the state of a job. `roles`: names of roles in the spec by those of replies."""
    status = status_of(job)
    name = str(status.get("state") or "")
    known = _STATES.get(name, JobStatus.RUNNING)
    started = moment(status.get("appLaunchedTime") or status.get("launchedTime"))
    if has_ended(job):
        report = _ended(job, known, roles)
        ended = moment(status.get("completedTime"))
        return replace(report, platform_status=name, started_at=started, ended_at=ended, console_url=console_url)
    known = JobStatus.RUNNING if known.ended else known
    shown = _(_STOPPING) if status.get("executionType") == "STOP" or name == "STOPPING" else name
    return Report(known, shown, started_at=None if known is JobStatus.QUEUED else started, console_url=console_url)


def _ended(job: Mapping[str, Any], known: JobStatus, roles: Mapping[str, str]) -> Report:
    """Return the result of a job."""
    status = status_of(job)
    code = number(status.get("appExitCode"))
    if known is JobStatus.STOPPED:
        by_user = code == STOPPED or status.get("executionType") == "STOP"
        return Report(known, reason=_("Stopped by the user.") if by_user else _("Stopped on the platform."))
    if known is JobStatus.SUCCEEDED:
        return Report(known, exit_code=0)
    cause, exit_code = cause_of(status), command_code(code, _original(status))
    failed = _failed(job, roles)
    return Report(known, "", cause.reason, cause.fix, exit_code, failed, is_general=cause.is_general)


def _original(status: Mapping[str, Any]) -> int | None:
    """Return the exit code of the command that ended the job."""
    messages = status.get("appExitMessages")
    runtime = messages.get("runtime") if isinstance(messages, Mapping) else None
    return number(runtime.get("originUserExitCode")) if isinstance(runtime, Mapping) else None


def _failed(job: Mapping[str, Any], roles: Mapping[str, str]) -> str:
    """Return the name of the instance that failed first; empty if the job has only one."""
    status, tasks = status_of(job), list(tasks_of(job, roles))
    if len(tasks) < 2:
        return ""
    place = (status.get("appExitTriggerTaskRoleName"), number(status.get("appExitTriggerTaskIndex")))
    return next((task.name(roles) for task in tasks if (task.role, task.index) == place), "")


def tasks_of(detail: Mapping[str, Any], roles: Mapping[str, str]) -> Iterator[Task]:
    """Yield the instances of a detail by rank, in the order of `roles`, which is that of the document."""
    listed = detail.get("taskRoles")
    found = listed if isinstance(listed, Mapping) else {}
    rank = 0
    for role in [*(name for name in roles if name in found), *(name for name in found if name not in roles)]:
        rows = found[role].get("taskStatuses") if isinstance(found[role], Mapping) else None
        for fields in sorted((row for row in rows or () if isinstance(row, Mapping)), key=_index):
            yield Task(role, _index(fields), rank, fields)
            rank += 1


def _index(fields: Mapping[str, Any]) -> int:
    return number(fields.get("taskIndex")) or 0


def instances_of(
    detail: Mapping[str, Any], roles: Mapping[str, str], earlier: Mapping[tuple[str, int], int]
) -> list[Instance]:
    """Return the instances of a detail. `earlier`: the attempts of a role and index in earlier attempts of the job."""
    report = report_of(detail, roles)
    tasks = list(tasks_of(detail, roles))
    return [_instance(task, roles, report, detail, earlier.get((task.role, task.index), 0)) for task in tasks]


def _instance(
    task: Task, roles: Mapping[str, str], report: Report, detail: Mapping[str, Any], earlier: int
) -> Instance:
    fields, name = task.fields, task.name(roles)
    state, code = str(fields.get("taskState") or ""), number(fields.get("containerExitCode"))
    status = _STATES.get(state)
    if report.status.ended and not (status and status.ended):
        status = JobStatus.STOPPED
    is_over = bool(status and status.ended)
    started = fields.get("currentAttemptLaunchedTime") or fields.get("launchedTime")
    ended = fields.get("currentAttemptCompletedTime") or fields.get("completedTime")
    return Instance(
        name,
        role=roles.get(task.role, task.role),
        rank=task.rank,
        status=status,
        platform_status=state,
        node=str(fields.get("containerNodeName") or ""),
        address=str(fields.get("containerIp") or ""),
        ports=_ports(fields.get("containerPorts")),
        exit_code=_code(task, detail, code) if is_over else None,
        reason=str(_spec(fields).get("phrase") or "") if is_over and code and not is_stop(code) else "",
        started_at=None if status is JobStatus.QUEUED else moment(started),
        ended_at=(moment(ended) or report.ended_at) if is_over else None,
        attempt=earlier + task.attempt + 1,
    )


def _spec(fields: Mapping[str, Any]) -> Mapping[str, Any]:
    spec = fields.get("containerExitSpec")
    return spec if isinstance(spec, Mapping) else {}


def _code(task: Task, detail: Mapping[str, Any], code: int | None) -> int | None:
    """Return the exit code of an instance's command. The runtime reports it in a text, and for the instance that ended
    the job also in a field."""
    status = status_of(detail)
    place = (status.get("appExitTriggerTaskRoleName"), number(status.get("appExitTriggerTaskIndex")))
    match = _ORIGINAL.search(str(task.fields.get("containerExitDiagnostics") or ""))
    original = int(match[1]) if match else _original(status) if place == (task.role, task.index) else None
    return command_code(code, original if code else None)


def _ports(value: object) -> tuple[int, ...]:
    """Return the ports of all labels: texts, several of one label joined by commas."""
    texts = [text for label in value.values() for text in str(label).split(",")] if isinstance(value, Mapping) else []
    return tuple(port for text in texts if (port := number(text.strip())) is not None and 0 < port < 65536)


def moment(value: object) -> datetime | None:
    """Return a time of a reply: milliseconds since 1970, or a text in the format of ISO 8601."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return datetime.fromtimestamp(value / 1000, UTC)
    try:
        time = datetime.fromisoformat(str(value))
    except ValueError:
        return None
    return time if time.tzinfo else time.replace(tzinfo=UTC)
