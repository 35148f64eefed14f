"""Metric points that the platform has read from a job's log, for metrics that are missing from our own reading.

The patterns of an imported job may be unknown or unsupported, and logs expire. The points are appended to a file of the
job, one JSON line each, and read from there like other metric sources. The number of points of a metric is its cursor.
"""

from __future__ import annotations

import asyncio
import json
import os
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from typing import Any

from ...backends.base import Backend
from ...backends.reports import PointPage
from ...core.errors import DAMAGED
from ...jobs.metrics.series import PATTERN, PLATFORM, REPORT, Cursor, MetricSource, Piece, Series, SeriesWriter, pack
from ...jobs.state_dir import JobFolder
from .remote_event_files import open_copy

# The key of the cursor; no instance has this name.
_SOURCE = "platform/points"
_CHUNK = 1 << 20
# The most pages of one fetch.
_MAX_PAGES = 20


class RemoteMetrics(MetricSource):
    """The platform's points of one job. Only for the process that watches the job.

    `defined` are the metrics with patterns of ours; `read_log` reads the local log to its end. `mask` masks the secrets
    in a name.
    """

    def __init__(
        self,
        folder: JobFolder,
        defined: Collection[str],
        read_log: Callable[[], None],
        mask: Callable[[str], str] = str,
    ) -> None:
        self.path = folder.path / "platform.points"
        self.series = Series(folder.series)
        self.defined, self.read_log, self.mask = defined, read_log, mask
        self._counts: Counter[str] | None = None
        self._size = 0
        # Points are appended while a thread may be reading the earlier ones.
        self._loading = threading.Lock()

    async def sync(self, backend: Backend, remote_id: str, *, ended: bool) -> bool:
        """Fetch new points. Return whether they are complete. Metrics with a pattern wait until the job finishes.

        Raises:
            PaiError: if a request failed.
        """
        left = _MAX_PAGES
        named = {self.mask(name): name for name in await backend.metric_names(remote_id)}
        for name in await self._missing(named, ended=ended):
            more = True
            while more:
                if not left:
                    return False
                page = await backend.points(remote_id, named[name], self._stored()[name])
                self._append(name, page)
                left, more = left - 1, page.more
        return True

    async def _missing(self, names: Collection[str], *, ended: bool) -> list[str]:
        """Return the metrics that our own reading of the log does not yield."""
        stored = [name for name in names if name in self._stored()]
        others = [name for name in names if name not in stored and not self._is_read(name)]
        if ended and others:
            # Only a completely read log shows which metrics it has.
            await asyncio.to_thread(self.read_log)
            others = [name for name in others if not self._is_read(name)]
        return stored + [name for name in others if ended or name not in self.defined]

    def _is_read(self, name: str) -> bool:
        """Return whether our own reading has points of a metric, of any instance."""
        cursor = self.series.cursor()
        names = {name, *(f"{name}@{instance}" for instance in cursor.offsets)} & cursor.counts.keys()
        return any(cursor.source(one) in (PATTERN, REPORT) for one in names)

    def _stored(self) -> Counter[str]:
        """Return the number of stored points of each metric."""
        with self._loading:
            if self._counts is None:
                data = self.path.read_bytes() if self.path.exists() else b""
                self._size = data.rfind(b"\n") + 1
                self._counts = Counter(row[0] for row in _rows(data[: self._size]))
            return self._counts

    def _append(self, name: str, page: PointPage) -> None:
        """Append points, and overwrite an incomplete last line."""
        stored = self._stored()
        rows = [[name, point.time, point.value, *([point.step] if page.have_steps else [])] for point in page.points]
        data = "".join(f"{json.dumps(row)}\n" for row in rows).encode()
        if data:
            with open_copy(self.path) as file:
                os.ftruncate(file, self._size)
                os.pwrite(file, data, self._size)
            self._size += len(data)
            stored[name] += len(rows)

    def has_news(self, cursor: Cursor) -> bool:
        return self._size > cursor.offsets.get(_SOURCE, 0)

    def advance(self, writer: SeriesWriter, *, ended: bool) -> bool:
        self._stored()
        start = writer.at.offsets.get(_SOURCE, 0)
        if start >= self._size:
            return True
        with self.path.open("rb") as file:
            data = os.pread(file.fileno(), min(_CHUNK, self._size - start), start)
        data = data[: data.rfind(b"\n") + 1]
        writer.append(self._piece(data, start, writer.at))
        return start + len(data) >= self._size

    def _piece(self, data: bytes, start: int, cursor: Cursor) -> Piece:
        """Return the points of some lines. Steps that the platform does not keep are counted, as for log lines."""
        places = dict[str, tuple[str, int] | None]()
        points = defaultdict[str, list[bytes]](list)
        for metric, time, value, *step in _rows(data):
            if metric not in places:
                places[metric] = cursor.place(metric, PLATFORM)
            if place := places[metric]:
                name, count = place
                points[name].append(pack(time, step[0] if step else count + len(points[name]), value))
        packed = {name: b"".join(parts) for name, parts in points.items()}
        return Piece(_SOURCE, start + len(data), packed, origin=PLATFORM)


def _rows(data: bytes) -> Iterator[list[Any]]:
    """Yield the name, the time, the value and the step, if any, of each point. Damaged lines are left out."""
    for line in data.splitlines():
        with suppress(*DAMAGED):
            name, time, value, *step = json.loads(line)
            yield [str(name), float(time), float(value), *map(int, step)]
