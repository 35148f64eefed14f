"""Jobs in the forms of the server's replies."""

from __future__ import annotations

from typing import Any

from .exits import spec_of
from .jobs import Job, Task, short_name

__all__ = ["detail", "log_path", "summary", "task_history"]


def _retries(job: Job) -> dict[str, Any]:
    return {"retries": job.attempt, "retryDetails": dict(job.retried), "retryDelayTime": None}


def summary(job: Job) -> dict[str, Any]:
    """Return a row of a list."""
    roles = job.document["taskRoles"].values()
    counts = [(role.get("instances", 1), role["resourcePerInstance"]["gpu"]) for role in roles]
    hived = job.document.get("extras", {}).get("hivedScheduler") or {}
    return {
        "debugId": job.hash, "name": job.name, "username": job.user, "state": job.state, "subState": job.sub_state,
        "executionType": job.execution, "tags": job.tags, **_retries(job), "submissionTime": job.submitted,
        "createdTime": job.created, "launchedTime": job.launched, "completedTime": job.completed,
        "appExitCode": job.exit_code, "virtualCluster": job.virtual_cluster,
        "totalGpuNumber": sum(number * gpus for number, gpus in counts),
        "totalTaskNumber": sum(number for number, _ in counts), "totalTaskRoleNumber": len(counts),
        "jobPriority": hived.get("jobPriorityClass"),
    }  # fmt: skip


def detail(job: Job) -> dict[str, Any]:
    """Return a job with its tasks."""
    started = {} if job.created is None else {"attemptId": job.attempt, "appId": f"a{job.attempt}"}
    status = {
        "username": job.user, "state": job.state, "subState": job.sub_state, "executionType": job.execution,
        **_retries(job), "createdTime": job.created, "launchedTime": job.launched, "completedTime": job.completed,
        **started, "attemptState": job.state, "appProgress": 0 if job.exit_code is None else 1, "appTrackingUrl": "",
        "appCreatedTime": job.created, "appLaunchedTime": job.launched, "appCompletedTime": job.completed,
        **_result(job), "virtualCluster": job.virtual_cluster, "submissionTime": job.submitted,
    }  # fmt: skip
    reply: dict[str, Any] = {"debugId": job.hash, "name": job.name, "tags": job.tags, "jobStatus": status}
    roles: dict[str, Any] = {}
    for task in job.tasks:
        name = short_name(task.role)
        role = roles.setdefault(name, {"taskRoleStatus": {"name": name}, "taskStatuses": []})
        role["taskStatuses"].append(_task(job, task))
    if job.document.get("extras", {}).get("hivedScheduler"):
        reply["jobPriority"] = summary(job)["jobPriority"]
    return reply | {"taskRoles": roles}


def _result(job: Job) -> dict[str, Any]:
    code, trigger = job.exit_code, job.trigger
    runtime: dict[str, Any] | None = None
    text = {None: None, 0: "Pod succeeded", -210: "User has requested to stop the Framework"}.get(code, "")
    if trigger and code:
        text = trigger.diagnostics
        runtime = {"exitCode": trigger.exit_code, "originUserExitCode": trigger.user_code}
        runtime |= {"errorLogs": {"user": trigger.errors}, "name": "app"}
    ended = trigger and ("All Tasks are completed" if not runtime else "minFailedTaskCount has been reached")
    return {
        "appExitCode": code,
        "appExitSpec": None if code is None else spec_of(code),
        "appExitDiagnostics": text,
        "appExitMessages": code
        if code is None
        else {"container": None, "runtime": runtime, "launcher": None if runtime else text},
        "appExitTriggerMessage": ended,
        "appExitTriggerTaskRoleName": short_name(trigger.role) if trigger else None,
        "appExitTriggerTaskIndex": trigger.index if trigger else None,
        "appExitType": None if code is None else "Failed" if code else "Succeeded",
    }


def log_path(job: Job, task: Task) -> str:
    """Return the path of a task's list of logs."""
    place = f"attempts/{job.attempt}/taskRoles/{short_name(task.role)}/taskIndex/{task.index}/attempts/{task.attempt}"
    return f"/api/v2/jobs/{job.key}/{place}/logs"


def _container(job: Job, task: Task) -> dict[str, Any]:
    return {
        "containerId": task.pod, "containerIp": "127.0.0.1", "containerNodeName": "node1",
        "containerPorts": task.ports, "containerGpus": None,
        "containerLog": log_path(job, task), "containerExitCode": task.exit_code,
        "containerExitSpec": None if task.exit_code is None else spec_of(task.exit_code),
        "containerExitDiagnostics": task.diagnostics,
    }  # fmt: skip


def _attempt(task: Task) -> dict[str, Any]:
    times = (task.created, task.launched or task.created, task.completed)
    names = ("currentAttemptCreatedTime", "currentAttemptLaunchedTime", "currentAttemptCompletedTime")
    return {"attemptId": task.attempt, "attemptState": task.state} | dict(zip(names, times, strict=True))


def _common(task: Task) -> dict[str, Any]:
    return {
        "taskIndex": task.index, "taskUid": task.uid, "taskState": task.state, "retries": task.attempt,
        "accountableRetries": task.attempt,
        "createdTime": task.created, "launchedTime": task.launched or task.created, "completedTime": task.completed,
    }  # fmt: skip


def _task(job: Job, task: Task) -> dict[str, Any]:
    return _common(task) | _container(job, task) | _attempt(task)


def task_history(job: Job, task: Task) -> dict[str, Any]:
    """Return the attempts of a task."""
    place = {
        "username": job.user,
        "jobName": job.name,
        "jobAttemptId": job.attempt,
        "taskRoleName": short_name(task.role),
    }
    return place | _common(task) | {"attempts": [_attempt(one) | _container(job, one) for one in task.tries]}
