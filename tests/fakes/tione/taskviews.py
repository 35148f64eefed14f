"""Tasks and pods as the replies show them."""

from __future__ import annotations

from typing import Any

from .catalogue import GROUPS, SPECS
from .keys import APP_ID, OWNER
from .requests import beijing
from .tasks import ENDED, Pod, Run, Task, command_of

__all__ = ["detail", "item", "pods"]

_TEXTS = ("FrameworkName", "FrameworkVersion", "FrameworkEnvironment", "TrainingMode", "ResourceGroupId", "CallbackUrl")
_NO_PATH = {"Bucket": "", "Paths": []}


def _common(task: Task, run: Run, now: float) -> dict[str, Any]:
    request, is_billed = task.request, task.is_postpaid and run.status == "RUNNING"
    row: dict[str, Any] = {"Id": task.id, "Name": task.name, "Status": run.status, "ChargeType": request["ChargeType"]}
    row |= {name: request.get(name) or "" for name in _TEXTS}
    group = GROUPS.get(row["ResourceGroupId"])
    row |= {"ResourceConfigInfos": request["ResourceConfigInfos"], "Output": request.get("Output") or _NO_PATH}
    row |= {"Tags": request.get("Tags"), "ImageInfo": request.get("ImageInfo"), "SubUin": task.user}
    row |= {"SubUinName": "tester", "ResourceGroupName": group.name if group else "", "Message": run.message}
    end = run.ended or now
    row |= {"RuntimeInSeconds": int(end - run.started) if run.started else None, "FailureReason": run.reason}
    row |= {"CreateTime": beijing(task.created), "UpdateTime": beijing(task.updated)}
    row |= {"StartTime": beijing(run.started), "EndTime": beijing(run.ended)}
    charge = task.charge or ("BILLING" if is_billed else "NOT_BILLING")
    return row | {"ChargeStatus": charge, "BillingInfo": _bill(task)}


def _bill(task: Task) -> str:
    """Return the price of all nodes as a text."""
    if not task.is_postpaid:
        return ""
    prices = {name: spec.price for name, spec in SPECS.items()}
    configs = task.request["ResourceConfigInfos"]
    fen = sum(prices.get(config.get("InstanceType") or "", 0) * (config.get("InstanceNum") or 1) for config in configs)
    return f"{fen / 100:.2f}元/小时"


def item(task: Task, now: float) -> dict[str, Any]:
    """A task in a list."""
    envs = [
        {
            "Name": row["Name"],
            "Value": "" if row.get("IsPrivate") else row.get("Value"),
            "IsPrivate": row.get("IsPrivate"),
        }
        for row in task.request.get("Envs") or []
    ]
    return _common(task, task.run, now) | {"AppId": APP_ID, "Envs": envs}


def detail(task: Task, run: Run, now: float) -> dict[str, Any]:
    """One run of a task."""
    request = task.request
    row = _common(task, run, now) | {"Uin": OWNER, "Region": task.region, "LatestInstanceId": task.run.instance}
    row |= {name: request.get(name) for name in ("DataSource", "DataConfigs", "TuningParameters", "LogConfig")}
    row |= {name: request.get(name) for name in ("CodeRepos", "ExposeNetworkConfig")}
    row |= {name: request.get(name) or "" for name in ("VpcId", "SubnetId", "Remark")}
    row |= {"CodePackagePath": request.get("CodePackagePath") or _NO_PATH, "LogEnable": bool(request.get("LogEnable"))}
    return row | {"StartCmdInfo": command_of(request), "TensorBoardId": ""}


def pods(run: Run) -> dict[str, Any]:
    """The pods of a run."""
    rows = [_pod(pod, run) for pod in run.pods]
    return {"PodNames": [pod.name for pod in run.pods], "TotalCount": len(rows), "PodInfoList": rows}


def _pod(pod: Pod, run: Run) -> dict[str, Any]:
    status = "TERMINATED" if run.status in ENDED and pod.status in ("PENDING", "RUNNING") else pod.status
    row = {"Name": pod.name, "IP": pod.ip, "Status": status, "ResourceConfigInfo": pod.config}
    return row | {"StartTime": beijing(pod.started), "EndTime": beijing(pod.ended)}
