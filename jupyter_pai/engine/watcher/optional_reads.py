"""Fetch the optional data of a remote job: events, resource samples, event files and metric points.

Each kind is fetched by a task of its own, which delays neither the status, the log, nor another kind. The end of a job
waits for them for a limited time. Afterwards the fetches continue, with a limited number of retries.
"""

from __future__ import annotations

import asyncio
import logging
import math
import os
import time
from collections.abc import Awaitable, Callable

from ...backends.base import Backend
from ...core.cleanup import at_exit
from ...core.errors import EngineError, PaiError
from ...core.i18n import N_, _
from ...jobs.metrics.query import ResourceUsage
from ...jobs.metrics.resource_samples import RECORD
from ...jobs.state_dir import JobFolder
from ...jobs.store.store import Store
from .masking import JobSecrets
from .remote_event_files import RemoteEventFiles, open_copy
from .remote_metrics import RemoteMetrics
from .timings import Timings

# The kinds are named like their intervals in `Timings`. The points follow the log: a complete one shows which metrics
# are missing from it. The metrics in stored files are read by `WatchedJob`.
_NOTES = {
    "events": N_("Its events may be incomplete: {error}"),
    "samples": N_("Its resource usage may be incomplete: {error}"),
    "event_files": N_("Its metrics may be incomplete: {error}"),
    "points": N_("Its metrics may be incomplete: {error}"),
    "metrics": N_("Its metrics may be incomplete: {error}"),
}

_log = logging.getLogger(__name__)


class OptionalReads:
    """The optional data of one job. Only for the process that watches the job."""

    def __init__(
        self,
        folder: JobFolder,
        store: Store,
        timings: Timings,
        event_files: RemoteEventFiles | None,
        secrets: JobSecrets,
    ) -> None:
        self.folder = folder
        self.store = store
        self.timings = timings
        self.event_files = event_files
        self.secrets = secrets
        # Set when the job is watched.
        self.points: RemoteMetrics | None = None
        # The metrics are sent to the platform: it has none of its own, and those of event files are needed at once.
        self.publishes = False
        # Why data of a finished job is incomplete, by kind.
        self.notes: dict[str, str] = {}
        # The next fetch of each kind, by the monotonic clock; never after the last one of a finished job.
        self._due = dict.fromkeys(_NOTES, 0.0)
        self._tasks: dict[str, asyncio.Task[None]] = {}

    def start(self, backend: Backend, remote_id: str, *, ended: bool, details: bool, with_points: bool) -> None:
        """Start the fetches that are due. A finished job has a last one of each kind, except of samples that its
        platform keeps. `details` tells whether a user looks at the data, `with_points` whether to fetch the points."""
        fetches: dict[str, Callable[[], Awaitable[bool]]] = {
            "events": lambda: self._fetch_events(backend, remote_id),
            "samples": lambda: self._fetch_samples(backend, remote_id),
        }
        if files := self.event_files:
            fetches["event_files"] = lambda: asyncio.to_thread(files.refresh)
        if with_points and not self.publishes and (points := self.points):
            fetches["points"] = lambda: points.sync(backend, remote_id, ended=ended)
        for kind, fetch in fetches.items():
            kept = kind == "samples" and backend.keeps_samples and not self.folder.usage.exists()
            wanted = (ended and not kept) or details or (self.publishes and kind == "event_files")
            if wanted and self._is_due(kind, ended=ended):
                earlier = self._tasks.get(kind)
                self._tasks[kind] = asyncio.create_task(self._run(kind, fetch, earlier, ended=ended))

    def start_samples(self, backend: Backend, remote_id: str) -> None:
        """Start to fetch the resource usage of a finished job that its platform has kept."""
        fetch = self._run("samples", lambda: self._fetch_samples(backend, remote_id), None, ended=True)
        self._tasks["samples"] = asyncio.create_task(fetch)

    async def settle(self, timeout: float | None = None) -> bool:
        """Wait for the running fetches, at most `timeout` seconds. Return whether none is running."""
        running = [task for task in self._tasks.values() if not task.done()]
        return not running or not (await asyncio.wait(running, timeout=timeout))[1]

    def cancel(self) -> None:
        """Cancel the running fetches. The last one of a kind leaves a note."""
        for kind, task in self._tasks.items():
            if not task.done():
                task.cancel()
                if self._due[kind] == math.inf:
                    self.note(kind, _("the request was interrupted"))

    def _is_due(self, kind: str, *, ended: bool) -> bool:
        """Return whether a fetch is due. A finished job has one, which retries by itself."""
        if ended:
            is_due, self._due[kind] = self._due[kind] < math.inf, math.inf
            return is_due
        running = kind in self._tasks and not self._tasks[kind].done()
        if is_due := not running and time.monotonic() >= self._due[kind]:
            self._due[kind] = time.monotonic() + getattr(self.timings, kind)
        return is_due

    async def _run(
        self, kind: str, fetch: Callable[[], Awaitable[bool]], earlier: asyncio.Task[None] | None, *, ended: bool
    ) -> None:
        """Fetch all data of a kind. For a finished job, retry, and note the last error."""
        if earlier and not earlier.done():
            await asyncio.wait([earlier])
        for pause in (*(self.timings.optional_retries if ended else ()), None):
            try:
                while not await fetch():
                    pass
                return
            except PaiError as error:
                if not ended:
                    return  # Until the next one is due.
                if pause is None or not isinstance(error, EngineError):
                    self.note(kind, self.secrets.text(error.message))
                    return
            except Exception as error:
                if not at_exit(error):
                    _log.exception("fetching the %s of job %s failed", kind, self.folder.id)
                return
            await asyncio.sleep(pause or 0)

    def note(self, kind: str, error: str) -> None:
        """Note the first error of a kind, without secrets: its data is incomplete."""
        self.notes.setdefault(kind, _(_NOTES[kind]).format(error=error))

    async def _fetch_events(self, backend: Backend, remote_id: str) -> bool:
        cursor = self.store.events.cursor(self.folder.id)
        page = await backend.events(remote_id, cursor)
        if page.events:
            events = self.secrets.events(page.events)
            await asyncio.wrap_future(self.store.events.add(self.folder.id, events, page.cursor))
        # The cursor stays if no more events are kept.
        return not page.more or self.store.events.cursor(self.folder.id) == cursor

    async def _fetch_samples(self, backend: Backend, remote_id: str) -> bool:
        stored = ResourceUsage(self.folder.usage).latest().values()
        if samples := await backend.samples(remote_id, max((point.time for point in stored), default=0.0)):
            with open_copy(self.folder.usage) as file:
                end = os.fstat(file).st_size // RECORD.size * RECORD.size
                os.pwrite(file, b"".join(RECORD.pack(*sample) for sample in samples), end)
        return True
