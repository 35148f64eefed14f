"""The actions on training tasks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import submit_checks, taskviews
from .catalogue import GROUPS, needs_of
from .cos import Cos
from .requests import Action, Request, refuse
from .settings import Settings
from .tasks import ENDED, Run, Task

__all__ = ["Training"]

_BUSY = ("STARTING", "RUNNING", "STOPPING")
_FIELDS = ("Name", "Id", "Status", "ResourceGroupId", "Creator", "ChargeType", "CHARGE_STATUS")
_ORDERS = {"UpdateTime": "updated", "CreateTime": "created", "StartTime": "started"}


class Training:
    """All tasks by id. `start` begins the current run of one."""

    def __init__(self, cos: Cos, settings: Settings) -> None:
        self._cos, self._settings = cos, settings
        self.start: Callable[[Task], None] = lambda task: None
        self.tasks: dict[str, Task] = {}
        # How the next created tasks end, as status and reason.
        self.fates: list[tuple[str, str]] = []
        # Where the page of a pod's shell is.
        self.address = ""

    def actions(self) -> dict[str, Action]:
        """The public actions."""
        return {
            "CreateTrainingTask": self._create,
            "DescribeTrainingTask": self._detail,
            "DescribeTrainingTasks": self._list,
            "DescribeTrainingTaskPods": lambda request: taskviews.pods(self.find(request).run),
            "DescribeTrainingTaskPodUrl": self._pod_url,
            "StartTrainingTask": self._start,
            "StopTrainingTask": self._stop,
            "DeleteTrainingTask": self._delete,
            "EnableTrainingTaskClsConfig": self._enable_logs,
        }

    def extras(self) -> dict[str, Action]:
        """The actions that were cut."""
        return {"ModifyTrainingTask": self._rename, "DescribeTrainingTaskSecondaryStatus": self._stages}

    def find(self, request: Request, name: str = "Id") -> Task:
        """Return the task of a request. Raises Refusal."""
        task = self.tasks.get(request.body[name])
        if task is None or (task.region, task.project) != (request.region, request.project):
            refuse("FailedOperation.RecordNotFound", f"The task {request.body[name]} does not exist.")
        return task

    def used(self, group: str) -> tuple[int, int, int]:
        """Return what busy tasks take of a resource group: thousandths of a core, MB, hundredths of a GPU."""
        total = [0, 0, 0]
        for task in self.tasks.values():
            if task.status in _BUSY and task.request.get("ResourceGroupId") == group and not task.is_postpaid:
                for config in task.request["ResourceConfigInfos"]:
                    for place, need in enumerate(needs_of(config)):
                        total[place] += need * (config.get("InstanceNum") or 1)
        return total[0], total[1], total[2]

    def has_room(self, task: Task) -> bool:
        """Return whether the resource group of a task is free enough."""
        if task.is_postpaid:
            return True
        key = task.request["ResourceGroupId"]
        group, used = GROUPS[key], self.used(key)
        has = (group.cpu * group.nodes, group.memory * group.nodes, group.gpus * group.nodes * 100)
        wanted = [0, 0, 0]
        for config in task.request["ResourceConfigInfos"]:
            for place, need in enumerate(needs_of(config)):
                wanted[place] += need * config["InstanceNum"]
        return all(used[place] + wanted[place] <= has[place] for place in range(3))

    def _create(self, request: Request) -> dict[str, Any]:
        submit_checks.check(request, self.tasks, self._cos.buckets, self._settings)
        task = Task(request.body, request.region, request.key.user_id if request.key else "", request.now)
        task.run.fate = self.fates.pop(0) if self.fates else None
        self.tasks[task.id] = task
        self.start(task)
        return {"Id": task.id}

    def _detail(self, request: Request) -> dict[str, Any]:
        task = self.find(request)
        wanted = request.body.get("InstanceId")
        run = next((run for run in task.runs if run.instance == wanted), None) if wanted else task.run
        if run is None:
            refuse("FailedOperation.RecordNotFound", f"The instance {wanted} does not exist.")
        return {"TrainingTaskDetail": taskviews.detail(task, run, request.now)}

    def _list(self, request: Request) -> dict[str, Any]:
        body = request.body
        rows = [
            task for task in self.tasks.values()
            if (task.region, task.project) == (request.region, request.project)
        ]  # fmt: skip
        for row in body.get("Filters") or []:
            if row["Name"] not in _FIELDS:
                refuse("InvalidParameterValue", f"Tasks have no filter {row['Name']}.")
            rows = [task for task in rows if not self._settings.filters or _passes(task, row)]
        for row in body.get("TagFilters") or []:
            rows = [task for task in rows if _is_tagged(task, row)]
        field = _ORDERS.get(body.get("OrderField") or "UpdateTime")
        if field is None:
            refuse("InvalidParameterValue", f"OrderField {body['OrderField']} is invalid.")
        rows.sort(key=lambda task: (_moment(task, field), task.id), reverse=body.get("Order") != "ASC")
        page = request.page(rows, 10, 50)
        return {"TrainingTaskSet": [taskviews.item(task, request.now) for task in page], "TotalCount": len(rows)}

    def _pod_url(self, request: Request) -> dict[str, Any]:
        name = request.body["PodName"]
        for task in self.tasks.values():
            if any(pod.name == name and pod.status == "RUNNING" for pod in task.run.pods):
                return {"PodUrl": f"{self.address}/webshell/{name}?token=once"}
        return refuse("FailedOperation.RecordNotFound", f"The pod {name} does not run.")

    def _start(self, request: Request) -> dict[str, Any]:
        task = self.find(request)
        if task.status not in ENDED:
            refuse("OperationDenied.NotAllow", f"A task that is {task.status} cannot be started.")
        task.begin()
        self.start(task)
        return {}

    def _stop(self, request: Request) -> dict[str, Any]:
        task = self.find(request)
        if task.status == "SUBMITTING":
            refuse("FailedOperation.UnSubmitNotAllowToStop", "A task that is being submitted cannot be stopped.")
        if task.status in ENDED:
            refuse("OperationDenied.NotAllow", f"A task that is {task.status} cannot be stopped.")
        task.run.stop_wanted = True
        if task.status == "RUNNING":
            task.enter("STOPPING", request.now)
        return {}

    def _delete(self, request: Request) -> dict[str, Any]:
        task = self.find(request)
        if task.status not in ENDED:
            refuse("OperationDenied.NotAllow", f"A task that is {task.status} cannot be deleted.")
        del self.tasks[task.id]
        return {}

    def _enable_logs(self, request: Request) -> dict[str, Any]:
        changes = {name: request.body.get(name) for name in ("LogEnable", "LogConfig")}
        self.find(request, "TaskId").request.update(changes)
        return {}

    def _rename(self, request: Request) -> dict[str, Any]:
        self.find(request).request["Name"] = request.body["Name"]
        return {}

    def _stages(self, request: Request) -> dict[str, Any]:
        run: Run = self.find(request).run
        status = {"RUNNING": "Running", "SUCCEED": "Succeeded", "FAILED": "Failed", "STOPPED": "Stopped"}
        return {"SecondaryStatus": [{"Name": "StartTrain", "Status": status.get(run.status, "Waiting")}]}


def _passes(task: Task, row: dict[str, Any]) -> bool:
    charged = "BILLING" if task.is_postpaid and task.status == "RUNNING" else "NOT_BILLING"
    values = {"Name": task.name, "Id": task.id, "Status": task.status, "Creator": task.user, "CHARGE_STATUS": charged}
    value = values.get(row["Name"], task.request.get(row["Name"]) or "")
    wanted = row.get("Values") or []
    found = any(word in value for word in wanted) if row.get("Fuzzy") else value in wanted
    return found != bool(row.get("Negative"))


def _is_tagged(task: Task, row: dict[str, Any]) -> bool:
    wanted = row.get("TagValues") or []
    tags = {tag["TagKey"]: tag["TagValue"] for tag in task.request.get("Tags") or []}
    return row["TagKey"] in tags and (not wanted or tags[row["TagKey"]] in wanted)


def _moment(task: Task, field: str) -> float:
    value = task.run.started if field == "started" else getattr(task, field)
    return float(value or 0)
