"""One watched job: its metric sources and its outcome; and the processing of its poll results: fetch remote data, read
metrics, store the status. The final status is stored last."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

from ...backends.base import Backend, Capability
from ...backends.local.supervisor.output import FULL
from ...backends.reports import Report
from ...core import contract
from ...core.cleanup import at_exit
from ...core.errors import NotFound
from ...core.file_uri import path_of
from ...core.filesystem import write_error
from ...core.i18n import _
from ...core.lease import Lease
from ...jobs.job import Job, JobStatus, now
from ...jobs.limits import with_notes
from ...jobs.logs.file import LogFile, instances
from ...jobs.metrics.log_source import LogMetricSource
from ...jobs.metrics.series import MOST_METRICS, Cursor, MetricSource, SeriesWriter
from ...jobs.metrics.tfevents.source import EventFileSource
from ...jobs.state_dir import JobFolder
from ...jobs.store.store import Store
from . import reported
from .publisher import Publisher
from .remote_metrics import RemoteMetrics
from .remote_sync import RemoteSync
from .timings import Timings

_log = logging.getLogger(__name__)

_TAIL = 1 << 16
# The interval between polls of a watched remote job, against that of its first seconds.
_LATER = 2.5
# Chunks of a log read between two polls, and threads that read them.
_CHUNKS, _THREADS = 16, 4
# Seconds before the end of its run-time limit at which a job gets a note.
_LIMIT_WARNING = 3_600
# Seconds for which a mark of another process counts.
_MARK_AGE = 10.0


class WatchedJob:
    """Reads the metrics of one job from its log, event files and platform."""

    def __init__(self, job: Job, folder: JobFolder, lease: Lease, remote: RemoteSync, publisher: Publisher) -> None:
        self.job = job
        self.folder = folder
        self.lease = lease
        self.remote = remote
        self.publisher = publisher
        self._publishes: bool | None = None
        # The last report; its metrics count while none were read here.
        self.report = Report(job.status)
        self.readers: list[MetricSource] = [
            LogMetricSource(
                folder.log,
                job.spec.metric_definitions,
                detects=job.spec.detect_metrics,
                order=job.spec.instance_names,
            )
        ]
        remote_files = remote.optional.event_files
        place = Path(os.path.realpath(folder.path))
        if tensorboard := place / remote_files.folder.name if remote_files else _tensorboard(job, folder):
            self.readers.append(EventFileSource(tensorboard, job.submitted_at.timestamp()))
        if not remote_files and contract.FILES in job.spec.channels:
            work = place / "ml" / job.spec.layout
            self.readers.append(EventFileSource(work, job.submitted_at.timestamp(), contract.FILES))
        defined = {definition.name for definition in job.spec.metric_definitions}
        points = self.remote.optional.points = RemoteMetrics(folder, defined, self._read_all, remote.secrets.text)
        self.readers.append(points)
        self.next_poll = 0.0  # By the monotonic clock.
        self.last_poll = 0.0
        self.is_done = False  # The job has finished and is stored.
        self.is_unstored = False  # The job has finished, and the disk has no room to store it.
        self.is_owned = False  # This process held the lease at the last poll.
        # The kind of the last error of its platform, once stored.
        self.last_error = ""
        self.failing_since = 0.0  # The time of its first error since the last report, by the monotonic clock.
        self._writer: SeriesWriter | None = None
        # Metric points of the platform wait for the log, which a poll may be reading.
        self._advancing = threading.Lock()

    def mark_watched(self) -> None:
        """Mark the job as watched, for the process that polls it."""
        with contextlib.suppress(OSError):
            (self.folder.path / "watched").touch(mode=0o600)

    def is_watched_elsewhere(self) -> bool:
        """Return whether another process has marked the job recently."""
        try:
            return time.time() - (self.folder.path / "watched").stat().st_mtime < _MARK_AGE
        except FileNotFoundError:
            return False

    def pace(self, early: float) -> float:
        """Return the factor of the interval between polls: in its first `early` seconds, a job is polled more often."""
        return 1.0 if (now() - self.job.submitted_at).total_seconds() < early else _LATER

    def publishes(self, backend: Backend) -> bool:
        """Return whether the metrics of the job are sent to the platform."""
        if self._publishes is None:
            self._publishes = self.remote.optional.publishes = backend.publishes(self.job.spec)
        return self._publishes

    @property
    def is_settled(self) -> bool:
        """True if no request for the job is running."""
        return self.remote.is_settled and not self.publisher.is_running

    def cancel(self) -> None:
        """Cancel the running requests for the job."""
        self.remote.optional.cancel()
        self.publisher.cancel()

    def has_news(self) -> bool:
        """Return whether there may be unread data. Cheap."""
        cursor = self._writer.at if self._writer else Cursor()
        return any(reader.has_news(cursor) for reader in self.readers)

    def advance(self, ended: bool) -> bool:
        """Read a chunk of new data, to the last byte when the job has finished. Return False if there is more.

        Only with the lease: the cursor is kept in memory between calls.
        """
        with self._advancing:
            complete = [self._advance(reader, ended) for reader in [*self.readers]]
            return all(complete)

    def _advance(self, reader: MetricSource, ended: bool) -> bool:
        """Read a chunk of a source. Metrics are optional: a source that fails is given up with a note.

        Raises:
            OSError: if a later call may succeed, because the job runs or the disk is full; or if the job was deleted.
        """
        try:
            if self._writer is None:
                self._writer = SeriesWriter(self.folder.series)
                self._writer.name_sources({definition.name for definition in self.job.spec.metric_definitions})
            return reader.advance(self._writer, ended=ended)
        except Exception as error:
            if at_exit(error) or (
                isinstance(error, OSError) and (not ended or error.errno in FULL or write_error(self.folder.path))
            ):
                raise
            _log.exception("reading the metrics of job %s failed", self.job.id)
            self.remote.optional.note("metrics", f"{type(error).__name__}: {error}")
            self.readers.remove(reader)
            return True

    def read_again(self) -> None:
        """Read the metrics of a finished job from the start, unless another process does."""
        try:
            if self.lease.acquire():
                while not self.advance(True):
                    pass
        except OSError as error:
            _log.error("Cannot read the metrics of job %s again: %s", self.job.id, error)
        finally:
            self.lease.release()

    def _read_all(self) -> None:
        """Read all local data."""
        while not self.advance(False):
            pass

    @property
    def notes(self) -> tuple[str, ...]:
        """The job's notes, with those of the last report and of its metric sources."""
        notes = [*self.report.notes, *(note for reader in self.readers for note in reader.notes()), *self.remote.notes]
        notes.extend(filter(None, [self.publisher.note, self._limit_note()]))
        if self._writer and self._writer.is_full:
            notes.append(_("Only the first {n} metrics are kept.").format(n=MOST_METRICS))
        return with_notes(self.job.notes, notes)

    def _limit_note(self) -> str:
        """Return the warning about the run-time limit; empty if the job is not near it, or never runs that long."""
        limit, started_at = self.job.run_time_limit, self.report.started_at or self.job.started_at
        if not limit or limit <= _LIMIT_WARNING or not started_at or self.report.status is not JobStatus.RUNNING:
            return ""
        stops_at = started_at + timedelta(seconds=limit)
        if now() < stops_at - timedelta(seconds=_LIMIT_WARNING):
            return ""
        return _("The run-time limit stops this job at {time} UTC.").format(time=f"{stops_at:%Y-%m-%d %H:%M}")

    def outcome(self, report: Report) -> dict[str, object]:
        """Return the fields of a finished job. Without a reason of the platform, the log is diagnosed."""
        reason, fix = report.reason, report.fix
        if report.status is JobStatus.FAILED and report.exit_code and (report.is_general or not fix):
            diagnosis, found = self._diagnosis(report.exit_code, report.instance)
            fix = found or fix
            reason = reason or (report.instance + ": " + diagnosis if report.instance and diagnosis else diagnosis)
        return {
            "reason": reason,
            "fix": fix,
            "exit_code": report.exit_code,
            "output_parameters": report.output_parameters,
        }

    def _diagnosis(self, exit_code: int, instance: str) -> tuple[str, str]:
        """Return the reason and the fix by the log; empty ones after an error, which does not keep the job from
        ending."""
        from ..failure.diagnose import diagnose  # Only failed jobs need its patterns.

        try:
            return diagnose(exit_code, self._tail(instance), self.folder, is_imported=self.job.is_imported)
        except Exception:
            _log.exception("the diagnosis of job %s failed", self.job.id)
            return "", ""

    def ended_job(self, job: Job) -> Job:
        """Return the job with the end in the last report."""
        report = self.report
        fields = {"status": report.status, "platform_status": report.platform_status, "reason": report.reason}
        ended = {"exit_code": report.exit_code, "ended_at": report.ended_at or now()}
        return job.model_copy(update=fields | ended)

    def completed(self, report: Report) -> Report:
        """Return the last report of a remote job, with what its job script wrote into the log."""
        return reported.completed(report, self._tail("", reported.TAIL))

    def _tail(self, instance: str, size: int = _TAIL) -> str:
        names = [instance] if instance else instances(self.folder.log, self.job.spec.instance_names)
        log = LogFile(self.folder.log, names[0]) if names else None
        return log.read(max(0, log.size - size), size).decode("utf-8", "replace") if log else ""


