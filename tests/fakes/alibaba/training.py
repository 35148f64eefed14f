"""PaiStudio's operations on training jobs."""

from __future__ import annotations

import asyncio
import json
import math
import secrets
from collections.abc import Callable, Coroutine
from typing import Any

from . import jobviews
from .algorithms import definition
from .clock import Clock
from .datasets import Datasets
from .instancetypes import ordered
from .jobs import TrainingJob
from .quotas import check_quota
from .service_errors import Refusal
from .services import Handler, Operation, Reply, Request

__all__ = ["Training"]

_WEEK = 7 * 86400
_JOB = "/trainingjobs/{TrainingJobId}"


class Training:
    """All training jobs of the workspace."""

    def __init__(
        self,
        workspace_id: str,
        region: str,
        clock: Clock,
        run: Callable[[TrainingJob], Coroutine[Any, Any, None]],
        stop: Callable[[TrainingJob], None],
    ) -> None:
        self._workspace_id, self._region, self._clock = workspace_id, region, clock
        self._run, self._stop = run, stop
        self.datasets = Datasets()
        self._tasks: set[asyncio.Task[None]] = set()
        self.jobs: dict[str, TrainingJob] = {}
        # Seconds until a new job appears in lists.
        self.list_lag = 0.0
        # The most items of a page of a job's logs, events and metrics.
        self.largest_page = 2000
        # Whether lists have only the jobs that a request asks for.
        self.filters = True
        # The id of the job that is returned for another id.
        self.swapped: dict[str, str] = {}
        # How the next jobs are to end.
        self.fates: list[tuple[str, str, str]] = []

    def operations(self) -> list[Operation]:
        """The operations of this service."""
        table: list[tuple[str, str, str, Handler]] = [
            ("CreateTrainingJob", "POST", "/trainingjobs", self._create),
            ("ListTrainingJobs", "GET", "/trainingjobs", self._list),
            ("GetTrainingJob", "GET", _JOB, self._get),
            ("DeleteTrainingJob", "DELETE", _JOB, self._delete),
            ("StopTrainingJob", "PUT", f"{_JOB}/stop", self._end),
            ("UpdateTrainingJobLabels", "POST", f"{_JOB}/labels", self._label),
            ("DeleteTrainingJobLabels", "DELETE", f"{_JOB}/labels", self._unlabel),
            ("GetToken", "GET", "/tokens", self._token),
        ]
        made = [Operation("paistudio", name, method, path, handler) for name, method, path, handler in table]
        return made + [
            Operation("paistudio", name, method, f"{_JOB}{path}", self._shown(view))
            for name, method, path, view in jobviews.VIEWS
        ]

    def _shown(self, view: jobviews.View) -> Handler:
        def shown(request: Request) -> Reply:
            if size := request.query.get("PageSize"):
                request.query["PageSize"] = str(min(int(size), self.largest_page))
            return view(self.find(request), request)

        return shown

    def find(self, request: Request) -> TrainingJob:
        """Return the requested job. Raises Refusal."""
        job_id = request.path["TrainingJobId"]
        job = self.jobs.get(self.swapped.get(job_id, job_id))
        if job is None:
            message = f"Training job {request.path['TrainingJobId']} is not found."
            raise Refusal(404, "TRAINING_JOB_NOT_FOUND", message)
        return job

    def add(self, body: dict[str, Any], user_id: str = "200000000000000001") -> TrainingJob:
        """Add a job that is not executed; its test sets its status."""
        job = TrainingJob({"WorkspaceId": self._workspace_id} | body, user_id, self._clock)
        self.jobs[job.id] = job
        return job

    async def _create(self, request: Request) -> Reply:
        _check(request.body, self._workspace_id)
        places = self.datasets.places(request.body.get("InputChannels") or [])
        job = self.add(request.body, request.key.user_id)
        job.places = places
        job.fate = self.fates.pop(0) if self.fates else None
        task = asyncio.create_task(self._run(job))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return {"TrainingJobId": job.id}

    def _get(self, request: Request) -> Reply:
        return jobviews.whole(self.find(request), self._region)

    def _delete(self, request: Request) -> Reply:
        job = self.find(request)
        if not job.ended:
            raise Refusal(400, "TRAINING_JOB_STATUS_INVALID", f"A job that is {job.status} cannot be deleted.")
        del self.jobs[job.id]
        return {}

    def _end(self, request: Request) -> Reply:
        job = self.find(request)
        if job.ended:
            raise Refusal(400, "TRAINING_JOB_STATUS_INVALID", f"A job that is {job.status} cannot be stopped.")
        job.stop_wanted = True
        self._stop(job)
        return {}

    def _label(self, request: Request) -> Reply:
        labels = request.body.get("Labels") or []
        self.find(request).labels |= {label["Key"]: label.get("Value", "") for label in labels}
        return {}

    def _unlabel(self, request: Request) -> Reply:
        job = self.find(request)
        for name in request.query.get("Keys", "").split(","):
            job.labels.pop(name, None)
        return {}

    def _token(self, request: Request) -> Reply:
        return {"Token": secrets.token_urlsafe(24)}

    def _list(self, request: Request) -> Reply:
        query = request.query
        start, end = jobviews.span(request)
        now = self._clock.now()
        start = now - _WEEK if start is None else start
        end = min(now - self.list_lag, math.inf if end is None else end + 0.999)
        results = [job for job in self.jobs.values() if start <= job.history.created <= end]
        results = [job for job in results if not self.filters or _matches(job, query)]
        results.sort(key=lambda job: _order(job, query.get("SortBy", "")), reverse=query.get("Order", "desc") != "asc")
        page = request.page(results)
        return {"TotalCount": len(results), "TrainingJobs": [jobviews.item(job) for job in page]}


