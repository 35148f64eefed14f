"""Disk usage of the state folder, and removal of files.

Jobs are removed only by users, since a model may be irreplaceable. Files that can be created again are removed
automatically: environments and downloaded inputs that were not used for long, packed code without a job, and remains
of deleted or never stored jobs.
"""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import threading
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, repeat
from typing import Any

from ..backends.base import Capability, Finding
from ..config.settings import DiskSettings
from ..core.cleanup import at_exit
from ..core.errors import Conflict, NotFound, PaiError, StateError
from ..core.filesystem import write_error
from ..core.i18n import _
from ..core.lease import Lease
from ..core.text import parse_size, show_size
from ..jobs.job import Job
from ..jobs.state_dir import Home
from ..jobs.store.query import JobFilter
from ..jobs.store.store import FinishedJob, Store
from .data import disk
from .profiles import Profiles
from .requests import Prune
from .watcher.stopping import check_remote
from .workflows.active_runs import jobs_of_active_runs

_DAY = 86_400.0
# The default limit in bytes, or this fraction of a smaller disk.
_LIMIT, _SHARE = 20 * 10**9, 10
# Sizes stored in one transaction.
_BATCH = 200
# Seconds from the start of an engine to the first cleanup, and between cleanups.
_FIRST_CLEANUP, _CLEANUP_INTERVAL = 60.0, 3600.0


@dataclass(frozen=True)
class Candidate:
    """A job or environment that may be removed, with its bytes. `used_at` is the end of a job or the last use of an
    environment, in seconds since 1970. `has_model`: the job has a trained model."""

    id: str
    used_at: float
    bytes: int
    name: str = ""
    status: str = ""
    has_model: bool = False


@dataclass(frozen=True)
class Pruned:
    """The result of a prune or its dry run. `kept` has the reason for each id that could not be removed. `bytes` is the
    freed space; `sources` the part of it for packed code without a job."""

    jobs: list[Candidate]
    environments: list[Candidate]
    sources: int
    bytes: int
    kept: dict[str, str] = field(default_factory=dict)


