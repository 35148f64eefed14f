"""Endpoints of platforms: instance types, images, values of fields, `doctor`; jobs submitted elsewhere, and
terminals."""

from __future__ import annotations

import asyncio
import shlex
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from typing import Annotated, Literal, TypeVar

from pydantic import Field

from ..backends import load_backends
from ..backends.base import Backend, Capability, Finding
from ..backends.resources import Choice, Image, ImageQuery, InstanceType, Quota
from ..backends.terminals import Terminal, TerminalCommand, TerminalSocket
from ..core.errors import BackendError, Conflict, NotFound, PaiError, Refused, Unsupported
from ..core.i18n import _
from ..engine.requests import parse
from ..engine.watcher.adopt import adopt_job
from ..jobs.job import Job, JobStatus
from ..jobs.logs.view import parse_time
from .endpoint import Context, RequestBody, Schema, Time, TypedDict, endpoint
from .jobs import JobReply

T = TypeVar("T")


class InstancesReply(TypedDict):
    """`left_out` is the number of instance types that the policy excludes. `instances` is empty with
    `quotas_only`."""

    profile: str
    left_out: int
    instances: list[InstanceType]
    quotas: list[Quota]


class ImagesReply(TypedDict):
    """`left_out` is the number of images that the policy excludes."""

    profile: str
    left_out: int
    images: list[Image]


class ChoicesReply(TypedDict):
    """`age` is that of the list in seconds; null if there is none. `problem` and `fix` say why the list is not current;
    else they are empty. `left_out` is the number of values that the policy excludes."""

    profile: str
    age: float | None
    left_out: int
    choices: list[Choice]
    problem: str
    fix: str


class FindingsReply(TypedDict):
    findings: list[Finding]


class TrialView(TypedDict):
    """A check that requires a person with an account: the expected result, and the steps."""

    name: str
    backend: str
    what: str
    how: str


class TrialsReply(TypedDict):
    trials: list[TrialView]


@endpoint("GET", "/instances")
async def instances(
    context: Context,
    profile: Annotated[str, "The profile. Default: the default profile."] = "",
    backend: Annotated[str, "Or a backend, for its default profile."] = "",
    quotas_only: Annotated[bool, "Skip the instance types, which take more requests to the platform."] = False,
    quota_users: Annotated[bool, "With the users whose jobs are in each quota: a request for each."] = False,
) -> InstancesReply:
    """List the instance types for jobs of a profile, and the account's quotas."""
    chosen = context.service.profiles.chosen(profile, backend)
    platform = context.service.profiles.backend(chosen)
    listed: list[InstanceType] = []
    if quotas_only:
        quotas = await platform.quotas()
    else:
        kinds = asyncio.ensure_future(platform.instance_types())
        try:
            quotas = await _quotas_beside(platform)
        finally:
            # It ends here, too: the engine may be closed after this call.
            await asyncio.gather(kinds, return_exceptions=True)
        listed = await kinds
    if quota_users:
        quotas = await asyncio.gather(*(_with_users(platform, quota) for quota in quotas))
    allowed = _allowed(context, "instance_types", listed, lambda kind: kind.name)
    return {
        "profile": chosen.name,
        "instances": allowed,
        "left_out": len(listed) - len(allowed),
        "quotas": list(quotas),
    }


@endpoint("GET", "/images")
async def images(
    context: Context,
    profile: Annotated[str, "The profile. Default: the default profile, or the first one with images."] = "",
    backend: Annotated[str, "Or a backend, for its default profile."] = "",
    framework: Annotated[str, "Only images of this framework."] = "",
    version: Annotated[str, "Only this version, or versions that start with it. `latest`: only the newest one."] = "",
    accelerator: Annotated[str, "Only images for CPU, or for GPU."] = "",
    scope: Annotated[
        str, "Purpose of the images: training (default), develop, inference; or own, the images of the workspace."
    ] = "",
) -> ImagesReply:
    """List the container images for jobs of a profile, newest version first."""
    chosen = context.service.profiles.with_capability(Capability.IMAGES, profile, backend)
    query = ImageQuery(framework, version, accelerator, scope or "training")
    matches = await context.service.profiles.backend(chosen).images(query)
    allowed = _allowed(context, "images", matches, lambda image: image.uri)
    return {"profile": chosen.name, "images": allowed, "left_out": len(matches) - len(allowed)}


