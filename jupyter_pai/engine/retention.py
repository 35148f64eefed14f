"""What is kept on the disk, and for how long.

A job goes only when a user says so: its model may be the one thing that cannot be made again. What can be made again at
any time, and what nobody can reach any more, goes by itself: environments that were not used for long, inputs that were
fetched and not used for long, packed code that no job has, what is left of jobs that were deleted or never stored.
"""

from __future__ import annotations

import asyncio
import shutil
import threading
import time
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..backends import load_backends
from ..backends.base import Finding
from ..config.settings import DiskSettings
from ..core.errors import PaiError
from ..core.i18n import _
from ..core.lease import Lease
from ..core.sizes import parse_size, show_size
from ..jobs.job import Job, JobStatus
from ..jobs.state_dir import Home
from ..jobs.store.disk_usage import FinishedJob
from ..jobs.store.query import JobFilter
from ..jobs.store.store import Store
from .data import disk
from .profiles import Profiles

__all__ = ["Candidate", "Criteria", "Pruned", "Retention"]

_DAY = 86_400.0
# The limit if none is set: this, or that share of a disk that is smaller.
_LIMIT, _SHARE = 20 * 10**9, 10
# How many sizes are noted in one transaction.
_BATCH = 200
# Seconds after the start of an engine, and from then on.
_FIRST, _EVERY = 60.0, 3600.0


@dataclass(frozen=True)
class Criteria:
    """Which jobs that have ended may go: those that meet all of these, in seconds since their end and bytes; of those,
    the newest `keep` stay. Without any criterion, none goes; one that is pinned or in use never does."""

    older_than: float | None = None
    larger_than: int | None = None
    keep: int | None = None
    statuses: Collection[JobStatus] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    environments: bool = False

    @property
    def names_jobs(self) -> bool:
        numbers = (self.older_than, self.larger_than, self.keep)
        return any(number is not None for number in numbers) or bool(self.statuses or self.labels)


@dataclass(frozen=True)
class Candidate:
    """A job that may go, or an environment, and the room that gives. `used_at`: a job's end, or when an environment was
    last used, in seconds since 1970. `has_model`: a trained model would go with it."""

    id: str
    used_at: float
    bytes: int
    name: str = ""
    status: str = ""
    has_model: bool = False


@dataclass(frozen=True)
class Pruned:
    """What went, or would go. `kept` was to go and did not: id to why. `bytes` is the room that gives; `sources`, what
    of it is packed code that no job has any more."""

    jobs: list[Candidate]
    environments: list[Candidate]
    sources: int
    bytes: int
    kept: dict[str, str] = field(default_factory=dict)


