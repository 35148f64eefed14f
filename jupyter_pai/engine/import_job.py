"""Adoption: jobs that were submitted elsewhere, taken into the list of ours and followed from then on."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime

from ..backends.reports import RemoteJob
from ..config.settings import Profile
from ..jobs.job import Job, JobStatus
from ..jobs.job_dir import new_id, reserve
from ..jobs.state_dir import Home, state_errors
from ..jobs.store.store import Store
from .data.storages import Storages
from .watcher.loop import Watcher

__all__ = ["Adoption"]


class Adoption:
    """Looks at what the platforms have, and adopts of it what the user wants."""

    def __init__(self, home: Home, store: Store, watcher: Watcher, storages: Storages) -> None:
        self.home = home
        self.store = store
        self.watcher = watcher
        self.profiles = storages.profiles

    async def jobs(
        self, profile: str = "", backend: str = "", before: datetime | None = None, limit: int = 50
    ) -> tuple[Profile, Sequence[RemoteJob]]:
        """The jobs of a profile's account, newest first, wherever they were submitted.

        Raises:
            Unsupported: if its backend has none but ours.
            NotAllowed: if the administrator does not allow the profile.
        """
        chosen = self.profiles.chosen(profile, backend)
        return chosen, await self.profiles.backend(chosen).jobs(before, limit)

    async def adopt(self, remote_id: str, profile: str = "", backend: str = "") -> Job:
        """Follow a job of the platform from now on; the one of ours that it is, if it is one.

        Raises:
            NotFound: if the platform has none of that name.
            NotAllowed: if the administrator does not allow the profile.
        """
        chosen = self.profiles.chosen(profile, backend)
        found = await self.profiles.backend(chosen).job(remote_id)
        if there := self.store.jobs.by_remote_id(chosen.backend, found.remote_id):
            return there
        job, key = _job(found, chosen), f"adopted:{chosen.backend}:{found.remote_id}"
        with reserve(self.home, job.id) as held:
            with state_errors(self.home.jobs):
                held.folder.spec.write_text(job.spec.model_dump_json(indent=1), "utf-8")
            held.stored = await asyncio.wrap_future(self.store.jobs.insert(job, key, ""))
        if held.is_kept:
            self.watcher.follow(job, held.lease)
        return held.stored


def _job(found: RemoteJob, profile: Profile) -> Job:
    """It counts as starting until the watcher has looked: only then is its log brought."""
    return Job(
        id=new_id(),
        spec=found.spec.model_copy(update={"profile": profile.name}),
        backend=profile.backend,
        profile=profile.name,
        status=JobStatus.STARTING,
        remote_id=found.remote_id,
        submitted_at=found.submitted_at,
        outputs=found.outputs,
        console_url=found.console_url,
        labels=found.spec.labels,
    )
