"""A job's metrics on disk: one append-only file of points for each metric.

A point takes 24 bytes: float64 time, int64 step, float64 value. `cursor.json` says how much of each file counts and
how far into the job's log and event files they reach; it is replaced as a whole after the points are written. A
follower that is killed in between leaves points that do not count; the next one cuts them off and reads that part
again. So nothing is lost and nothing is there twice. Texts that the job wrote for TensorBoard lie beside them, one JSON
line each, and are counted the same way.
"""

from __future__ import annotations

import json
import logging
import os
import struct
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ..events import MetricPoint

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["MOST_METRICS", "POINT", "Columns", "Cursor", "Piece", "Series", "SeriesWriter", "pack"]

_POINT = struct.Struct("<dqd")
# The same for numpy, which is loaded when it is needed and not before.
POINT = [("time", "<f8"), ("step", "<i8"), ("value", "<f8")]
# So many of them are put into columns at once: what fits into a processor's cache.
_AT_ONCE = 1 << 15
# Whose a metric is that the log gave; the others' names begin with the name of their reader.
_LOG = "log"
# More metrics than anybody looks at are a mistake: a number in a metric's name.
MOST_METRICS = 1000
# Texts are for reading: so many bytes of them are kept of a job.
_MOST_TEXT = 8 << 20

_log = logging.getLogger(__name__)


@dataclass
class Cursor:
    """How far the metrics of a job are known: bytes of each log and event file, points of each metric.

    `origins` tells of each metric what it was read from; `texts` counts bytes. `latest` has step, value and time of the
    last point: a list of jobs opens no further file.
    """

    offsets: dict[str, int] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    progress: float | None = None
    origins: dict[str, str] = field(default_factory=dict)
    texts: int = 0
    latest: dict[str, tuple[int, float, float]] = field(default_factory=dict)

    @classmethod
    def parse(cls, text: str) -> Cursor:
        """The cursor in a file.

        Raises:
            ValueError: for a text that is none.
        """
        try:
            found = cls(**json.loads(text))
            numbers = [*found.offsets.values(), *found.counts.values(), found.texts]
            if not all(isinstance(number, int) and number >= 0 for number in numbers):
                raise ValueError(f"a number that is none: {text[:200]}")
            if not isinstance(found.progress, float | int | None):
                raise ValueError(f"progress: {found.progress!r}")
            found.latest = {name: (step, value, time) for name, (step, value, time) in found.latest.items()}
            return found.copy()
        except (TypeError, AttributeError, RecursionError) as error:
            raise ValueError(str(error)) from None

    def copy(self) -> Cursor:
        return Cursor(
            dict(self.offsets), dict(self.counts), self.progress, dict(self.origins), self.texts, dict(self.latest)
        )

    def name_of(self, metric: str, origin: str = _LOG) -> str:
        """The name under which the points of a metric are kept: its own, unless another origin had it before. Then
        what it comes from is added, as in ``loss (tensorboard)``: two do not mix in one series."""
        while self._origin(metric, origin) != origin:
            metric += f" ({origin.partition('/')[0]})"
        return metric

    def _origin(self, metric: str, default: str) -> str:
        return self.origins.get(metric, _LOG if metric in self.counts else default)


@dataclass
class Piece:
    """What a reader found in a stretch of its source, which ends at byte `end`.

    `points` are packed, by the names under which they are kept (`Cursor.name_of`); `texts` are JSON objects.
    """

    source: str
    end: int
    points: Mapping[str, bytes] = field(default_factory=dict)
    origin: str = _LOG
    progress: float | None = None
    texts: Iterable[Mapping[str, object]] = ()


class Columns(NamedTuple):
    """Points as arrays of one length: int64 step, float64 value, float64 time."""

    step: NDArray[np.int64]
    value: NDArray[np.float64]
    time: NDArray[np.float64]

    def take(self, which: NDArray[np.int64] | NDArray[np.bool_] | slice) -> Columns:
        """Some of them: by their places, or by yes and no."""
        return Columns(self.step[which], self.value[which], self.time[which])


def pack(time: float, step: int, value: float) -> bytes:
    """A point as it lies in its file."""
    return _POINT.pack(time, step, value)


