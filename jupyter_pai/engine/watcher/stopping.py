"""Stop of a job, by its backend."""

from __future__ import annotations

from contextlib import suppress

from ...backends.base import Backend, Capability
from ...backends.remote import check_is_same
from ...backends.reports import Report
from ...core.errors import Conflict, NotFound
from ...core.i18n import _
from ...jobs.job import Job
from ..profiles import Profiles


async def check_remote(backend: Backend, job: Job, remote_id: str) -> None:
    """Check that a job of a platform is `job`, before it is stopped or deleted there. One that is gone passes.

    Raises:
        Conflict: if it is another one.
        PaiError: if the platform does not return it.
    """
    if Capability.RUNS_HERE not in backend.capabilities:
        with suppress(NotFound):
            check_is_same(await backend.job(remote_id), remote_id, "" if job.is_imported else job.id)


async def stop_job(profiles: Profiles, job: Job) -> None:
    """Request the end of a job, which follows later. Does nothing if it has finished.

    Raises:
        Conflict: if its platform does not have it yet, or has another job in its place, or its host does not respond.
            A host that returns ends it.
    """
    if job.status.ended:
        return
    backend = profiles.backend_of(job)
    # After an interrupted submit, only the platform knows its id.
    if not (remote_id := job.remote_id or await backend.find(job.id)):
        text = _("{job} is still being submitted: its platform does not have it yet.").format(job=job.id)
        raise Conflict(text, fix=_("Stop it in some seconds, when it is running."))
    await check_remote(backend, job, remote_id)
    await backend.stop(remote_id)
    if (report := await report_on(profiles, job)) and report.silent:
        raise Conflict(report.reason, fix=report.fix)


async def report_on(profiles: Profiles, job: Job) -> Report | None:
    """Return the current report of the platform on a job; None if it does not list the job."""
    remote_id = job.remote_id or job.id
    return (await profiles.backend_of(job).poll([remote_id])).get(remote_id)
