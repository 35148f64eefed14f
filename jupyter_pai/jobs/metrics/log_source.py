"""Metrics read from a growing log."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ...core.i18n import _
from ..job import now
from ..logs.file import LogFile, instances, sizes
from ..spec import MetricDefinition
from .patterns import LogMetricScanner
from .series import Cursor, MetricSource, Piece, SeriesWriter, pack

_CHUNK = 1 << 20


class LogMetricSource(MetricSource):
    """Reads the log of each instance. The keys of the cursor are the names of instances."""

    def __init__(self, folder: Path, definitions: Sequence[MetricDefinition]) -> None:
        self.folder = folder
        self.patterns = {definition.name: definition.regex for definition in definitions}
        self.scanner = LogMetricScanner(definitions)
        self.given_up: list[str] = []

    def has_news(self, cursor: Cursor) -> bool:
        return any(size > cursor.offsets.get(name, 0) for name, size in sizes(self.folder).items())

    def advance(self, writer: SeriesWriter, *, ended: bool) -> bool:
        """Read a chunk of each log, up to the last line end, or to the last byte if the job has ended."""
        complete = True
        for rank, instance in enumerate(instances(self.folder)):
            log = LogFile(self.folder, instance)
            data = log.read(writer.at.offsets.get(instance, 0), _CHUNK)
            if used := _whole_lines(data, ended):
                writer.append(self._piece(log, rank, data[:used], writer.at))
                complete &= len(data) < _CHUNK
                log.count_lines()
        return complete

    def _piece(self, log: LogFile, rank: int, data: bytes, cursor: Cursor) -> Piece:
        instance = log.path.name
        offset = cursor.offsets.get(instance, 0)
        metrics = self.scanner.scan(data, offset)
        self.given_up += metrics.given_up
        counts = dict(cursor.counts)
        points: dict[str, list[bytes]] = {}
        for place, metric, step, value in metrics.points:
            # Metrics of different instances are kept in separate series.
            name = cursor.name_of(f"{metric}@{instance}" if rank else metric)
            time = log.time_at(place) or now().timestamp()
            points.setdefault(name, []).append(pack(time, counts.get(name, 0) if step is None else step, value))
            counts[name] = counts.get(name, 0) + 1
        packed = {name: b"".join(parts) for name, parts in points.items()}
        return Piece(instance, offset + len(data), packed, progress=metrics.progress)

    def notes(self) -> list[str]:
        text = _("The pattern of the metric `{name}` took too long and was disabled: {pattern}")
        return [text.format(name=name, pattern=self.patterns[name]) for name in self.given_up]


def _whole_lines(data: bytes, ended: bool) -> int:
    """Return the number of bytes in whole lines. A line longer than a chunk counts as several."""
    if ended and len(data) < _CHUNK:
        return len(data)
    return max(data.rfind(b"\n"), data.rfind(b"\r")) + 1 or (len(data) if len(data) == _CHUNK else 0)
