"""The pods of a job as its instances, in the order of their ranks, each with the pods that it had before."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ....jobs.instances import Instance
from ....jobs.job import JobStatus
from ..replies import exit_code, moment
from .roles import UNRANKED, place_of

__all__ = ["Pod", "Run", "instances_of", "names_pod", "pods_of"]

_STATES = {
    "Pending": JobStatus.QUEUED,
    "Running": JobStatus.RUNNING,
    "Succeeded": JobStatus.SUCCEEDED,
    "Failed": JobStatus.FAILED,
}
# A pod of these comes before the others of a job that has not requested the role: the platform selects it.
_FIRST = ("chief", "master", "head", "launcher")


@dataclass(frozen=True)
class Run:
    """A pod of an instance. Times are Unix seconds; 0 if it has not ended."""

    pod_id: str
    uid: str
    created_at: int
    ended_at: int
    fields: Mapping[str, Any] = field(default_factory=dict, compare=False)


@dataclass(frozen=True)
class Pod:
    """An instance of a job. `role` is in lower case. `index` counts from 0 in the role, `rank` over all roles. `runs`:
    its pods, the current one last."""

    role: str
    index: int
    rank: int
    runs: Sequence[Run]

    @property
    def name(self) -> str:
        """The name of the instance."""
        return f"{self.role}-{self.index}"

    @property
    def latest(self) -> Run:
        """The current pod."""
        return self.runs[-1]


def pods_of(job: Mapping[str, Any]) -> list[Pod]:
    """Return the pods of a job's own reply, by rank."""
    begin = _time(job.get("GmtCreateTime"))
    rows = [row for row in job.get("Pods") or () if isinstance(row, Mapping) and row.get("PodId")]
    roles = [str(spec.get("Type") or "").lower() for spec in job.get("JobSpecs") or () if isinstance(spec, Mapping)]
    requested = roles if job.get("JobType") in UNRANKED else sorted(roles, key=place_of)
    places = sorted(((*_place(row, requested), number) for number, row in enumerate(rows)), key=lambda place: place)
    pods, counts = list[Pod](), dict[str, int]()
    for rank, (_order, _later, role, _number, number) in enumerate(places):
        pods.append(Pod(role, counts.get(role, 0), rank, _runs(rows[number], begin)))
        counts[role] = counts.get(role, 0) + 1
    return pods


def _place(row: Mapping[str, Any], requested: Sequence[str]) -> tuple[int, bool, str, int]:
    """Return the place of a pod: that of its role, whether others of it come first, its role, and its number."""
    own, last = str(row.get("Type") or "").lower(), str(row["PodId"]).rpartition("-")[2]
    leads = own in _FIRST
    role = own if own in requested or not requested else min(requested, key=place_of)
    return (
        requested.index(role) if role in requested else place_of(role),
        not leads,
        role,
        int(last) if last.isdecimal() else 0,
    )


def _runs(row: Mapping[str, Any], begin: int) -> list[Run]:
    earlier = [one for one in row.get("HistoryPods") or () if isinstance(one, Mapping)]
    runs = [_run(one, str(row["PodId"]), begin) for one in earlier]
    return [*sorted(runs, key=lambda run: run.created_at), _run(row, str(row["PodId"]), begin)]


def _run(row: Mapping[str, Any], pod_id: str, begin: int) -> Run:
    created = _time(row.get("GmtCreateTime")) or _time(row.get("GmtStartTime")) or begin
    return Run(
        str(row.get("PodId") or pod_id), str(row.get("PodUid") or ""), created, _time(row.get("GmtFinishTime")), row
    )


def _time(value: object) -> int:
    time = moment(value)
    return int(time.timestamp()) if time else 0


def instances_of(pods: Iterable[Pod], status: JobStatus, reason: str = "") -> list[Instance]:
    """Return the instances of a job with this status. `reason`: that of its end, which may name a pod and the exit
    code."""
    return [_instance(pod, status, reason) for pod in pods]


def names_pod(text: str, pod_id: str) -> bool:
    """Return whether a text names a pod. The name of worker-1 is in that of worker-10."""
    return bool(re.search(rf"{re.escape(pod_id)}(?!\d)", text))


def _instance(pod: Pod, job: JobStatus, reason: str) -> Instance:
    run = pod.latest
    name, more = str(run.fields.get("Status") or ""), str(run.fields.get("SubStatus") or "")
    status = _STATES.get(name)
    if job.ended and not (status and status.ended):
        status = job if job is JobStatus.SUCCEEDED else JobStatus.STOPPED
    is_named = names_pod(reason, run.pod_id)
    code = exit_code(reason) if is_named and status is JobStatus.FAILED else None
    return Instance(
        pod.name,
        role=pod.role,
        rank=pod.rank,
        status=status,
        platform_status=f"{name}, {more}" if more not in ("", "Normal") else name,
        node=str(run.fields.get("NodeName") or ""),
        address=str(run.fields.get("Ip") or ""),
        exit_code=0 if status is JobStatus.SUCCEEDED else code,
        started_at=moment(run.fields.get("GmtStartTime")),
        ended_at=moment(run.fields.get("GmtFinishTime")),
        attempt=len(pod.runs) if len(pod.runs) > 1 else None,
    )
