"""Endpoints of jobs: submit, list, compare, change and delete them."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, ConfigDict, Field, RootModel, create_model

from ..core.errors import PaiError, UsageError
from ..core.i18n import _
from ..engine import lineage
from ..engine.compare import Difference, FileDifference
from ..engine.recipe import recipe
from ..engine.requests import Rerun, SubmitRequest, Submitted, parse, submit_request
from ..jobs.git_state import Git
from ..jobs.instances import Instance
from ..jobs.job import UNLISTED, Job, JobStatus
from ..jobs.limits import LONGEST_LABEL
from ..jobs.logs.file import instances
from ..jobs.metrics.series import Source
from ..jobs.provenance import Provenance
from ..jobs.store.query import SORTS, JobFilter
from .endpoint import Context, Json, Schema, TypedDict, endpoint
from .listed_runs import ListedRun, listed_run
from .outputs import TransferReply

# JSON has no NaN: these texts stand for it.
Number = float | Literal["NaN", "Infinity", "-Infinity"]
# Bytes of a document that a reply contains.
_LARGEST_DOCUMENT = 1 << 20


class LatestPoint(TypedDict):
    """The latest point of a metric. `time` is in seconds since 1970."""

    value: Number
    step: int
    time: float


class LatestMetric(LatestPoint):
    """The latest point of a metric. `source`: a pattern of the user, `report`, the platform, event files, or detection
    in the log."""

    source: Source


class JobView(Job):
    """A job with the values that are read from its files.

    `progress` is 0 to 1; `expected_end` is the time (Unix seconds) of the end by the progress bar in the log. `metrics`
    has the latest point of each metric. `usage` has the latest resource samples of a running job: system/cpu in cores,
    system/memory in bytes, system/gpu in percent of a GPU, system/gpu_memory in bytes. `paid`: the job is billed until
    it ends. `tensorboard`: it has metrics or event files for TensorBoard. `platform_boards`: its platform runs
    TensorBoards itself. `stays_on_platform`: deleting it here does not delete it on its platform. `terminal`: a
    terminal in the job can be opened. `registry`: its outputs can be registered as models.
    """

    model_config = ConfigDict(defer_build=True)

    progress: float | None
    expected_end: float | None = None
    metrics: dict[str, LatestMetric]
    usage: dict[str, LatestPoint] = {}
    paid: bool = False
    tensorboard: bool = False
    platform_boards: bool = False
    stays_on_platform: bool = False
    terminal: bool = False
    registry: bool = False
    instances: list[str] = []
    git: Git | None = None


JobReply = Annotated[Json, Schema(JobView)]

_listed: dict[str, Any] = {
    name: (field.annotation, field) for name, field in JobView.model_fields.items() if name not in UNLISTED
}
ListedJob = create_model(
    "ListedJob",
    __config__=JobView.model_config,
    __doc__="An item of a list of jobs: a `JobView` without `spec`, `inputs`, `output_parameters` and `notes`, with at "
    "most 20 metrics, and with texts of at most 1,000 characters. Labels and outputs that exceed 20 entries or 1,000 "
    "characters together are omitted. `GET /jobs/{job}` returns all.",
    __module__=__name__,
    name=(str, ...),
    **_listed,
)


class JobsReply(TypedDict):
    """A page of jobs. `total` is the number of all matching jobs. `runs`: the existing runs of
    workflows of a folded list, by id."""

    jobs: list[Annotated[Json, Schema(ListedJob)]]
    total: int
    runs: dict[str, ListedRun]


class SubmittedReply(TypedDict):
    """`attached`: the job existed already."""

    job: JobReply
    attached: bool


class StoredReply(TypedDict):
    """`job`: the job of the submit; null if it is not stored yet. A stored job cannot be cancelled any more."""

    job: JobReply | None


class JobInstancesReply(TypedDict):
    """The instances of a job in the order of their ranks. Unknown values are empty or null."""

    instances: list[Instance]


class CodeReply(TypedDict):
    """A spec as a notebook cell, a command line, Python, and JSON for `--spec`."""

    cell: str
    cli: str
    python: str
    json: str


class JobCodeReply(CodeReply):
    """`document`: the text that the platform got for the job, without values of secrets; empty if it is not kept."""

    document: str


class ComparisonReply(TypedDict):
    """The differences of two jobs. `results` has their outcomes side by side, equal ones included."""

    spec: list[Difference]
    files: list[FileDifference]
    provenance: list[Difference]
    packages: list[Difference]
    results: list[Difference]


class Event(TypedDict):
    """A change of a job. `time` is in seconds since 1970."""

    id: int
    job_id: str
    time: float
    kind: str
    data: dict[str, Any]


class EventsReply(TypedDict):
    events: list[Event]


def _check_label(name: str) -> str:
    if not name.strip() or "=" in name or not name.isprintable():
        raise ValueError(_("a label needs a name, without `=` and control characters."))
    return name


_LabelName = Annotated[str, Field(max_length=200), AfterValidator(_check_label)]


class Labels(RootModel[dict[_LabelName, Annotated[str, Field(max_length=LONGEST_LABEL)] | None]]):
    """Labels of a job to set: name to value; null removes a label."""

    model_config = ConfigDict(frozen=True)


@endpoint("GET", "/jobs")
async def list_jobs(
    context: Context,
    status: Annotated[Sequence[str], "Only jobs with one of these statuses."] = (),
    name: Annotated[str, "Only jobs whose name contains this text."] = "",
    label: Annotated[Sequence[str], "Only jobs with this label, KEY=VALUE."] = (),
    backend: Annotated[Sequence[str], "Only jobs of one of these backends."] = (),
    notebook: Annotated[
        str, "Only jobs of this notebook: its absolute path, or its path below the folder that JupyterLab shows."
    ] = "",
    workflow: Annotated[str, "Only jobs of this run of a workflow, by its id."] = "",
    folded: Annotated[bool, "Of the jobs of each run of a workflow only the newest."] = False,
    limit: Annotated[int, "Maximum number of jobs, up to 500.", range(1, 501)] = 50,
    offset: Annotated[int, "Number of jobs to skip."] = 0,
    sort: Annotated[str, "Sort key: submitted (default), name, status, took, or hp:NAME for a hyperparameter."] = "",
    order: Annotated[str, "desc or asc. Default: desc for times, asc for other keys."] = "",
) -> JobsReply:
    """List jobs, newest first by default."""
    try:
        statuses = [JobStatus(word) for word in status]
    except ValueError as error:
        raise UsageError(str(error), fix=_("Statuses are: {names}.").format(names=", ".join(JobStatus))) from None
    pairs = [text.partition("=") for text in label]
    if invalid := [text for text, pair in zip(label, pairs, strict=False) if not pair[1]]:
        raise UsageError(_("Invalid label `{text}`: expected KEY=VALUE.").format(text=invalid[0]))
    labels = {key: value for key, _equals, value in pairs}
    path = context.notebook_path(notebook) if notebook else ""
    sorting = _sorting(sort, order)
    query = JobFilter(statuses, name, labels, limit, offset, *sorting, backend, path, workflow=workflow, folded=folded)
    await context.service.watcher.wait_first_poll()
    jobs, total = await asyncio.to_thread(context.service.store.jobs.page, query)  # Their specs may be large.
    views = []
    for job in jobs:
        views.append(context.service.describe(job, listed=True))
        await asyncio.sleep(0)
    ids = {job.workflow for job in jobs if job.workflow and folded}
    return {"jobs": views, "total": total, "runs": await asyncio.to_thread(_runs, context, ids) if ids else {}}


def _runs(context: Context, ids: set[str]) -> dict[str, ListedRun]:
    """Return the runs of workflows that were not deleted, by id."""
    runs = {}
    for run in ids:
        with contextlib.suppress(PaiError):
            runs[run] = listed_run(context.service.workflows.find(run))
    return runs


def _sorting(sort: str, order: str) -> tuple[str, bool]:
    """Return the sort key, and true for descending order."""
    key = sort or "submitted"
    if key not in SORTS and not (key.startswith("hp:") and len(key) > 3):
        raise UsageError(
            _("Jobs cannot be sorted by `{sort}`.").format(sort=sort),
            fix=_("Known are: {names}.").format(names=", ".join((*SORTS, "hp:NAME"))),
        )
    if order not in ("", "asc", "desc"):
        raise UsageError(_("Invalid order `{text}`: expected asc or desc.").format(text=order))
    return key, order == "desc" if order else key in ("submitted", "took")


@endpoint("POST", "/jobs")
async def submit(
    context: Context, body: Annotated[object, Schema(SubmitRequest)]
) -> Annotated[Json, Schema(SubmittedReply)]:
    """Submit a job."""
    async with context.service.audit.entry("submit", starts=True) as entry:
        request = await context.read(submit_request, body)
        entry.of_spec(request.spec, request.backend)
        submitted = await context.service.submitter.submit(_with_notebook_path(context, request))
        entry.of_job(submitted.job, "attached" if submitted.attached else "ok")
    return _submitted(context, submitted)


def _submitted(context: Context, submitted: Submitted) -> Json:
    return vars(submitted) | {"job": context.service.describe(submitted.job)}


@endpoint("GET", "/submits/{key}")
async def find_submit(context: Context, key: str) -> StoredReply:
    """Get the job of the submit with an idempotency key. While its platform does not reply, its reason says so."""
    job = context.service.store.jobs.by_key(key)
    return {"job": context.service.describe(job) if job else None}


@endpoint("DELETE", "/submits/{key}")
async def cancel_submit(context: Context, key: str) -> StoredReply:
    """Cancel the submit with an idempotency key, in progress or yet to arrive. A stored job continues."""
    job = await context.service.submitter.cancel(key)
    return {"job": context.service.describe(job) if job else None}


@endpoint("POST", "/bring")
async def bring(context: Context, body: Annotated[object, Schema(SubmitRequest)]) -> TransferReply:
    """Start to stage the inputs of a spec on its platform, as submitting it does."""
    request = await context.read(submit_request, body)
    return context.transfer(await context.service.submitter.stage(_with_notebook_path(context, request)))


def _with_notebook_path(context: Context, request: SubmitRequest) -> SubmitRequest:
    """Return the request with the real path of its notebook."""
    return request.model_copy(update={"notebook": request.notebook and context.notebook_path(request.notebook)})


@endpoint("GET", "/jobs/{job}")
async def show(
    context: Context,
    job: str,
    refresh: Annotated[bool, "Poll the platform, if the state is old."] = True,
    wait: Annotated[int, "Seconds to wait for the end of the job, up to 30.", range(31)] = 0,
) -> JobReply:
    """Get a job by its id, the beginning of its id, its name, or `last`."""
    await context.service.watcher.wait_first_poll()
    record = await context.service.wait(context.service.store.jobs.find(job), wait, refresh=refresh)
    return context.service.describe(record) | {
        "instances": instances(context.service.home.job(record.id).log, record.spec.instance_names),
        "git": (git := context.service.provenance(record).git) and git.model_dump(),
    }


@endpoint("GET", "/jobs/{job}/instances")
async def job_instances(context: Context, job: Job) -> JobInstancesReply:
    """List the instances of a job; those of a remote job as they were fetched last."""
    await context.service.watcher.ensure_fresh(job)
    return {"instances": list(await context.service.instances(job))}


@endpoint("DELETE", "/jobs/{job}")
async def delete(
    context: Context,
    job: str,
    force: Annotated[bool, "Also delete a job whose host is unreachable."] = False,
) -> JobReply:
    """Delete a job that has ended, with all its files."""
    async with context.service.audit.entry("delete", job) as entry:
        entry.of_job(context.service.store.jobs.find(job))
        return context.service.describe(await context.service.delete(job, force=force))


@endpoint("POST", "/jobs/{job}/stop")
async def stop(context: Context, job: str) -> JobReply:
    """Request that a job stops."""
    async with context.service.audit.entry("stop", job) as entry:
        entry.of_job(context.service.store.jobs.find(job))
        return context.service.describe(await context.service.stop(job))


@endpoint("POST", "/jobs/{job}/rerun")
async def rerun(
    context: Context, job: str, body: Annotated[object, Schema(Rerun)] = None
) -> Annotated[Json, Schema(SubmittedReply)]:
    """Submit the spec and code of a job again."""
    async with context.service.audit.entry("rerun", job, starts=True) as entry:
        request = await context.read(parse, Rerun, body or {})
        entry.of_job(context.service.store.jobs.find(job))
        submitted = await context.service.submitter.rerun(job, request)
        entry.of_job(submitted.job)
    return _submitted(context, submitted)


@endpoint("GET", "/jobs/{job}/diff/{other}")
async def diff(context: Context, job: Job, other: Job) -> Annotated[Json, Schema(ComparisonReply)]:
    """Compare two jobs."""
    return await asyncio.to_thread(context.service.compare, job, other)


@endpoint("GET", "/jobs/{job}/provenance")
async def provenance(context: Context, job: Job) -> Annotated[Json, Schema(Provenance)]:
    """Get the provenance of a job: its code, packages and interpreter."""
    return context.service.provenance(job).model_dump(mode="json")


@endpoint("PUT", "/jobs/{job}/pin")
async def pin(context: Context, job: str) -> JobReply:
    """Protect a job from being deleted and pruned."""
    return await _pin(context, job, True)


@endpoint("DELETE", "/jobs/{job}/pin")
async def unpin(context: Context, job: str) -> JobReply:
    """Remove the protection of a job."""
    return await _pin(context, job, False)


async def _pin(context: Context, job: str, pinned: bool) -> JobReply:
    jobs = context.service.store.jobs
    return context.service.describe(await asyncio.wrap_future(jobs.update(jobs.find(job).id, pinned=pinned)))


@endpoint("PATCH", "/jobs/{job}/labels")
async def label(context: Context, job: str, body: Labels) -> JobReply:
    """Set or remove labels of a job."""
    jobs = context.service.store.jobs
    return context.service.describe(await asyncio.wrap_future(jobs.label(jobs.find(job).id, body.root)))


@endpoint("GET", "/jobs/{job}/code")
async def code(context: Context, job: Job) -> Annotated[Json, Schema(JobCodeReply)]:
    """Get a job's spec as a notebook cell, a command line, Python and JSON, and the document of its platform."""
    spec = lineage.as_given(job, context.service.profiles)
    kept = context.service.home.job(job.id).document
    document = await asyncio.to_thread(_text, kept)
    return {**(await asyncio.to_thread(recipe, spec))._asdict(), "document": document}


def _text(path: Path) -> str:
    """Return the beginning of a text; empty without the file."""
    try:
        with path.open("rb") as file:
            return file.read(_LARGEST_DOCUMENT).decode("utf-8", "replace")
    except OSError:
        return ""


@endpoint("GET", "/events")
async def events(
    context: Context,
    after: Annotated[int, "Only events after this one."] = 0,
    job: Annotated[str, "Only events of this job."] = "",
) -> Annotated[Json, Schema(EventsReply)]:
    """List the changes of jobs, oldest first."""
    history = context.service.store.events.read(after, context.service.store.jobs.find(job).id if job else "")
    return {"events": [vars(event) | {"time": event.time.timestamp()} for event in history]}