def _tensorboard(job: Job, folder: JobFolder) -> Path | None:
    """Return the folder for event files on this machine."""
    path = path_of(job.outputs.get("tensorboard", ""))
    return path and folder.channel("tensorboard", path)


class Recorder:
    """Processes the poll results of the jobs that this process watches."""

    def __init__(self, store: Store, timings: Timings) -> None:
        self.store = store
        self.timings = timings
        self._threads = ThreadPoolExecutor(_THREADS, "jupyter-pai recorder")
        self._stopping = False

    def stop(self) -> None:
        """Start no further read of a log."""
        self._stopping = True

    def close(self) -> None:
        """Wait for running reads."""
        self._threads.shutdown()

    def read_again(self, watch: WatchedJob) -> None:
        """Read the metrics of a finished job again in the background."""
        with contextlib.suppress(RuntimeError):  # Closed meanwhile.
            self._threads.submit(watch.read_again)

    @staticmethod
    def has_changes(watch: WatchedJob, report: Report) -> bool:
        """Return whether a report differs from the stored state."""
        job = watch.job
        stored = (job.status, job.platform_status, job.notes, job.reason)
        return report.elsewhere or stored != (report.status, report.platform_status, watch.notes, report.reason)

    async def process(
        self, watch: WatchedJob, backend: Backend, report: Report, *, news: bool, watched: bool, details: bool
    ) -> bool:
        """Process a report and the data of a job. `news`: there is unread local data. `details`: a user looks at its
        events, metrics or resource usage.

        Returns whether the log was fetched completely. If not, a finished job is processed again later.
        """
        complete, ended = True, report.status.ended
        is_remote = Capability.RUNS_HERE not in backend.capabilities
        wanted = watch.publishes(backend) or ended or watched
        if is_remote and report.status is not JobStatus.LOST and wanted:
            complete = await watch.remote.sync(backend, watch.job.remote_id, ended=ended, details=details)
            news = watch.has_news() or news  # `has_news` may be true only once.
            if ended and complete:
                report = await asyncio.to_thread(watch.completed, report)
        if complete or not ended:
            await self._store(watch, backend, report, news)
        return complete

    async def finish(self, watch: WatchedJob) -> None:
        """Complete the optional data of a remote job whose end is stored."""
        try:
            await watch.remote.optional.settle()
        except asyncio.CancelledError:
            watch.remote.optional.cancel()
            raise
        finally:
            with contextlib.suppress(NotFound, FileNotFoundError):  # Deleted meanwhile.
                await self._read(watch, ended=True)
                await self._update(watch, notes=watch.notes)

    async def publish_rest(self, watch: WatchedJob, backend: Backend) -> None:
        """Send the metrics that the optional data of an ended job has added."""
        try:
            await watch.publisher.finish(backend, watch.job.remote_id)
        except asyncio.CancelledError:
            watch.publisher.cancel()
            raise
        with contextlib.suppress(NotFound, FileNotFoundError):  # Deleted meanwhile.
            await self._update(watch, notes=watch.notes)

    async def _store(self, watch: WatchedJob, backend: Backend, report: Report, news: bool) -> None:
        """Store a report. The final status is stored when log and metrics are complete."""
        if report.elsewhere:
            # Another host watches the job and needs the lease.
            watch.next_poll = time.monotonic() + self.timings.other_host
            watch.lease.release()
            await self.store_report(watch, report)
            return
        ended = report.status.ended
        if not ended:
            await self.store_report(watch, report)
        complete = (ended or news) and await self._read(watch, ended)
        if watch.publishes(backend) and report.status is not JobStatus.LOST:
            if not ended:
                watch.publisher.start(backend, watch.job.remote_id)
            elif complete:
                await watch.publisher.finish(backend, watch.job.remote_id, self.timings.optional)
        if complete and ended:
            outcome = await asyncio.to_thread(watch.outcome, report)
            await self.store_report(watch, report, ended_at=report.ended_at or now(), **outcome)
            watch.is_done = True

    async def _read(self, watch: WatchedJob, ended: bool) -> bool:
        """Read new data, all of it when the job has finished. Return whether the end was reached."""
        loop, chunks, more = asyncio.get_running_loop(), 0, True
        while more and not self._stopping and (ended or chunks < _CHUNKS):
            more = not await loop.run_in_executor(self._threads, watch.advance, ended)
            chunks += 1
        return not more

    async def store_report(self, watch: WatchedJob, report: Report, **more: object) -> None:
        """Store the state of a job if it has changed."""
        changes: dict[str, object] = {
            "status": report.status,
            "platform_status": report.platform_status,
            "started_at": report.started_at or watch.job.started_at,
            "notes": watch.notes,
            "reason": report.reason,
            "fix": report.fix,
            "console_url": report.console_url or watch.job.console_url,
            **more,
        }
        await self._update(watch, **changes)

    async def _update(self, watch: WatchedJob, **changes: object) -> None:
        if any(getattr(watch.job, name) != value for name, value in changes.items()):
            watch.job = await asyncio.wrap_future(self.store.jobs.update(watch.job.id, **changes))