class Retention:
    """Measures the state folder, and removes files from it."""

    def __init__(self, home: Home, store: Store, profiles: Profiles) -> None:
        self.home = home
        self.store = store
        self.profiles = profiles
        self._reserve = store.database.reserve
        self._closed = threading.Event()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Finish interrupted removals, and start the periodic cleanup."""
        self._task = asyncio.create_task(self.clean_up(), name="jupyter-pai retention")

    async def stop(self) -> None:
        """Stop the periodic cleanup."""
        self._closed.set()
        if self._task:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def clean_up(self, first: float = _FIRST_CLEANUP, interval: float = _CLEANUP_INTERVAL) -> None:
        """Finish interrupted removals, then mend the database and sweep periodically, until the end of the process."""
        try:
            await self._clean_up(first, interval)
        except RuntimeError as error:
            if not at_exit(error):
                raise

    async def _clean_up(self, first: float, interval: float) -> None:
        # A submit reports a full disk and invalid settings.
        with contextlib.suppress(PaiError, OSError):
            await asyncio.to_thread(self.finish_removals)
        await asyncio.to_thread(self._reserve.keep)
        for pause in chain([first], repeat(interval)):
            await asyncio.sleep(pause)
            with contextlib.suppress(PaiError, OSError):
                await asyncio.to_thread(self.store.mend)
                await asyncio.to_thread(self.measure)
                await asyncio.to_thread(self.sweep)
            await asyncio.to_thread(self._reserve.keep)

    def limit(self, settings: DiskSettings) -> int:
        """Return the limit in bytes above which users are warned."""
        chosen = settings.limit.strip()
        return parse_size(chosen) if chosen else min(_LIMIT, shutil.disk_usage(self.home.path).total // _SHARE)

    def warning(self, settings: DiskSettings) -> str:
        """Return a warning if the measured sizes exceed the limit. Cheap."""
        if (used := self.store.disk_usage.total()) <= (limit := self.limit(settings)):
            return ""
        return _(
            "Jobs and environments use {size}, more than {limit}. List them with %pai disk; free space with "
            "%pai prune --older-than 30d."
        ).format(size=show_size(used), limit=show_size(limit))

    def findings(self) -> list[Finding]:
        """Return the findings for `doctor`. May block."""
        try:
            self.measure()
            used, limit = self.store.disk_usage.total(), self.limit(self.profiles.settings().disk)
        except PaiError:
            return []  # Invalid settings have a finding of their own.
        text = _("jobs and environments use {size}; the limit is {limit}").format(
            size=show_size(used), limit=show_size(limit)
        )
        fix = _("List them with %pai disk; free space with %pai prune --older-than 30d.") if used > limit else ""
        return [Finding("warn" if fix else "ok", _("disk usage"), text, fix)]

    def measure(self, at_most: int | None = None, again: str = "") -> None:
        """Measure new finished jobs, environments and inputs, and the job `again`: it may have finished before all of
        its files were written. On a full disk, no sizes are stored. May block."""
        with contextlib.suppress(StateError):
            self._measure(at_most, again)

    def _measure(self, at_most: int | None, again: str) -> None:
        usage = self.store.disk_usage
        # A known size is replaced, not removed first: other readers add the sizes up meanwhile.
        new = [job.id for job in usage.finished_jobs("(bytes IS NULL OR id = ?)", (again,))][:at_most]
        for start in range(0, len(new), _BATCH):
            if self._closed.is_set():
                return
            usage.record({f"jobs/{job_id}": self._size(job_id) for job_id in new[start : start + _BATCH]}).result()
        measured = self._entry_sizes().keys()
        existing = {entry.path for entry in disk.entries(self.home) if entry.used_at}
        for path in measured - existing:
            usage.forget(path).result()
        sizes = {path: disk.taken(self.home.path / path) for path in existing - measured}
        usage.record(sizes | {"sources": disk.taken(self.home.sources)}).result()

    def _entry_sizes(self) -> dict[str, int]:
        """Return the stored bytes of environments and staged inputs, by their paths in the state folder."""
        return self.store.disk_usage.sizes("environments/") | self.store.disk_usage.sizes("inputs/")

    def _current_sizes(self) -> dict[str, int]:
        """Return the bytes of environments and staged inputs, measured here if they are not stored."""
        sizes = self._entry_sizes()
        new = [entry.path for entry in disk.entries(self.home) if entry.used_at and entry.path not in sizes]
        return sizes | {path: disk.taken(self.home.path / path) for path in new}

    def _finished_jobs(self, where: str = "1", arguments: Sequence[object] = ()) -> list[FinishedJob]:
        """Return the finished jobs with their sizes, newest first."""
        jobs = self.store.disk_usage.finished_jobs(where, arguments)
        return [job if job.bytes is not None else job._replace(bytes=self._size(job.id)) for job in jobs]

    def _size(self, job_id: str) -> int:
        """Return the bytes of a job, without shared packed code."""
        folder = self.home.job(job_id)
        info = folder.source.stat() if folder.source.exists() else None
        shared = {(info.st_dev, info.st_ino)} if info and info.st_nlink > 1 else set()
        return disk.taken(folder.path, shared)

    def use(self) -> dict[str, Any]:
        """Return the disk usage as JSON: bytes and counts by kind, and the largest jobs. May block."""
        self.measure()
        ended, sizes = self._finished_jobs(), self._current_sizes()
        parts = {
            "jobs": [job.bytes or 0 for job in ended],
            "running": [self._size(job.id) for job in self.store.jobs.active()],
            "environments": [size for path, size in sizes.items() if path.startswith("environments/")],
            "inputs": [size for path, size in sizes.items() if path.startswith("inputs/")],
            "sources": [*map(disk.taken, self.home.sources.glob("*.tar.gz"))],
            "workflows": [*map(disk.run_size, self.home.workflows.glob("*"))],
            "database": [sum(map(disk.taken, (*self.home.path.glob("pai.sqlite3*"), self._reserve.folder)))],
        }
        return {
            "path": str(self.home.path),
            "bytes": sum(map(sum, parts.values())),
            "limit": self.limit(self.profiles.settings().disk),
            "free": shutil.disk_usage(self.home.path).free,
            "parts": [{"what": name, "count": len(sizes), "bytes": sum(sizes)} for name, sizes in parts.items()],
            "largest": [
                {"id": job.id, "name": job.name, "status": job.status, "bytes": job.bytes, "pinned": bool(job.pinned)}
                for job in sorted(ended, key=lambda job: -(job.bytes or 0))[:10]
            ],
        }

    def _plan(self, criteria: Prune) -> tuple[list[Candidate], list[Candidate]]:
        """Return the jobs and environments to remove; without a criterion, those of the automatic cleanup."""
        self.measure()
        jobs, environments = list[FinishedJob](), list[Candidate]()
        if criteria.environments or not criteria.names_jobs:
            environments = list(self._environments(0 if criteria.environments else self._unused_since()))
        if criteria.names_jobs:
            query = JobFilter(criteria.status, labels=criteria.labels)
            finished, used = self._finished_jobs(query.where, query.arguments), jobs_of_active_runs(self.home)
            jobs = [job for job in finished if _matches(job, criteria) and job.id not in used][criteria.keep or 0 :]
        return [self._candidate(job) for job in jobs], environments

    def _candidate(self, job: FinishedJob) -> Candidate:
        model, has_model = self.home.job(job.id).output / "model", False
        with contextlib.suppress(OSError):
            has_model = not model.is_symlink() and any(model.iterdir())
        return Candidate(job.id, job.ended_at, job.bytes or 0, job.name, job.status, has_model)

    def _unused_since(self) -> float:
        return time.time() - self.profiles.settings().disk.environment_days * _DAY

    def _environments(self, before: float) -> Iterator[Candidate]:
        """Yield environments and staged inputs that no job uses or has used since `before`; regardless of time if it
        is 0."""
        sizes = self._current_sizes()
        active = self.store.jobs.active()
        used = {uri for job in active for uri in job.staged_spec.inputs.values()}
        used |= {self.home.image_environments(job.spec.image).name for job in active}
        for entry in disk.entries(self.home):
            in_use = entry.in_use or any(entry.key in uri for uri in used)
            if in_use or (before and entry.used_at >= before):
                continue
            # A data frame exists only here, and stays while a job can be rerun with it.
            if entry.uri or not entry.is_input or not self.store.jobs.any_spec_contains(entry.key):
                name = (entry.uri or _("a data frame")) if entry.is_input else ""
                yield Candidate(entry.key, entry.used_at, sizes.get(entry.path, 0), name)

    async def prune(self, criteria: Prune, delete: Callable[[Job], Awaitable[None]] | None = None) -> Pruned:
        """Remove jobs and environments by criteria; without a criterion, those of the automatic cleanup. `delete`
        replaces the method of this name."""
        only_jobs, only_environments = criteria.only_jobs, criteria.only_environments
        jobs, environments = await asyncio.to_thread(self._plan, criteria)
        jobs = [job for job in jobs if only_jobs is None or job.id in only_jobs]
        environments = [one for one in environments if only_environments is None or one.id in only_environments]
        sources = await asyncio.to_thread(disk.orphaned_sources, self.home, [job.id for job in jobs])
        kept: dict[str, str] = {}
        if not criteria.dry_run:
            for job in jobs:
                try:
                    await (delete or self.delete)(self.store.jobs.get(job.id))
                except PaiError as error:
                    kept[job.id] = error.message  # Pinned or used since then.
            for one in environments:
                if not await asyncio.to_thread(self._remove_entry, one.id):
                    kept[one.id] = _("in use")
            await asyncio.to_thread(self._tidy)
        jobs, environments = ([one for one in candidates if one.id not in kept] for candidates in (jobs, environments))
        freed = sum(one.bytes for one in (*jobs, *environments)) + sources
        return Pruned(jobs, environments, sources, freed, kept)

    async def delete(self, job: Job, *, gone: bool = False, force: bool = False) -> None:
        """Delete a finished job, then remove its files. The next engine finishes an interrupted removal. A platform
        without `Capability.DELETE` keeps the job.

        `gone`: the job is active, and its host is gone for good. `force`: a job of the platform that is not this one
        stays there.

        Raises:
            Conflict: if it is active, pinned, or an active job or run of a workflow uses it, or if its platform has
                another job in its place.
        """
        self.store.jobs.check_deletable(job.id, gone=gone)
        if run := (await asyncio.to_thread(jobs_of_active_runs, self.home)).get(job.id):
            raise Conflict(
                _("The active workflow run {run} uses job {job}.").format(run=run, job=job.id),
                fix=_("Wait until it ends, or stop it: %pai workflow stop {run}").format(run=run),
            )
        if job.remote_id and Capability.DELETE in self.profiles.capabilities(job.backend):
            await self._delete_remote(job, force=force)
        try:
            await asyncio.wrap_future(self.store.jobs.delete(job.id, gone=gone))
        except StateError:
            # Without room to change the database, removing the files first makes it.
            if not await asyncio.to_thread(self._make_room, job):
                raise
            await asyncio.wrap_future(self.store.jobs.delete(job.id, gone=gone))
        await asyncio.to_thread(self._remove_files, job.id, job.source_digest)

    async def _delete_remote(self, job: Job, *, force: bool) -> None:
        try:
            backend = self.profiles.backend_of(job)
        except NotFound:
            # Its profile was removed, or its row is damaged and differs from its record.
            if not await asyncio.wrap_future(self.store.jobs.mend(job.id)):
                raise
            job = await asyncio.to_thread(self.store.jobs.get, job.id)
            backend = self.profiles.backend_of(job)
        try:
            await check_remote(backend, job, job.remote_id)
        except Conflict:
            if not force:
                raise
            return
        await backend.delete(job.remote_id)

    def _make_room(self, job: Job) -> bool:
        """Remove the files of a job if the disk is full. Return whether they were removed."""
        if not write_error(self.home.path) or not disk.remove(self.home.job(job.id).path):
            return False
        if job.source_digest:
            disk.remove_source(self.home.sources / f"{job.source_digest}.tar.gz")
        return True

    def _remove_files(self, job_id: str, digest: str = "") -> None:
        if disk.remove(self.home.job(job_id).path):
            with contextlib.suppress(StateError):  # A full disk; the next engine confirms it.
                self.store.disk_usage.confirm_removal(job_id).result()
        if digest:
            disk.remove_source(self.home.sources / f"{digest}.tar.gz")

    def finish_removals(self) -> None:
        """Finish the removals of processes that were killed."""
        for job_id in self.store.disk_usage.pending_removals():
            self._remove_files(job_id)

    def sweep(self) -> None:
        """Remove all files of the automatic cleanup."""
        self.finish_removals()
        for name in disk.leftovers(self.home, self.store.jobs.ids):
            lease = Lease(self.home.job(name).lease)
            if lease.acquire():  # Otherwise it is being submitted.
                disk.remove(self.home.job(name).path)
                lease.release()
        for one in self._environments(self._unused_since()):
            self._remove_entry(one.id)
        self._tidy()

    def _remove_entry(self, key: str) -> bool:
        """Remove an environment or staged input. Return whether it was removed."""
        folder = self.home.inputs / key
        return disk.remove_entry(folder if folder.exists() else self.home.environments / key)

    def _tidy(self) -> None:
        disk.remove_sources(self.home)
        self.measure()


def _matches(job: FinishedJob, criteria: Prune) -> bool:
    old = criteria.older_than is None or job.ended_at < time.time() - criteria.older_than
    large = criteria.larger_than is None or (job.bytes or 0) > criteria.larger_than
    return old and large and not job.pinned and not job.used
