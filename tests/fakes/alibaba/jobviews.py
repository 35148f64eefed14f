"""Replies about a training job."""

from __future__ import annotations

from calendar import timegm
from collections.abc import Callable
from time import strptime

from .clock import iso
from .jobs import Lines, Point, TrainingJob
from .service_errors import Refusal
from .services import Asked, Reply

__all__ = ["VIEWS", "View", "item", "span", "whole"]

_ECHOED = (
    "AlgorithmName AlgorithmProvider AlgorithmVersion AssignNodeSpec CredentialConfig Environments "
    "ExperimentConfig HyperParameters InputChannels OutputChannels PythonRequirements RoleArn "
    "TrainingJobDescription TrainingJobName WorkspaceId"
).split()
_USAGE = (
    "GpuCoreUsage GpuMemoryUsage CpuCoreUsage MemoryUsage NetworkInputRate NetworkOutputRate DiskReadRate DiskWriteRate"
)


def whole(job: TrainingJob, region: str) -> Reply:
    """Return the complete job."""
    asked = job.asked
    told = _common(job) | {name: asked[name] for name in ("Priority", "Settings") if asked.get(name)}
    told |= {
        "AlgorithmId": "",
        "AlgorithmSpec": job.spec,
        "Duration": job.duration,
        "Instances": [{"Name": i.name, "Role": i.role, "Status": i.status} for i in job.instances],
        "LatestMetrics": [_point(point) for point in job.latest().values()],
        "LatestProgress": _progress(job),
        # Numbers of the scheduler come as text here, and nowhere else.
        "Scheduler": {name: str(value) for name, value in (asked.get("Scheduler") or {}).items()},
        "TrainingJobUrl": _console(job, region),
    }
    if model := next((c for c in asked.get("OutputChannels") or [] if c["Name"] == "model"), None):
        told["OutputModel"] = {"OutputChannelName": "model", "Uri": model.get("OutputUri", "")}
    return told


def item(job: TrainingJob) -> Reply:
    """Return the row of a list."""
    told = _common(job) | {"DlcJobId": job.dlc_id}
    told["ComputeResource"] = {
        n: v for n, v in told["ComputeResource"].items() if n not in ("SpotSpec", "UseSpotInstance")
    }
    seconds = (job.asked.get("Scheduler") or {}).get("MaxRunningTimeInSeconds")
    return told | {"Scheduler": {"MaxRunningTimeInSeconds": seconds} if seconds is not None else {}}


def _common(job: TrainingJob) -> Reply:
    asked = job.asked
    vpc = {name: value for name, value in (asked.get("UserVpc") or {}).items() if name != "DefaultRoute"}
    return {name: asked[name] for name in _ECHOED if asked.get(name) is not None} | {
        "ComputeResource": dict(asked.get("ComputeResource") or {}),
        "GmtCreateTime": iso(job.created),
        "GmtModifiedTime": iso(job.modified),
        "IsTempAlgo": True,
        "Labels": [{"Key": name, "Value": value} for name, value in job.labels.items()],
        "ReasonCode": job.reason_code,
        "ReasonMessage": job.reason_message,
        "Status": job.status,
        "StatusTransitions": job.transitions,
        "TrainingJobId": job.id,
        "UserId": job.user_id,
        "UserVpc": vpc,
    }


def _console(job: TrainingJob, region: str) -> str:
    place = f"?regionId={region}&workspaceId={job.asked['WorkspaceId']}"
    return f"https://pai.console.aliyun.com/{place}#/training/jobs/{job.id}"


def _point(point: Point) -> Reply:
    return {"Name": point.name, "Timestamp": iso(point.time), "Value": point.value}


def _progress(job: TrainingJob) -> Reply:
    told = {}
    for name, point in (("OverallProgress", job.overall), ("RemainingTime", job.remaining)):
        if point:
            told[name] = {"Timestamp": iso(point.time), "Value": point.value}
    return told


def span(asked: Asked) -> tuple[float | None, float | None]:
    """Return `StartTime` and `EndTime` of the query. Raises Refusal."""
    return _moment(asked, "StartTime"), _moment(asked, "EndTime")


