"""JobService: the one place where submitter, storage, backends, store and watcher meet.

Server, kernel and command line all use it, so they cannot disagree. Its methods are coroutines; what blocks is done in
threads.
"""

from __future__ import annotations

import asyncio
import shlex
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from ..backends import load_backends
from ..backends.base import Capability, Finding
from ..backends.reports import Report
from ..cloud import http as transport
from ..config.secret_store import SecretStore
from ..core.errors import Conflict, NotFound, SettingsError
from ..core.i18n import _
from ..jobs import provenance
from ..jobs.events import JobEvent, LogChunk, MetricPoint, json_number
from ..jobs.job import Job, JobStatus
from ..jobs.logs.file import LogFile, instances
from ..jobs.logs.view import LogView, LogViews
from ..jobs.metrics.query import PointSource, read_columns
from ..jobs.metrics.resource_usage import ResourceUsage
from ..jobs.metrics.series import Series
from ..jobs.provenance import Provenance
from ..jobs.state_dir import Home
from ..jobs.store.query import JobFilter
from ..jobs.store.store import Store
from . import compare as comparison
from . import doctor, lineage
from .audit_log import Audit
from .compare import Difference, FileDifference
from .data.storages import Storages
from .data.transfers import Transfers
from .data.uploads import Uploads
from .import_job import Adoption
from .profiles import Profiles
from .recipe import Recipe, recipe
from .retention import Retention
from .submit import Submitter
from .watcher.loop import Watcher
from .watcher.remote_event_files import event_files_of
from .watcher.remote_sync import RemoteSync
from .watcher.timings import Timings

__all__ = ["JobService"]

_PIECE = 1 << 18
_NEWS_EVERY = 0.1
# Points of a metric that are given at once.
_POINTS = 1 << 14


