"""The metrics of a job on disk: one append-only file of points per metric, and the interface of their sources.

A point takes 24 bytes: float64 time, int64 step, float64 value. `cursor.json` holds the valid length of each file and
the read positions in the job's log and event files. It is replaced atomically after the points are written. Points
written by a killed watcher after the last update are truncated and read again, so that no point is lost or duplicated.
Texts for TensorBoard are stored the same way, one JSON object per line.
"""

from __future__ import annotations

import json
import logging
import os
import struct
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import ConfigDict, NonNegativeInt, TypeAdapter

from ...core.filesystem import read_at
from ..events import MetricPoint

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_POINT = struct.Struct("<dqd")
# The dtype for numpy, which is imported on demand.
POINT = [("time", "<f8"), ("step", "<i8"), ("value", "<f8")]
# Points converted to columns at a time, sized to the CPU cache.
_AT_ONCE = 1 << 14
# The origin of metrics from the log. Other origins begin with the name of their source.
_LOG = "log"
# More metrics are a mistake, such as a number in the metric's name.
MOST_METRICS = 1000
# Maximum size of the texts of a job, in bytes.
_MOST_TEXT = 8 << 20

_log = logging.getLogger(__name__)


@dataclass
class Cursor:
    """The read positions of a job's metrics: bytes of each log and event file, and number of points of each metric.

    `origins` maps each metric to its source. `texts` is a size in bytes. `latest` has step, value and time of the last
    points, so that a list of jobs does not open other files.
    """

    __pydantic_config__ = ConfigDict(extra="forbid")

    offsets: dict[str, NonNegativeInt] = field(default_factory=dict)
    counts: dict[str, NonNegativeInt] = field(default_factory=dict)
    progress: float | None = None
    origins: dict[str, str] = field(default_factory=dict)
    texts: NonNegativeInt = 0
    latest: dict[str, tuple[int, float, float]] = field(default_factory=dict)

    def copy(self) -> Cursor:
        return Cursor(
            dict(self.offsets), dict(self.counts), self.progress, dict(self.origins), self.texts, dict(self.latest)
        )

    def name_of(self, metric: str, origin: str = _LOG) -> str:
        """Return the name under which points of a metric are stored.

        If another origin already uses the name, the origin is appended, as in ``loss (tensorboard)``, so that series do
        not mix.
        """
        while self.origins.get(metric, _LOG if metric in self.counts else origin) != origin:
            metric += f" ({origin.partition('/')[0]})"
        return metric


_CURSOR = TypeAdapter(Cursor)


@dataclass
class Piece:
    """The metrics in a chunk of a source that ends at byte `end`.

    `points` are packed, by stored name (`Cursor.name_of`). `texts` are JSON objects.
    """

    source: str
    end: int
    points: Mapping[str, bytes] = field(default_factory=dict)
    origin: str = _LOG
    progress: float | None = None
    texts: Iterable[Mapping[str, object]] = ()


class Columns(NamedTuple):
    """Points as arrays of equal length: int64 step, float64 value, float64 time."""

    step: NDArray[np.int64]
    value: NDArray[np.float64]
    time: NDArray[np.float64]

    def take(self, which: NDArray[np.int64] | NDArray[np.bool_] | slice) -> Columns:
        """Select points by indices, mask or slice."""
        return Columns(self.step[which], self.value[which], self.time[which])


def pack(time: float, step: int, value: float) -> bytes:
    """Return the stored bytes of a point."""
    return _POINT.pack(time, step, value)


