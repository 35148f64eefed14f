"""Endpoints of the train form: its default values, preview, hyperparameters and recipe. They submit nothing."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any, Literal

from ..backends import load_backends
from ..backends.base import Capability
from ..core.field_errors import form_schema
from ..core.i18n import _
from ..engine import form_defaults, job_files
from ..engine.recipe import recipe as recipe_of
from ..engine.requests import SubmitRequest, submit_request
from ..engine.submit_plan import Preview, script_for_notebook
from ..jobs.spec import JobSpec
from ..source.hyperparameters.discover import Inspection
from .endpoint import Context, Json, Schema, Time, TypedDict, endpoint
from .jobs import CodeReply


class BackendView(TypedDict):
    """A backend with the JSON Schemas of its profile settings, of ``spec.options`` and of its login; null without any.
    `x-choices` in a field names a list of the platform, see the verb `choices`. `capabilities` are values of
    `backends.base.Capability`."""

    name: str
    title: str
    capabilities: list[str]
    settings: dict[str, Any]
    options: dict[str, Any] | None
    credentials: dict[str, Any] | None


class BackendsReply(TypedDict):
    """`spec` is the JSON Schema of a job's spec. Titles and descriptions are in the language of the request; the
    schemas have no references."""

    backends: list[BackendView]
    spec: dict[str, Any]


class LastJob(TypedDict):
    id: str
    name: str
    submitted_at: Time


class FormRequest(TypedDict):
    """The default body of a submit: `spec` without unset fields. `notebook` or `form` has the path: later forms of it
    begin with the settings of the job."""

    spec: dict[str, Any]
    backend: str
    notebook: str
    form: str
    script_if_needed: bool


class FormReply(TypedDict):
    """The default values of a form. `last` is the job from which those of `request` were copied, or null. `defaults`
    are the values without an earlier job. `entries` are the runnable files of the folder, by relative path. `notes` are
    on a job file of a platform, such as a batch script."""

    request: FormRequest
    defaults: FormRequest
    kind: Literal["notebook", "script", "folder", "job_file"]
    last: LastJob | None
    entries: list[str]
    notes: list[str]


@endpoint("POST", "/preview")
async def preview(
    context: Context,
    body: Annotated[object, Schema(SubmitRequest)],
    quick: Annotated[bool, "Skip the secret scan of files, which takes the longest: `leaks` is null then."] = False,
) -> Annotated[Json, Schema(Preview)]:
    """Preview a submit. The `details.faults` of an error are the invalid fields of the spec and their messages."""
    request = await context.read(submit_request, body)
    return (await context.service.submitter.preview(request, quick=quick)).model_dump(mode="json")


@endpoint("POST", "/inspect")
async def inspect(context: Context, body: Annotated[object, Schema(SubmitRequest)]) -> Inspection:
    """Get the hyperparameters that the code declares."""
    return await context.service.submitter.inspect(await context.read(submit_request, body))


@endpoint("GET", "/form")
async def form(
    context: Context,
    path: Annotated[
        str,
        "A .ipynb, .py or .sh file, a job file of a platform, or a folder: an absolute path, or below the folder that "
        "JupyterLab shows.",
    ] = "",
    profile: Annotated[str, "The selected profile. Default: that of the newest job, or the default profile."] = "",
    backend: Annotated[str, "Or a backend, for its default profile."] = "",
) -> FormReply:
    """Get the default form values for a notebook, script or folder: the settings of its newest job; for a job file of
    a platform, what it says."""
    place = context.path(path)
    await context.check_readable(place)
    target = await asyncio.to_thread(form_defaults.target_of, place)
    await context.check_readable(target.folder)
    entries = await asyncio.to_thread(form_defaults.entries, target.folder)
    settings = context.service.profiles.settings()
    if target.reader:
        loaded = await asyncio.to_thread(job_files.load, target.path, target.reader, settings, profile, backend)
        request: FormRequest = {
            "spec": loaded.spec,
            "backend": "",
            "notebook": "",
            "form": "",
            "script_if_needed": True,
        }
        return {
            "request": request,
            "defaults": request,
            "kind": "job_file",
            "last": None,
            "entries": entries,
            "notes": list(loaded.notes),
        }
    if profile or backend:
        settings.pick(profile, backend)
    place_of_job = {"profile": profile} if profile else {} if backend else form_defaults.place_of(settings)
    defaults: FormRequest = {
        "spec": form_defaults.spec_of(target, entries) | place_of_job,
        "backend": "" if profile else backend,
        "notebook": str(target.path) if target.kind == "notebook" else "",
        "form": "" if target.kind == "notebook" else str(target.path),
        "script_if_needed": True,
    }
    last = next(iter(context.service.store.jobs.page(target.jobs)[0]), None)
    spec = defaults["spec"]
    if last:
        picks = Capability.SIZES in context.service.profiles.capabilities(last.backend)
        earlier = form_defaults.settings_of(last, target, settings, picks=picks)
        values = earlier.model_dump(mode="json", exclude_defaults=True)
        spec = {name: value for name, value in values.items() if value not in ("", None)}
        if profile or backend:
            spec.pop("profile", None)
            spec |= place_of_job
    return {
        "request": {**defaults, "spec": spec},
        "defaults": defaults,
        "kind": target.kind,
        "last": {"id": last.id, "name": last.name, "submitted_at": last.submitted_at.isoformat()} if last else None,
        "entries": entries,
        "notes": [],
    }


@endpoint("GET", "/backends")
async def backends(context: Context) -> BackendsReply:
    """Get the JSON Schemas of a job's spec, and of the settings, options and credentials of each backend."""
    return {
        "backends": [
            {
                "name": kind.name,
                "title": _(kind.title) if kind.title else kind.name,
                "capabilities": sorted(capability.value for capability in kind.capabilities),
                "settings": form_schema(kind.settings_model) or {},
                "options": form_schema(kind.options_model),
                "credentials": form_schema(kind.login_model or kind.credentials_model),
            }
            for kind in load_backends().values()
        ],
        "spec": form_schema(JobSpec) or {},
    }


@endpoint("POST", "/recipe")
async def recipe(
    context: Context, body: Annotated[object, Schema(SubmitRequest)]
) -> Annotated[Json, Schema(CodeReply)]:
    """Get a spec as a notebook cell, a command line, Python and JSON."""
    request = await context.read(submit_request, body)
    chosen = context.service.profiles.settings().pick(request.spec.profile, request.backend)
    profile = chosen.name if request.backend or request.spec.profile else ""
    capabilities = context.service.profiles.capabilities(chosen.backend)
    named = isinstance(body, dict) and bool(body["spec"].get("name"))

    def write() -> Json:
        script = script_for_notebook(request, chosen.backend, capabilities)[0]
        other = None if script is request.spec else script
        return recipe_of(request.spec, request.backend, profile=profile, named=named, script=other)._asdict()

    return await context.service.submitter.examine(write)