class JobService:
    """The engine over one state folder."""

    def __init__(self, home: Home | None = None, timings: Timings | None = None) -> None:
        self.timings = timings or Timings()
        self.home = (home or Home()).create()
        self.store = Store(self.home.database)
        self.profiles = Profiles(self.home)
        self.storages = Storages(self.profiles)
        self.watcher = Watcher(self.home, self.store, self.profiles.backend_of, self._remote_of, self.timings)
        self.secrets = SecretStore()
        self.retention = Retention(self.home, self.store, self.profiles)
        self.transfers = Transfers()
        self.uploads = Uploads(self.home, self.transfers)
        self.audit = Audit(self.profiles.policy)
        self.submitter = Submitter(
            self.home,
            self.store,
            self.watcher,
            self.storages,
            self.secrets,
            self.retention,
            self.transfers,
            self.timings,
        )
        self.adoption = Adoption(self.home, self.store, self.watcher, self.storages)
        self._views = LogViews()

    def _remote_of(self, job: Job) -> RemoteSync:
        folder = self.home.job(job.id)
        return RemoteSync(folder, self.store, self.timings, event_files_of(job, folder, self.storages.of))

    async def start(self) -> None:
        """Follow every job that has not ended from now on."""
        await self.watcher.start()
        self.retention.start()

    async def close(self) -> None:
        """Let go of everything. Jobs go on."""
        await self.watcher.stop()
        await self.retention.stop()
        self.uploads.close()
        await self.transfers.close()
        await transport.close()
        self.submitter.recorder.close()
        await asyncio.to_thread(self.store.close)

    async def doctor(self, profile: str = "", backend: str = "") -> list[Finding]:
        """Check everything that a job needs, by trying it; or what the jobs of one profile need."""
        if profile or backend:
            chosen = self.profiles.settings().pick(profile, backend)
            return await asyncio.to_thread(doctor.examine_profile, self.storages, chosen)
        found = await asyncio.to_thread(doctor.examine, self.home, self.storages)
        found += await asyncio.to_thread(doctor.audited, self.profiles, self.audit)
        return found + await asyncio.to_thread(self.retention.findings)

    def shared(self) -> list[Finding]:
        """What is to be known of the disk of the state folder, if other hosts may see it or it has no locks."""
        return doctor.shared(self.home)

    def runs_here(self) -> bool:
        """Whether a job runs on this machine."""
        here = {name: kind for name, kind in load_backends().items() if Capability.RUNS_HERE in kind.capabilities}
        running = self.store.jobs.active_backends().items()
        return any(here[name].is_here(self.home.job(job_id)) for job_id, name in running if name in here)

    def keeps_server(self) -> bool:
        """Whether the machine's server is in use by jobs that run here, in the administrator's eyes."""
        try:
            return self.runs_here() and self.profiles.policy().rules.jobs_keep_server
        except SettingsError:
            return True  # Nobody's job is lost by a slip in a file.

    # Looking.

    def jobs(self, wanted: JobFilter) -> tuple[list[Job], int]:
        """A page of jobs, newest first, and how many there are in all."""
        return self.store.jobs.page(wanted)

    def find(self, word: str) -> Job:
        """The job that a user means by an id, the beginning of one, a name, or `last`."""
        return self.store.jobs.find(word)

    def describe(self, job: Job) -> dict[str, Any]:
        """A job as JSON, with its progress, the latest value of each metric and, while it runs, of the machine's
        use."""
        folder = self.home.job(job.id)
        series = Series(folder.series)
        cursor = series.cursor()
        said, able = self.watcher.latest(job.id), self.profiles.capabilities(job.backend)
        return job.model_dump(mode="json") | {
            "progress": said.progress if said and cursor.progress is None else cursor.progress,
            "paid": not job.status.ended and Capability.PAID in able,
            "platform_boards": Capability.BOARDS in able,
            "terminal": _terminal(job) if Capability.TERMINAL in able else "",
            "metrics": _latest({**(said.metrics if said else {}), **series.latest(cursor)}),
            "usage": _latest(ResourceUsage(folder.usage).latest()) if job.status is JobStatus.RUNNING else {},
        }

    def log(self, job: Job, instance: str = "") -> LogFile:
        """The log of one of a job's instances; of the first if none is named.

        Raises:
            NotFound: if there is no such instance.
        """
        names = instances(self.home.job(job.id).log)
        if instance and instance not in names:
            raise NotFound(
                _("Job {job} has no instance `{name}`.").format(job=job.id, name=instance),
                fix=_("Known are: {names}.").format(names=", ".join(names)),
            )
        return LogFile(self.home.job(job.id).log, instance or (names[0] if names else "worker-0"))

    def log_instances(self, job: Job) -> list[str]:
        """The instances of a job that have a log."""
        return instances(self.home.job(job.id).log)

    def view(self, job: Job, instance: str = "", *, merged: bool = False) -> LogView:
        """Pages and search of the log of one instance, or of all by time. May block for a moment.

        Raises:
            NotFound: if there is no such instance.
        """
        # Asked before the log is read: what a job that has ended wrote is all there.
        ended = self.store.jobs.status(job.id).ended
        names = (merged and not instance and self.log_instances(job)) or [instance]
        return self._views.of([self.log(job, name) for name in names], ended=ended)

    def provenance(self, job: Job) -> Provenance:
        """Where a job comes from; little, before it was gathered."""
        known = provenance.read(self.home.job(job.id).path)
        return known or Provenance(source_digest=job.source_digest, python=job.python)

    def compare(self, a: Job, b: Job) -> dict[str, Any]:
        """How two jobs differ, as `replies.Comparison` has it. May block.

        Raises:
            SourceError: if the code of one cannot be read.
        """
        origins, packages = comparison.origins(self.provenance(a), self.provenance(b))
        found: dict[str, Sequence[Difference | FileDifference]] = {
            "spec": comparison.specs(a.spec, b.spec),
            "files": comparison.sources(a, b, self.home.job(a.id), self.home.job(b.id)),
            "provenance": origins,
            "packages": packages,
            "results": comparison.results(self.describe(a), self.describe(b)),
        }
        return {name: [asdict(one) for one in differences] for name, differences in found.items()}

    def recipe(self, job: Job) -> Recipe:
        """A job's spec as what asks for it once more. An output path that its profile made for it is left out: another
        job gets one of its own."""
        spec = job.spec
        if lineage.is_generated(spec.output_path, job.name):
            spec = spec.model_copy(update={"output_path": ""})
        return recipe(spec)

    def metrics(self, job: Job, *, system: bool = False) -> dict[str, tuple[PointSource, int]]:
        """The metrics of a job: where the points of each are, and how many; with `system` also those of the
        machine's use, unless the job has a metric of that name."""
        folder = self.home.job(job.id)
        series, usage = Series(folder.series), ResourceUsage(folder.usage)
        used: dict[str, tuple[PointSource, int]] = {name: (usage, n) for name, n in usage.counts().items() if system}
        own: dict[str, tuple[PointSource, int]] = {name: (series, n) for name, n in series.cursor().counts.items()}
        return own | {name: metric for name, metric in used.items() if name not in own}

    def texts(self, job: Job) -> list[dict[str, Any]]:
        """The texts that a job wrote for TensorBoard."""
        return Series(self.home.job(job.id).series).texts()

    def events(self, after: int = 0, job_id: str = "") -> list[JobEvent]:
        """What happened after the event `after`, to one job or to all."""
        return self.store.events.read(after, job_id)

    # Following.

    async def follow_log(
        self, job: Job, instance: str = "", offset: int = 0, latest: int = 0
    ) -> AsyncIterator[LogChunk]:
        """The log from a byte offset on, as it grows, until the job has ended and all of it was given.

        With `latest`, where more bytes than that are there at once, only their last lines are given.
        """
        with self.watcher.watch(job.id):
            while True:
                # Asked before the log is read: what a job that has ended wrote is all there.
                ended = self.store.jobs.status(job.id).ended
                log = self.log(job, instance)
                offset = log.from_latest(offset, latest) if latest else offset
                while data := log.read(offset, _PIECE):
                    yield LogChunk(log.path.name, offset, data)
                    offset += len(data)
                    offset = log.from_latest(offset, latest) if latest else offset
                if ended:
                    return
                await asyncio.sleep(self.timings.watched)

    async def follow_metrics(
        self, job: Job, counts: Mapping[str, int], most: int = 0, *, system: bool = False
    ) -> AsyncIterator[dict[str, dict[str, Any]]]:
        """Points as they come, of each metric those after the first `counts` ones, until the job has ended.

        As columns; with `most` they are thinned to so many where more came at once. With `system`, those of the
        machine's use as well.
        """
        at = dict(counts)
        with self.watcher.watch(job.id):
            while True:
                ended = self.store.jobs.status(job.id).ended
                metrics = self.metrics(job, system=system)
                while found := await asyncio.to_thread(_new_points, metrics, at, most):
                    at |= {name: part["end"] for name, part in found.items()}
                    yield found
                if ended:
                    return
                await asyncio.sleep(self.timings.watched)

    async def follow_events(self, after: int | None = None) -> AsyncIterator[list[JobEvent]]:
        """What happens to jobs, whoever does it, after the event `after`; from now on if it is None."""
        place = self.store.events.last_id() if after is None else after
        while True:
            if events := self.store.events.read(place):
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
            with self.watcher.watch(job.id):
                while not self.store.jobs.status(job.id).ended:
                    await asyncio.sleep(self.timings.watched)
        return self.store.jobs.get(job.id)

    # Changing.

    async def stop(self, word: str) -> Job:
        """Ask for a job's end; it has not ended yet when this returns. Does nothing to one that has.

        Raises:
            Conflict: if its platform does not have it yet; or if it runs where nobody seems to hear; somebody who does
                after all will end it.
        """
        job = self.store.jobs.find(word)
        if not job.status.ended:
            if not (remote_id := await self._remote_id(job)):
                text = _("{job} is still being submitted: its platform does not have it yet.").format(job=job.id)
                raise Conflict(text, fix=_("Stop it when it shows as running, or in some seconds."))
            await self.profiles.backend_of(job).stop(remote_id)
            if silent := await self._silent(job):
                raise Conflict(silent.reason, fix=silent.fix)
        return job

    async def _remote_id(self, job: Job) -> str:
        """The platform's name for a job, also of one whose submit was cut short."""
        return job.remote_id or await self.profiles.backend_of(job).find(job.id)

    async def _silent(self, job: Job) -> Report | None:
        """The platform's report on a job, if that is that nothing is heard of it any more."""
        remote_id = job.remote_id or job.id
        report = (await self.profiles.backend_of(job).poll([remote_id])).get(remote_id)
        return report if report and report.silent else None

    async def delete(self, word: str, *, force: bool = False) -> Job:
        """Forget a job that has ended: its row, log, metrics, code, and outputs that were kept with it. If `force`,
        also one of which nothing is heard any more.

        Raises:
            Conflict: if it has not ended, is pinned, or a job that has not ended uses its files.
        """
        job = self.store.jobs.find(word)
        silent = force and not job.status.ended and await self._silent(job)
        await self.retention.delete(job, gone=bool(silent))
        return job

    async def pin(self, word: str, pinned: bool) -> Job:
        """Keep a job from being deleted and pruned, or no longer."""
        return await asyncio.wrap_future(self.store.jobs.update(self.store.jobs.find(word).id, pinned=pinned))

    async def label(self, word: str, changes: Mapping[str, str | None]) -> Job:
        """Give a job labels; None takes one away.

        Raises:
            NotFound: if one is to be taken away that the job has not.
        """
        return await asyncio.wrap_future(self.store.jobs.label(self.store.jobs.find(word).id, changes))


def _terminal(job: Job) -> str:
    """What opens a terminal in a running job, wherever the shell finds its programs."""
    if job.status is not JobStatus.RUNNING:
        return ""
    return shlex.join((sys.executable, "-m", "jupyter_pai", "terminal", job.id))


def _latest(points: Mapping[str, MetricPoint]) -> dict[str, dict[str, Any]]:
    return {
        name: {"value": json_number(point.value), "step": point.step, "time": point.time}
        for name, point in points.items()
    }


def _new_points(
    metrics: Mapping[str, tuple[PointSource, int]], counts: Mapping[str, int], most: int
) -> dict[str, dict[str, Any]]:
    """The next points of each metric after the first `counts` ones."""
    found = {}
    for name, (source, n) in metrics.items():
        start = counts.get(name, 0)
        if start < n:
            part = read_columns(source, name, start, n if most else min(n, start + _POINTS), most=most)
            if part["end"] > start:
                found[name] = part
    return found