class Series:
    """The metrics of one job, for concurrent readers."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.cursor_file = folder / "cursor.json"
        self.texts_file = folder / "texts.jsonl"

    def cursor(self) -> Cursor:
        """Return the current cursor. Metrics are in the order of their first appearance. A damaged file counts as empty
        until the job's watcher repairs it."""
        try:
            return _CURSOR.validate_json(self.cursor_file.read_bytes(), strict=True)
        except (FileNotFoundError, ValueError):
            return Cursor()

    def read(self, name: str, start: int = 0, end: int | None = None) -> list[MetricPoint]:
        """Return the points of a metric with index `start` up to `end`, in order. Empty for an unknown name."""
        counts = self.cursor().counts
        stop = counts.get(name, 0) if end is None else min(end, counts.get(name, 0))
        if not 0 <= start < stop:
            return []
        path = self._file(list(counts).index(name))
        data = read_at(path, start * _POINT.size, (stop - start) * _POINT.size)
        whole = data[: len(data) // _POINT.size * _POINT.size]
        return [MetricPoint(name, step, value, time) for time, step, value in _POINT.iter_unpack(whole)]

    def columns(self, name: str, start: int = 0, end: int | None = None) -> Columns:
        """Return many points as arrays."""
        import numpy as np

        counts = self.cursor().counts
        stop = counts.get(name, 0) if end is None else min(end, counts.get(name, 0))
        count = max(stop - start, 0)
        # Copied as integers of the same size, all columns at once.
        columns = np.empty((3, count), "<i8")
        buffer = np.zeros((min(count, _AT_ONCE), 3), "<i8")
        if count:
            with open(self._file(list(counts).index(name)), "rb", buffering=0) as file:
                file.seek(start * _POINT.size)
                for place in range(0, count, _AT_ONCE):
                    part = buffer[: count - place]
                    file.readinto(part.data)
                    columns[:, place : place + len(part)] = part.T
        return Columns(columns[1], columns[2].view("<f8"), columns[0].view("<f8"))

    def latest(self, cursor: Cursor | None = None) -> dict[str, MetricPoint]:
        """Return the last point of each metric that `cursor` counts."""
        at = cursor or self.cursor()
        return {name: MetricPoint(name, *point) for name, point in at.latest.items() if name in at.counts}

    def texts(self) -> list[dict[str, Any]]:
        """Return the texts written for TensorBoard: objects with tag, step, time and text."""
        if not (size := self.cursor().texts):
            return []
        with open(self.texts_file, "rb") as file:
            return [json.loads(line) for line in file.read(size).splitlines()]

    def _file(self, number: int) -> Path:
        """Files are numbered by first appearance, because metric names may contain any characters."""
        return self.folder / str(number)


class SeriesWriter(Series):
    """The metrics of one job, for its single watcher. `at` is the cursor after the last `append`."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.at = self._healed()
        self.is_full = False  # True if metrics were dropped, see MOST_METRICS.

    def _healed(self) -> Cursor:
        """Return the stored cursor, or a new one in place of a damaged one, after which all sources are read again."""
        if not self.cursor_file.exists():
            return Cursor()
        try:
            cursor = _CURSOR.validate_json(self.cursor_file.read_bytes(), strict=True)
            for number, (name, count) in enumerate(cursor.counts.items()):
                if self._file(number).stat().st_size < count * _POINT.size:
                    raise ValueError(f"{name}: points are missing")
            if cursor.texts and self.texts_file.stat().st_size < cursor.texts:
                raise ValueError("texts are missing")
            return cursor
        except (FileNotFoundError, ValueError) as error:
            aside = self.cursor_file.with_suffix(".damaged")
            _log.warning("%s is damaged (%s): metrics are read again from the start; it is now %s.",
                         self.cursor_file, error, aside.name)  # fmt: skip
            os.replace(self.cursor_file, aside)
            return Cursor()

    def claim(self, names: Iterable[str]) -> None:
        """Reserve names for metrics of the log."""
        for name in names:
            self.at.origins.setdefault(name, _LOG)

    def append(self, piece: Piece) -> None:
        """Write the points and texts of a chunk, then the cursor. After an error, as on a full disk, none of them
        count.

        Truncates points that an earlier watcher wrote without counting them.
        """
        cursor = self.at.copy()
        self.folder.mkdir(parents=True, exist_ok=True)
        numbers = {name: number for number, name in enumerate(cursor.counts)}
        for name, data in piece.points.items():
            if name not in numbers and len(numbers) >= MOST_METRICS:
                self.is_full = True
                continue
            counted = cursor.counts.setdefault(name, 0)
            cursor.origins.setdefault(name, piece.origin)
            _write(self._file(numbers.setdefault(name, len(numbers))), counted * _POINT.size, data)
            cursor.counts[name] += len(data) // _POINT.size
            if data:
                time, step, value = _POINT.unpack(data[-_POINT.size :])
                cursor.latest[name] = (step, value, time)
        lines = b"".join(json.dumps(text).encode() + b"\n" for text in piece.texts)
        if lines and cursor.texts + len(lines) <= _MOST_TEXT:
            _write(self.texts_file, cursor.texts, lines)
            cursor.texts += len(lines)
        cursor.offsets[piece.source] = piece.end
        cursor.progress = cursor.progress if piece.progress is None else piece.progress
        temporary = self.cursor_file.with_suffix(".new")
        temporary.write_text(json.dumps(asdict(cursor)), "utf-8")
        os.replace(temporary, self.cursor_file)
        self.at = cursor


def _write(path: Path, counted: int, data: bytes) -> None:
    """Write to a file after its first `counted` bytes."""
    with open(path, "ab") as file:
        file.truncate(counted)
        file.write(data)


class MetricSource(ABC):
    """Reads one source of a job's metrics, chunk by chunk. Its position is stored in the cursor under its own keys, so
    that it can be killed at any time."""

    @abstractmethod
    def has_news(self, cursor: Cursor) -> bool:
        """Return whether there may be unread data. Called several times a second."""

    @abstractmethod
    def advance(self, writer: SeriesWriter, *, ended: bool) -> bool:
        """Append new data to the series, up to the last byte if the job has ended. May block.

        Returns False if it stopped early to let other jobs proceed, and must be called again.
        """

    def notes(self) -> list[str]:
        """Return messages for the user about unreadable data."""
        return []
