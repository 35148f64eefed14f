"""Event files with scalars, for metrics of a job that TensorBoard does not find in its own event files."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..series import Columns, Series
from .checksum import checksum, checksums

# Event: wall_time = 1, step = 2, file_version = 3, summary = 5, session_log = 7. SessionLog: status = 1, START = 1.
_VERSION = b"brain.Event:2"
_TIME, _STEP, _FILE_VERSION, _SUMMARY, _SESSION_LOG = b"\x09", b"\x10", b"\x1a", b"\x2a", b"\x3a"
_START = b"\x08\x01"
# Summary: value = 1. Value: tag = 1, simple_value = 2.
_VALUE, _TAG, _SIMPLE_VALUE = b"\x0a", b"\x0a", b"\x15"
# The bytes of the longest varint. A step always takes so many, so that all records of a tag have the same layout.
_VARINT = 10
# Points written at a time.
_CHUNK = 1 << 16
_NAME = "events.out.tfevents.jupyter-pai"


class MetricEventFile:
    """An event file in a folder, with the metrics of a job that are not in the event files of its channel
    `tensorboard`.

    Only for one process at a time. Each call of `update` appends the new points. The file is created with the first
    metric.
    """

    def __init__(self, series: Series, folder: Path) -> None:
        self.series = series
        self.path = folder / _NAME
        # Source and number of points that are in the file.
        self._written: dict[str, tuple[str, int]] = {}

    def update(self) -> None:
        """Append new points. If a source has replaced another, all points are written again after a record at which
        TensorBoard forgets the earlier ones.

        Raises:
            OSError: if the file cannot be written.
        """
        metrics = self.series.cursor().outside_tensorboard()
        if not metrics and not self._written:
            return
        self.path.parent.mkdir(mode=0o700, exist_ok=True)
        with self.path.open("ab") as file:
            if not file.tell():
                # The first start of a session is not a restart.
                file.write(_record(_TIME + bytes(8) + _FILE_VERSION + _sized(_VERSION)) + _start())
            if any(not _continues(known, metrics.get(name)) for name, known in self._written.items()):
                self._written = {}
                file.write(_start())
            for name, (source, count) in metrics.items():
                start = self._written.get(name, ("", 0))[1]
                for place in range(start, count, _CHUNK):
                    file.write(scalars(name, self.series.columns(name, place, min(place + _CHUNK, count))))
                self._written[name] = source, count


def _continues(known: tuple[str, int], metric: tuple[str, int] | None) -> bool:
    return metric is not None and metric[0] == known[0] and metric[1] >= known[1]


def scalars(tag: str, points: Columns) -> bytes:
    """Return the records of some points of a metric. Values are stored as 32-bit floats, as by other writers."""
    name = _sized(tag.encode("utf-8", "replace"))
    value = _TAG + name + _SIMPLE_VALUE + bytes(4)
    event = _TIME + bytes(8) + _STEP + bytes(_VARINT) + _SUMMARY + _sized(_VALUE + _sized(value))
    rows = np.empty((len(points.step), len(event)), np.uint8)
    rows[:] = np.frombuffer(event, np.uint8)
    rows[:, 1:9] = _bytes(points.time, "<f8")
    rows[:, 10 : 10 + _VARINT] = _varints(points.step)
    with np.errstate(over="ignore"):  # Larger values become infinite.
        rows[:, -4:] = _bytes(points.value, "<f4")
    length = struct.pack("<Q", len(event))
    records = np.empty((len(rows), len(event) + 16), np.uint8)
    records[:, :12] = np.frombuffer(length + struct.pack("<I", checksum(length)), np.uint8)
    records[:, 12:-4] = rows
    records[:, -4:] = _bytes(checksums(rows), "<u4")
    return records.tobytes()


def _bytes(numbers: NDArray[np.generic], form: str) -> NDArray[np.uint8]:
    """Return the bytes of each number as a row."""
    column = np.ascontiguousarray(numbers, form)
    return column.view(np.uint8).reshape(len(column), column.itemsize)


def _varints(numbers: NDArray[np.int64]) -> NDArray[np.uint8]:
    """Return each number as a varint of the full length."""
    unsigned = numbers.astype(np.int64).view(np.uint64)
    shifts = np.arange(_VARINT, dtype=np.uint64) * np.uint64(7)
    digits = (unsigned[:, None] >> shifts & np.uint64(0x7F)).astype(np.uint8)
    digits[:, :-1] |= 0x80
    return digits


def _sized(data: bytes) -> bytes:
    """Return bytes after their length as a varint."""
    size, length = b"", len(data)
    while length >= 0x80:
        size, length = size + bytes([length & 0x7F | 0x80]), length >> 7
    return size + bytes([length]) + data


def _start() -> bytes:
    """Return the record of a start of a session, after which TensorBoard forgets all points with a step from here."""
    step = _varints(np.array([-(2**63)], np.int64)).tobytes()
    return _record(_TIME + bytes(8) + _STEP + step + _SESSION_LOG + _sized(_START))


def _record(event: bytes) -> bytes:
    length = struct.pack("<Q", len(event))
    return length + struct.pack("<I", checksum(length)) + event + struct.pack("<I", checksum(event))
