"""Replies about a job."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import Any

from ..clock import iso
from ..history import Lines
from ..jobviews import span, usage_kind, usage_of
from ..service_errors import Refusal
from ..services import Reply, Request
from .jobs import DlcJob, Pod

__all__ = ["VIEWS", "View", "item", "whole"]

_ECHOED = (
    "Accessibility CodeSource CredentialConfig Description DisplayName ElasticSpec Envs JobType ResourceId Settings "
    "ThirdpartyLibDir ThirdpartyLibs UserCommand UserVpc WorkspaceId"
).split()
_HOUR = 3600
_WEEK = 7 * 24 * _HOUR
_MOST_LINES = 2000
_MOST_EVENTS = 10_000
_TIMES = {
    "GmtSubmittedTime": ("Queuing", "Bidding", "EnvPreparing"),
    "GmtRunningTime": ("Running",),
    "GmtFinishTime": ("Succeeded", "Failed", "Stopped"),
    "GmtSuccessedTime": ("Succeeded",),
    "GmtFailedTime": ("Failed",),
    "GmtStoppedTime": ("Stopped",),
}


def _common(job: DlcJob) -> Reply:
    reply = {name: job.request[name] for name in _ECHOED if job.request.get(name) is not None}
    moments = {name: job.history.first(*statuses) for name, statuses in _TIMES.items()}
    reply |= {name: iso(moment) for name, moment in moments.items() if moment is not None}
    return reply | {
        "JobId": job.id,
        "UserId": job.user_id,
        "Status": job.status,
        "ReasonCode": job.history.last.code,
        "ReasonMessage": job.history.last.message,
        "GmtCreateTime": iso(job.history.created),
        "Duration": job.duration,
        "Priority": job.priority,
        "JobSpecs": [_spec(spec) for spec in job.request["JobSpecs"]],
        "StatusHistory": job.history.rows(),
        "ResourceLevel": "",
        "ResourceType": "ECS",
        "RestartTimes": f"{job.restarts}/{job.most_restarts}",
    }


def _spec(spec: dict[str, Any]) -> dict[str, Any]:
    """A role without the password of its image."""
    if not spec.get("ImageConfig"):
        return spec
    shown = {name: value for name, value in spec["ImageConfig"].items() if name not in ("Auth", "Password")}
    return spec | {"ImageConfig": shown}


def whole(job: DlcJob, detailed: bool) -> Reply:
    """Return the complete job, or one without its pods."""
    cpu, gpu, memory = job.amount
    reply = _common(job) | {"RequestCPU": cpu, "RequestGPU": float(gpu), "RequestMemory": memory * 2.0**30}
    sources = job.request.get("DataSources") or []
    reply["DataSources"] = [
        {name: source[name] for name in ("DataSourceId", "MountPath", "Uri") if source.get(name)} for source in sources
    ]
    reply["CustomEnvs"] = job.request.get("CustomEnvs") or []
    if detailed:
        reply["Pods"] = [
            _pod(job, pod) | {"HistoryPods": [_pod(job, old) for old in job.earlier if old.node.name == pod.node.name]}
            for pod in job.pods
        ]
    return reply


def item(job: DlcJob) -> Reply:
    """Return the row of a list."""
    cpu, gpu, memory = job.amount
    reply = _common(job) | {"RequestCPU": cpu, "RequestGPU": str(gpu), "RequestMemory": f"{memory}Gi"}
    reply |= {"GmtModifiedTime": iso(job.history.last.start), "NodeCount": str(len(job.pods)), "IsDeleted": False}
    reply["DataSources"] = [
        {name: source[name] for name in ("DataSourceId", "MountPath") if source.get(name)}
        for source in job.request.get("DataSources") or []
    ]
    return reply


def _pod(job: DlcJob, pod: Pod) -> Reply:
    times = {"GmtCreateTime": pod.created, "GmtStartTime": pod.started, "GmtFinishTime": pod.finished}
    seconds = ((pod.finished or job.now) - pod.started) if pod.started else 0.0
    return {name: iso(moment) for name, moment in times.items() if moment is not None} | {
        "PodId": pod.node.name,
        "PodUid": pod.uid,
        "Type": pod.node.role,
        "Status": pod.node.status,
        "SubStatus": pod.sub_status,
        "Ip": "127.0.0.1",
        "NodeName": "127.0.0.1",
        "Duration": round(seconds, 3),
    }


def _find(job: DlcJob, request: Request) -> Pod:
    name, uid = request.path["PodId"], request.query.get("PodUid") or ""
    pod = job.pod_of(name, uid)
    if pod is None:
        raise Refusal(404, "POD_NOT_FOUND", f"Pod {name} {uid} of job {job.id} is not found.".replace("  ", " "))
    return pod


def _window(job: DlcJob, lines: Lines, request: Request) -> list[str]:
    """Return the lines of the requested time; by default of a week."""
    start, end = span(request)
    return lines.between(job.now - _WEEK if start is None else start, end)


def _logs(job: DlcJob, request: Request, last: bool) -> Reply:
    pod = _find(job, request)
    count = min(request.number("MaxLines", _MOST_LINES, 10**9), _MOST_LINES)
    lines = _window(job, pod.lines, request)
    shown = lines[-count:] if last else lines[:count]
    return {"JobId": job.id, "PodId": pod.node.name, "PodUid": pod.uid, "Logs": shown}


def _pod_events(job: DlcJob, request: Request, last: bool) -> Reply:
    pod = _find(job, request)
    return {"JobId": job.id, "PodId": pod.node.name, "PodUid": pod.uid} | _events(job, pod.node.events, request)


def _job_events(job: DlcJob, request: Request, last: bool) -> Reply:
    return {"JobId": job.id} | _events(job, job.history.events, request)


def _events(job: DlcJob, events: Lines, request: Request) -> Reply:
    count = request.number("MaxEventsNum", 2000, _MOST_EVENTS)
    return {"Events": list(islice(_window(job, events, request), count))}


def _metrics(job: DlcJob, request: Request, last: bool) -> Reply:
    kind = usage_kind(request)
    start, end = span(request)
    start = job.now - _HOUR if start is None else start
    rows = [
        {"PodId": pod.node.name, "Metrics": [{"Time": int(t * 1000), "Value": v} for t, v in points]}
        for pod in job.pods
        for points in [usage_of(pod.node, kind, start, end)]
    ]
    return {"JobId": job.id, "PodMetrics": rows}


View = Callable[[DlcJob, Request, bool], Reply]
VIEWS: list[tuple[str, str, View]] = [
    ("GetJobEvents", "/events", _job_events),
    ("GetJobMetrics", "/metrics", _metrics),
    ("GetPodLogs", "/pods/{PodId}/logs", _logs),
    ("GetPodEvents", "/pods/{PodId}/events", _pod_events),
]
