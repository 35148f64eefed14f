"""Completes ended jobs in the background, with their leases: their optional data, and the metrics to publish."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable

from ...backends.base import Backend
from ...core.errors import NotFound, PaiError
from ...jobs.job import Job, JobStatus
from ...jobs.state_dir import Home
from ...jobs.store.store import Store
from .job_watcher import Recorder, WatchedJob

__all__ = ["Finishing", "unpublished_jobs"]


class Finishing:
    """The jobs that ended and are not complete yet. `log` logs an error."""

    def __init__(
        self, recorder: Recorder, backend_of: Callable[[Job], Backend], log: Callable[[Exception], None]
    ) -> None:
        self.recorder = recorder
        self._backend_of = backend_of
        self._log = log
        self._tasks: dict[str, asyncio.Task[None]] = {}
        # Set when the optional data of a job is complete.
        self._read: dict[str, asyncio.Event] = {}
        # Jobs whose kept samples were fetched.
        self._sampled: set[str] = set()

    def __len__(self) -> int:
        return len(self._tasks)

    def start(self, watch: WatchedJob) -> None:
        """Complete a job whose end is stored."""
        self._read[watch.job.id] = asyncio.Event()
        task = self._tasks[watch.job.id] = asyncio.create_task(self._complete(watch))
        task.add_done_callback(lambda task: self._ended(watch, task))

    def fetch_kept(self, job: Job, watched_job: Callable[[Job], WatchedJob]) -> None:
        """Fetch the resource usage that the platform of an ended job has kept, once a user looks at it."""
        with contextlib.suppress(PaiError):  # Its profile was removed.
            has_ended = job.status.ended and job.status is not JobStatus.LOST
            if not has_ended or job.id in self._sampled or not (backend := self._backend_of(job)).keeps_samples:
                return
            watch = watched_job(job)
            if not watch.folder.usage.exists() and watch.lease.acquire():
                self._sampled.add(job.id)
                watch.remote.optional.start_samples(backend, job.remote_id)
                self.start(watch)

    async def wait_read(self, job_id: str, timeout: float) -> None:
        """Wait until the optional data of a job is complete, at most `timeout` seconds."""
        if event := self._read.get(job_id):
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(timeout):
                    await event.wait()

    def cancel(self) -> list[asyncio.Task[None]]:
        """Cancel all, and return their tasks."""
        for task in self._tasks.values():
            task.cancel()
        return [*self._tasks.values()]

    async def _complete(self, watch: WatchedJob) -> None:
        if not watch.lease.acquire():
            return  # Another process completes it.
        try:
            await self.recorder.finish(watch)
        finally:
            self._read[watch.job.id].set()
        try:
            backend = self._backend_of(watch.job)
        except PaiError:  # Its profile was removed.
            return
        if watch.publishes(backend):
            await self.recorder.publish_rest(watch, backend)

    def _ended(self, watch: WatchedJob, task: asyncio.Task[None]) -> None:
        self._tasks.pop(watch.job.id, None)
        self._read.pop(watch.job.id).set()
        watch.lease.release()
        if not task.cancelled() and isinstance(error := task.exception(), Exception):
            self._log(error)


def unpublished_jobs(home: Home, store: Store) -> list[Job]:
    """Return the ended jobs whose last metrics an earlier process did not send."""
    jobs = []
    with contextlib.suppress(FileNotFoundError):
        for job_id in os.listdir(home.unpublished):
            try:
                jobs.append(store.jobs.get(job_id))
            except NotFound:  # Deleted.
                (home.unpublished / job_id).unlink(missing_ok=True)
    return [job for job in jobs if job.status.ended]
