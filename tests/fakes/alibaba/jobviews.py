"""Replies about a training job."""

from __future__ import annotations

from calendar import timegm
from collections.abc import Callable
from time import strptime

from .clock import iso
from .history import Lines
from .jobs import Instance, Point, TrainingJob
from .service_errors import Refusal
from .services import Reply, Request

__all__ = ["VIEWS", "View", "item", "span", "usage_kind", "usage_of", "whole"]

_ECHOED = (
    "AlgorithmName AlgorithmProvider AlgorithmVersion AssignNodeSpec CredentialConfig Environments "
    "ExperimentConfig HyperParameters InputChannels OutputChannels PythonRequirements RoleArn "
    "TrainingJobDescription TrainingJobName WorkspaceId"
).split()
_USAGE = (
    "GpuCoreUsage GpuMemoryUsage CpuCoreUsage MemoryUsage NetworkInputRate NetworkOutputRate DiskReadRate DiskWriteRate"
)
_STEPS = {"10s": 10, "5m": 300, "30m": 1800, "1h": 3600}
_MOST_POINTS = 5000


def whole(job: TrainingJob, region: str) -> Reply:
    """Return the complete job."""
    request = job.request
    reply = _common(job) | {name: request[name] for name in ("Priority", "Settings") if request.get(name)}
    reply |= {
        "AlgorithmId": "",
        "AlgorithmSpec": job.spec,
        "Duration": job.duration,
        "Instances": [{"Name": i.name, "Role": i.role, "Status": i.status} for i in job.instances],
        "LatestMetrics": [_point(point) for point in job.latest().values()],
        "LatestProgress": _progress(job),
        # Numbers of the scheduler come as text here, and nowhere else.
        "Scheduler": {name: str(value) for name, value in (request.get("Scheduler") or {}).items()},
        "TrainingJobUrl": _console(job, region),
    }
    if model := next((c for c in request.get("OutputChannels") or [] if c["Name"] == "model"), None):
        reply["OutputModel"] = {"OutputChannelName": "model", "Uri": model.get("OutputUri", "")}
    return reply


def item(job: TrainingJob) -> Reply:
    """Return the row of a list."""
    reply = _common(job) | {"DlcJobId": job.dlc_id}
    reply["ComputeResource"] = {
        n: v for n, v in reply["ComputeResource"].items() if n not in ("SpotSpec", "UseSpotInstance")
    }
    seconds = (job.request.get("Scheduler") or {}).get("MaxRunningTimeInSeconds")
    return reply | {"Scheduler": {"MaxRunningTimeInSeconds": seconds} if seconds is not None else {}}


def _common(job: TrainingJob) -> Reply:
    request = job.request
    vpc = {name: value for name, value in (request.get("UserVpc") or {}).items() if name != "DefaultRoute"}
    return {name: request[name] for name in _ECHOED if request.get(name) is not None} | {
        "ComputeResource": dict(request.get("ComputeResource") or {}),
        "GmtCreateTime": iso(job.history.created),
        "GmtModifiedTime": iso(job.history.last.start),
        "IsTempAlgo": True,
        "Labels": [{"Key": name, "Value": value} for name, value in job.labels.items()],
        "ReasonCode": job.history.last.code,
        "ReasonMessage": job.history.last.message,
        "Status": job.status,
        "StatusTransitions": job.history.rows(),
        "TrainingJobId": job.id,
        "UserId": job.user_id,
        "UserVpc": vpc,
    }


def _console(job: TrainingJob, region: str) -> str:
    place = f"?regionId={region}&workspaceId={job.request['WorkspaceId']}"
    return f"https://pai.console.aliyun.com/{place}#/training/jobs/{job.id}"


def _point(point: Point) -> Reply:
    return {"Name": point.name, "Timestamp": iso(point.time), "Value": point.value}


def _progress(job: TrainingJob) -> Reply:
    reply = {}
    for name, point in (("OverallProgress", job.overall), ("RemainingTime", job.remaining)):
        if point:
            reply[name] = {"Timestamp": iso(point.time), "Value": point.value}
    return reply


def span(request: Request) -> tuple[float | None, float | None]:
    """Return `StartTime` and `EndTime` of the query. Raises Refusal."""
    return _moment(request, "StartTime"), _moment(request, "EndTime")


def _moment(request: Request, name: str) -> float | None:
    text = request.query.get(name)
    if not text:
        return None
    try:
        return timegm(strptime(text, "%Y-%m-%dT%H:%M:%SZ"))
    except ValueError:
        raise Refusal(400, f"Invalid{name}", f"{name} must look like 2024-01-02T03:04:05Z, not {text!r}.") from None


def _texts(lines: Lines, request: Request, word: str) -> Reply:
    result = lines.between(*span(request))
    return {word: request.page(result, 100, 2000), "TotalCount": str(len(result))}


