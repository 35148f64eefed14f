"""Import of jobs that were submitted elsewhere."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime

from ..backends.reports import RemoteJob
from ..config.settings import Profile
from ..jobs.job import Job, JobStatus
from ..jobs.state_dir import Home, new_id, reserve, state_errors
from ..jobs.store.store import Store
from .data.storages import Storages
from .watcher.loop import Watcher


class JobImport:
    """Lists the jobs of a platform, and imports them."""

    def __init__(self, home: Home, store: Store, watcher: Watcher, storages: Storages) -> None:
        self.home = home
        self.store = store
        self.watcher = watcher
        self.profiles = storages.profiles

    async def jobs(
        self, profile: str = "", backend: str = "", before: datetime | None = None, limit: int = 50
    ) -> tuple[Profile, Sequence[RemoteJob]]:
        """Return the jobs of a profile's account, newest first, regardless of origin.

        Raises:
            Unsupported: if its backend cannot list jobs.
            NotAllowed: if the policy forbids the profile.
        """
        chosen = self.profiles.chosen(profile, backend)
        return chosen, await self.profiles.backend(chosen).jobs(before, limit)

    async def adopt(self, remote_id: str, profile: str = "", backend: str = "") -> Job:
        """Import a job of the platform and watch it. Return the existing job if it is known.

        Raises:
            NotFound: if the platform does not have it.
            NotAllowed: if the policy forbids the profile.
        """
        chosen = self.profiles.chosen(profile, backend)
        remote = await self.profiles.backend(chosen).job(remote_id)
        if existing := self.store.jobs.by_remote_id(chosen.backend, remote.remote_id):
            return existing
        # The job is starting until the first poll, which fetches its log.
        job = Job(
            id=new_id(),
            spec=remote.spec.model_copy(update={"profile": chosen.name}),
            backend=chosen.backend,
            profile=chosen.name,
            status=JobStatus.STARTING,
            remote_id=remote.remote_id,
            submitted_at=remote.submitted_at,
            outputs=remote.outputs,
            console_url=remote.console_url,
            labels=remote.spec.labels,
        )
        key = f"adopted:{chosen.backend}:{remote.remote_id}"
        with reserve(self.home, job.id) as held:
            with state_errors(self.home.jobs):
                held.folder.spec.write_text(job.spec.model_dump_json(indent=1), "utf-8")
            held.stored = await asyncio.wrap_future(self.store.jobs.insert(job, key, ""))
        if held.is_kept:
            self.watcher.follow(job, held.lease)
        return held.stored