@endpoint("GET", "/choices")
async def choices(
    context: Context,
    name: Annotated[str, "The list: the value of `x-choices` in the schema of a field."] = "",
    profile: Annotated[str, "The profile. Default: the default profile."] = "",
    backend: Annotated[str, "Or a backend, for its default profile."] = "",
    refresh: Annotated[bool, "Request the list again, even if it is less than a minute old."] = False,
) -> ChoicesReply:
    """List the values that a platform has for a field of its options or settings. If the platform does not respond, the
    last list is returned with the reason."""
    chosen = context.service.profiles.chosen(profile, backend)
    found = await context.service.choices.of(chosen, name, refresh=refresh)
    return {
        "profile": chosen.name,
        "age": found.age,
        "left_out": found.left_out,
        "choices": list(found.choices),
        "problem": found.trouble.message if found.trouble else "",
        "fix": found.trouble.fix if found.trouble else "",
    }


async def _quotas_beside(platform: Backend) -> list[Quota]:
    """Return the quotas to list beside the instance types: none if the platform refuses to list them."""
    try:
        return await platform.quotas()
    except (NotFound, Refused, Unsupported):
        return []


async def _with_users(platform: Backend, quota: Quota) -> Quota:
    """Return a quota with its users. They are optional: an account may not be allowed to list the jobs of others."""
    with suppress(PaiError):
        if quota.cpu or quota.gpu:
            return replace(quota, users=tuple(await platform.quota_users(quota.id)))
    return quota


def _allowed(context: Context, rule: str, items: Sequence[T], name: Callable[[T], str]) -> list[T]:
    allows = context.service.profiles.policy().allows
    return [item for item in items if allows(rule, name(item))]


@endpoint("GET", "/doctor")
async def doctor(
    context: Context,
    profile: Annotated[str, "Only check the requirements of this profile's jobs."] = "",
    backend: Annotated[str, "Only check those of this backend's default profile."] = "",
) -> FindingsReply:
    """Check all requirements of jobs."""
    return {"findings": await context.service.doctor(profile, backend)}


@endpoint("POST", "/trials")
async def try_jobs(
    context: Context,
    profile: Annotated[str, "The profile. Default: the default profile."] = "",
    backend: Annotated[str, "Or a backend, for its default profile."] = "",
) -> FindingsReply:
    """Run a short job on each part of a platform, if its backend supports this."""
    async with context.service.audit.entry("try_jobs", starts=True) as entry:
        chosen = context.service.profiles.chosen(profile, backend)
        entry.fields |= {"profile": chosen.name, "backend": chosen.backend}
        return {"findings": list(await context.service.profiles.backend(chosen).try_jobs())}


@endpoint("GET", "/trials")
async def trials(context: Context) -> TrialsReply:
    """List the manual checks for a person with an account."""
    return {
        "trials": [
            {"name": trial.name, "backend": backend.name, "what": _(trial.what), "how": _(trial.how)}
            for backend in load_backends().values()
            for trial in backend.trials()
        ]
    }


class RemoteJobView(TypedDict):
    """A job on its platform. `job_id` is its id here, if it is in the list of jobs."""

    remote_id: str
    name: str
    status: JobStatus
    platform_status: str
    submitted_at: Time
    user: str
    console_url: str
    job_id: str


class RemoteJobsReply(TypedDict):
    profile: str
    jobs: list[RemoteJobView]


class TerminalReply(TypedDict):
    """A terminal in an instance, which is stored nowhere: a `page` at `url`, a `command`, which is a line for a POSIX
    shell, or a `socket`, the WebSocket at `url` with messages of a `dialect`."""

    instance: str
    kind: Literal["page", "command", "socket"]
    url: str
    command: str
    dialect: str


class Adopt(RequestBody):
    """A job of a platform to import."""

    remote_id: str = Field(min_length=1, max_length=200, description="The job's id on its platform.")
    profile: str = Field("", description="Profile of the account that owns the job. Default: the default profile.")
    backend: str = Field("", description="Or a backend, for its default profile.")


