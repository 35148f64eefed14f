"""State and instances of a task, from a row of a list or from its detail.

Source: TrainingTaskSetItem, TrainingTaskDetail and PodInfo in Tencent Cloud's reference of TI-ONE. Unknown words are
shown unchanged. A task of an unknown state has not ended.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ....cloud.tencent.reading import rows_of, text_of, time_of
from ....core.i18n import N_, _
from ....jobs.instances import Instance
from ....jobs.job import JobStatus
from ...reports import Report

__all__ = ["Pod", "has_ended", "instances_of", "is_failure", "pods_of", "report_of", "role_configs"]

_STATES = {
    "SUBMITTING": JobStatus.QUEUED,
    "PENDING": JobStatus.QUEUED,
    "STARTING": JobStatus.STARTING,
    "RUNNING": JobStatus.RUNNING,
    "STOPPING": JobStatus.RUNNING,
    "STOPPED": JobStatus.STOPPED,
    "FAILED": JobStatus.FAILED,
    "SUBMIT_FAILED": JobStatus.FAILED,
    "SUCCEED": JobStatus.SUCCEEDED,
    "SUCCEEDED": JobStatus.SUCCEEDED,
}
# Those of a pod. Unlike the state of a task, an unknown one is not shown as running.
_POD_STATES = {**_STATES, "TERMINATING": JobStatus.RUNNING, "TERMINATED": JobStatus.STOPPED}
_BILLING, _ARREARS = "BILLING", "ARREARS_STOP"
_EXIT_CODE = re.compile(
    r"exit(?:ed)?(?: with)?[ _]?(?:code|status)?[ :=]+(\d{1,3})\b|\u9000\u51fa\u7801\D{0,3}(\d{1,3})\b", re.IGNORECASE
)
# The first words of a pod's name after those of its task, for the pod that comes first in its role.
_FIRST = ("master", "launcher", "head", "driver", "chief")

_OOM = r"oom|out of memory"
# Fixes by patterns of a reason; the first that is found counts.
_FIXES = {
    _OOM: N_("Use an instance type with more memory, or smaller batches."),
    r"pull|image": N_("Check the image and the login to its registry. To list images: %pai images"),
    r"mount|cfs|goosefs|hdfs|cannot be prepared": N_("Check the inputs, and the VPC and subnet of the job."),
    r"arrears|\u6b20\u8d39|balance": N_("Top up the account in the billing center of the console."),
    r"insufficient|sold out|schedul|quota": N_("Check the available resources: %pai instances"),
}


def has_ended(task: Mapping[str, Any]) -> bool:
    """Return whether a task has ended."""
    return _state(task).ended


def is_failure(task: Mapping[str, Any]) -> bool:
    """Return whether a task has failed."""
    return _state(task) is JobStatus.FAILED


def _state(task: Mapping[str, Any]) -> JobStatus:
    return _STATES.get(text_of(task.get("Status")), JobStatus.RUNNING)


def report_of(task: Mapping[str, Any], pods: Iterable[Pod] = (), console_url: str = "") -> Report:
    """Return the state of a task. `pods`: those of one that has failed, to name the one that failed first."""
    status, name = _state(task), text_of(task.get("Status"))
    reason, fix, exit_code, instance = "", "", 0 if status is JobStatus.SUCCEEDED else None, ""
    if status is JobStatus.FAILED:
        reason, fix, exit_code, instance = _failure(task, [*pods])
    elif status is not JobStatus.SUCCEEDED:
        reason, fix = _about(task, status)
    return Report(
        status,
        f"{name}, {_ARREARS}" if task.get("ChargeStatus") == _ARREARS else name,
        reason,
        fix or (_("See the log and the events of the job.") if status is JobStatus.FAILED else ""),
        exit_code,
        instance,
        started_at=time_of(task.get("StartTime")) if status is not JobStatus.QUEUED else None,
        ended_at=time_of(task.get("EndTime")) or time_of(task.get("UpdateTime")) if status.ended else None,
        notes=_notes(task, status),
        console_url=console_url,
        is_general=not fix,
    )


def _failure(task: Mapping[str, Any], pods: list[Pod]) -> tuple[str, str, int | None, str]:
    """Return reason, fix, exit code and instance of a failed task. Of a command that failed, the log shows more than
    the platform."""
    text = _said(task)
    match = _EXIT_CODE.search(text)
    code = int(match[1] or match[2]) if match else None
    code = code if code and code < 256 else None
    named = [pod.instance for pod in pods if pod.name in text] if len(pods) > 1 else []
    instance = named[-1] if named else ""  # The name of worker-1 is in that of worker-10.
    if code and not re.search(_OOM, text, re.IGNORECASE):
        return "", "", code, instance
    fix = next((_(fix) for pattern, fix in _FIXES.items() if re.search(pattern, text, re.IGNORECASE)), "")
    return text or _("The platform gives no reason."), fix, code, instance


def _about(task: Mapping[str, Any], status: JobStatus) -> tuple[str, str]:
    """Return reason and fix of a task that has not ended, or that was stopped."""
    if task.get("ChargeStatus") == _ARREARS:
        return (
            _("The account is in arrears, so the platform stops its tasks."),
            _("Top up the account in the billing center of the console."),
        )
    if status is JobStatus.STOPPED:
        return _said(task) or _("Stopped on the platform."), ""
    if task.get("Status") == "STOPPING" and task.get("ChargeStatus") == _BILLING:
        return _("The task is stopping, and is billed until it has stopped."), ""
    return (_said(task) if status in (JobStatus.QUEUED, JobStatus.STARTING) else ""), ""


def _said(task: Mapping[str, Any]) -> str:
    return text_of(task.get("FailureReason")).strip() or text_of(task.get("Message")).strip()


def _notes(task: Mapping[str, Any], status: JobStatus) -> tuple[str, ...]:
    """Return that a task is billed although it has ended."""
    if not status.ended or task.get("ChargeStatus") != _BILLING:
        return ()
    price = text_of(task.get("BillingInfo")).strip()
    text = _("The platform reported the task as billed after its end{price}. Check in the console that this has ended.")
    return (text.format(price=f" ({price})" if price else ""),)


@dataclass(frozen=True)
class Pod:
    """A pod of a task. `role`: as in the spec. `index` counts from 0 in its role, `rank` over all roles."""

    name: str
    role: str
    index: int
    rank: int
    fields: Mapping[str, Any]

    @property
    def instance(self) -> str:
        """The name of the instance."""
        return f"{self.role}-{self.index}"

    @property
    def has_started(self) -> bool:
        """Return whether the pod may have written a log."""
        return time_of(self.fields.get("StartTime")) is not None


def role_configs(task: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the resources of the roles of a task, in the order of their ranks."""
    configs = rows_of(task, "ResourceConfigInfos")
    return sorted(configs, key=lambda config: text_of(config.get("Role")).lower() not in _FIRST)


