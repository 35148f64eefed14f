"""Reads what one job gives back, and tells how it ended. Who follows which job is the `feed`'s to decide."""

from __future__ import annotations

import contextlib
import time

from ...backends.reports import Report
from ...core.i18n import _
from ...core.lease import Lease
from ...jobs.job import Job, JobStatus
from ...jobs.logs.file import LogFile, instances
from ...jobs.metrics.log_source import LogMetricSource
from ...jobs.metrics.series import MOST_METRICS, Cursor, SeriesWriter
from ...jobs.metrics.source import MetricSource
from ...jobs.metrics.tfevents.source import EventFileSource
from ...jobs.state_dir import JobFolder
from ...storage.local import path_of
from ..failure.diagnose import diagnose
from .remote_metrics import PlatformPoints
from .remote_sync import Gatherer

__all__ = ["Follower"]

_TAIL = 1 << 16
# Seconds for which a sign counts that somebody watches.
_WATCHED = 10.0


class Follower:
    """Reads one job's metrics, from all that it writes them to."""

    def __init__(self, job: Job, folder: JobFolder, lease: Lease, gatherer: Gatherer) -> None:
        self.job = job
        self.folder = folder
        self.lease = lease
        self.gatherer = gatherer
        # What the platform itself reads from the log, for as long as nobody here does.
        self.report = Report(job.status)
        self.readers: list[MetricSource] = [LogMetricSource(folder.log, job.spec.metric_definitions)]
        mirror = gatherer.mirror
        if tensorboard := mirror.folder if mirror else path_of(job.outputs.get("tensorboard", "")):
            self.readers.append(EventFileSource(tensorboard, job.submitted_at.timestamp()))
        defined = {definition.name for definition in job.spec.metric_definitions}
        self.gatherer.points = PlatformPoints(folder, defined, self._read_on)
        self.readers.append(self.gatherer.points)
        self.look_at = 0.0  # By the monotonic clock: not looked at before.
        self.looked_at = 0.0
        self.is_done = False  # The job has ended, and all of it is stored.
        # Why nothing is heard of it, if its user was told that.
        self.trouble = ""
        self._writer: SeriesWriter | None = None

    def forget(self) -> None:
        """Another process follows the job now: what we know of its metrics is out of date."""
        self._writer = None
        self.gatherer.forget()

    def tell_watched(self) -> None:
        """Tell the process that follows the job that somebody here waits for its news."""
        with contextlib.suppress(OSError):
            (self.folder.path / "watched").touch(mode=0o600)

    def is_watched_elsewhere(self) -> bool:
        """Whether another process has told so a moment ago."""
        try:
            return time.time() - (self.folder.path / "watched").stat().st_mtime < _WATCHED
        except FileNotFoundError:
            return False

    def has_news(self) -> bool:
        """Whether there may be something to read. Cheap."""
        cursor = self._writer.at if self._writer else Cursor()
        return any(reader.has_news(cursor) for reader in self.readers)

    def advance(self, ended: bool) -> bool:
        """Read a piece of what is new; to the last byte when the job has ended. False if there is more.

        Only with the lease: the cursor is kept in memory between calls.
        """
        if self._writer is None:
            self._writer = SeriesWriter(self.folder.series)
            # Patterns know their names beforehand: nothing else is called so.
            self._writer.claim(definition.name for definition in self.job.spec.metric_definitions)
        complete = [reader.advance(self._writer, ended=ended) for reader in self.readers]
        return all(complete)

    def _read_on(self) -> None:
        """To the end of what is here by now."""
        while not self.advance(False):
            pass

    @property
    def notes(self) -> tuple[str, ...]:
        """The job's notes, and what came to light while it was followed."""
        found = [note for reader in self.readers for note in reader.notes()]
        if self.gatherer.note:
            found.append(self.gatherer.note)
        if self._writer and self._writer.is_full:
            found.append(_("Only the first {n} metrics are kept.").format(n=MOST_METRICS))
        return (*self.job.notes, *(text for text in dict.fromkeys(found) if text not in self.job.notes))

    def outcome(self, report: Report) -> dict[str, object]:
        """The fields that tell how the job ended. Where the platform gives no reason, the log may."""
        reason, fix = report.reason, report.fix
        if report.status is JobStatus.FAILED and report.exit_code and not fix:
            why, what_to_do = diagnose(report.exit_code, self._tail(report.instance))
            why = f"{report.instance}: {why}" if report.instance else why
            reason, fix = reason or why, what_to_do
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