def _matches(job: TrainingJob, query: dict[str, str]) -> bool:
    labels = json.loads(query.get("Labels") or "{}")
    return (
        query.get("WorkspaceId") in (None, job.request["WorkspaceId"])
        and query.get("TrainingJobId") in (None, "", job.id)
        and query.get("TrainingJobName", "") in job.request.get("TrainingJobName", "")
        and query.get("Status") in (None, "", job.status)
        and all(job.labels.get(name) == value for name, value in labels.items())
        and query.get("AlgorithmName") in (None, "", job.request.get("AlgorithmName"))
    )


def _order(job: TrainingJob, by: str) -> Any:
    known = {"TrainingJobName": job.request.get("TrainingJobName", ""), "Status": job.status}
    return known.get(by) or (job.history.last.start if by == "GmtModifiedTime" else job.history.created)


def _check(body: dict[str, Any], workspace_id: str) -> None:
    """Check what the service rejects at once."""
    for name in ("TrainingJobName", "WorkspaceId"):
        if not body.get(name):
            raise Refusal(400, f"Missing{name}", f"{name} is mandatory for this action.")
    if len(body["TrainingJobName"]) > 256:
        message = "The specified TrainingJobName is not valid: it is longer than 256 characters."
        raise Refusal(400, "InvalidTrainingJobName", message)
    if body["WorkspaceId"] != workspace_id:
        raise Refusal(404, "WORKSPACE_NOT_FOUND", f"Workspace {body['WorkspaceId']} is not found.")
    spec = body.get("AlgorithmSpec") or definition(body)
    for name in ("Command", "Image", "JobType"):
        if not spec.get(name):
            raise Refusal(400, f"MissingAlgorithmSpec.{name}", f"AlgorithmSpec.{name} is mandatory for this action.")
    _check_resource(body.get("ComputeResource") or {})


def _check_resource(resource: dict[str, Any]) -> None:
    named, quota = resource.get("EcsSpec") or "", resource.get("ResourceId") or ""
    if bool(named) == bool(quota):
        raise Refusal(400, "InvalidComputeResource", "Either EcsSpec or ResourceId must be given, and not both.")
    if quota:
        check_quota(quota)
    else:
        ordered(named)
