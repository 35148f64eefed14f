"""Fetch the data of a remote job: log, events, resource samples, event files and metric points.

Data is fetched while the job is watched, and once more when it finishes. It is stored like that of a local job.
"""

from __future__ import annotations

import asyncio
import json
import math
import os
import re
import time
from collections.abc import Awaitable, Callable
from functools import partial

from ...backends.base import Backend
from ...backends.reports import LogPiece
from ...core.errors import EngineError, PaiError
from ...core.filesystem import replace_file
from ...core.i18n import _
from ...jobs.logs.file import LogFile, sizes
from ...jobs.metrics.query import ResourceUsage
from ...jobs.metrics.resource_samples import RECORD
from ...jobs.state_dir import JobFolder
from ...jobs.store.store import Store
from .remote_event_files import RemoteEventFiles, open_copy
from .remote_metrics import RemoteMetrics
from .timings import Timings

# The most chunks of one instance in one fetch.
_MAX_CHUNKS = 50
# Attempts to fetch the data of a finished job.
_ATTEMPTS = 20


class RemoteLog:
    """The logs of one job, fetched in chunks and appended to the same files that local jobs write.

    `log.cursors` has the number of valid bytes of each instance's file, and the platform's cursor after them. It is
    replaced atomically after the bytes are written. If the process is killed in between, the next one truncates the
    file, so that no line is lost or duplicated.
    """

    def __init__(self, folder: JobFolder) -> None:
        self.folder = folder
        self._cursors: dict[str, tuple[int, str]] | None = None

    async def fetch(self, backend: Backend, remote_id: str) -> tuple[bool, bool]:
        """Fetch new lines. Return whether the logs are complete, and whether there were new lines."""
        complete, news = True, False
        for instance in await backend.instances(remote_id):
            name = re.sub(r"[^\w.-]", "_", instance, flags=re.ASCII).lstrip(".")[:200] or "instance"
            name = f"{name}_" if name.endswith((".index", ".lines")) else name  # Suffixes of our own files.
            for _n in range(_MAX_CHUNKS):
                piece = await backend.log(remote_id, instance, self._cursor(name)[1])
                news |= bool(piece.data)
                self._append(name, piece)
                if not piece.more:
                    break
            else:
                complete = False
        return complete, news

    def _cursor(self, instance: str) -> tuple[int, str]:
        """Return the number of valid bytes of an instance's file, and the platform's cursor after them."""
        if self._cursors is None:
            self._cursors = self._read()
        return self._cursors.get(instance, (0, ""))

    def _read(self) -> dict[str, tuple[int, str]]:
        try:
            with open(self.folder.path / "log.cursors", encoding="utf-8") as file:
                cursors = {name: (int(size), str(cursor)) for name, (size, cursor) in json.load(file).items()}
        except (FileNotFoundError, ValueError, TypeError, AttributeError):
            cursors = {}  # None yet, or damaged: fetch all lines again.
        self.folder.log.mkdir(mode=0o700, exist_ok=True)
        for name, written in sizes(self.folder.log).items():
            if written > (size := cursors.get(name, (0, ""))[0]):
                LogFile(self.folder.log, name).cut(size)
        return cursors

    def _append(self, instance: str, piece: LogPiece) -> None:
        size, cursor = self._cursor(instance)
        if not piece.data and piece.cursor == cursor:
            return
        log = LogFile(self.folder.log, instance)
        if piece.data:
            if log.size > size:  # Bytes of a write that failed, as on a full disk.
                log.cut(size)
            log.append(piece.data, time.time())
        cursors = (self._cursors or {}) | {instance: (size + len(piece.data), piece.cursor)}
        with replace_file(self.folder.path / "log.cursors") as file:
            file.write(json.dumps(cursors))
        self._cursors = cursors


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
        # The next request of each kind, by the monotonic clock. The kinds are named like their intervals in `Timings`.
        self._due = {"events": 0.0, "samples": 0.0, "event_files": 0.0, "points": 0.0}
        self._failed = 0
        self._quiet_since: float | None = None

    async def sync(self, backend: Backend, remote_id: str, *, ended: bool) -> bool:
        """Fetch new data. Return whether the data of a finished job is complete.

        Raises:
            PaiError: if a request failed and may succeed later.
        """
        try:
            complete, news = await self.log.fetch(backend, remote_id)
            await self._sync_events(backend, remote_id, ended=ended)
            await self._sync_samples(backend, remote_id, ended=ended)
            if self.event_files:
                fetch = partial(asyncio.to_thread, self.event_files.refresh)
                complete = await self._sync_metrics("event_files", fetch, ended=ended) and complete
            complete = complete and self._is_quiet(news=news)
            # Only a complete log shows which metrics are missing from it.
            if self.points and (complete or not ended):
                fetch = partial(self.points.sync, backend, remote_id, ended=ended)
                complete = await self._sync_metrics("points", fetch, ended=ended) and complete
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
        if self._is_due("events", ended=ended):
            stored = self.store.events.count(self.folder.id, "platform")
            if texts := await backend.events(remote_id, stored):
                future = self.store.events.add(self.folder.id, "platform", texts)
                await asyncio.wrap_future(future)

    async def _sync_samples(self, backend: Backend, remote_id: str, *, ended: bool) -> None:
        if self._is_due("samples", ended=ended):
            stored = ResourceUsage(self.folder.usage).latest().values()
            if samples := await backend.samples(remote_id, max((point.time for point in stored), default=0.0)):
                with open_copy(self.folder.usage) as file:
                    end = os.fstat(file).st_size // RECORD.size * RECORD.size
                    os.pwrite(file, b"".join(RECORD.pack(*sample) for sample in samples), end)

    async def _sync_metrics(self, kind: str, fetch: Callable[[], Awaitable[bool]], *, ended: bool) -> bool:
        """Fetch metrics if they are due. Return whether they are complete. An error becomes a note of the job."""
        if not self._is_due(kind, ended=ended):
            return True
        try:
            complete = await fetch()
        except PaiError as error:
            if kind == "points" and ended and isinstance(error, EngineError):
                raise
            self.note = _("Its metrics may be incomplete: {error}").format(error=error.message) if ended else self.note
            return True
        if not complete:
            self._due[kind] = 0.0
        return complete

    def _is_due(self, kind: str, *, ended: bool) -> bool:
        """Return whether a request is due. A finished job has one request."""
        is_due = self._due[kind] < math.inf if ended else time.monotonic() >= self._due[kind]
        if is_due:
            self._due[kind] = math.inf if ended else time.monotonic() + getattr(self.timings, kind)
        return is_due
