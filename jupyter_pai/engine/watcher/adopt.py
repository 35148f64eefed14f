"""Import of jobs that were submitted to a platform elsewhere."""

from __future__ import annotations

import asyncio

from ...backends.remote import check_is_same
from ...core.errors import NotFound
from ...core.i18n import _
from ...jobs.job import Job, JobStatus
from ...jobs.state_dir import new_id, reserve, state_errors
from .loop import Watcher


async def adopt_job(watcher: Watcher, remote_id: str, profile: str = "", backend: str = "") -> Job:
    """Import a job that was submitted elsewhere, and watch it. Return the existing job if it was imported before.

    Raises:
        NotFound: if the platform does not have it.
        Conflict: if the platform returns another job.
        NotAllowed: if the policy forbids the profile.
    """
    profiles, jobs = watcher.storages.profiles, watcher.store.jobs
    chosen = profiles.chosen(profile, backend)
    try:
        remote = await profiles.backend(chosen).job(remote_id)
    except NotFound as error:
        error.fix = _("List the jobs of the platform: %pai adopt --profile {name}").format(name=chosen.name)
        raise
    check_is_same(remote, remote_id)
    if existing := jobs.by_remote_id(chosen.backend, remote.remote_id):
        return existing
    job = Job(
        id=new_id(),
        spec=remote.spec.model_copy(update={"profile": chosen.name}),
        backend=chosen.backend,
        profile=chosen.name,
        status=JobStatus.STARTING,  # Until the first poll, which fetches its log.
        remote_id=remote.remote_id,
        submitted_at=remote.submitted_at,
        outputs=remote.outputs,
        console_url=remote.console_url,
        labels=remote.spec.labels,
    )
    key = f"adopted:{chosen.backend}:{remote.remote_id}"
    with reserve(watcher.home, job.id) as held:
        with state_errors(watcher.home.jobs):
            held.folder.spec.write_text(job.spec.model_dump_json(indent=1), "utf-8")
        held.stored = await asyncio.wrap_future(jobs.insert(job, key, ""))
    if held.is_kept:
        watcher.follow(job, held.lease)
    return held.stored
