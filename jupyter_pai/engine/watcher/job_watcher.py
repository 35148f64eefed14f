"""The state of one watched job: its metric sources, and its outcome."""

from __future__ import annotations

import contextlib
import time

from ...backends.reports import Report
from ...core.i18n import _
from ...core.lease import Lease
from ...jobs.job import Job, JobStatus
from ...jobs.logs.file import LogFile, instances
from ...jobs.metrics.log_source import LogMetricSource
from ...jobs.metrics.series import MOST_METRICS, Cursor, MetricSource, SeriesWriter
from ...jobs.metrics.tfevents.source import EventFileSource
from ...jobs.state_dir import JobFolder
from ...storage.local import path_of
from .remote_metrics import RemoteMetrics
from .remote_sync import RemoteSync

_TAIL = 1 << 16
# Seconds for which a mark of another process counts.
_MARK_AGE = 10.0


class WatchedJob:
    """Reads the metrics of one job from its log, event files and platform."""

    def __init__(self, job: Job, folder: JobFolder, lease: Lease, remote: RemoteSync) -> None:
        self.job = job
        self.folder = folder
        self.lease = lease
        self.remote = remote
        # The last report; its metrics count while none were read here.
        self.report = Report(job.status)
        self.readers: list[MetricSource] = [LogMetricSource(folder.log, job.spec.metric_definitions)]
        remote_files = remote.event_files
        if tensorboard := remote_files.folder if remote_files else path_of(job.outputs.get("tensorboard", "")):
            self.readers.append(EventFileSource(tensorboard, job.submitted_at.timestamp()))
        defined = {definition.name for definition in job.spec.metric_definitions}
        self.remote.points = RemoteMetrics(folder, defined, self._read_all)
        self.readers.append(self.remote.points)
        self.next_poll = 0.0  # By the monotonic clock.
        self.last_poll = 0.0
        self.is_done = False  # The job has finished and is stored.
        # The kind of the last error of its platform, once stored.
        self.last_error = ""
        self._writer: SeriesWriter | None = None

    def forget(self) -> None:
        """Drop cached state, since another process watches the job now."""
        self._writer = None
        self.remote.forget()

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

    def has_news(self) -> bool:
        """Return whether there may be unread data. Cheap."""
        cursor = self._writer.at if self._writer else Cursor()
        return any(reader.has_news(cursor) for reader in self.readers)

    def advance(self, ended: bool) -> bool:
        """Read a chunk of new data, to the last byte when the job has finished. Return False if there is more.

        Only with the lease: the cursor is kept in memory between calls.
        """
        if self._writer is None:
            self._writer = SeriesWriter(self.folder.series)
            # Names of patterns are reserved for the log.
            self._writer.claim(definition.name for definition in self.job.spec.metric_definitions)
        complete = [reader.advance(self._writer, ended=ended) for reader in self.readers]
        return all(complete)

    def _read_all(self) -> None:
        """Read all local data."""
        while not self.advance(False):
            pass

    @property
    def notes(self) -> tuple[str, ...]:
        """The job's notes, with those of its metric sources."""
        notes = [note for reader in self.readers for note in reader.notes()]
        if self.remote.note:
            notes.append(self.remote.note)
        if self._writer and self._writer.is_full:
            notes.append(_("Only the first {n} metrics are kept.").format(n=MOST_METRICS))
        return (*self.job.notes, *(text for text in dict.fromkeys(notes) if text not in self.job.notes))

    def outcome(self, report: Report) -> dict[str, object]:
        """Return the fields of a finished job. Without a reason of the platform, the log is diagnosed."""
        reason, fix = report.reason, report.fix
        if report.status is JobStatus.FAILED and report.exit_code and not fix:
            from ..failure.diagnose import diagnose  # Only failed jobs need its patterns.

            diagnosis, fix = diagnose(report.exit_code, self._tail(report.instance))
            reason = reason or (f"{report.instance}: {diagnosis}" if report.instance else diagnosis)
        return {
            "reason": reason,
            "fix": fix,
            "exit_code": report.exit_code,
            "output_parameters": report.output_parameters,
        }

    def _tail(self, instance: str) -> str:
        names = [instance] if instance else instances(self.folder.log)
        log = LogFile(self.folder.log, names[0]) if names else None
        return log.read(max(0, log.size - _TAIL), _TAIL).decode("utf-8", "replace") if log else ""
