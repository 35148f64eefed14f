"""The calls about jobs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..alibaba.service_errors import Refusal
from .accounts import Accounts
from .calls import Call, Reply, json_reply, object_of
from .jobs import Job, Task, short_name
from .jobviews import detail, summary, task_history
from .logs import LogManager
from .settings import Settings
from .validator import Document, check, check_hived, check_schema

__all__ = ["LIMIT", "Jobs"]

LIMIT = 102_400
_FIELDS = {"jobName": "name", "submissionTime": "submissionTime", "username": "username", "vc": "virtualCluster",
           "retries": "retries", "totalTaskNumber": "totalTaskNumber", "totalGpuNumber": "totalGpuNumber",
           "state": "state", "completionTime": "completedTime", "jobPriority": "jobPriority"}  # fmt: skip


class Jobs:
    """All jobs by their key. `start` begins the life of one."""

    def __init__(
        self,
        jobs: dict[str, Job],
        accounts: Accounts,
        settings: Settings,
        logs: LogManager,
        now: Callable[[], int],
        start: Callable[[Job], None],
    ) -> None:
        self._jobs, self._accounts, self._settings = jobs, accounts, settings
        self._logs, self._now, self._start = logs, now, start

    def submit(self, call: Call) -> Reply:
        """Check a document and start its job."""
        if not call.headers.get("Content-Type", "").startswith("text/"):
            check_schema(None)
        document, entries = check(call.body.decode("utf-8", "replace"))
        job = Job(call.account.name, document["name"], document, entries, self._now() // 1000 * 1000)
        if job.virtual_cluster not in call.account.virtual_clusters:
            message = f"User {job.user} is not allowed to do operation in {job.virtual_cluster}."
            raise Refusal(403, "ForbiddenUserError", message)
        for name in _storages(document):
            if name not in call.account.storages:
                raise Refusal(404, "NoStorageError", f"Storage {name} is not found.")
        if self._settings.skus:
            check_hived(document, self._settings.skus, self._settings.virtual_clusters[job.virtual_cluster])
        if job.key in self._jobs:
            raise Refusal(409, "ConflictJobError", f"Job {job.key} already exists.")
        self._jobs[job.key] = job
        self._start(job)
        message = f"Update job {job.name} for user {job.user} successfully."
        return json_reply({"status": 202, "message": message}, 202)

    def list(self, call: Call) -> Reply:
        """Rows of all users' jobs that match."""
        query = call.query
        try:
            offset, limit = int(query.get("offset", 0)), int(query.get("limit", 5000))
        except ValueError as error:
            raise Refusal(500, "", str(error)) from error
        if limit > 50000:
            raise Refusal(400, "InvalidParametersError", "Limit exceeds max number 50000.")
        rows = [row for row in map(summary, self._jobs.values()) if not self._settings.filters or _matches(row, query)]
        field, _, direction = query.get("order", "submissionTime,DESC").partition(",")
        # Of one second, the later submit is the later job.
        rows.reverse()
        name = _FIELDS.get(field, "submissionTime")
        rows.sort(key=lambda row: _rank(row[name]), reverse=direction != "ASC" or field not in _FIELDS)
        page = rows[offset : offset + limit]
        return json_reply({"totalCount": len(rows), "data": page} if query.get("withTotalCount") == "true" else page)

    def detail(self, call: Call) -> Reply:
        """A job, or one of its attempts, with its tasks."""
        job = self._find(call)
        if "attempt" not in call.words:
            return json_reply(detail(job))
        found = _attempt(job, call)
        if found is None:
            raise Refusal(404, "NoJobError", f"Job {job.key} is not found.")
        return json_reply(detail(found))

    def config(self, call: Call) -> Reply:
        """The document as JSON with the header of YAML; its secrets are hidden."""
        document = self._find(call).document
        hidden = document | ({"secrets": "******"} if "secrets" in document else {})
        return json_reply(hidden, content_type="text/yaml; charset=utf-8")

    def execute(self, call: Call) -> Reply:
        """Set the execution type: STOP ends a job, START does nothing here."""
        job, value = self._owned(call), object_of(call).get("value")
        if value not in ("STOP", "START"):
            message = 'child "value" fails because ["value" must be one of [STOP, START]]'
            raise Refusal(400, "InvalidParametersError", message)
        if job.state not in ("SUCCEEDED", "FAILED", "STOPPED"):
            job.execution = value
        return json_reply({"status": 202, "message": f"Execute job {job.key} successfully."}, 202)

    def events(self, call: Call) -> Reply:
        """The events of a job, newest first."""
        kind = call.query.get("type")
        rows = [row for row in self._find(call).events if kind in (None, row["type"])]
        return json_reply({"totalCount": len(rows), "data": rows})

    def tag(self, call: Call) -> Reply:
        """Add or remove a tag."""
        job, value = self._owned(call), str(object_of(call).get("value", ""))
        if not value or "," in value:
            raise Refusal(400, "InvalidParametersError", 'child "value" fails')
        if call.method == "DELETE" and value not in job.tags:
            raise Refusal(404, "NoTagError", f"Tag {value} is not found.")
        kept = [tag for tag in job.tags if tag != value]
        job.tags = kept if call.method == "DELETE" else [*kept, value]
        return json_reply({"status": 200, "message": "Update tag successfully."})

    def ssh(self, call: Call) -> Reply:
        """The call that Kubernetes never answers."""
        raise Refusal(404, "NoJobSshInfoError", f"SSH info of job {self._find(call).key} is not found.")

    def task_attempts(self, call: Call) -> Reply:
        """The attempts of a task."""
        job = _attempt(self._find(call), call)
        task = _task(job, call) if job else None
        if job is None or task is None:
            raise Refusal(404, "NoTaskError", "The task is not found.")
        return json_reply(task_history(job, task))

    def logs(self, call: Call) -> Reply:
        """The addresses of a task's logs."""
        job = self._find(call)
        if not job.tasks:
            raise Refusal(500, "UnknownError", "The job has no task.")
        found = _attempt(job, call)
        task = _task(found, call) if found else None
        tries = [one for one in task.tries if str(one.attempt) == call.words["retry"]] if task else []
        if not tries:
            raise Refusal(404, "NoTaskLogError", "Log of task is not found.")
        return self._logs.locations(job, tries[0], call.query.get("tail-mode") == "true")

    def _find(self, call: Call) -> Job:
        key = call.words["job"]
        if key not in self._jobs:
            raise Refusal(404, "NoJobError", f"Job {key} is not found.")
        return self._jobs[key]

    def _owned(self, call: Call) -> Job:
        job = self._find(call)
        if job.user != call.account.name and not call.account.admin:
            message = f"User {call.account.name} is not allowed to do this operation."
            raise Refusal(403, "ForbiddenUserError", message)
        return job