class Series:
    """The metrics of one job, to be read by anybody at any time."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.cursor_file = folder / "cursor.json"
        self.texts_file = folder / "texts.jsonl"

    def cursor(self) -> Cursor:
        """What counts by now. The order of the metrics is the order in which they first appeared. Nothing counts while
        the file is damaged: the job's follower heals it."""
        try:
            return Cursor.parse(self.cursor_file.read_text("utf-8"))
        except (FileNotFoundError, ValueError):
            return Cursor()

    def read(self, name: str, start: int = 0, end: int | None = None) -> list[MetricPoint]:
        """The points of a metric from index `start` up to `end`, in order; none for an unknown name."""
        counts = self.cursor().counts
        if name not in counts:
            return []
        path = self._file(list(counts).index(name))
        return _read(path, name, start, counts[name] if end is None else min(end, counts[name]))

    def columns(self, name: str, start: int = 0, end: int | None = None) -> Columns:
        """`read` for many points."""
        import numpy as np

        counts = self.cursor().counts
        stop = counts.get(name, 0) if end is None else min(end, counts.get(name, 0))
        count = max(stop - start, 0)
        found = Columns(np.empty(count, "<i8"), np.empty(count, "<f8"), np.empty(count, "<f8"))
        buffer = np.zeros(min(count, _AT_ONCE), POINT)
        if count:
            with open(self._file(list(counts).index(name)), "rb", buffering=0) as file:
                file.seek(start * _POINT.size)
                for place in range(0, count, _AT_ONCE):
                    part = buffer[: count - place]
                    file.readinto(part.view(np.uint8).data)
                    for column, kind in zip(found, Columns._fields, strict=True):
                        column[place : place + len(part)] = part[kind]
        return found

    def latest(self, cursor: Cursor | None = None) -> dict[str, MetricPoint]:
        """The last point of each metric, of those that `cursor` counts."""
        known = cursor or self.cursor()
        return {name: MetricPoint(name, *point) for name, point in known.latest.items() if name in known.counts}

    def texts(self) -> list[dict[str, Any]]:
        """The texts that the job wrote for TensorBoard: objects of tag, step, time and text."""
        if not (size := self.cursor().texts):
            return []
        with open(self.texts_file, "rb") as file:
            return [json.loads(line) for line in file.read(size).splitlines()]

    def _file(self, number: int) -> Path:
        """Files are numbered as their metrics appear: a metric may be called anything."""
        return self.folder / str(number)


def _read(path: Path, name: str, start: int, stop: int) -> list[MetricPoint]:
    if not 0 <= start < stop or not path.exists():
        return []
    with open(path, "rb") as file:
        data = os.pread(file.fileno(), (stop - start) * _POINT.size, start * _POINT.size)
    whole = data[: len(data) // _POINT.size * _POINT.size]
    return [MetricPoint(name, step, value, time) for time, step, value in _POINT.iter_unpack(whole)]


class SeriesWriter(Series):
    """The metrics of one job in the hands of its one follower. `at` is the cursor, up to date after each `append`."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.at = self._healed()
        self.is_full = False  # Whether metrics were left out: see MOST_METRICS.

    def _healed(self) -> Cursor:
        """The cursor; a new one in place of one that is damaged: then all is read again from the start."""
        try:
            cursor = Cursor.parse(self.cursor_file.read_text("utf-8"))
            for number, (name, count) in enumerate(cursor.counts.items()):
                if self._file(number).stat().st_size < count * _POINT.size:
                    raise ValueError(f"{name}: points are missing")
            if cursor.texts and self.texts_file.stat().st_size < cursor.texts:
                raise ValueError("texts are missing")
            return cursor
        except FileNotFoundError as error:
            if not self.cursor_file.exists():
                return Cursor()
            reason: Exception = error
        except ValueError as error:
            reason = error
        aside = self.cursor_file.with_suffix(".damaged")
        _log.warning("%s is damaged (%s): metrics are read again from the start; it is now %s.",
                     self.cursor_file, reason, aside.name)  # fmt: skip
        os.replace(self.cursor_file, aside)
        return Cursor()

    def claim(self, names: Iterable[str]) -> None:
        """Keep these names for metrics of the log."""
        for name in names:
            self.at.origins.setdefault(name, _LOG)

    def append(self, piece: Piece) -> None:
        """Write what a reader found, and count it. After an error, as on a full disk, nothing of it counts.

        Cuts off what an earlier follower wrote and did not count.
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
    """Add to a file of which `counted` bytes count."""
    with open(path, "ab") as file:
        file.truncate(counted)
        file.write(data)