@endpoint("GET", "/remote-jobs")
async def remote_jobs(
    context: Context,
    profile: Annotated[str, "The profile. Default: the default profile."] = "",
    backend: Annotated[str, "Or a backend, for its default profile."] = "",
    before: Annotated[str, "Only jobs older than this: seconds since 1970, or an ISO time."] = "",
    limit: Annotated[int, "Maximum number of jobs, up to 500. Default: 50.", range(1, 501)] = 50,
) -> RemoteJobsReply:
    """List the jobs of a profile's account on its platform, newest first, including those submitted elsewhere."""
    moment = parse_time(before)
    time = None if moment is None else datetime.fromtimestamp(moment, UTC)
    chosen = context.service.profiles.chosen(profile, backend)
    jobs = await context.service.profiles.backend(chosen).jobs(time, limit)
    by_remote_id = context.service.store.jobs.by_remote_id
    return {
        "profile": chosen.name,
        "jobs": [
            {
                "remote_id": job.remote_id,
                "name": job.spec.name,
                "status": job.report.status,
                "platform_status": job.report.platform_status,
                "submitted_at": job.submitted_at.isoformat(),
                "user": job.user,
                "console_url": job.console_url,
                "job_id": ours.id if (ours := by_remote_id(chosen.backend, job.remote_id)) else "",
            }
            for job in jobs
        ],
    }


@endpoint("POST", "/adopt")
async def adopt(context: Context, body: Annotated[object, Schema(Adopt)]) -> JobReply:
    """Import a job of a platform."""
    async with context.service.audit.entry("adopt") as entry:
        request = await context.read(parse, Adopt, body)
        entry.fields |= {"job": request.remote_id, "profile": request.profile, "backend": request.backend}
        job = await adopt_job(context.service.watcher, request.remote_id, request.profile, request.backend)
        entry.of_job(job)
    return context.service.describe(job)


@endpoint("POST", "/jobs/{job}/terminal")
async def open_terminal(
    context: Context,
    job: Job,
    instance: Annotated[str, "The instance. Default: the first one."] = "",
    attach: Annotated[bool, "Get a WebSocket, instead of the command of jupyter-pai that attaches to it."] = False,
) -> TerminalReply:
    """Get a terminal in an instance of a running job. A URL is valid for a short time, without a login."""
    log = _("See its log: %pai logs {job}").format(job=job.id)
    backend = platform_of(context, job, Capability.TERMINAL, log)
    if job.status.ended:
        raise Conflict(_("Cannot open a terminal: job {job} has ended.").format(job=job.id), fix=log)
    name = _instance(job, [one.name for one in await backend.instances(job.remote_id)], instance)
    if backend.terminal_dialects and not attach:
        words = (sys.executable, "-m", "jupyter_pai", "terminal", job.id, "--instance", name)
        return _terminal_reply(job, name, TerminalCommand(words))
    try:
        terminal = await backend.terminal(job.remote_id, name)
    except Refused as error:
        error.fix = error.fix or _("See its status: %pai show {job}").format(job=job.id)
        raise
    return _terminal_reply(job, name, terminal)


def _terminal_reply(job: Job, instance: str, terminal: Terminal) -> TerminalReply:
    """Return the reply with a terminal.

    Raises:
        BackendError: if the platform returned none, or a command with control characters, which a terminal would obey.
    """
    reply: TerminalReply = {"instance": instance, "kind": "page", "url": "", "command": "", "dialect": ""}
    if isinstance(terminal, TerminalCommand):
        if terminal.arguments and "".join(terminal.arguments).isprintable():
            return reply | {"kind": "command", "command": shlex.join(terminal.arguments)}
    elif terminal.url:
        reply["url"] = terminal.url
        if isinstance(terminal, TerminalSocket):
            return reply | {"kind": "socket", "dialect": terminal.dialect}
        return reply
    raise BackendError(
        _("The platform returned no usable terminal for {instance}.").format(instance=instance),
        fix=_("Open the terminal on the platform's page: {url}").format(url=job.console_url) if job.console_url else "",
    )


def platform_of(context: Context, job: Job, capability: Capability, alternative: str) -> Backend:
    """Return the platform of a job.

    Raises:
        Unsupported: if it lacks a capability, with the alternative.
        Conflict: if the platform does not have the job yet.
    """
    backend = context.service.profiles.backend_of(job)
    if capability not in backend.capabilities:
        raise capability.missing_in(job.backend, alternative)
    if not job.remote_id:
        raise Conflict(_("Job {job} is not on its platform yet.").format(job=job.id), fix=_("Try again in a moment."))
    return backend


def _instance(job: Job, names: Sequence[str], name: str) -> str:
    if not names:
        raise Conflict(
            _("Job {job} has no instances yet.").format(job=job.id),
            fix=_("Wait until it runs: %pai show {job}").format(job=job.id),
        )
    if name and name not in names:
        raise NotFound(
            _("Job {job} has no instance `{name}`.").format(job=job.id, name=name),
            fix=_("Known are: {names}.").format(names=", ".join(names)),
        )
    return name or names[0]
