"""DLC's operations on jobs."""

from __future__ import annotations

import asyncio
import json
import math
import secrets
from typing import Any

from ..clock import Clock
from ..datasets import Datasets
from ..jobviews import span
from ..service_errors import Refusal
from ..services import Handler, Operation, Reply, Request
from ..settings import Settings
from ..terminals import Terminals
from . import views
from .checks import check_job, check_priority
from .jobs import DlcJob
from .mounts import check_sources
from .runs import DlcRuns

__all__ = ["DlcService"]

_WEEK = 7 * 86_400
_JOB = "/jobs/{JobId}"
_OWNERS = ("PAI.WorkspaceOwner", "PAI.WorkspaceAdmin")
_SEARCHED = {"UserCommandSearch": "UserCommand", "Description": "Description", "DisplayName": "DisplayName"}


class DlcService:
    """All jobs of the workspace."""

    def __init__(
        self, settings: Settings, clock: Clock, runs: DlcRuns, datasets: Datasets, terminals: Terminals
    ) -> None:
        self._settings, self._clock, self._runs = settings, clock, runs
        self._datasets, self._terminals = datasets, terminals
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self.jobs: dict[str, DlcJob] = {}
        # Seconds until a new job appears in lists.
        self.list_lag = 0.0
        # The most lines of a reply.
        self.largest_page = 2000
        # Whether lists have only the jobs that a request asks for.
        self.filters = True
        # How the next jobs are to end.
        self.fates: list[tuple[str, str, str]] = []

    def operations(self) -> list[Operation]:
        """The operations of this service."""
        table: list[tuple[str, str, str, Handler]] = [
            ("CreateJob", "POST", "/jobs", self._create),
            ("ListJobs", "GET", "/jobs", self._list),
            ("GetJob", "GET", _JOB, self._get),
            ("UpdateJob", "PUT", _JOB, self._update),
            ("DeleteJob", "DELETE", _JOB, self._delete),
            ("StopJob", "POST", f"{_JOB}/stop", self._stop),
            ("GetWebTerminal", "GET", f"{_JOB}/pods/{{PodId}}/webterminal", self._terminal),
            ("GetToken", "GET", "/tokens", self._token),
        ]
        made = [Operation("dlc", name, method, path, handler) for name, method, path, handler in table]
        return made + [
            Operation("dlc", name, "GET", f"{_JOB}{path}", self._shown(view)) for name, path, view in views.VIEWS
        ]

    def _shown(self, view: views.View) -> Handler:
        def shown(request: Request) -> Reply:
            if lines := request.query.get("MaxLines"):
                request.query["MaxLines"] = str(min(int(lines), self.largest_page))
            return view(self._find(request), request, self._settings.log_end)

        return shown

    def _find(self, request: Request) -> DlcJob:
        job = self.jobs.get(request.path["JobId"])
        if job is None or not _sees(job, request):
            raise Refusal(404, "JOB_NOT_FOUND", f"Job {request.path['JobId']} is not found.")
        return job

    def add(self, body: dict[str, Any], user_id: str = "200000000000000001") -> DlcJob:
        """Add a job that is not executed; its test sets its status."""
        job = DlcJob({"WorkspaceId": self._settings.workspace_id} | body, user_id, self._clock)
        self.jobs[job.id] = job
        return job

    async def _create(self, request: Request) -> Reply:
        check_job(request.body, self._settings.workspace_id)
        places = check_sources(request.body.get("DataSources") or [], self._datasets)
        job = self.add(request.body, request.key.user_id)
        job.places = places
        job.fate = self.fates.pop(0) if self.fates else None
        self._tasks[job.id] = task = asyncio.create_task(self._runs.run(job))
        task.add_done_callback(lambda _: self._tasks.pop(job.id, None))
        return {"JobId": job.id}

    def _get(self, request: Request) -> Reply:
        return views.whole(self._find(request), request.query.get("NeedDetail", "true").lower() == "true")

    def _update(self, request: Request) -> Reply:
        job = self._find(request)
        check_priority(request.body.get("Priority"))
        if job.ended:
            raise _wrong_status(job, "updated")
        job.priority = request.body.get("Priority") or job.priority
        for name in ("Accessibility", "Description"):
            if request.body.get(name):
                job.request[name] = request.body[name]
        return {"JobId": job.id}

    def _delete(self, request: Request) -> Reply:
        job = self._find(request)
        if not job.ended:
            raise _wrong_status(job, "deleted")
        del self.jobs[job.id]
        return {"JobId": job.id}

    def _stop(self, request: Request) -> Reply:
        job = self._find(request)
        if job.ended:
            raise _wrong_status(job, "stopped")
        if not job.stop_wanted:
            job.stop_wanted = True
            job.enter("Stopping")
            if job.id in self._tasks:
                self._runs.stop(job)
            else:
                job.enter("Stopped", "JobStoppedByUser", "Job is stopped by user.")
        return {"JobId": job.id}

    def _terminal(self, request: Request) -> Reply:
        job = self._find(request)
        pod = job.pod_of(request.path["PodId"], request.query.get("PodUid") or "")
        if pod is None or pod not in job.pods:
            raise Refusal(404, "POD_NOT_FOUND", f"Pod {request.path['PodId']} is not found.")
        if pod.node.status != "Running":
            raise Refusal(400, "POD_STATUS_INVALID", f"A pod that is {pod.node.status} has no terminal.")
        folder = self._runs.folder(job).ml(pod)
        return {"WebTerminalUrl": self._terminals.open(f"{job.id}/{pod.node.name}", folder)}

    def _token(self, request: Request) -> Reply:
        return {"Token": secrets.token_urlsafe(24)}

    def _list(self, request: Request) -> Reply:
        query = request.query
        start, end = span(request)
        now = self._clock.now()
        start = now - _WEEK if start is None else start
        end = min(now - self.list_lag, math.inf if end is None else end + 0.999)
        results = [
            job
            for job in self.jobs.values()
            if start <= job.history.created <= end and _sees(job, request)
            if not self.filters or _matches(job, request)
        ]
        results.sort(key=lambda job: _order(job, query.get("SortBy", "")), reverse=query.get("Order", "desc") != "asc")
        request.number("PageNumber", 1, 1000)
        return {"TotalCount": len(results), "Jobs": [views.item(job) for job in request.page(results)]}


