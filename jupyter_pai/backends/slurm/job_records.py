"""Jobs as Slurm reports them: `squeue --json` and `sacct`.

Newer versions of Slurm write states as lists and numbers as objects; both spellings are read. Source: the OpenAPI
schemas of Slurm, versions 0.0.38 to 0.0.41. Only 0.0.38 was seen to run.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from ...core.i18n import N_, _
from ...jobs.job import JobStatus

__all__ = [
    "COMMENT",
    "NO_FOLDER",
    "SACCT_FIELDS",
    "SlurmJob",
    "job_name",
    "of_accounting",
    "of_queue",
    "our_id",
    "status_of",
    "why",
]

# The comment of a job begins with this, followed by our id.
COMMENT = "jupyter-pai:"
SACCT_FIELDS = (
    "JobIDRaw", "JobID", "JobName", "State", "ExitCode", "Submit", "Start", "End", "Partition", "User", "Comment",
    "NodeList",
)  # fmt: skip
_QUEUED = {"PENDING", "REQUEUED", "REQUEUE_FED", "REQUEUE_HOLD", "RESV_DEL_HOLD", "SPECIAL_EXIT"}
_FAILED = {
    "BOOT_FAIL", "DEADLINE", "FAILED", "LAUNCH_FAILED", "NODE_FAIL", "OUT_OF_MEMORY", "PREEMPTED", "RECONFIG_FAIL",
    "REVOKED", "TIMEOUT",
}  # fmt: skip
_ACTIVE = {
    "CONFIGURING", "POWER_UP_NODE", "RESIZING", "RUNNING", "SIGNALING", "STOPPED", "SUSPENDED", "UPDATE_DB",
}  # fmt: skip
# Flags beside the state of a job that has not ended yet.
_ENDING = {"COMPLETING", "STAGE_OUT"}
# Reasons of Slurm for which a job waits. Source: "Job Reason Codes" of Slurm's documents.
_WAITS = {
    "Resources": N_("no node has enough free resources"),
    "Priority": N_("jobs of higher priority are first"),
    "Dependency": N_("another job must end first"),
    "BeginTime": N_("its start time has not been reached"),
    "Licenses": N_("no license is free"),
    "Reservation": N_("its reservation has not begun"),
    "JobHeldUser": N_("it is held; release it with `scontrol release`"),
    "JobHeldAdmin": N_("an administrator holds it"),
    "NodeDown": N_("a required node is down"),
    "ReqNodeNotAvail": N_("the required nodes are down, draining or reserved"),
    "PartitionDown": N_("the partition is down"),
    "PartitionInactive": N_("the partition is inactive"),
    "PartitionNodeLimit": N_("it requests more nodes than the partition allows"),
    "PartitionTimeLimit": N_("its run-time limit exceeds that of the partition"),
    "BadConstraints": N_("no node meets its constraints"),
    "InvalidAccount": N_("its account is not valid"),
    "InvalidQOS": N_("its quality of service is not valid"),
    "QOSMaxJobsPerUserLimit": N_("your limit of running jobs is reached"),
    "AssocGrpCpuLimit": N_("the cores of the account are in use"),
    "AssocGrpGRES": N_("the GPUs of the account are in use"),
}
_STUCK = {
    "BadConstraints", "InvalidAccount", "InvalidQOS", "JobHeldAdmin", "JobHeldUser", "NodeDown", "PartitionDown",
    "PartitionInactive", "PartitionNodeLimit", "PartitionTimeLimit", "ReqNodeNotAvail",
}  # fmt: skip
# The batch script exits with it if the node does not see the shared folder (see batch.sh).
NO_FOLDER = 118


@dataclass(frozen=True)
class SlurmJob:
    """A job of the cluster. `exit_code` is 128 + n for signal n. `reason` says why it waits."""

    id: str
    name: str
    state: str
    flags: frozenset[str]
    comment: str
    reason: str
    partition: str
    user: str
    nodes: str
    exit_code: int | None
    submitted_at: datetime | None
    started_at: datetime | None
    ended_at: datetime | None
    output: str = ""

    @property
    def status(self) -> JobStatus:
        return status_of(self.state, self.flags)

    @property
    def is_known(self) -> bool:
        """True if the state is one of those above."""
        return self.state in _QUEUED | _FAILED | _ENDING | _ACTIVE | {"COMPLETED", "CANCELLED"}

    @property
    def waiting(self) -> str:
        """Why the job waits, with its expected start; empty if it does not wait."""
        if self.status is not JobStatus.QUEUED:
            return ""
        text = _WAITS.get(self.reason)
        said = _("It waits: {reason}.").format(reason=_(text) if text else self.reason or self.state)
        if self.started_at:
            time = self.started_at.astimezone().strftime("%Y-%m-%d %H:%M")
            said += " " + _("Expected start: {time}.").format(time=time)
        return said

    @property
    def is_stuck(self) -> bool:
        """True if the job cannot start as it is."""
        return self.status is JobStatus.QUEUED and self.reason.split(",")[0] in _STUCK

    @property
    def text(self) -> str:
        """The state as Slurm shows it."""
        return f"{self.state} ({self.reason})" if self.state == "PENDING" and self.reason else self.state


def status_of(state: str, flags: Iterable[str] = ()) -> JobStatus:
    """Return the status for a state of Slurm. An unknown state is not the end of a job."""
    if state in _QUEUED:
        return JobStatus.QUEUED
    if state == "CONFIGURING" or "CONFIGURING" in flags:
        return JobStatus.STARTING
    if _ENDING & {state, *flags}:
        return JobStatus.RUNNING
    if state == "COMPLETED":
        return JobStatus.SUCCEEDED
    if state == "CANCELLED":
        return JobStatus.STOPPED
    return JobStatus.FAILED if state in _FAILED else JobStatus.RUNNING


def why(state: str, nodes: str = "") -> tuple[str, str]:
    """Return reason and fix of a job that ended in a state; empty for a failed command, which its log explains."""
    on = _(" ({nodes})").format(nodes=nodes) if nodes else ""
    reasons = {
        "TIMEOUT": (
            _("Stopped at its time limit."),
            _("Set a longer --max-run-time, or a partition with a longer limit: %pai instances"),
        ),
        "DEADLINE": (_("Stopped at its deadline."), _("Submit it again.")),
        "OUT_OF_MEMORY": (_("Out of memory."), _("Request more memory with --memory, or reduce the batch size.")),
        "NODE_FAIL": (
            _("A node failed{nodes}.").format(nodes=on),
            _("Submit it again, or let Slurm do that: --option requeue=true"),
        ),
        "BOOT_FAIL": (_("A node did not boot{nodes}.").format(nodes=on), _("Submit it again.")),
        "PREEMPTED": (
            _("A job of higher priority took its nodes."),
            _("Submit it again, or let Slurm do that: --option requeue=true"),
        ),
        "LAUNCH_FAILED": (_("Slurm could not start the job{nodes}.").format(nodes=on), _("Submit it again.")),
        "REVOKED": (_("Another cluster of the federation runs the job."), _("Set SLURM_CLUSTERS to that cluster.")),
        "CANCELLED": (_("Cancelled in Slurm, by `scancel` or an administrator."), ""),
    }
    return reasons.get(state, ("", ""))


def job_name(name: str, job_id: str) -> str:
    """Return the name of a job in Slurm. It ends with our id, since a site may remove comments."""
    return f"{re.sub(r'[^A-Za-z0-9_.-]+', '_', name)[:64]}.{job_id}"


def our_id(job: SlurmJob) -> str:
    """Return our id of a job, from its comment or else its name; empty for a job submitted elsewhere."""
    if job.comment.startswith(COMMENT):
        return job.comment.removeprefix(COMMENT)
    _name, _dot, job_id = job.name.rpartition(".")
    return job_id if re.fullmatch(r"[0-9a-z]{8,}", job_id) else ""


def of_queue(reply: Mapping[str, Any]) -> list[SlurmJob]:
    """Return the jobs in the output of ``squeue --json``. The first component of a heterogeneous job stands for it; it
    has the state of another one that has not ended."""
    items = [item for item in reply.get("jobs") or () if isinstance(item, Mapping)]
    active: dict[str, SlurmJob] = {}
    for item in items:
        if (leader := _leader(item)) and not (job := _job(item)).status.ended:
            active.setdefault(leader, job)
    jobs = [_job(item) for item in items if _leader(item) in ("", str(item.get("job_id")))]
    return [_continued(job, active[job.id]) if job.id in active and job.status.ended else job for job in jobs]


def _continued(job: SlurmJob, other: SlurmJob) -> SlurmJob:
    return replace(job, state=other.state, flags=other.flags, exit_code=None, ended_at=None)


def _leader(item: Mapping[str, Any]) -> str:
    """Return the id of the first component of a heterogeneous job; empty for other jobs."""
    return str(number(item.get("het_job_id")) or "")


def _job(item: Mapping[str, Any]) -> SlurmJob:
    state, *flags = _words(item.get("job_state")) or ["UNKNOWN"]
    status = status_of(state, flags)
    ended = _time(item.get("end_time")) if status.ended else None
    reason = str(item.get("state_reason") or "")
    return SlurmJob(
        id=str(item.get("job_id", "")),
        name=str(item.get("name") or ""),
        state=state,
        flags=frozenset(flags),
        comment=_comment(item.get("comment")),
        reason="" if reason == "None" else reason,
        partition=str(item.get("partition") or ""),
        user=str(item.get("user_name") or ""),
        nodes=str(item.get("nodes") or ""),
        exit_code=_exit_code(item.get("exit_code")) if status.ended else None,
        submitted_at=_time(item.get("submit_time")),
        started_at=_time(item.get("start_time")),
        ended_at=ended,
        output=str(item.get("standard_output") or ""),
    )


def _words(state: object) -> list[str]:
    """Return the state first, then its flags: newer versions write a list."""
    words = [str(word) for word in state] if isinstance(state, list) else str(state or "").split()
    return sorted(words, key=lambda word: word in _ENDING | {"CONFIGURING", "REQUEUED"})


def _comment(value: object) -> str:
    return str(value.get("job") or "") if isinstance(value, Mapping) else str(value or "")


def number(value: object) -> int | None:
    """Return a number that may be an object ``{"set", "infinite", "number"}``; None if it is not set."""
    if isinstance(value, Mapping):
        value = value.get("number") if value.get("set", True) and not value.get("infinite") else None
    return int(value) if isinstance(value, (int, float)) else None


def _time(value: object) -> datetime | None:
    seconds = number(value)
    return datetime.fromtimestamp(seconds, UTC) if seconds else None


def _exit_code(value: object) -> int | None:
    """Return the exit code of a wait status, or of an object with `return_code` and `signal`."""
    if isinstance(value, Mapping):
        signal = value.get("signal")
        killed = number(signal.get("signal_id") or signal.get("id")) if isinstance(signal, Mapping) else None
        return 128 + killed if killed else number(value.get("return_code"))
    if not isinstance(value, int):
        return None
    return 128 + (value & 0x7F) if value & 0x7F else value >> 8 & 0xFF


def of_accounting(output: str) -> list[SlurmJob]:
    """Return the jobs in the output of ``sacct --parsable2`` with `SACCT_FIELDS`."""
    jobs = []
    for line in output.splitlines():
        values = dict(zip(SACCT_FIELDS, line.split("|"), strict=False))
        if len(values) < len(SACCT_FIELDS) or not values["JobIDRaw"].isdigit():
            continue
        if values["JobID"].partition("+")[2].strip("0"):
            continue  # A further component of a heterogeneous job: `4711+1`.
        code, _colon, signal = values["ExitCode"].partition(":")
        state = values["State"].split()[0] if values["State"] else "UNKNOWN"  # `CANCELLED by 1000`
        has_ended = status_of(state).ended
        number = 128 + int(signal) if signal.isdigit() and int(signal) else int(code) if code.isdigit() else None
        jobs.append(
            SlurmJob(
                id=values["JobIDRaw"],
                name=values["JobName"],
                state=state,
                flags=frozenset(),
                comment=values["Comment"],
                reason="",
                partition=values["Partition"],
                user=values["User"],
                nodes=values["NodeList"],
                exit_code=number if has_ended else None,
                submitted_at=_seconds(values["Submit"]),
                started_at=_seconds(values["Start"]),
                ended_at=_seconds(values["End"]) if has_ended else None,
            )
        )
    return jobs


def _seconds(text: str) -> datetime | None:
    return datetime.fromtimestamp(int(text), UTC) if text.isdigit() and int(text) else None