def _storages(document: Document) -> list[str]:
    rows = document.get("extras", {}).get("storages") or []
    return [row["name"] for row in rows]


def _attempt(job: Job, call: Call) -> Job | None:
    return next((one for one in job.tries if str(one.attempt) == call.words["attempt"]), None)


def _task(job: Job, call: Call) -> Task | None:
    place = (call.words["role"], call.words["index"])
    return next((task for task in job.tasks if (short_name(task.role), str(task.index)) == place), None)


def _rank(value: Any) -> tuple[bool, Any]:
    return (value is not None, 0 if value is None else value)


def _matches(row: dict[str, Any], query: dict[str, str]) -> bool:
    """Return whether a row has a value of each list in the query."""
    named = {"username": "username", "vc": "virtualCluster", "state": "state"}
    exact = all(row[field] in query[name].split(",") for name, field in named.items() if name in query)
    priorities = query.get("jobPriority", row["jobPriority"] or "default").split(",")
    words = query.get("keyword", "")
    tags = set(row["tags"])
    return (
        exact
        and (row["jobPriority"] or "default") in priorities
        and any(words in row[field] for field in ("username", "name", "virtualCluster"))
        and ("tagsContain" not in query or bool(tags & set(query["tagsContain"].split(","))))
        and not tags & set(query.get("tagsNotContain", "").split(","))
    )