def _wrong_status(job: DlcJob, done: str) -> Refusal:
    return Refusal(400, "JOB_STATUS_INVALID", f"A job that is {job.status} cannot be {done}.")


def _sees(job: DlcJob, request: Request) -> bool:
    private = job.request.get("Accessibility") == "PRIVATE"
    return not private or job.user_id == request.key.user_id or request.key.role in _OWNERS


def _matches(job: DlcJob, request: Request) -> bool:
    query = request.query
    tags = (job.request.get("Settings") or {}).get("Tags") or {}
    ids = query.get("JobId") or query.get("JobIds") or ""
    quotas = query.get("ResourceId") or query.get("ResourceIds") or ""
    images = " ".join(spec["Image"] for spec in job.request["JobSpecs"])
    return (
        query.get("WorkspaceId") in (None, "", job.request["WorkspaceId"])
        and (not ids or job.id in ids.lower().split(","))
        and (not quotas or job.quota in quotas.split(","))
        and query.get("JobType") in (None, "", job.request["JobType"])
        and (not query.get("Status") or job.status in query["Status"].split(","))
        and query.get("Accessibility") in (None, "", job.request.get("Accessibility", "PRIVATE"))
        and query.get("PaymentType") in (None, "", _payment(job))
        and query.get("UserIdForFilter") in (None, "", job.user_id)
        and (not request.flag("ShowOwn") or job.user_id == request.key.user_id)
        and all(tags.get(name) == value for name, value in json.loads(query.get("Tags") or "{}").items())
        and all(query.get(n, "").lower() in str(job.request.get(f) or "").lower() for n, f in _SEARCHED.items())
        and query.get("ImageSearch", "") in images
    )


def _payment(job: DlcJob) -> str:
    return "PrePaid" if job.quota else "Spot" if job.is_spot else "PostPaid"


def _order(job: DlcJob, by: str) -> Any:
    if by in ("DisplayName", "JobType"):
        return job.request[by]
    if by == "Status":
        return job.status
    return (job.history.last.start if job.ended else math.inf) if by == "GmtFinishTime" else job.history.created
