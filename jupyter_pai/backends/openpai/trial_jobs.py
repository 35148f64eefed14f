"""Jobs of one second for `doctor --live`: one on each virtual cluster of the user."""

from __future__ import annotations

import asyncio
import secrets
import time
from typing import Any

from ...core.errors import PaiError
from ...core.i18n import _
from ...jobs.job import JobStatus
from ..base import Finding
from ..reports import Report
from . import machines, names
from .client import OpenPaiClient
from .follow.reporting import report_of, status_of
from .options import OpenPaiSettings
from .protocol.writer import write
from .submit.cluster import cluster_of

__all__ = ["try_jobs"]

# Seconds that a job may take.
_PATIENCE = 45.0
_PAUSE = 1.0
_NAME = "jupyter-pai-doctor"
# It has bash, which the platform requires, and is small.
_IMAGE = "debian:stable-slim"


async def try_jobs(settings: OpenPaiSettings, client: OpenPaiClient) -> list[Finding]:
    """Run a job of one second on each virtual cluster of the user, all at the same time.

    Raises:
        PaiError: if the virtual clusters cannot be listed.
    """
    found = (await machines.granted(client)).virtual_clusters
    return list(await asyncio.gather(*(_try(name, settings, client) for name in found)))


async def _try(virtual_cluster: str, settings: OpenPaiSettings, client: OpenPaiClient) -> Finding:
    what = _("virtual cluster {name}").format(name=virtual_cluster)
    name = names.job_name(_NAME, secrets.token_hex(4))
    try:
        known = [*((await cluster_of(client, virtual_cluster)).skus or ())]  # The smallest one first.
        sku = settings.sku if settings.sku in known else next(iter(known), "")
        await client.submit(write(_document(name, virtual_cluster, settings.default_image or _IMAGE, sku)))
        key = names.remote_id((await client.credentials()).username, name)
        return await _followed(what, key, client)
    except PaiError as error:
        return Finding("bad", what, error.message, error.fix)


def _document(name: str, virtual_cluster: str, image: str, sku: str) -> dict[str, Any]:
    role = {
        "instances": 1,
        "dockerImage": "image",
        "resourcePerInstance": {"cpu": 1, "memoryMB": 512, "gpu": 0},
        "commands": ["sleep 1"],
    }
    hived = {"hivedScheduler": {"taskRoles": {"main": {"skuType": sku}}}} if sku else {}
    return {
        "protocolVersion": 2,
        "name": name,
        "type": "job",
        "prerequisites": [{"type": "dockerimage", "name": "image", "uri": image}],
        "taskRoles": {"main": role},
        "defaults": {"virtualCluster": virtual_cluster},
        "extras": hived,
    }


async def _followed(what: str, key: str, client: OpenPaiClient) -> Finding:
    end, report = time.monotonic() + _PATIENCE, Report(JobStatus.QUEUED)
    while time.monotonic() < end:
        await asyncio.sleep(_PAUSE)
        detail = await client.job(key)
        report = report_of(detail, {})
        if report.status.ended:
            return _ended(what, key, report, status_of(detail).get("appExitCode"))
    await client.stop(key)
    text = _("The job did not end within {n:.0f} seconds: {state}.")
    fix = _("Look at the job {name} in the portal: the virtual cluster may be full, or its image is being pulled.")
    state = report.platform_status
    return Finding("warn", what, text.format(n=_PATIENCE, state=state), fix.format(name=key))


def _ended(what: str, key: str, report: Report, code: object) -> Finding:
    if report.status is JobStatus.SUCCEEDED:
        return Finding("ok", what, _("a job ran"))
    text = _("The job ended as {state} with the exit code {code}.").format(state=report.platform_status, code=code)
    fix = _("Look at the job {name} in the portal.").format(name=key)
    return Finding("bad", what, f"{text} {report.reason}".strip(), f"{fix} {report.fix}".strip())
