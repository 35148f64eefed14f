"""JobService: combines submitter, storage, backends, store and watcher.

Server, kernel and command line all use it. Its methods are coroutines; blocking work runs in threads.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from functools import cached_property
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ..backends import load_backends
from ..backends.base import Capability, Finding
from ..cloud import http as transport
from ..config.secret_store import SecretStore
from ..core import filesystem
from ..core.errors import NotFound, SettingsError
from ..core.i18n import _
from ..jobs import limits, provenance
from ..jobs.events import JobEvent, LogChunk, MetricPoint, json_number
from ..jobs.instances import Instance, read_instances
from ..jobs.job import UNLISTED, Job, JobStatus
from ..jobs.logs.file import LogFile, instances
from ..jobs.logs.view import LogView, LogViews
from ..jobs.metrics.query import Metric, ResourceUsage, new_points
from ..jobs.metrics.series import DETECTED, PLATFORM, TENSORBOARD, Series
from ..jobs.provenance import Provenance
from ..jobs.state_dir import Home
from ..jobs.store.query import JobFilter
from ..jobs.store.store import Store
from . import compare as comparison, doctor
from .audit_log import Audit
from .choices import Choices
from .compare import Difference, FileDifference
from .data.storages import Storages
from .data.transfers import Transfers
from .models import Models
from .profiles import Profiles
from .retention import Retention
from .watcher.loop import Watcher
from .watcher.second_jobs import SecondJobs
from .watcher.stopping import report_on, stop_job
from .watcher.timings import Timings
from .watcher.waiting import pause
from .workflows.active_runs import ActiveRuns

if TYPE_CHECKING:
    from .submit import Submitter
    from .workflows.workflows import Workflows

_PIECE = 1 << 18
_EVENTS_INTERVAL = 0.1
# Jobs of a renamed notebook that are read at a time.
_RENAMED = 500


class JobService:
    """The engine over one state folder."""

    def __init__(
        self, home: Home | None = None, timings: Timings | None = None, system_file: Path | None = None
    ) -> None:
        self.timings = timings or Timings()
        self.home = (home or Home()).create()
        self.store = Store(self.home.database)
        self.profiles = Profiles(self.home, system_file)
        self.choices = Choices(self.profiles)
        self.storages = Storages(self.profiles)
        self.secrets = SecretStore()
        self.watcher = Watcher(self.home, self.store, self.storages, self.secrets, self.timings)
        self.second_jobs = SecondJobs(self.home, self.store, self.watcher.backend_of, self.timings)
        self.retention = Retention(self.home, self.store, self.profiles)
        self.transfers = Transfers(self.home)
        self.models = Models(self.home, self.profiles)
        self.audit = Audit(self.profiles.policy)
        self._active_runs = ActiveRuns(self.home, self.timings, lambda: self.workflows)
        self._views = LogViews()
        # Backends whose modules are imported.
        self._preloaded: set[str] = set()

    @cached_property
    def submitter(self) -> Submitter:
        """Its modules are imported on first use: an idle server does not need them."""
        from .submit import Submitter

        return Submitter(
            self.home, self.store, self.watcher, self.storages, self.secrets, self.retention, self.transfers,
            self.second_jobs,
        )  # fmt: skip

    @cached_property
    def workflows(self) -> Workflows:
        """The runs of workflows. Its modules are imported on first use, or at the start if a run is active."""
        from .workflows.workflows import Workflows

        return Workflows(self.home, self.watcher, self.audit, lambda: self.submitter)

    def preload(self) -> None:
        """Import the slow modules of a first submit, for the backends of the profiles. May block."""
        import_module(".submit", __package__)
        with suppress(SettingsError):  # A request reports it.
            used = {profile.backend for profile in self.profiles.settings().profiles.values()}
            new, self._preloaded = used - self._preloaded, self._preloaded | used
            for module in [
                module for name in new & load_backends().keys() for module in load_backends()[name].preloaded
            ]:
                with suppress(ImportError):  # An extra is not installed. The submit reports it.
                    import_module(module)

    async def start(self) -> None:
        """Start to watch all active jobs."""
        await self.watcher.start()
        self.second_jobs.start()
        self.retention.start()
        self._active_runs.start()

    async def close(self, end_calls: Callable[[], Awaitable[None]] | None = None) -> None:
        """Release all resources. Jobs continue. `end_calls` ends the calls that still wait, before the store closes."""
        await self._active_runs.close()
        workflows: Workflows | None = vars(self).get("workflows")
        if workflows:
            await workflows.close()
        submitter: Submitter | None = vars(self).get("submitter")
        if submitter:
            await submitter.keys.close()
        await self.watcher.stop()
        await self.second_jobs.close()
        await self.retention.stop()
        await self.transfers.close()
        await transport.close()
        if end_calls:
            await end_calls()
        if submitter:
            submitter.recorder.close()
        await asyncio.to_thread(self.store.close)

    async def doctor(self, profile: str = "", backend: str = "") -> list[Finding]:
        """Check the requirements of jobs, of all profiles or of one."""
        if profile or backend:
            chosen = self.profiles.settings().pick(profile, backend)
            return await asyncio.to_thread(doctor.examine_profile, self.storages, chosen)
        findings = await asyncio.to_thread(doctor.examine, self.home, self.storages)
        findings += await asyncio.to_thread(doctor.records, self.home, self.store)
        findings += await asyncio.to_thread(doctor.audited, self.profiles, self.audit)
        return findings + await asyncio.to_thread(self.retention.findings)

    def keeps_server(self) -> bool:
        """Return whether local jobs keep the server alive; the policy decides."""
        if not (active := self.store.jobs.active_backends().items()):
            return False  # An unused server does without the backends, which take memory.
        here = {name: kind for name, kind in load_backends().items() if Capability.RUNS_HERE in kind.capabilities}
        if not any(here[name].is_here(self.home.job(job_id)) for job_id, name in active if name in here):
            return False
        try:
            return self.profiles.policy().rules.jobs_keep_server
        except SettingsError:
            return True  # An invalid settings file must not stop jobs.

    def describe(self, job: Job, *, listed: bool = False) -> dict[str, Any]:
        """Return a job as JSON, with progress, the latest metrics and, while it runs, resource usage.

        `listed`: as an item of a list, which has hundreds of them: without its large fields, with the first metrics
        only, and with short texts.
        """
        job = self.watcher.current(job)
        folder = self.home.job(job.id)
        series = Series(folder.series)
        cursor = series.cursor()
        if series.is_damaged and job.status.ended:
            self.watcher.read_again(job)
        report, capabilities = self.watcher.latest(job.id), self.profiles.capabilities(job.backend)
        is_running = job.status is JobStatus.RUNNING
        # The best source first.
        progress = (cursor.progress, report.progress if report else None, cursor.detected_progress)
        latest = {name: (point, PLATFORM) for name, point in (report.metrics if report else {}).items()}
        latest |= {
            name: (point, cursor.source(name))
            for name, point in series.latest(cursor).items()
            if name not in latest or cursor.source(name) != DETECTED
        }
        if listed:
            latest = dict(islice(latest.items(), limits.MOST_LISTED))
        return _dump(job, listed=listed) | {
            "progress": next((part for part in progress if part is not None), None),
            # That of the progress bar, not of a progress that the code reports.
            "expected_end": cursor.expected_end if is_running and cursor.progress is None else None,
            "paid": not job.status.ended and Capability.PAID in capabilities,
            "tensorboard": bool(cursor.counts) or any(key.startswith(f"{TENSORBOARD}/") for key in cursor.offsets),
            "platform_boards": Capability.BOARDS in capabilities,
            "stays_on_platform": bool(job.remote_id) and Capability.DELETE not in capabilities,
            "terminal": is_running and Capability.TERMINAL in capabilities,
            "registry": Capability.REGISTRY in capabilities,
            "metrics": {name: _latest(point) | {"source": source} for name, (point, source) in latest.items()},
            "usage": {n: _latest(p) for n, p in ResourceUsage(folder.usage).latest().items()} if is_running else {},
        }

    async def instances(self, job: Job) -> Sequence[Instance]:
        """Return the instances of a job in the order of their ranks; those of a remote job as last fetched."""
        with suppress(NotFound, SettingsError):  # The profile was removed, or the settings file is invalid.
            if Capability.RUNS_HERE in self.profiles.capabilities(job.backend):
                return await self.profiles.backend_of(job).instances(job.remote_id or job.id)
        return read_instances(self.home.job(job.id))

    def log(self, job: Job, instance: str = "") -> LogFile:
        """Return the log of an instance, of the first if none is named.

        Raises:
            NotFound: if the instance does not exist.
        """
        expected = job.spec.instance_names
        names = instances(self.home.job(job.id).log, expected)
        if instance and instance not in names:
            raise NotFound(
                _("Job {job} has no instance `{name}`.").format(job=job.id, name=instance),
                fix=_("Known are: {names}.").format(names=", ".join(names)),
            )
        first = names[0] if names else "worker-0"
        if first in expected and not self.watcher.has_ended(job.id):
            first = expected[0]  # The log of a later instance may arrive before it.
        return LogFile(self.home.job(job.id).log, instance or first)

    def view(self, job: Job, instance: str = "", *, merged: bool = False) -> LogView:
        """Return a view of the log of one instance, or of all, merged by time. May block briefly.

        Raises:
            NotFound: if the instance does not exist.
        """
        # Read before the log: the log of a finished job is complete.
        ended = self.watcher.has_ended(job.id)
        folder = self.home.job(job.id).log
        names = (merged and not instance and instances(folder, job.spec.instance_names)) or [instance]
        return LogView(self._views, [self.log(job, name) for name in names], ended=ended)

    def provenance(self, job: Job) -> Provenance:
        """Return the provenance of a job; incomplete until it is recorded."""
        return provenance.read(self.home.job(job.id).path) or Provenance(
            source_digest=job.source_digest, python=job.python
        )

    def compare(self, a: Job, b: Job) -> dict[str, Any]:
        """Return the differences of two jobs, as JSON (`Comparison`). May block.

        Raises:
            SourceError: if the code of a job cannot be read.
        """
        origins, packages = comparison.origins(self.provenance(a), self.provenance(b))
        parts: dict[str, Sequence[Difference | FileDifference]] = {
            "spec": comparison.specs(a.spec, b.spec),
            "files": comparison.sources(a, b, self.home.job(a.id), self.home.job(b.id)),
            "provenance": origins,
            "packages": packages,
            "results": comparison.results(self.describe(a), self.describe(b)),
        }
        return {name: [asdict(one) for one in differences] for name, differences in parts.items()}

    def metrics(self, job: Job, *, system: bool = False) -> dict[str, Metric]:
        """Return the metrics of a job. `system` adds resource usage, unless the job has a metric of that name."""
        folder = self.home.job(job.id)
        series, usage = Series(folder.series), ResourceUsage(folder.usage)
        cursor = series.cursor()
        own = {name: Metric(series, n, cursor.source(name)) for name, n in cursor.counts.items()}
        has_units = Capability.USAGE_UNITS in self.profiles.capabilities(job.backend)
        source: Literal["system", "platform"] = "system" if has_units else "platform"
        used = {name: Metric(usage, n, source) for name, n in usage.counts().items() if system}
        return own | {name: metric for name, metric in used.items() if name not in own}

    async def follow_log(
        self, job: Job, instance: str = "", offset: int = 0, latest: int = 0, patience: float = 0.0
    ) -> AsyncIterator[LogChunk]:
        """Stream the log from a byte offset on until the job has finished, or its platform has not responded for
        `patience` seconds, if it is not 0. Of more than `latest` bytes at once, only the last lines are sent.
        """
        with self.watcher.watch(job.id, details=False) as end:
            while True:
                # Read before the log: the log of a finished job is complete.
                ended = self.watcher.has_ended(job.id)
                log = self.log(job, instance)
                offset = log.from_latest(offset, latest) if latest else offset
                while data := log.read(offset, _PIECE):
                    yield LogChunk(log.path.name, offset, data)
                    offset += len(data)
                    offset = log.from_latest(offset, latest) if latest else offset
                if ended or (patience and self.watcher.silence(job.id) > patience):
                    return
                await pause(end, self.timings.watched)

    async def follow_metrics(
        self,
        job: Job,
        counts: Mapping[str, int],
        most: int = 0,
        *,
        sources: Mapping[str, str] | None = None,
        system: bool = False,
    ) -> AsyncIterator[dict[str, dict[str, Any]]]:
        """Stream new points until the job has finished, of each metric after the first `counts` ones.

        Points are columns, downsampled to `most` if more arrive at once. `sources` has the sources of the known points:
        a metric with another source starts again. `system` adds resource usage.
        """
        at, known, complete = dict(counts), dict(sources or {}), False
        with self.watcher.watch(job.id) as end:
            while True:
                ended = self.watcher.has_ended(job.id)
                metrics = self.metrics(job, system=system)
                while points := await asyncio.to_thread(new_points, metrics, at, known, most):
                    at |= {name: part["end"] for name, part in points.items()}
                    known |= {name: part["source"] for name, part in points.items()}
                    yield points
                if complete:
                    return
                if complete := ended:
                    # Data that is still fetched, or that the platform has kept until now.
                    await self.watcher.ensure_fresh(self.store.jobs.get(job.id), details=True)
                else:
                    await pause(end, self.timings.watched)

    async def follow_events(self, after: int) -> AsyncIterator[list[JobEvent]]:
        """Stream the events of jobs after the event `after`."""
        while True:
            if events := self.store.events.read(after):
                after = events[-1].id
                yield events
            else:
                await pause(self.watcher.next_end, _EVENTS_INTERVAL)

    async def wait(self, job: Job, seconds: float, *, refresh: bool = True) -> Job:
        """Wait until a job has ended, at most `seconds`, and return it. With `refresh`, its platform is polled if the
        state is old, not as often as for a watched job."""
        end = time.monotonic() + seconds
        while not self.watcher.has_ended(job.id):
            if refresh:
                self.watcher.request_refresh(job.id)
            if time.monotonic() >= end:
                break
            await pause(self.watcher.next_end, min(_EVENTS_INTERVAL, max(end - time.monotonic(), 0)))
        return self.store.jobs.get(job.id)

    async def stop(self, word: str) -> Job:
        """Request the end of a job, which follows later. Does nothing if it has finished.

        Raises:
            Conflict: as `stop_job`.
        """
        job = self.store.jobs.find(word)
        await stop_job(self.profiles, job)
        return job

    async def rename_notebook(self, old: str, new: str) -> None:
        """Assign the jobs of a renamed notebook to its new path. Both are absolute, without links."""
        while old != new and (jobs := self.store.jobs.page(JobFilter(limit=_RENAMED, notebook=old))[0]):
            for job in jobs:
                await asyncio.wrap_future(self.store.jobs.update(job.id, notebook=new))

    async def delete(self, word: str, *, force: bool = False) -> Job:
        """Delete a finished job: its row, log, metrics, code, and the outputs in its folder. `force` also deletes a job
        whose host does not respond, and one whose platform has another job in its place, which stays there.

        Raises:
            Conflict: if it is active, pinned, or an active job uses its files, or if its platform has another job in
                its place.
        """
        job = self.store.jobs.find(word)
        gone = not job.status.ended and await self._is_over(job, force=force)
        await self.retention.delete(job, gone=gone, force=force)
        return job

    async def _is_over(self, job: Job, *, force: bool) -> bool:
        """Return whether an active job can be deleted: its end could not be stored on a full disk, or with `force`, its
        host does not respond."""
        if force and (report := await report_on(self.profiles, job)) and report.silent:
            return True
        if not await asyncio.to_thread(filesystem.write_error, self.home.path):
            return False
        return bool((report := await report_on(self.profiles, job)) and report.status.ended)


def _dump(job: Job, *, listed: bool) -> dict[str, Any]:
    if not listed:
        return job.model_dump(mode="json")
    values = job.model_dump(mode="json", exclude=UNLISTED)
    values |= {name: limits.listed(values[name]) for name in ("labels", "outputs")}
    # Jobs of earlier versions may have long texts.
    texts = ("platform_status", "reason", "fix")
    return values | {name: limits.shortened(values[name], limits.LONGEST_LISTED) for name in texts}


def _latest(point: MetricPoint) -> dict[str, Any]:
    return {"value": json_number(point.value), "step": point.step, "time": point.time}
