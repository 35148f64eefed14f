"""Points of metrics that a platform has read from a job's log itself, for metrics of which our own reading has none.

The patterns of a job that was submitted elsewhere may not be known, or be none that we can read, and logs expire. The
platform's points come to a file of the job's own, a JSON line each, and go from there to where all points are, by a
reader like the others. How many came of a metric is where to go on, so no point comes twice.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable, Collection, Sequence

from ...backends.base import Backend
from ...jobs.events import MetricPoint
from ...jobs.metrics.series import Cursor, Piece, Series, SeriesWriter, pack
from ...jobs.metrics.source import MetricSource
from ...jobs.state_dir import JobFolder, state_errors

__all__ = ["PlatformPoints"]

_ORIGIN, _LOG = "platform", "log"
# The key of the cursor: no instance is called so.
_SOURCE = "platform/points"
_CHUNK = 1 << 20
# Pages that one turn brings at most: others wait.
_TURN = 20


class PlatformPoints(MetricSource):
    """Those of one job. Only whoever follows the job may bring and read them.

    `defined` are the metrics that we read from the log by patterns; `read_log` reads all of it that is here.
    """

    def __init__(self, folder: JobFolder, defined: Collection[str], read_log: Callable[[], None]) -> None:
        self.path = folder.path / "platform.points"
        self.series = Series(folder.series)
        self.defined, self.read_log = defined, read_log
        self._counts: dict[str, int] | None = None
        self._size = 0

    def forget(self) -> None:
        """Another process follows the job now: what we know is out of date."""
        self._counts = None

    # Bringing.

    async def bring(self, backend: Backend, remote_id: str, *, ended: bool) -> bool:
        """Bring what is new; whether that is all. What a pattern of ours may yet find is left to it until the end.

        Raises:
            PaiError: if the platform does not give it.
        """
        left = _TURN
        for name in await self._missing(await backend.metric_names(remote_id), ended=ended):
            more = True
            while more:
                if not left:
                    return False
                page = await backend.points(remote_id, name, self._known().get(name, 0))
                self._append(name, page.points)
                left, more = left - 1, page.more
        return True

    async def _missing(self, names: Collection[str], *, ended: bool) -> list[str]:
        """Those that our own reading of the log does not yield."""
        begun = [name for name in names if name in self._known()]
        others = [name for name in names if name not in begun and not self._is_read(name)]
        if ended and others:
            # What the log holds is known when all of it was read.
            await asyncio.to_thread(self.read_log)
            others = [name for name in others if not self._is_read(name)]
        return begun + [name for name in others if ended or name not in self.defined]

    def _is_read(self, name: str) -> bool:
        """Whether our own reading has points of a metric, of whichever instance."""
        cursor = self.series.cursor()
        names = {name, *(f"{name}@{instance}" for instance in cursor.offsets)}
        return any(cursor.origins.get(known, _LOG) == _LOG for known in names & cursor.counts.keys())

    def _known(self) -> dict[str, int]:
        """How many points of each metric are here."""
        if self._counts is None:
            self._counts = {}
            data = self.path.read_bytes() if self.path.exists() else b""
            self._size = data.rfind(b"\n") + 1
            for line in data[: self._size].splitlines():
                name = str(json.loads(line)[0])
                self._counts[name] = self._counts.get(name, 0) + 1
        return self._counts

    def _append(self, name: str, points: Sequence[MetricPoint]) -> None:
        """Add points, in place of what was cut short."""
        if not points:
            return
        known = self._known()
        data = "".join(f"{json.dumps([name, point.time, point.value])}\n" for point in points).encode()
        with state_errors(self.path):
            place = os.open(self.path, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o600)
            try:
                os.ftruncate(place, self._size)
                os.pwrite(place, data, self._size)
            finally:
                os.close(place)
        self._size += len(data)
        known[name] = known.get(name, 0) + len(points)

    # Reading.

    def has_news(self, cursor: Cursor) -> bool:
        return self._size > cursor.offsets.get(_SOURCE, 0)

    def advance(self, writer: SeriesWriter, *, ended: bool) -> bool:
        self._known()
        start = writer.at.offsets.get(_SOURCE, 0)
        if start >= self._size:
            return True
        with self.path.open("rb") as file:
            data = os.pread(file.fileno(), min(_CHUNK, self._size - start), start)
        data = data[: data.rfind(b"\n") + 1]
        writer.append(self._piece(data, start, writer.at))
        return start + len(data) >= self._size

    def _piece(self, data: bytes, start: int, cursor: Cursor) -> Piece:
        """Steps are counted, as of lines of a log that name none."""
        counts, points = dict(cursor.counts), dict[str, list[bytes]]()
        for line in data.splitlines():
            metric, time, value = json.loads(line)
            name = cursor.name_of(metric, _LOG if metric in self.defined else _ORIGIN)
            points.setdefault(name, []).append(pack(time, counts.get(name, 0), value))
            counts[name] = counts.get(name, 0) + 1
        return Piece(
            _SOURCE, start + len(data), {name: b"".join(parts) for name, parts in points.items()}, origin=_ORIGIN
        )
