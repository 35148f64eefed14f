"""Endpoints of models in the registries of platforms."""

from __future__ import annotations

import math
from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from ..backends.base import Capability
from ..backends.registry import Model, ModelVersion, Registration, Registry
from ..config.settings import Profile
from ..core.errors import Conflict
from ..core.i18n import _
from ..engine.data.channels import channel_uri
from ..engine.models import metrics_of, registry_of
from ..engine.requests import parse
from ..jobs.job import Job
from .endpoint import Context, RequestBody, Schema, TypedDict, endpoint
from .platforms import platform_of

_Profile = Annotated[str, "The profile. Default: the default profile, or the first one with a registry."]
_DefaultOf = Annotated[str, "Or a backend, for its default profile."]


class ModelsReply(TypedDict):
    profile: str
    models: list[Model]


class ModelVersionsReply(TypedDict):
    """The versions of a model, newest first. `deletes_files`: the platform can delete them with their files."""

    profile: str
    model: Model
    versions: list[ModelVersion]
    deletes_files: bool


class JobModelsReply(TypedDict):
    """The versions that were registered from a job, newest first, and the models that its platform has recorded for
    it. `fields` are the optional fields that a registration may have, each with whether it is required; `formats` and
    `approvals` the values of two of them."""

    profile: str
    fields: dict[str, bool]
    formats: list[str]
    approvals: list[str]
    models: list[ModelVersion]


class RegisteredReply(TypedDict):
    profile: str
    version: ModelVersion
    notes: list[str]


class RegisterModel(RequestBody):
    """A version to register: an output of a job, or the files at a URI. Fields that the platform does not have are
    rejected."""

    model: str = Field(
        min_length=1, max_length=200, description="The model: its id or exact name. A new name creates a model."
    )
    job: str = Field("", max_length=200, description="The job whose output is registered, with its training.")
    channel: str = Field("model", description="The output channel of the job.")
    uri: str = Field("", max_length=2000, description="Or the folder of the files.")
    profile: str = Field("", description="With `uri`: the profile. Default: the first one with a registry.")
    backend: str = Field("", description="With `uri`: or a backend, for its default profile.")
    version: str = Field("", max_length=100, description="The version. Default: the next one.")
    format: str = Field("", max_length=100, description="The format of the files, as the platform names it.")
    image: str = Field("", max_length=1000, description="The image that serves the model.")
    approval: str = Field("", max_length=100, description="The state of its approval, as the platform names it.")
    description: str = Field("", max_length=1000, description="A description of the version.")
    target: str = Field("", max_length=2000, description="The folder to which the platform copies the files.")
    move: bool = Field(False, description="Let the platform remove the files that it has copied.")
    labels: dict[str, str] = Field({}, description="Labels of the version.")
    metrics: dict[str, float] = Field({}, description="Metrics of the version. Those of the job are added.")
    options: dict[str, Any] = Field({}, description="Further fields of the platform.")

    @model_validator(mode="after")
    def _has_one_source(self) -> Self:
        if bool(self.job) == bool(self.uri):
            raise ValueError(_("pass either `job` or `uri`."))
        return self


@endpoint("GET", "/models")
async def models(context: Context, profile: _Profile = "", backend: _DefaultOf = "") -> ModelsReply:
    """List the models of a registry, newest first."""
    chosen = _chosen(context, profile, backend)
    return {"profile": chosen.name, "models": await context.service.models.all(chosen)}


@endpoint("GET", "/models/{model}/versions")
async def model_versions(
    context: Context, model: str, profile: _Profile = "", backend: _DefaultOf = ""
) -> ModelVersionsReply:
    """List the versions of a model."""
    chosen = _chosen(context, profile, backend)
    found, versions = await context.service.models.versions(chosen, model)
    deletes_files = context.service.models.registry(chosen).deletes_files
    return {"profile": chosen.name, "model": found, "versions": versions, "deletes_files": deletes_files}


@endpoint("GET", "/models/{model}/versions/{version}")
async def model_version(
    context: Context, model: str, version: str, profile: _Profile = "", backend: _DefaultOf = ""
) -> ModelVersion:
    """Return a version of a model, such as one that is being imported."""
    chosen = _chosen(context, profile, backend)
    return (await context.service.models.version(chosen, model, version))[1]