def _logs(job: TrainingJob, request: Request) -> Reply:
    if not job.instances:
        message = f"Instances of training job {job.id} are not found."
        raise Refusal(404, "TRAINING_JOB_INSTANCE_NOT_FOUND", message)
    name = request.query.get("InstanceId") or request.query.get("WorkerId")
    if name and name not in job.lines_of:
        raise Refusal(404, "TRAINING_JOB_INSTANCE_NOT_FOUND", f"Instance {name} is not found.")
    return _texts(job.lines_of[name] if name else job.lines, request, "Logs")


def _events(job: TrainingJob, request: Request) -> Reply:
    return _texts(job.history.events, request, "Events")


def _instance_events(job: TrainingJob, request: Request) -> Reply:
    for instance in job.instances:
        if instance.name == request.path["InstanceId"]:
            return _texts(instance.events, request, "Events")
    raise Refusal(404, "TRAINING_JOB_INSTANCE_NOT_FOUND", f"Instance {request.path['InstanceId']} is not found.")


def _metrics(job: TrainingJob, request: Request) -> Reply:
    start, end = span(request)
    name = request.query.get("Name")
    results = [
        point
        for point in job.points
        if name in (None, "", point.name)
        and (start is None or point.time >= start)
        and (end is None or point.time <= end + 0.999)
    ]
    if request.query.get("Order", "asc") == "desc":
        results.reverse()
    return {"Metrics": [_point(point) for point in request.page(results, 10)], "TotalCount": len(results)}


def _latest(job: TrainingJob, request: Request) -> Reply:
    names = request.query.get("Names")
    wanted = names.split(",") if names else None
    results = [point for name, point in job.latest().items() if wanted is None or name in wanted]
    return {"Metrics": [_point(point) for point in results]}


def usage_kind(request: Request) -> str:
    """Return the requested kind of usage. Raises Refusal."""
    kind = request.query.get("MetricType", "")
    if kind not in _USAGE.split():
        raise Refusal(400, "InvalidMetricType", f"MetricType must be one of {_USAGE}, not {kind!r}.")
    if request.query.get("TimeStep", "5m") not in _STEPS:
        raise Refusal(400, "InvalidTimeStep", f"TimeStep must be one of {', '.join(_STEPS)}.")
    return kind


def usage_of(instance: Instance, kind: str, start: float | None, end: float | None) -> list[tuple[float, float]]:
    """Return the times and values of an instance's usage."""
    return [
        (moment, value)
        for moment, name, value in instance.usage
        if name == kind and (start is None or moment >= start) and (end is None or moment <= end + 0.999)
    ]


def _instance_metrics(job: TrainingJob, request: Request) -> Reply:
    kind = usage_kind(request)
    start, end = span(request)
    named = request.query.get("InstanceId")
    _check_number(job, request, start, end)
    rows = []
    for instance in job.instances:
        if named in (None, "", instance.name):
            points = [{"Time": iso(moment), "Value": v} for moment, v in usage_of(instance, kind, start, end)]
            rows.append({"InstanceId": instance.name, "NodeName": "127.0.0.1", "Metrics": points})
    return {"InstanceMetrics": rows}


def _check_number(job: TrainingJob, request: Request, start: float | None, end: float | None) -> None:
    """Refuse a request for too many points."""
    step = _STEPS[request.query.get("TimeStep", "5m")]
    first = job.started if start is None else start
    count = ((job.history.last.start if job.ended else end or job.now) - first) / step * max(len(job.instances), 1)
    if count > _MOST_POINTS:
        raise Refusal(400, "InvalidTimeStep", f"{count:.0f} points are requested, more than {_MOST_POINTS}.")


def _error(job: TrainingJob, request: Request) -> Reply:
    return {"ErrorInfo": job.error}


def _models(job: TrainingJob, request: Request) -> Reply:
    """A job that has written to its channel `model` has a model, with the last value of each metric."""
    labels = [{"Key": "Algorithm", "Value": job.request.get("AlgorithmName") or "custom"}]
    metrics = {name: point.value for name, point in job.latest().items()}
    return {
        "OutputModels": [
            {"OutputChannelName": c["Name"], "Uri": c.get("OutputUri", ""), "SourceType": "TrainingService",
             "SourceId": f"workspaceId={job.request['WorkspaceId']},kind=TrainingJob,id={job.id}",
             "Labels": labels, "Metrics": metrics}
            for c in job.request.get("OutputChannels") or [] if c["Name"] == "model" and "model" in job.written
        ]
    }  # fmt: skip


View = Callable[[TrainingJob, Request], Reply]
VIEWS: list[tuple[str, str, str, View]] = [
    ("ListTrainingJobLogs", "GET", "/logs", _logs),
    ("ListTrainingJobEvents", "GET", "/events", _events),
    ("ListTrainingJobInstanceEvents", "GET", "/instances/{InstanceId}/events", _instance_events),
    ("ListTrainingJobMetrics", "GET", "/metrics", _metrics),
    ("GetTrainingJobLatestMetrics", "GET", "/latestmetrics", _latest),
    ("ListTrainingJobInstanceMetrics", "GET", "/instancemetrics", _instance_metrics),
    ("GetTrainingJobErrorInfo", "GET", "/errorinfo", _error),
    ("ListTrainingJobOutputModels", "GET", "/outputmodels", _models),
]