def pods_of(reply: Mapping[str, Any], task: Mapping[str, Any]) -> list[Pod]:
    """Return the pods of a task by rank, in the order of the roles of its detail."""
    order = [text_of(config.get("Role")).upper() for config in role_configs(task)]
    rows = [row for row in rows_of(reply, "PodInfoList") if text_of(row.get("Name"))]
    rows = rows or [{"Name": name} for name in reply.get("PodNames") or () if isinstance(name, str) and name]
    places = sorted((_place(row, order), text_of(row["Name"]), number) for number, row in enumerate(rows))
    pods, counts = list[Pod](), dict[str, int]()
    for rank, ((_order, role, _first, _number), name, number) in enumerate(places):
        pods.append(Pod(name, role.lower(), counts.get(role, 0), rank, rows[number]))
        counts[role] = counts.get(role, 0) + 1
    return pods


def _place(row: Mapping[str, Any], order: list[str]) -> tuple[int, str, bool, int]:
    """Return the place of a pod: that of its role, the role, whether others come first, and its number."""
    match = re.search(r"(?:-([a-z]+))?(?:-(\d+))?$", text_of(row["Name"]))
    word, number = (match[1] or "", int(match[2] or 0)) if match else ("", 0)
    config = row.get("ResourceConfigInfo")
    role = text_of(config.get("Role")).upper() if isinstance(config, Mapping) else ""
    if not role:
        role = word.upper() if word.upper() in order else order[-1] if order else "WORKER"
    return order.index(role) if role in order else len(order), role, word not in _FIRST, number


def instances_of(pods: Iterable[Pod], task: Mapping[str, Any]) -> list[Instance]:
    """Return the instances of a task. Those of an ended one have ended."""
    found = [*pods]
    report = report_of(task, found)
    first = found[0].instance if len(found) == 1 else report.instance
    return [_instance(pod, report, report.exit_code if pod.instance == first else None) for pod in found]


def _instance(pod: Pod, report: Report, exit_code: int | None) -> Instance:
    """Return an instance. `exit_code`: of the first one that failed; the platform reports no other one."""
    name = text_of(pod.fields.get("Status"))
    status = _POD_STATES.get(name)
    if report.status.ended and not (status and status.ended):
        status = report.status if report.status is JobStatus.SUCCEEDED else JobStatus.STOPPED
    is_over = bool(status and status.ended)
    ended = time_of(pod.fields.get("EndTime")) or report.ended_at
    return Instance(
        pod.instance,
        role=pod.role,
        rank=pod.rank,
        status=status,
        platform_status=name,
        address=text_of(pod.fields.get("IP")),
        exit_code=0 if status is JobStatus.SUCCEEDED else exit_code if status is JobStatus.FAILED else None,
        started_at=time_of(pod.fields.get("StartTime")),
        ended_at=ended if is_over else None,
    )