@endpoint("POST", "/models")
async def register_model(context: Context, body: Annotated[object, Schema(RegisterModel)]) -> RegisteredReply:
    """Register a version of a model. An import may continue after the reply."""
    async with context.service.audit.entry("register_model") as entry:
        request = await context.read(parse, RegisterModel, body)
        entry.fields |= {"model": request.model, "profile": request.profile, "backend": request.backend}
        if not request.job:
            profile = _chosen(context, request.profile, request.backend)
            version = await context.service.models.register(profile, request.model, _registration(request, request.uri))
            return {"profile": profile.name, "version": version, "notes": []}
        job = context.service.store.jobs.find(request.job)
        entry.of_job(job)
        return await _register_output(context, request, job)


async def _register_output(context: Context, request: RegisterModel, job: Job) -> RegisteredReply:
    """Register an output of a job, with its hyperparameters and metrics."""
    registry = _registry_of(context, job)
    uri = channel_uri(job, request.channel)
    if not job.status.ended:
        raise Conflict(
            _("Job {job} has not ended: its output may be incomplete.").format(job=job.id),
            fix=_("Wait for its end: %pai show {job}").format(job=job.id),
        )
    latest = context.service.describe(job)["metrics"]
    values = [(name, point["value"]) for name, point in latest.items()]
    known = [(name, value) for name, value in values if isinstance(value, int | float) and math.isfinite(value)]
    metrics = metrics_of(registry, request.metrics, known)
    omitted = [name for name, _value in known if name not in metrics]
    registration = _registration(request, uri, job=job, metrics=metrics)
    profile = context.service.profiles.chosen(job.profile)
    version = await context.service.models.register(
        profile, request.model, registration, job=job, channel=request.channel
    )
    text = _("These metrics of the job were omitted: the platform stores no more for a model: {names}.")
    notes = [text.format(names=", ".join(omitted))] if omitted else []
    return {"profile": profile.name, "version": version, "notes": notes}


def _registration(
    request: RegisterModel, uri: str, *, job: Job | None = None, metrics: dict[str, float] | None = None
) -> Registration:
    return Registration(
        name=request.model,
        uri=uri,
        remote_id=job.remote_id if job else "",
        version=request.version,
        format=request.format,
        image=request.image,
        approval=request.approval,
        description=request.description,
        target=request.target,
        move=request.move,
        labels=request.labels,
        metrics=request.metrics if metrics is None else metrics,
        hyperparameters=dict(job.spec.hyperparameters) if job else {},
        options=request.options,
    )


@endpoint("DELETE", "/models/{model}")
async def delete_model(
    context: Context,
    model: str,
    profile: _Profile = "",
    backend: _DefaultOf = "",
    version: Annotated[str, "Only this version: its id or text."] = "",
    files: Annotated[bool, "Delete the files as well. Only if the platform can."] = False,
) -> Model:
    """Delete a model, or a version of it."""
    async with context.service.audit.entry("delete_model") as entry:
        chosen = _chosen(context, profile, backend)
        entry.fields |= {"model": model, "version": version, "files": files, "profile": chosen.name}
        return await context.service.models.delete(chosen, model, version, files=files)


@endpoint("GET", "/jobs/{job}/models")
async def job_models(context: Context, job: Job) -> JobModelsReply:
    """List the models of a job, and what a registration of its outputs may have."""
    registry = _registry_of(context, job)
    return {
        "profile": job.profile,
        "fields": dict(registry.fields),
        "formats": list(registry.formats),
        "approvals": list(registry.approvals),
        "models": await context.service.models.of_job(job),
    }


def _chosen(context: Context, profile: str, backend: str) -> Profile:
    return context.service.profiles.with_capability(Capability.REGISTRY, profile, backend)


def _registry_of(context: Context, job: Job) -> Registry:
    """Return the registry of a job's platform.

    Raises:
        Unsupported: if it has none.
        Conflict: if the platform does not have the job yet.
    """
    outputs = _("List its outputs: %pai outputs {job}").format(job=job.id)
    return registry_of(platform_of(context, job, Capability.REGISTRY, outputs))
