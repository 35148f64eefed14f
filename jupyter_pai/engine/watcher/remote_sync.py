"""What a platform keeps of a job that runs elsewhere, brought here: log, events, use of its machines,
metrics that only the platform has read.

Asked for while somebody reads it, and once more at the job's end. Each lands where local jobs have theirs, so that
nobody who reads it knows the difference.
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
from ...jobs.metrics.resource_samples import RECORD
from ...jobs.metrics.resource_usage import ResourceUsage
from ...jobs.state_dir import JobFolder
from ...jobs.store.store import Store
from .remote_event_files import EventMirror
from .remote_log import RemoteLog
from .remote_metrics import PlatformPoints

__all__ = ["Gatherer"]

# Seconds between two questions for events, and for samples, which platforms take several times a minute.
_EVENTS_EVERY, _SAMPLES_EVERY, _CURVES_EVERY, _POINTS_EVERY = 10.0, 30.0, 5.0, 30.0
# Seconds without a new line after which the log of a job that has ended counts as whole: platforms collect lines.
_SETTLED = 0.4
# Attempts to get what an ended job has left, before it ends without that.
_ATTEMPTS = 20


class Gatherer:
    """Brings what there is of one job. Only whoever follows the job may use it."""

    def __init__(self, folder: JobFolder, store: Store, mirror: EventMirror | None = None) -> None:
        self.folder = folder
        self.store = store
        self.mirror = mirror
        self.log = RemoteLog(folder)
        # Known when somebody follows the job.
        self.points: PlatformPoints | None = None
        self.note = ""
        # When all was brought that there was, by the monotonic clock.
        self.brought_at = -math.inf
        self._due = {"events": 0.0, "samples": 0.0, "curves": 0.0, "points": 0.0}
        self._failed = 0
        self._quiet_since: float | None = None

    def forget(self) -> None:
        """Another process follows the job now."""
        self.log.forget()
        if self.points:
            self.points.forget()

    async def bring(self, backend: Backend, remote_id: str, *, ended: bool) -> bool:
        """Bring what is new; of a job that has ended, whether that is all.

        Raises:
            PaiError: if the platform does not give it, and may do so later.
        """
        try:
            complete, news = await self.log.fetch(backend, remote_id)
            await self._bring_events(backend, remote_id, ended=ended)
            await self._bring_samples(backend, remote_id, ended=ended)
            complete = await self._bring_curves(ended=ended) and complete
            complete = complete and self._settled(news=news)
            # What the log does not have is known when that is whole.
            if complete or not ended:
                complete = await self._bring_points(backend, remote_id, ended=ended) and complete
        except PaiError as error:
            return self._missed(error, ended=ended)
        self._failed = 0
        self.brought_at = time.monotonic()
        return complete

    def _settled(self, *, news: bool) -> bool:
        """Whether nothing has come for a while."""
        now = time.monotonic()
        if news or self._quiet_since is None:
            self._quiet_since = now
        return now - self._quiet_since >= _SETTLED

    def _missed(self, error: PaiError, *, ended: bool) -> bool:
        """A job that has ended does not wait for ever for what cannot be had."""
        self._failed += 1
        self._due = dict.fromkeys(self._due, 0.0)  # What was asked for may be what is missing.
        if ended and (self._failed >= _ATTEMPTS or not isinstance(error, EngineError)):
            self.note = _("Its log may not be whole: {error}").format(error=error.message)
            return True
        raise error

    async def _bring_events(self, backend: Backend, remote_id: str, *, ended: bool) -> None:
        if not self._is_due("events", _EVENTS_EVERY, ended=ended):
            return
        known = self.store.events.count(self.folder.id, "platform")
        if texts := await backend.events(remote_id, known):
            told = self.store.events.add(self.folder.id, "platform", [{"text": text} for text in texts])
            await asyncio.wrap_future(told)

    async def _bring_samples(self, backend: Backend, remote_id: str, *, ended: bool) -> None:
        if self._is_due("samples", _SAMPLES_EVERY, ended=ended):
            self._append(await backend.samples(remote_id, self._sampled_until()))

    async def _bring_curves(self, *, ended: bool) -> bool:
        """Whether that is all. Where they cannot be had, the job goes on without."""
        if self.mirror is None or not self._is_due("curves", _CURVES_EVERY, ended=ended):
            return True
        try:
            whole = await asyncio.to_thread(self.mirror.refresh)
        except PaiError as error:
            self.note = _("Its curves may not be whole: {error}").format(error=error.message) if ended else self.note
            return True
        if not whole:
            self._due["curves"] = 0.0
        return whole

    async def _bring_points(self, backend: Backend, remote_id: str, *, ended: bool) -> bool:
        """Whether that is all. Where they cannot be had, the job goes on without."""
        if self.points is None or not self._is_due("points", _POINTS_EVERY, ended=ended):
            return True
        try:
            whole = await self.points.bring(backend, remote_id, ended=ended)
        except PaiError as error:
            if ended and isinstance(error, EngineError):
                raise
            self.note = _("Its curves may not be whole: {error}").format(error=error.message) if ended else self.note
            return True
        if not whole:
            self._due["points"] = 0.0
        return whole

    def _is_due(self, what: str, every: float, *, ended: bool) -> bool:
        """Whether it is time to ask; of a job that has ended, once."""
        is_due = self._due[what] < math.inf if ended else time.monotonic() >= self._due[what]
        if is_due:
            self._due[what] = math.inf if ended else time.monotonic() + every
        return is_due

    def _sampled_until(self) -> float:
        """When the last sample was taken that we have, in seconds since 1970."""
        return max((point.time for point in ResourceUsage(self.folder.usage).latest().values()), default=0.0)

    def _append(self, samples: Sequence[Sample]) -> None:
        if not samples:
            return
        place = os.open(self.folder.usage, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o600)
        try:
            end = os.fstat(place).st_size // RECORD.size * RECORD.size
            os.pwrite(place, b"".join(RECORD.pack(*sample) for sample in samples), end)
        finally:
            os.close(place)
