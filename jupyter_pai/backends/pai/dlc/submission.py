"""Submit: the request of a job, checked before the job is stored, and sent once."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping

from ....core.errors import Conflict, ImageError, NotFound, PaiError, QuotaExceeded, Refused, SoldOut
from ....jobs.job import Job
from ....jobs.spec import RESOURCES, JobSpec
from ....jobs.state_dir import JobFolder, Packing
from ...base import Prepared, Submission
from ..replies import remedy
from ..site import PaiSettings, Site
from .api import DlcApi
from .request_body import Destination, check_size, request_body

__all__ = ["prepare", "submit"]

# Fields of a spec by patterns of refusals; the first that matches counts.
_FIELDS = {
    r"image": ("image",),
    r"quota|ResourceId": ("options.resource_id",),
    r"vpc|switch|security ?group": ("options.user_vpc",),
    r"spot": ("options.spot",),
    r"data ?source|dataset|mount": ("inputs",),
    r"code ?source": ("options.code_source",),
    r"ecsspec|instance ?type|sold ?out|stock": ("instance_type",),
}


async def prepare(
    job: Job, folder: JobFolder, api: DlcApi, settings: PaiSettings, site: Site, home_id: str, limit: int
) -> Prepared:
    """Return the outputs of a job.

    Raises:
        SpecError: if its request is too large.
    """
    body = await _body(job, folder, api, settings, site, home_id, limit)
    check_size(body, job.spec)
    return Prepared(dict(await site.channel_uris(job)))


async def submit(
    job: Job, folder: JobFolder, api: DlcApi, settings: PaiSettings, site: Site, home_id: str, limit: int
) -> Submission:
    """Create a job, at most once. `limit`: the run-time limit in seconds; 0 for none.

    Raises:
        ReplyLost: if it is unknown whether the platform has the job.
        PaiError: as the platform refuses it.
    """
    body = await _body(job, folder, api, settings, site, home_id, limit)
    try:
        remote_id = await api.create(body)
    except (Conflict, ImageError, NotFound, QuotaExceeded, Refused, SoldOut) as error:
        raise _explained(error, job.spec) from None
    return Submission(remote_id, site.page(str(body["WorkspaceId"]), f"job/detail?jobId={remote_id}"))


async def _body(
    job: Job, folder: JobFolder, api: DlcApi, settings: PaiSettings, site: Site, home_id: str, limit: int
) -> Mapping[str, object]:
    account = api.account
    target = Destination(
        await account.workspace_id(),
        await site.code_uri(job.source_digest) if job.source_files else "",
        await site.output_uri(job),
        home_id,
        account.with_endpoint_now,
        limit,
        settings.kept_files,
        Packing.read(folder).import_paths,
    )
    return await asyncio.to_thread(request_body, job, target)


def _explained(error: PaiError, spec: JobSpec) -> PaiError:
    """Return a refusal beside the field that it is about, with a fix."""
    code = str(error.details.get("code") or "")
    error.fix = error.fix or remedy(f"{code} {error.message}")
    prefix = "roles.0." if spec.roles else ""
    for pattern, names in _FIELDS.items():
        if re.search(pattern, f"{code} {error.message}", re.IGNORECASE):
            return error.at(*(f"{prefix}{name}" if name in RESOURCES else name for name in names))
    return error