def _moment(asked: Asked, name: str) -> float | None:
    text = asked.query.get(name)
    if not text:
        return None
    try:
        return timegm(strptime(text, "%Y-%m-%dT%H:%M:%SZ"))
    except ValueError:
        raise Refusal(400, f"Invalid{name}", f"{name} must look like 2024-01-02T03:04:05Z, not {text!r}.") from None


def _texts(lines: Lines, asked: Asked, word: str) -> Reply:
    found = lines.between(*span(asked))
    return {word: asked.page(found, 100, 2000), "TotalCount": str(len(found))}


def _logs(job: TrainingJob, asked: Asked) -> Reply:
    if not job.instances:
        message = f"Instances of training job {job.id} are not found."
        raise Refusal(404, "TRAINING_JOB_INSTANCE_NOT_FOUND", message)
    name = asked.query.get("InstanceId") or asked.query.get("WorkerId")
    if name and name not in job.lines_of:
        raise Refusal(404, "TRAINING_JOB_INSTANCE_NOT_FOUND", f"Instance {name} is not found.")
    return _texts(job.lines_of[name] if name else job.lines, asked, "Logs")


def _events(job: TrainingJob, asked: Asked) -> Reply:
    return _texts(job.events, asked, "Events")


def _instance_events(job: TrainingJob, asked: Asked) -> Reply:
    for instance in job.instances:
        if instance.name == asked.path["InstanceId"]:
            return _texts(instance.events, asked, "Events")
    raise Refusal(404, "TRAINING_JOB_INSTANCE_NOT_FOUND", f"Instance {asked.path['InstanceId']} is not found.")


def _metrics(job: TrainingJob, asked: Asked) -> Reply:
    start, end = span(asked)
    name = asked.query.get("Name")
    found = [
        point
        for point in job.points
        if name in (None, "", point.name)
        and (start is None or point.time >= start)
        and (end is None or point.time <= end + 0.999)
    ]
    if asked.query.get("Order", "asc") == "desc":
        found.reverse()
    return {"Metrics": [_point(point) for point in asked.page(found, 10)], "TotalCount": len(found)}


def _latest(job: TrainingJob, asked: Asked) -> Reply:
    names = asked.query.get("Names")
    wanted = names.split(",") if names else None
    found = [point for name, point in job.latest().items() if wanted is None or name in wanted]
    return {"Metrics": [_point(point) for point in found]}


def _instance_metrics(job: TrainingJob, asked: Asked) -> Reply:
    kind = asked.query.get("MetricType", "")
    if kind not in _USAGE.split():
        raise Refusal(400, "InvalidMetricType", f"MetricType must be one of {_USAGE}, not {kind!r}.")
    start, end = span(asked)
    named = asked.query.get("InstanceId")
    rows = []
    for instance in job.instances:
        if named in (None, "", instance.name):
            points = [
                {"Time": iso(moment), "Value": value}
                for moment, name, value in instance.usage
                if name == kind and (start is None or moment >= start) and (end is None or moment <= end + 0.999)
            ]
            rows.append({"InstanceId": instance.name, "NodeName": "127.0.0.1", "Metrics": points})
    return {"InstanceMetrics": rows}


def _error(job: TrainingJob, asked: Asked) -> Reply:
    return {"ErrorInfo": job.error}


def _models(job: TrainingJob, asked: Asked) -> Reply:
    """A job that has written to its channel `model` has a model, with the last value of each metric."""
    labels = [{"Key": "Algorithm", "Value": job.asked.get("AlgorithmName") or "custom"}]
    metrics = {name: point.value for name, point in job.latest().items()}
    return {
        "OutputModels": [
            {"OutputChannelName": c["Name"], "Uri": c.get("OutputUri", ""), "SourceType": "TrainingService",
             "SourceId": f"workspaceId={job.asked['WorkspaceId']},kind=TrainingJob,id={job.id}",
             "Labels": labels, "Metrics": metrics}
            for c in job.asked.get("OutputChannels") or [] if c["Name"] == "model" and "model" in job.written
        ]
    }  # fmt: skip


View = Callable[[TrainingJob, Asked], Reply]
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