class Retention:
    """Looks at what takes room in a state folder, and removes what may go."""

    def __init__(self, home: Home, store: Store, profiles: Profiles) -> None:
        self.home = home
        self.store = store
        self.profiles = profiles
        self._closed = threading.Event()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Finish what was not finished, and keep house from now on."""
        self._task = asyncio.create_task(self.keep_house(), name="jupyter-pai retention")

    async def stop(self) -> None:
        """Stop keeping house."""
        self._closed.set()
        if self._task:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def keep_house(self, first: float = _FIRST, every: float = _EVERY) -> None:
        """Remove at once what a process that was killed left half removed; now and then all that goes by itself."""
        await asyncio.to_thread(self.finish_removals)
        pause = first
        while True:
            await asyncio.sleep(pause)
            pause = every
            try:
                await asyncio.to_thread(self.measure)
                await asyncio.to_thread(self.sweep)
            except (PaiError, OSError):
                pass  # A full disk, settings that are wrong: those who submit are told.

    # Looking.

    def limit(self, settings: DiskSettings) -> int:
        """Bytes above which room should be made."""
        chosen = settings.limit.strip()
        return parse_size(chosen) if chosen else min(_LIMIT, shutil.disk_usage(self.home.path).total // _SHARE)

    def warning(self, settings: DiskSettings) -> str:
        """What to say if more is taken than should be; by what was measured, so that it costs nothing."""
        if (taken := self.store.disk_usage.total()) <= (limit := self.limit(settings)):
            return ""
        return _(
            "Jobs and environments take {size}, more than {limit}. See them with %pai disk; make room with "
            "%pai prune --older-than 30d."
        ).format(size=show_size(taken), limit=show_size(limit))

    def findings(self) -> list[Finding]:
        """For `doctor`. May block."""
        try:
            self.measure()
            taken, limit = self.store.disk_usage.total(), self.limit(self.profiles.settings().disk)
        except PaiError:
            return []  # The settings are wrong, which the doctor says.
        text = _("jobs and environments take {size}; the limit is {limit}").format(
            size=show_size(taken), limit=show_size(limit)
        )
        if taken <= limit:
            return [Finding("ok", _("room"), text)]
        fix = _("See them with %pai disk; make room with %pai prune --older-than 30d.")
        return [Finding("warn", _("room"), text, fix)]

    def measure(self, at_most: int | None = None) -> None:
        """Measure what was not measured yet: jobs that have ended, environments. May block."""
        unknown = [job.id for job in self.store.disk_usage.finished_jobs("bytes IS NULL")][:at_most]
        for start in range(0, len(unknown), _BATCH):
            if self._closed.is_set():
                return
            ids = unknown[start : start + _BATCH]
            self.store.disk_usage.record({f"jobs/{job_id}": self._size(job_id) for job_id in ids}).result()
        known = self.store.disk_usage.sizes("environments/") | self.store.disk_usage.sizes("inputs/")
        there = {f"environments/{found.key}" for found in disk.environments(self.home) if found.used_at}
        there |= {f"inputs/{found.key}" for found in disk.inputs(self.home) if found.used_at}
        for path in known.keys() - there:
            self.store.disk_usage.forget(path).result()
        sizes = {path: disk.taken(self.home.path / path) for path in there - known.keys()}
        self.store.disk_usage.record(sizes | {"sources": disk.taken(self.home.sources)}).result()

    def measure_again(self, job_id: str, at_most: int) -> None:
        """`measure`, and this job anew: it may have ended, and been measured, before all of its files were written."""
        self.store.disk_usage.forget(f"jobs/{job_id}").result()
        self.measure(at_most)

    def _size(self, job_id: str) -> int:
        """What a job takes, without packed code that it shares."""
        folder = self.home.job(job_id)
        shared = set()
        if folder.source.exists() and (found := folder.source.stat()).st_nlink > 1:
            shared.add((found.st_dev, found.st_ino))
        return disk.taken(folder.path, shared)

    def use(self) -> dict[str, Any]:
        """What takes room: bytes and numbers by kind, and the largest jobs. May block."""
        self.measure()
        ended = self.store.disk_usage.finished_jobs()
        running = {job.id: self._size(job.id) for job in self.store.jobs.active()}
        environments = self.store.disk_usage.sizes("environments/")
        inputs = self.store.disk_usage.sizes("inputs/")
        sources = list(self.home.sources.glob("*.tar.gz"))
        parts = [
            {"what": "jobs", "count": len(ended), "bytes": sum(job.bytes or 0 for job in ended)},
            {"what": "running", "count": len(running), "bytes": sum(running.values())},
            {"what": "environments", "count": len(environments), "bytes": sum(environments.values())},
            {"what": "inputs", "count": len(inputs), "bytes": sum(inputs.values())},
            {"what": "sources", "count": len(sources), "bytes": disk.taken(self.home.sources)},
            {"what": "database", "count": 1, "bytes": sum(map(disk.taken, self.home.path.glob("pai.sqlite3*")))},
        ]
        largest = sorted(ended, key=lambda job: -(job.bytes or 0))[:10]
        return {
            "path": str(self.home.path),
            "bytes": sum(int(str(part["bytes"])) for part in parts),
            "limit": self.limit(self.profiles.settings().disk),
            "free": shutil.disk_usage(self.home.path).free,
            "parts": parts,
            "largest": [
                {"id": job.id, "name": job.name, "status": job.status, "bytes": job.bytes, "pinned": bool(job.pinned)}
                for job in largest
            ],
        }

    # Removing.

    def _plan(self, criteria: Criteria) -> tuple[list[Candidate], list[Candidate]]:
        """The jobs and environments that may go; without any criterion, what would go by itself in time."""
        self.measure()
        environments: list[Candidate] = []
        if criteria.environments or not criteria.names_jobs:
            environments = list(self._environments(0 if criteria.environments else self._unused_since()))
        return self._jobs(criteria) if criteria.names_jobs else [], environments

    def _jobs(self, criteria: Criteria) -> list[Candidate]:
        wanted = JobFilter(list(criteria.statuses), labels=dict(criteria.labels))
        finished = self.store.disk_usage.finished_jobs(wanted.where, wanted.arguments)
        jobs = [job for job in finished if _may_go(job, criteria)]
        return [self._candidate(job) for job in jobs[criteria.keep or 0 :]]

    def _candidate(self, job: FinishedJob) -> Candidate:
        model = self.home.job(job.id).output / "model"
        try:
            has_model = not model.is_symlink() and any(model.iterdir())
        except OSError:
            has_model = False
        return Candidate(job.id, job.ended_at, job.bytes or 0, job.name, job.status, has_model)

    def _unused_since(self) -> float:
        return time.time() - self.profiles.settings().disk.environment_days * _DAY

    def _environments(self, before: float) -> Iterator[Candidate]:
        """Environments, and data that was brought here, that no job uses and none has used since; all of that if
        `before` is 0."""
        sizes = self.store.disk_usage.sizes("environments/") | self.store.disk_usage.sizes("inputs/")
        for found in disk.environments(self.home):
            if not found.in_use and (not before or found.used_at < before):
                yield Candidate(found.key, found.used_at, sizes.get(f"environments/{found.key}", 0))
        used = {uri for job in self.store.jobs.active() for uri in job.staged_spec.inputs.values()}
        for found in disk.inputs(self.home):
            in_use = found.in_use or any(found.key in uri for uri in used)
            # A data frame is nowhere else: it stays as long as there is a job that a rerun could be made of.
            if (
                not in_use
                and (not before or found.used_at < before)
                and (found.uri or not self.store.jobs.any_spec_contains(found.key))
            ):
                name = found.uri or _("a data frame")
                yield Candidate(found.key, found.used_at, sizes.get(f"inputs/{found.key}", 0), name)

    async def prune(
        self,
        criteria: Criteria,
        only_jobs: Collection[str] | None = None,
        only_environments: Collection[str] | None = None,
        *,
        dry_run: bool = False,
        delete: Callable[[Job], Awaitable[None]] | None = None,
    ) -> Pruned:
        """Remove what may go by these criteria, and of that only what is named if anything is; without a criterion,
        what would go by itself in time. A dry run removes nothing. `delete` does it, in place of the method."""
        jobs, environments = await asyncio.to_thread(self._plan, criteria)
        jobs = [job for job in jobs if only_jobs is None or job.id in only_jobs]
        environments = [one for one in environments if only_environments is None or one.id in only_environments]
        sources = await asyncio.to_thread(disk.orphaned_sources, self.home, [job.id for job in jobs])
        kept: dict[str, str] = {}
        if not dry_run:
            for job in jobs:
                try:
                    await (delete or self.delete)(self.store.jobs.get(job.id))
                except PaiError as error:
                    kept[job.id] = error.message  # It was pinned meanwhile, or a job began that needs it.
            for one in environments:
                if not await asyncio.to_thread(self._remove_made, one.id):
                    kept[one.id] = _("in use")
            await asyncio.to_thread(self._tidy)
        jobs, environments = ([one for one in found if one.id not in kept] for found in (jobs, environments))
        room = sum(one.bytes for one in (*jobs, *environments)) + sources
        return Pruned(jobs, environments, sources, room, kept)

    async def delete(self, job: Job, *, gone: bool = False) -> None:
        """Forget a job that has ended, then remove its files: if that is cut short, the next engine goes on with it.

        `gone`: it has not ended, and never will, since the host that it ran on is gone for good.

        Raises:
            Conflict: if it has not ended, is pinned, or a job that has not ended uses its files.
        """
        self.store.jobs.check_deletable(job.id, gone=gone)
        if job.remote_id and load_backends().get(job.backend):
            await self.profiles.backend_of(job).delete(job.remote_id)
        await asyncio.wrap_future(self.store.jobs.delete(job.id, gone=gone))
        await asyncio.to_thread(self._remove_files, job.id, job.source_digest)

    def _remove_files(self, job_id: str, digest: str = "") -> None:
        if disk.remove(self.home.job(job_id).path):
            self.store.disk_usage.confirm_removal(job_id).result()
        if digest:
            disk.remove_source(self.home.sources / f"{digest}.tar.gz")

    def finish_removals(self) -> None:
        """Remove the files of jobs that were deleted by a process that did not come to it."""
        for job_id in self.store.disk_usage.pending_removals():
            self._remove_files(job_id)

    def sweep(self) -> None:
        """Remove what goes by itself."""
        self.finish_removals()
        for name in disk.leftovers(self.home, self.store.jobs.ids):
            lease = Lease(self.home.job(name).lease)
            if lease.acquire():  # Else somebody is about to submit it.
                disk.remove(self.home.job(name).path)
                lease.release()
        for one in self._environments(self._unused_since()):
            self._remove_made(one.id)
        self._tidy()

    def _remove_made(self, key: str) -> bool:
        """Remove an environment or data that was brought here; whether it has gone."""
        is_data = (self.home.inputs / key).exists()
        return disk.remove_input(self.home, key) if is_data else disk.remove_environment(self.home, key)

    def _tidy(self) -> None:
        disk.remove_sources(self.home)
        self.measure()


def _may_go(job: FinishedJob, criteria: Criteria) -> bool:
    old = criteria.older_than is None or job.ended_at < time.time() - criteria.older_than
    large = criteria.larger_than is None or (job.bytes or 0) > criteria.larger_than
    return old and large and not job.pinned and not job.used
