"""The submit of a job: its task is created at most once, since its name has our id."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ....cloud.tencent.account import TencentAccount
from ....cloud.tencent.reading import rows_of, text_of
from ....core.errors import (
    BackendError,
    Conflict,
    ImageError,
    NotFound,
    PaiError,
    QuotaExceeded,
    ReplyLost,
    SoldOut,
)
from ....core.i18n import _
from ....core.secret import Secret
from ....jobs.job import Job
from ....jobs.spec import JobSpec
from ....jobs.state_dir import JobFolder, Packing
from ...base import Prepared, Submission, parse_options
from .. import console
from ..api import TioneApi
from ..options import TioneOptions, TioneSettings
from . import locations
from .images import image_of
from .inputs import data_of
from .roles import resource_group
from .task_body import Destination, task_body, tuning_parameters

if TYPE_CHECKING:
    from ..catalog import Catalog

__all__ = ["prepare", "submit"]

# Attempts of a request whose reply is lost, and of a search for the task; seconds before the second one.
_ATTEMPTS, _PAUSE = 5, 0.3


async def prepare(job: Job, folder: JobFolder, settings: TioneSettings, account: TencentAccount) -> Prepared:
    """Return the outputs that are known before the submit. Sends no request.

    Raises:
        BucketError: if the profile has no bucket.
        SpecError: if the platform cannot read an uploaded input.
    """
    locations.output_uri(settings, account, job)
    data_of(job.staged_spec, account.region)
    notes = []
    if job.spec.hyperparameters and not tuning_parameters(job.spec):
        notes.append(_("The console does not show the hyperparameters: together, they are too long for it."))
    return Prepared(dict(job.spec.outputs), tuple(notes))


async def submit(
    job: Job, folder: JobFolder, secrets: Mapping[str, Secret], api: TioneApi, catalog: Catalog, limit: int
) -> Submission:
    """Create the task of a job, at most once. `limit`: the run-time limit in seconds; 0 for none.

    Raises:
        ReplyLost: if it is unknown whether the platform has the task.
        PaiError: as the platform refuses it.
    """
    settings, account, spec = api.settings, api.account, job.spec
    options = parse_options(TioneOptions, spec.options)
    base = locations.output_uri(settings, account, job)
    target = Destination(
        account.region,
        resource_group(spec, settings, options),
        locations.code_uri(settings, account, job.source_digest) if job.source_files else "",
        base,
        limit,
        settings.kept_files,
        Packing.read(folder).import_paths,
    )
    image = await image_of(spec, options, account.region, catalog, secrets.get(options.image_password))
    body = await asyncio.to_thread(task_body, job, image, target, secrets)
    task_id = await _create(api, body, job.staged_spec)
    return Submission(task_id, console.task_url(settings, task_id), locations.channel_uris(base, task_id, job))


async def _create(api: TioneApi, body: Mapping[str, Any], spec: JobSpec) -> str:
    """Create a task and return its id. A name can be used once, so that a request without a reply is repeated."""
    lost: ReplyLost | None = None
    for attempt in range(_ATTEMPTS):
        await _pause(attempt)
        try:
            return text_of((await api.call("CreateTrainingTask", body, repeat=False)).get("Id"))
        except ReplyLost as error:
            lost = error
        except PaiError as error:
            if isinstance(error, Conflict) and "DuplicateName" in str(error.details.get("code")):
                return await _existing(api, str(body["Name"]), lost, error)
            if lost:  # It may have been created nevertheless.
                raise lost from None
            raise _explained(error, spec) from None
    assert lost is not None
    if not lost.details.get("code"):
        raise lost
    failed = BackendError(lost.message, fix=_("Try again in a few minutes: %pai rerun ID"), **lost.details)
    return await _existing(api, str(body["Name"]), None, failed)


async def _existing(api: TioneApi, name: str, lost: ReplyLost | None, error: PaiError) -> str:
    """Return the id of the task of this name.

    Raises:
        ReplyLost: if it remains unknown whether the platform has it: its lists may lag, or cannot be read.
        PaiError: `error`, if the platform does not list it and no reply was lost.
    """
    try:
        task_id = await _find(api, name)
    except PaiError:
        raise lost or ReplyLost(error.message, fix=error.fix, **error.details) from None
    if task_id:
        return task_id
    if isinstance(error, Conflict):
        error.at("name")
    raise lost or error from None


async def _find(api: TioneApi, name: str) -> str:
    """Return the id of the task of this name; empty if the platform does not list it."""
    query = {"Filters": [{"Name": "Name", "Values": [name]}]}
    for attempt in range(_ATTEMPTS):
        await _pause(attempt)
        reply = await api.call("DescribeTrainingTasks", query)
        for row in rows_of(reply, "TrainingTaskSet"):
            if row.get("Name") == name:
                return text_of(row.get("Id"))
    return ""


async def _pause(attempt: int) -> None:
    if attempt:
        await asyncio.sleep(_PAUSE * 2 ** (attempt - 1))


def _explained(error: PaiError, spec: JobSpec) -> PaiError:
    """Return a refusal beside the field that it is about."""
    code = str(error.details.get("code") or "")
    prefix = "roles.0." if spec.roles else ""
    if isinstance(error, ImageError):
        return error.at("image")
    if isinstance(error, SoldOut) or code.endswith("InvalidResourceSpec"):
        return error.at(f"{prefix}instance_type")
    if isinstance(error, QuotaExceeded) and "ResourceGroup" in code:
        return error.at("options.resource_group_id")
    if code.endswith(("VPCNotFound", "SubnetNotFound", "SubnetIllegal")):
        return error.at("options.vpc_id", "options.subnet_id")
    if code.endswith("CosPathNotExist") or isinstance(error, NotFound):
        channels = [channel for channel, uri in spec.inputs.items() if _last_part(uri) in error.message]
        return error.at(*(f"inputs.{channel}" for channel in channels)) if channels else error
    return error.at("inputs") if code.endswith("DataConfigNumLimitExceeded") else error


def _last_part(uri: str) -> str:
    """Return what names a location in messages of the platform: the path, or the id of a file system."""
    place, _slash, path = uri.partition("://")[2].partition("/")
    return path.strip("/") or place
