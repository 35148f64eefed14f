"""The metrics of a job on disk: one append-only file of points per metric, and the interface of their sources.

A point takes 24 bytes: float64 time, int64 step, float64 value. `cursor.json` holds the valid length of each file and
the read positions in the job's log and event files. It is replaced atomically after the points are written. Points
written by a killed watcher after the last update are truncated and read again, so that no point is lost or duplicated.
Texts for TensorBoard are stored the same way, one JSON object per line.

A metric has one source, the best one that has points of it: see `Source`. If a better one starts late, the points of
the other are dropped.
"""

from __future__ import annotations

import json
import logging
import os
import struct
from abc import ABC, abstractmethod
from collections.abc import Container, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, get_args

from pydantic import ConfigDict, Field, TypeAdapter

from ...core.errors import DAMAGED
from ...core.filesystem import read_at
from ..events import MetricPoint
from .detection.state import DetectorState

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_POINT = struct.Struct("<dqd")
# The dtype for numpy, which is imported on demand.
POINT = [("time", "<f8"), ("step", "<i8"), ("value", "<f8")]
# Points converted to columns at a time, sized to the CPU cache.
_AT_ONCE = 1 << 14
# The sources of a metric, best first: a pattern of the user, `report`, points of the platform, event files, detection.
Source = Literal["pattern", "report", "platform", "tensorboard", "detected"]
PATTERN, REPORT, PLATFORM, TENSORBOARD, DETECTED = _SOURCES = get_args(Source)
# The origin of the first two in older cursors.
_LOG = "log"
# More metrics are a mistake, such as a number in the metric's name.
MOST_METRICS = 1000
# Maximum size of the texts of a job, in bytes.
_MOST_TEXT = 8 << 20
# A number of bytes or points. A larger one is damage, and no file offset.
_Count = Annotated[int, Field(ge=0, le=1 << 50)]

_log = logging.getLogger(__name__)


@dataclass
class Cursor:
    """The read positions of a job's metrics: bytes of each log and event file, and number of points of each metric.

    `origins` maps each metric to its source, or to the channel and run of its event files. `files` has the number of
    each metric's file; the next metric gets `next_file`. `texts` is a size in bytes. `latest` has step, value and time
    of the last points, so that a list of jobs does not open other files. `detectors` has the context of each log.
    `expected_end` is the time of the end (Unix seconds) by the last progress bar. `processes` has the instances of
    processes that write the log of another one.
    """

    __pydantic_config__ = ConfigDict(extra="forbid")

    offsets: dict[str, _Count] = field(default_factory=dict)
    counts: dict[str, _Count] = field(default_factory=dict)
    progress: float | None = None
    origins: dict[str, str] = field(default_factory=dict)
    texts: _Count = 0
    latest: dict[str, tuple[int, float, float]] = field(default_factory=dict)
    files: dict[str, _Count] = field(default_factory=dict)
    next_file: _Count = 0
    detected_progress: float | None = None
    detectors: dict[str, DetectorState] = field(default_factory=dict)
    expected_end: float | None = None
    processes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.counts and not self.files:  # An older version numbered the files in order.
            self.files = {name: number for number, name in enumerate(self.counts)}
            self.next_file = len(self.files)

    def copy(self) -> Cursor:
        return replace(
            self,
            offsets=dict(self.offsets),
            counts=dict(self.counts),
            origins=dict(self.origins),
            latest=dict(self.latest),
            files=dict(self.files),
            detectors=dict(self.detectors),
        )

    def source(self, name: str) -> Source:
        """Return the source of a stored metric."""
        return _source(self.origins.get(name, _LOG))

    def place(self, metric: str, origin: str) -> tuple[str, int] | None:
        """Return the name under which points of a metric are stored, and the number of points that it has from this
        origin. Returns None if a better source has the metric.

        If event files of another run already use the name, the channel is appended, as in ``loss (tensorboard)``, so
        that series do not mix.
        """
        rank = _rank(origin)
        ranks = [_rank(self.origins.get(name, _LOG)) for name in self._names_of(metric)]
        if any(other < rank for other in ranks):
            return None
        name = metric
        while _rank(self.origins.get(name, origin)) == rank and self.origins.get(name, origin) != origin:
            name += f" ({origin.partition('/')[0]})"
        return name, self.counts.get(name, 0) if rank in ranks else 0

    def outside_tensorboard(self) -> dict[str, tuple[Source, int]]:
        """Return source and number of points of the metrics that are not in event files of the channel
        `tensorboard`."""
        return {
            name: (self.source(name), count)
            for name, count in self.counts.items()
            if not self.origins.get(name, _LOG).startswith(f"{TENSORBOARD}/")
        }

    def worse(self, metric: str, origin: str) -> list[str]:
        """Return the stored names of a metric that are from a worse source."""
        return [name for name in self._names_of(metric) if _rank(self.origins.get(name, _LOG)) > _rank(origin)]

    def detected(self) -> list[str]:
        """Return the detected metrics, in the order of their first appearance."""
        return [name for name in self.counts if self.source(name) == DETECTED]

    def drop(self, name: str) -> int:
        """Remove a metric. Return the number of its file."""
        del self.counts[name]
        self.origins.pop(name, None)
        self.latest.pop(name, None)
        return self.files.pop(name)

    def _names_of(self, metric: str) -> list[str]:
        """Return the stored names of a metric: its points of all instances of the job."""
        base = _base(metric, self.offsets)
        names = [base]
        if self.processes:
            base = _base(base, self.processes)
            names = [base, *(f"{base}@{process}" for process in self.processes)]
        names += [f"{name}@{instance}" for name in names for instance in self.offsets if "/" not in instance]
        return [name for name in names if name in self.counts]


