"""Endpoints of workflows: check, run, list, stop, resume, delete and export them."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Annotated

from ..core.errors import StateError
from ..engine.requests import parse
from ..engine.workflows.requests import ExportRequest, ResumeRequest, WorkflowPlan, WorkflowRequest, workflow_request
from ..jobs.workflows.run import StepState, WorkflowRun
from ..jobs.workflows.workflow import Step, Workflow
from .endpoint import Context, Json, Schema, TypedDict, endpoint
from .listed_runs import ListedRun, listed_run


class StepView(StepState):
    """A step of a run, with the steps it depends on and its condition. `job_name` is the name of its job."""

    dependencies: tuple[str, ...]
    when: str
    profile: str
    job_name: str


class WorkflowRunView(WorkflowRun):
    """A run with its steps, in an order in which they can run."""

    steps: tuple[StepView, ...] = ()


class WorkflowsReply(TypedDict):
    """A page of runs, newest first. `total` is the number of all runs."""

    runs: list[ListedRun]
    total: int


class WorkflowReply(TypedDict):
    run: Annotated[Json, Schema(WorkflowRunView)]


class WorkflowDefinitionReply(TypedDict):
    workflow: Annotated[Json, Schema(Workflow)]


class ExportReply(TypedDict):
    """`name`: a file name for the text."""

    text: str
    name: str


@endpoint("POST", "/workflows/check")
async def check_workflow(
    context: Context, body: Annotated[object, Schema(WorkflowRequest)]
) -> Annotated[Json, Schema(WorkflowPlan)]:
    """Check a workflow: what its run would do, and what it would cost."""
    request = _with_notebook_path(context, await context.read(workflow_request, body))
    plan = await context.service.workflows.check(request)
    return await asyncio.to_thread(plan.model_dump, mode="json")


@endpoint("POST", "/workflows")
async def run_workflow(
    context: Context, body: Annotated[object, Schema(WorkflowRequest)]
) -> Annotated[Json, Schema(WorkflowReply)]:
    """Run a workflow."""
    async with context.service.audit.entry("run_workflow", starts=True):
        request = _with_notebook_path(context, await context.read(workflow_request, body))
        run = await context.service.workflows.run(request)
    return {"run": await asyncio.to_thread(_view, context, run)}


@endpoint("GET", "/workflows")
async def list_workflows(
    context: Context,
    limit: Annotated[int, "Maximum number of runs, up to 500.", range(1, 501)] = 50,
    offset: Annotated[int, "Number of runs to skip."] = 0,
) -> WorkflowsReply:
    """List the runs of workflows, newest first."""
    runs, total = await asyncio.to_thread(context.service.workflows.list, limit, offset)
    return {"runs": [listed_run(run) for run in runs], "total": total}


@endpoint("GET", "/workflows/{run}")
async def show_workflow(context: Context, run: str) -> Annotated[Json, Schema(WorkflowReply)]:
    """Get a run of a workflow by its id, the beginning of its id, its name, or `last`."""
    return {"run": await asyncio.to_thread(lambda: _view(context, context.service.workflows.find(run)))}


@endpoint("GET", "/workflows/{run}/definition")
async def workflow_definition(context: Context, run: str) -> Annotated[Json, Schema(WorkflowDefinitionReply)]:
    """Get the workflow of a run."""
    found = await asyncio.to_thread(context.service.workflows.find, run)
    return {"workflow": context.service.workflows.workflow(found).model_dump(mode="json")}


@endpoint("POST", "/workflows/{run}/stop")
async def stop_workflow(context: Context, run: str) -> Annotated[Json, Schema(WorkflowReply)]:
    """Stop a run: stop its active jobs, and start no further step."""
    async with context.service.audit.entry("stop_workflow", run):
        return {"run": _view(context, await context.service.workflows.stop(run))}


@endpoint("POST", "/workflows/{run}/resume")
async def resume_workflow(
    context: Context, run: str, body: Annotated[object, Schema(ResumeRequest)] = None
) -> Annotated[Json, Schema(WorkflowReply)]:
    """Continue a run that failed or was stopped, at the steps that did not succeed."""
    async with context.service.audit.entry("resume_workflow", run, starts=True):
        request = await context.read(parse, ResumeRequest, body or {})
        return {"run": _view(context, await context.service.workflows.resume(run, request))}


@endpoint("DELETE", "/workflows/{run}")
async def delete_workflow(context: Context, run: str) -> Annotated[Json, Schema(WorkflowReply)]:
    """Delete a run that has ended. Its jobs remain."""
    async with context.service.audit.entry("delete_workflow", run):
        view: Json = {}
        with suppress(StateError):  # Its files are damaged.
            view = _view(context, await asyncio.to_thread(context.service.workflows.find, run))
        deleted = await context.service.workflows.delete(run)
    return {"run": view or deleted.model_dump(mode="json")}


@endpoint("POST", "/workflows/export")
async def export_workflow(context: Context, body: Annotated[object, Schema(ExportRequest)]) -> ExportReply:
    """Write a workflow in another format."""
    request = await context.read(parse, ExportRequest, body)
    suffix = "yaml" if request.format == "yaml" else f"{request.format}.yaml"
    text = await context.service.workflows.export(request)
    return {"text": text, "name": f"{request.workflow.name}.{suffix}"}


def _with_notebook_path(context: Context, request: WorkflowRequest) -> WorkflowRequest:
    """Return the request with the real path of its notebook."""
    return request.model_copy(update={"notebook": request.notebook and context.notebook_path(request.notebook)})


def _view(context: Context, run: WorkflowRun) -> Json:
    workflow = context.service.workflows.workflow(run)
    values = run.model_dump(mode="json")
    states = {step["name"]: step for step in values["steps"]}
    return values | {"steps": [states[step.name] | _facts(step) for step in workflow.in_order]}


def _facts(step: Step) -> Json:
    return {
        "dependencies": list(step.dependencies),
        "when": step.when,
        "profile": step.spec.profile,
        "job_name": step.spec.name,
    }
