"""JobService: the one place where submitter, storage, backends, store and feed meet.

Server, kernel and command line all use it, so they cannot disagree. Its methods are coroutines; what blocks is done in
threads.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from . import doctor
from .backends import load_backends
from .backends.base import Capability, Finding
from .errors import Conflict, NotFound
from .event import JobEvent, LogChunk, MetricPoint, json_number
from .feed import WATCHED, Feed
from .home import Home
from .i18n import _
from .job import Job
from .logs import Log, instances
from .profiles import Profiles
from .series import Series
from .storage import storage_of
from .store import JobFilter, Store
from .submitter import Submitter
from .summary import status_word

__all__ = ["JobService"]

_PIECE = 1 << 18
_NEWS_EVERY = 0.1


class JobService:
    """The engine over one state folder."""

    def __init__(self, home: Home | None = None) -> None:
        self.home = (home or Home()).create()
        self.store = Store(self.home.database)
        self.profiles = Profiles(self.home)
        self.feed = Feed(self.home, self.store, self.profiles.backend_of)
        self.submitter = Submitter(self.home, self.store, self.feed, self.profiles)

    async def start(self) -> None:
        """Look at every job that has not ended, and follow them from now on."""
        await self.feed.start()

    async def close(self) -> None:
        """Let go of everything. Jobs go on."""
        await self.feed.stop()
        await asyncio.to_thread(self.store.close)

    async def doctor(self) -> list[Finding]:
        """Check everything that a job needs, by trying it."""
        return await asyncio.to_thread(doctor.examine, self.home, self.profiles)

    def runs_here(self) -> bool:
        """Whether a job runs on this machine."""
        backends = {name for name, kind in load_backends().items() if Capability.RUNS_HERE in kind.capabilities}
        return bool(backends & self.store.running_backends())

    # Looking.

    def jobs(self, wanted: JobFilter) -> tuple[list[Job], int]:
        """A page of jobs, newest first, and how many there are in all."""
        return self.store.page(wanted)

    def find(self, word: str) -> Job:
        """The job that a user means by an id, the beginning of one, a name, or `last`."""
        return self.store.find(word)

    def describe(self, job: Job) -> dict[str, Any]:
        """A job as JSON, with its progress and the latest value of each metric."""
        series = Series(self.home.job(job.id).series)
        return job.model_dump(mode="json") | {
            "progress": series.cursor().progress,
            "metrics": {
                name: {"value": json_number(point.value), "step": point.step, "time": point.time}
                for name, point in series.latest().items()
            },
        }

    def log(self, job: Job, instance: str = "") -> Log:
        """The log of one of a job's instances; of the first if none is named.

        Raises:
            NotFound: if there is no such instance.
        """
        names = instances(self.home.job(job.id).log)
        if instance and instance not in names:
            raise NotFound(
                _("The job {job} has no instance `{name}`.").format(job=job.id, name=instance),
                fix=_("Known are: {names}.").format(names=", ".join(names)),
            )
        return Log(self.home.job(job.id).log, instance or (names[0] if names else "worker-0"))

    def log_instances(self, job: Job) -> list[str]:
        """The instances of a job that have a log."""
        return instances(self.home.job(job.id).log)

    def metrics(self, job: Job) -> Series:
        """The metrics of a job."""
        return Series(self.home.job(job.id).series)

    def events(self, after: int = 0, job_id: str = "") -> list[JobEvent]:
        """What happened after the event `after`, to one job or to all."""
        return self.store.events(after, job_id)

    # Following.

    async def follow_log(self, job: Job, instance: str = "", offset: int = 0) -> AsyncIterator[LogChunk]:
        """The log from a byte offset on, as it grows, until the job has ended and all of it was given."""
        with self.feed.watch(job.id):
            while True:
                # Asked before the log is read: what a job that has ended wrote is all there.
                ended = self.store.status(job.id).ended
                log = self.log(job, instance)
                while data := log.read(offset, _PIECE):
                    yield LogChunk(log.path.name, offset, data)
                    offset += len(data)
                if ended:
                    return
                await asyncio.sleep(WATCHED)

    async def follow_metrics(self, job: Job, counts: dict[str, int]) -> AsyncIterator[list[MetricPoint]]:
        """Points as they come, of each metric those after the first `counts` ones, until the job has ended."""
        with self.feed.watch(job.id):
            while True:
                ended = self.store.status(job.id).ended
                series = self.metrics(job)
                new: list[MetricPoint] = []
                for name, count in series.cursor().counts.items():
                    new += series.read(name, counts.get(name, 0), count)
                    counts[name] = count
                if new:
                    yield new
                if ended:
                    return
                await asyncio.sleep(WATCHED)

    async def follow_events(self, after: int | None = None) -> AsyncIterator[list[JobEvent]]:
        """What happens to jobs, whoever does it, after the event `after`; from now on if it is None."""
        place = self.store.last_event() if after is None else after
        while True:
            if events := self.store.events(place):
                place = events[-1].id
                yield events
            else:
                await asyncio.sleep(_NEWS_EVERY)

    async def wait(self, job: Job, timeout: float | None = None) -> Job:
        """The job when it has ended.

        Raises:
            TimeoutError: if it has not within `timeout` seconds.
        """
        async with asyncio.timeout(timeout):
            with self.feed.watch(job.id):
                while not self.store.status(job.id).ended:
                    await asyncio.sleep(WATCHED)
        return self.store.get(job.id)

    # Changing.

    async def stop(self, word: str) -> Job:
        """Ask for a job's end; it has not ended yet when this returns. Does nothing to one that has."""
        job = self.store.find(word)
        if not job.status.ended:
            await self.profiles.backend_of(job).stop(job.remote_id or job.id)
        return job

    async def delete(self, word: str) -> Job:
        """Forget a job that has ended: its row, log, metrics, code, and outputs that were kept with it.

        Raises:
            Conflict: if it has not ended.
        """
        job = self.store.find(word)
        if not job.status.ended:
            raise Conflict(
                _("The job {job} is {status}.").format(job=job.id, status=status_word(job.status)),
                fix=_("Stop it first: %pai stop {job}").format(job=job.id),
            )
        if job.remote_id and load_backends().get(job.backend):
            await self.profiles.backend_of(job).delete(job.remote_id)
        await asyncio.wrap_future(self.store.delete(job.id))
        await asyncio.to_thread(self._remove_files, job)
        return job

    def _remove_files(self, job: Job) -> None:
        shutil.rmtree(self.home.job(job.id).path, ignore_errors=True)
        archive = self.home.sources / f"{job.source_digest}.tar.gz"
        if job.source_digest and not self.store.has_source(job.source_digest):
            archive.unlink(missing_ok=True)

    async def download(self, word: str, channel: str, folder: Path, *, overwrite: bool = False) -> int:
        """Copy an output channel of a job into a folder; the number of files.

        Raises:
            NotFound: if there is no such channel, or nothing in it.
            Conflict: if files are there already.
        """
        job = self.store.find(word)
        if channel not in job.outputs:
            raise NotFound(
                _("The job {job} has no output channel `{name}`.").format(job=job.id, name=channel),
                fix=_("Known are: {names}.").format(names=", ".join(job.outputs)),
            )
        uri = job.outputs[channel]
        files = await asyncio.to_thread(storage_of(uri).get_tree, uri, folder, overwrite=overwrite)
        if not files:
            raise NotFound(
                _("The job {job} has written nothing to `{name}`.").format(job=job.id, name=channel),
                fix=_("Its script finds the folder in the variable PAI_OUTPUT_{name}.").format(name=channel.upper()),
            )
        return files