def _base(name: str, instances: Container[str]) -> str:
    """Return the name of a metric without the instance."""
    base, _at, instance = name.rpartition("@")
    return base if base and instance in instances else name


def _source(origin: str) -> Source:
    if origin == _LOG:
        return "report"
    return next((source for source in _SOURCES if source == origin), "tensorboard")


def _rank(origin: str) -> int:
    """Return the rank of an origin's source; 0 is the best."""
    return _SOURCES.index(_source(origin))


_CURSOR = TypeAdapter(Cursor)


@dataclass
class Piece:
    """The metrics in a chunk of a source that ends at byte `end`.

    `points` are packed, by stored name (`Cursor.place`), and from `origin` or that in `origins`. `texts` are JSON
    objects. `detector` is the context after the chunk of a log, `expected_end` the time of the job's end by it.
    """

    source: str
    end: int
    points: Mapping[str, bytes] = field(default_factory=dict)
    origin: str = REPORT
    progress: float | None = None
    texts: Iterable[Mapping[str, object]] = ()
    origins: Mapping[str, str] = field(default_factory=dict)
    detector: DetectorState | None = None
    expected_end: float | None = None


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
        self.is_damaged = False

    def cursor(self) -> Cursor:
        """Return the current cursor. Metrics are in the order of their first appearance. A damaged file counts as empty
        until the metrics are read again; `is_damaged` is set."""
        try:
            return self._stored_cursor()
        except FileNotFoundError:
            return Cursor()
        except DAMAGED:
            self.is_damaged = True
            return Cursor()

    def _stored_cursor(self) -> Cursor:
        cursor = _CURSOR.validate_json(self.cursor_file.read_bytes(), strict=True)
        if cursor.counts.keys() != cursor.files.keys():
            raise ValueError("files are missing")
        return cursor

    def read(self, name: str, start: int = 0, end: int | None = None) -> list[MetricPoint]:
        """Return the points of a metric with index `start` up to `end`, in order. Empty for an unknown name."""
        path, count = self._points(name, start, end)
        # Empty if a better source has just replaced the points.
        data = read_at(path, start * _POINT.size, count * _POINT.size) if count else b""
        whole = data[: len(data) // _POINT.size * _POINT.size]
        return [MetricPoint(name, step, value, time) for time, step, value in _POINT.iter_unpack(whole)]

    def columns(self, name: str, start: int = 0, end: int | None = None) -> Columns:
        """Return many points as arrays."""
        import numpy as np

        path, count = self._points(name, start, end)
        # Copied as integers of the same size, all columns at once.
        columns = np.empty((3, count), "<i8")
        buffer = np.zeros((min(count, _AT_ONCE), 3), "<i8")
        if count:
            with open(path, "rb", buffering=0) as file:
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
        if not (size := min(self.cursor().texts, _MOST_TEXT)):
            return []
        texts = []
        with suppress(OSError), open(self.texts_file, "rb") as file:
            for line in file.read(size).splitlines():
                with suppress(*DAMAGED):
                    texts.append(dict(json.loads(line)))
        return texts

    def _points(self, name: str, start: int, end: int | None) -> tuple[Path, int]:
        """Return the file of a metric, and how many points of a range it has. A damaged cursor can count more."""
        cursor = self.cursor()
        path = self._file(cursor.files.get(name, 0))
        size = 0
        with suppress(FileNotFoundError):
            size = path.stat().st_size
        stop = min(cursor.counts.get(name, 0), size // _POINT.size)
        return path, max((stop if end is None else min(end, stop)) - start, 0)

    def _file(self, number: int) -> Path:
        """Files have numbers, because metric names may contain any characters. A number is used once."""
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
            cursor = self._stored_cursor()
            for name, count in cursor.counts.items():
                if self._file(cursor.files[name]).stat().st_size < count * _POINT.size:
                    raise ValueError(f"{name}: points are missing")
            if cursor.texts and self.texts_file.stat().st_size < cursor.texts:
                raise ValueError("texts are missing")
            return cursor
        except DAMAGED as error:
            aside = self.cursor_file.with_suffix(".damaged")
            _log.warning("%s is damaged (%s): metrics are read again from the start; it is now %s.",
                         self.cursor_file, error, aside.name)  # fmt: skip
            os.replace(self.cursor_file, aside)
            return Cursor()

    def name_sources(self, patterns: Container[str]) -> None:
        """Name the sources of metrics in the cursor of an older version."""
        for name in self.at.counts:
            if self.at.origins.get(name, _LOG) == _LOG:
                self.at.origins[name] = PATTERN if name in patterns else REPORT

    def append(self, piece: Piece) -> None:
        """Write the points and texts of a chunk, then the cursor. After an error, as on a full disk, none of them
        count.

        Truncates points that an earlier watcher wrote without counting them, and drops those of a worse source.
        """
        cursor = self.at.copy()
        cursor.offsets[piece.source] = piece.end
        self.folder.mkdir(parents=True, exist_ok=True)
        dropped: list[int] = []
        detected: list[str] | None = None
        for name, data in piece.points.items():
            origin = piece.origins.get(name, piece.origin)
            dropped += [cursor.drop(other) for other in cursor.worse(name, origin)]
            if name not in cursor.counts and len(cursor.counts) >= MOST_METRICS:
                self.is_full = True
                if detected is None:
                    detected = cursor.detected()
                if origin == DETECTED or not detected:
                    continue
                dropped.append(cursor.drop(detected.pop()))
            if name not in cursor.files:
                cursor.files[name], cursor.next_file = cursor.next_file, cursor.next_file + 1
            counted = cursor.counts.setdefault(name, 0)
            cursor.origins.setdefault(name, origin)
            _write(self._file(cursor.files[name]), counted * _POINT.size, data)
            cursor.counts[name] += len(data) // _POINT.size
            if data:
                time, step, value = _POINT.unpack(data[-_POINT.size :])
                cursor.latest[name] = (step, value, time)
        lines = b"".join(json.dumps(text).encode() + b"\n" for text in piece.texts)
        if lines and cursor.texts + len(lines) <= _MOST_TEXT:
            _write(self.texts_file, cursor.texts, lines)
            cursor.texts += len(lines)
        cursor.progress = cursor.progress if piece.progress is None else piece.progress
        if piece.detector:
            cursor.detectors[piece.source] = piece.detector
            if piece.detector.progress is not None:
                cursor.detected_progress = piece.detector.progress
            cursor.expected_end = piece.expected_end or cursor.expected_end
            cursor.processes = [*dict.fromkeys([*cursor.processes, *piece.detector.processes])]
        temporary = self.cursor_file.with_suffix(".new")
        # `asdict` takes ten times as long for a thousand metrics.
        detectors = {source: state.to_json() for source, state in cursor.detectors.items()}
        temporary.write_text(json.dumps(vars(cursor) | {"detectors": detectors}), "utf-8")
        os.replace(temporary, self.cursor_file)
        self.at = cursor
        for number in dropped:
            self._file(number).unlink(missing_ok=True)


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
