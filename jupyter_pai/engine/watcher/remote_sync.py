"""Fetch the data of a remote job: log, events, resource samples, event files and metric points.

Data is fetched while the job is watched, and once more when it finishes. It is stored like that of a local job.
"""

from __future__ import annotations

import asyncio
import math
import os
import time
from collections.abc import Sequence

from ...backends.base import Backend
from ...backends.reports import Sample
from ...core.errors import EngineError, PaiError
from ...core.i18n import _
from ...jobs.metrics.query import ResourceUsage
from ...jobs.metrics.resource_samples import RECORD
from ...jobs.state_dir import JobFolder
from ...jobs.store.store import Store
from .remote_event_files import RemoteEventFiles
from .remote_log import RemoteLog
from .remote_metrics import RemoteMetrics
from .timings import Timings

# Attempts to fetch the data of a finished job.
_ATTEMPTS = 20


class RemoteSync:
    """Fetches the data of one job. Only for the process that watches the job."""

    def __init__(
        self, folder: JobFolder, store: Store, timings: Timings, event_files: RemoteEventFiles | None = None
    ) -> None:
        self.folder = folder
        self.store = store
        self.timings = timings
        self.event_files = event_files
        self.log = RemoteLog(folder)
        # Set when the job is watched.
        self.points: RemoteMetrics | None = None
        self.note = ""
        # The time of the last complete fetch, by the monotonic clock.
        self.synced_at = -math.inf
        self._due = {"events": 0.0, "samples": 0.0, "event_files": 0.0, "points": 0.0}
        self._failed = 0
        self._quiet_since: float | None = None

    def forget(self) -> None:
        """Drop cached state, since another process watches the job now."""
        self.log.forget()
        if self.points:
            self.points.forget()

    async def sync(self, backend: Backend, remote_id: str, *, ended: bool) -> bool:
        """Fetch new data. Return whether the data of a finished job is complete.

        Raises:
            PaiError: if a request failed and may succeed later.
        """
        try:
            complete, news = await self.log.fetch(backend, remote_id)
            await self._sync_events(backend, remote_id, ended=ended)
            await self._sync_samples(backend, remote_id, ended=ended)
            complete = await self._sync_event_files(ended=ended) and complete
            complete = complete and self._is_quiet(news=news)
            # Only a complete log shows which metrics are missing from it.
            if complete or not ended:
                complete = await self._sync_points(backend, remote_id, ended=ended) and complete
        except PaiError as error:
            return self._handle_error(error, ended=ended)
        self._failed = 0
        self.synced_at = time.monotonic()
        return complete

    def _is_quiet(self, *, news: bool) -> bool:
        """Return whether there was no new line for a while."""
        now = time.monotonic()
        if news or self._quiet_since is None:
            self._quiet_since = now
        return now - self._quiet_since >= self.timings.log_quiet

    def _handle_error(self, error: PaiError, *, ended: bool) -> bool:
        """Raise the error, unless the job has finished and the data will never be available."""
        self._failed += 1
        self._due = dict.fromkeys(self._due, 0.0)  # Request all data again.
        if ended and (self._failed >= _ATTEMPTS or not isinstance(error, EngineError)):
            self.note = _("Its log may be incomplete: {error}").format(error=error.message)
            return True
        raise error

    async def _sync_events(self, backend: Backend, remote_id: str, *, ended: bool) -> None:
        if not self._is_due("events", self.timings.events, ended=ended):
            return
        known = self.store.events.count(self.folder.id, "platform")
        if texts := await backend.events(remote_id, known):
            told = self.store.events.add(self.folder.id, "platform", [{"text": text} for text in texts])
            await asyncio.wrap_future(told)

    async def _sync_samples(self, backend: Backend, remote_id: str, *, ended: bool) -> None:
        if self._is_due("samples", self.timings.samples, ended=ended):
            self._append(await backend.samples(remote_id, self._last_sample_time()))

    async def _sync_event_files(self, *, ended: bool) -> bool:
        """Return whether the data is complete. An error becomes a note of the job."""
        if self.event_files is None or not self._is_due("event_files", self.timings.event_files, ended=ended):
            return True
        try:
            complete = await asyncio.to_thread(self.event_files.refresh)
        except PaiError as error:
            self.note = _("Its metrics may be incomplete: {error}").format(error=error.message) if ended else self.note
            return True
        if not complete:
            self._due["event_files"] = 0.0
        return complete

    async def _sync_points(self, backend: Backend, remote_id: str, *, ended: bool) -> bool:
        """Return whether the data is complete. An error becomes a note of the job."""
        if self.points is None or not self._is_due("points", self.timings.points, ended=ended):
            return True
        try:
            complete = await self.points.sync(backend, remote_id, ended=ended)
        except PaiError as error:
            if ended and isinstance(error, EngineError):
                raise
            self.note = _("Its metrics may be incomplete: {error}").format(error=error.message) if ended else self.note
            return True
        if not complete:
            self._due["points"] = 0.0
        return complete

    def _is_due(self, kind: str, interval: float, *, ended: bool) -> bool:
        """Return whether a request is due. A finished job has one request."""
        is_due = self._due[kind] < math.inf if ended else time.monotonic() >= self._due[kind]
        if is_due:
            self._due[kind] = math.inf if ended else time.monotonic() + interval
        return is_due

    def _last_sample_time(self) -> float:
        """Return the time of the last stored sample, in seconds since 1970."""
        return max((point.time for point in ResourceUsage(self.folder.usage).latest().values()), default=0.0)

    def _append(self, samples: Sequence[Sample]) -> None:
        if not samples:
            return
        file = os.open(self.folder.usage, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o600)
        try:
            end = os.fstat(file).st_size // RECORD.size * RECORD.size
            os.pwrite(file, b"".join(RECORD.pack(*sample) for sample in samples), end)
        finally:
            os.close(file)
