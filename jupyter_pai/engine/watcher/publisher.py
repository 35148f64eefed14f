"""Sends the metric points of a remote job to its platform, for jobs whose users want that.

The job's folder has the number of points that were sent of each metric. It is replaced after each send, so that each
point is sent once, by whichever process watches the job. A send without a reply is the exception: it is repeated with
`again`.
"""

from __future__ import annotations

import asyncio
import heapq
import json
import logging
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from ...backends.base import Backend
from ...core.cleanup import at_exit
from ...core.errors import DAMAGED, EngineError, PaiError
from ...core.filesystem import replace_file
from ...core.i18n import _
from ...jobs.events import MetricPoint
from ...jobs.metrics.series import PLATFORM, Cursor, Series
from ...jobs.state_dir import JobFolder
from .timings import Timings

# The most points of one send, and the most metrics in it.
_MOST_POINTS, _MOST_METRICS = 1_000, 100

_log = logging.getLogger(__name__)


class _Sent(NamedTuple):
    """The points of a metric that were sent: the first `number` points of its file, the last one with the time `last`.

    A better source of the metric replaces its file. Of the new one, only points after `after` are sent.
    """

    file: int
    number: int = 0
    last: float = 0.0
    after: float = 0.0


class Publisher:
    """Sends the points of one job. Only for the process that watches the job.

    `mark` is a file that exists from the first send until all points of the ended job were sent. `mask` masks the
    secrets in a text.
    """

    def __init__(self, folder: JobFolder, mark: Path, timings: Timings, mask: Callable[[str], str] = str) -> None:
        self.folder = folder
        self.mark = mark
        self.timings = timings
        self.mask = mask
        self.series = Series(folder.series)
        # Why not all points of an ended job were sent.
        self.note = ""
        self._sent: dict[str, _Sent] | None = None
        # The platform has exactly the points that are noted as sent.
        self._is_certain = not mark.exists()
        self._due = 0.0
        self._task: asyncio.Task[None] | None = None
        self._is_cancelled = False
        self._logged = ""

    @property
    def is_running(self) -> bool:
        """True while points are being sent."""
        return bool(self._task and not self._task.done())

    def start(self, backend: Backend, remote_id: str) -> None:
        """Send new points of an active job in the background, unless it is too early. After an error, they are sent
        with later ones."""
        if not self.is_running and not self._is_cancelled and time.monotonic() >= self._due:
            self._due = time.monotonic() + self.timings.publish
            self._task = asyncio.create_task(self._send_new(backend, remote_id))

    async def finish(self, backend: Backend, remote_id: str, timeout: float | None = None) -> None:
        """Send the rest of an ended job's points, with some retries. Return after `timeout` seconds at the latest; the
        sends continue."""
        if not self._is_cancelled:
            self._task = asyncio.create_task(self._send_rest(backend, remote_id, self._task))
            if timeout is None:
                await self._task  # A cancellation reaches it, and is awaited.
            else:
                await asyncio.wait([self._task], timeout=timeout)

    def cancel(self) -> None:
        """Stop sending. The next engine continues."""
        self._is_cancelled = True
        if self._task:
            self._task.cancel()

    async def _send_new(self, backend: Backend, remote_id: str) -> None:
        with self._logged_errors():
            await self._send(backend, remote_id)

    async def _send_rest(self, backend: Backend, remote_id: str, earlier: asyncio.Task[None] | None) -> None:
        if earlier:
            await earlier
        if self.note:
            return  # The last retry has failed.
        with self._logged_errors():
            if error := await self._send(backend, remote_id, self.timings.optional_retries):
                text = _("Not all of its metrics were sent to the platform: {error}")
                self.note = text.format(error=self.mask(error.message))
            self.mark.unlink(missing_ok=True)

    @contextmanager
    def _logged_errors(self) -> Iterator[None]:
        """Log an error that is not the platform's, once; the state folder may be full. The next send tries again."""
        try:
            yield
        except Exception as error:
            if not at_exit(error) and self._logged != repr(error):
                self._logged = repr(error)
                trace = None if isinstance(error, OSError) else error
                _log.error("sending the metrics of job %s failed: %s", self.folder.id, error, exc_info=trace)

    async def _send(self, backend: Backend, remote_id: str, retries: Sequence[float] = ()) -> PaiError | None:
        """Send all points. Return the error after the last retry."""
        for pause in (*retries, None):
            try:
                while await self._send_some(backend, remote_id):
                    pass
                return None
            except PaiError as error:
                if pause is None or not isinstance(error, EngineError):
                    return error
            await asyncio.sleep(pause)
        return None

    async def _send_some(self, backend: Backend, remote_id: str) -> bool:
        """Send the next points. Return whether there were any."""
        points, sent = await asyncio.to_thread(self._next)
        if points:
            again, self._is_certain = not self._is_certain, False
            await backend.publish(remote_id, points, again=again)
            self._is_certain = True
        if sent:
            self._sent = sent
            with replace_file(self.folder.published) as file:
                json.dump(sent, file)
        return bool(sent)

    def _next(self) -> tuple[list[MetricPoint], dict[str, _Sent]]:
        """Return the next points, and what will have been sent with them; nothing if there are none."""
        cursor = self.series.cursor()
        known = self._sent = self._read() if self._sent is None else self._sent
        places = {name: _place(name, cursor, known.get(name)) for name in cursor.counts}
        names = [
            name
            for name, place in places.items()
            if place.number < cursor.counts[name] and cursor.source(name) != PLATFORM
        ][:_MOST_METRICS]
        if not names:
            return [], {}
        self.mark.parent.mkdir(mode=0o700, exist_ok=True)
        self.mark.touch(mode=0o600)
        series, sent = [], dict(known)
        for name in names:
            place = places[name]
            points = self.series.read(name, place.number, place.number + _MOST_POINTS // len(names))
            series.append([point for point in points if point.time > place.after or not place.after])
            last = points[-1].time if points else place.last
            sent[name] = place._replace(number=place.number + len(points), last=last)
        return [*heapq.merge(*series, key=lambda point: point.time)], sent if sent != known else {}

    def _read(self) -> dict[str, _Sent]:
        with suppress(*DAMAGED):
            stored = json.loads(self.folder.published.read_text("utf-8"))
            return {name: _Sent(*values) for name, values in stored.items()}
        return {}


def _place(name: str, cursor: Cursor, sent: _Sent | None) -> _Sent:
    """Return where to continue with a metric."""
    if sent is None:
        return _Sent(cursor.files[name])
    return sent if sent.file == cursor.files[name] else _Sent(cursor.files[name], 0, sent.last, sent.last)
