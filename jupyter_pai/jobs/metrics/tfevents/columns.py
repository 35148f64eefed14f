"""Bytes of an event file to columns of points, many records at a time.

A record is its length (8 bytes), a checksum of the length (4), an event, and a checksum of that (4). Of the events of
one length the first is read by hand; it tells where time, step, tag and value stand. Those that are the same in all
other bytes are decoded as columns; the rest goes the same way, and what is not one scalar is read by hand.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from functools import cache
from itertools import accumulate, pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..series import POINT
from .protobuf import BFLOAT16, EventRecord, read_record

__all__ = ["HEADER", "EventData", "TextEvent", "read_records"]

# Bytes before an event, and around it.
HEADER = 12
_FRAME = 16
_LENGTH = struct.Struct("<Q")
# So many records are found one by one; then those that follow in the same turns, all at once.
_FEW = 64
# So many kinds of records of one length, and tags of one kind, are told apart by columns; what is left, one by one.
_ROUNDS = 16
# Events that are longer hold more than a scalar: images, graphs.
_LONGEST = 2048

Ints = NDArray[np.int64]


class TextEvent(NamedTuple):
    """A text that a job wrote for TensorBoard."""

    tag: bytes
    step: int
    time: float
    text: str


@dataclass
class EventData:
    """What the whole records of a stretch hold. `end` is where the last of them ends in it.

    `points`: the points of each tag, arrays of `series.POINT`. `needs`: how many bytes the record after the last takes
    as a whole, 0 if that cannot be told yet. `damaged`: the checksum of its length is wrong.
    """

    points: dict[bytes, NDArray[np.void]] = field(default_factory=dict)
    texts: list[TextEvent] = field(default_factory=list)
    end: int = 0
    needs: int = 0
    damaged: bool = False


def read_records(data: bytes) -> EventData:
    """The points and texts in a stretch of event file that begins with a record. Bytes that are no events, in a record
    that is whole, are passed over."""
    found = EventData()
    starts, lengths = _walk(data, found)
    if len(starts):
        _Columns(data, starts, lengths).read(found)
    return found


def _walk(data: bytes, found: EventData) -> tuple[Ints, Ints]:
    """Where the records begin, and how long their events are; up to the first that is damaged or not whole."""
    place, whole, parts = 0, True, []
    while whole:
        few = _one_by_one(data, place)
        whole = len(few) > _FEW
        turns = _in_turns(data, few) if whole else np.zeros(0, np.int64)
        parts += [np.array(few[:-1], np.int64), turns]
        place = few[-1] if not len(turns) else _end(data, int(turns[-1]))
    starts = np.concatenate(parts)
    lengths = np.diff(starts, append=place) - _FRAME
    sums = _at(data, "<u4", 8, starts) if len(starts) else np.zeros(0, np.uint32)
    right = np.ones(len(starts), bool)
    for length in np.unique(lengths):
        right &= (lengths != length) | (sums == _checksum(int(length)))
    count = len(starts) if right.all() else int(np.argmin(right))
    found.end = place if count == len(starts) else int(starts[count])
    if found.end + HEADER <= len(data):
        length = _LENGTH.unpack_from(data, found.end)[0]
        found.damaged = struct.unpack_from("<I", data, found.end + 8)[0] != _checksum(length)
        found.needs = 0 if found.damaged else length + _FRAME
    return starts[:count], lengths[:count]


def _end(data: bytes, place: int) -> int:
    """Where the record that begins at a place ends."""
    return place + int(_LENGTH.unpack_from(data, place)[0]) + _FRAME


def _one_by_one(data: bytes, place: int) -> list[int]:
    """Where the next records begin, at most `_FEW`, and where the last of them ends."""
    places = [place]
    while len(places) <= _FEW and place + HEADER <= len(data) and (place := _end(data, place)) <= len(data):
        places.append(place)
    return places


def _in_turns(data: bytes, before: list[int]) -> Ints:
    """The same for those that follow, as far as their lengths come in the turns of those before: a job writes one tag
    after the other, again and again. All that can be are compared at once."""
    sizes = [end - start for start, end in pairwise(before)]
    turn = next((n for n in range(1, _FEW // 2 + 1) if sizes[n:] == sizes[:-n]), 0)
    offsets = list(accumulate(sizes[-turn:], initial=0))
    place, stride = before[-1], offsets.pop()
    most = (len(data) - place) // stride
    if not turn or not most:
        return np.zeros(0, np.int64)
    same = np.ones(most, bool)
    for offset, size in zip(offsets, sizes[-turn:], strict=True):
        same &= np.ndarray((most,), "<u8", data, place + offset, (stride,)) == size - _FRAME
    count = most if same.all() else int(np.argmin(same))
    starts: Ints = place + stride * np.arange(count)[:, None] + np.array(offsets)
    return starts.ravel()


@cache
def _table() -> list[int]:
    """CRC-32C of each byte."""
    table = list(range(256))
    for _ in range(8):
        table = [crc >> 1 ^ (0x82F63B78 if crc & 1 else 0) for crc in table]
    return table


def _checksum(length: int) -> int:
    """The masked CRC-32C of a record's length."""
    crc = 0xFFFFFFFF
    for byte in _LENGTH.pack(length):
        crc = _table()[(crc ^ byte) & 0xFF] ^ crc >> 8
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17 & 0xFFFFFFFF) + 0xA282EAD8) & 0xFFFFFFFF


def _at(data: bytes, form: str, offset: int, starts: Ints) -> NDArray[np.generic]:
    """The numbers that stand `offset` bytes after each start."""
    size = np.dtype(form).itemsize
    every = np.ndarray((len(data) - offset - size + 1,), form, data, offset, (1,))
    return every[starts]


class _Columns:
    """Collects columns: number of the record, number of the tag, time, step, value."""

    def __init__(self, data: bytes, starts: Ints, lengths: Ints) -> None:
        self.data = data + bytes(8)  # So that the last words can be read whole.
        self.starts = starts
        self.lengths = lengths
        self.tags: dict[bytes, int] = {}
        self.texts: list[tuple[int, TextEvent]] = []
        self.pieces: list[tuple[Ints, Ints, NDArray[np.generic], Ints, NDArray[np.generic]]] = []

    def read(self, found: EventData) -> None:
        """Read all records into `found`."""
        order = np.argsort(self.lengths, kind="stable")
        cuts = np.flatnonzero(np.diff(self.lengths[order])) + 1
        by_hand = np.concatenate([self._of_one_length(rows) for rows in np.split(order, cuts)])
        self._by_hand(np.sort(by_hand))
        found.texts = [text for _row, text in self.texts]
        if self.pieces:
            found.points = self._points()

    def _of_one_length(self, rows: Ints) -> Ints:
        """Read records of one length as columns. Those that cannot be are returned."""
        left: list[Ints] = []
        for _ in range(_ROUNDS if self.lengths[rows[0]] <= _LONGEST else 0):
            if not len(rows):
                break
            record = self._record(int(rows[0]))
            if not _is_regular(record):
                left.append(rows[:1])
                rows = rows[1:]
                continue
            assert record
            alike = self._alike(rows, record)
            self._take(rows[alike], record)
            rows = rows[~alike]
        return np.concatenate([*left, rows])

    def _record(self, row: int) -> EventRecord | None:
        start = int(self.starts[row]) + HEADER
        try:
            return read_record(self.data[start : start + int(self.lengths[row])])
        except ValueError:
            return None

    def _column(self, form: str, offset: int, rows: Ints) -> NDArray[np.generic]:
        return _at(self.data, form, HEADER + offset, self.starts[rows])

    def _words(self, offset: int, rows: Ints) -> NDArray[np.uint64]:
        return self._column("<u8", offset, rows).astype(np.uint64, copy=False)

    def _alike(self, rows: Ints, record: EventRecord) -> NDArray[np.bool_]:
        """Which records differ from the first in nothing but time, step, tag and value."""
        length = int(self.lengths[rows[0]])
        mask = np.zeros(-(-length // 8) * 8, np.uint8)
        mask[:length] = 0xFF
        scalar = record.scalars[0]
        mask[record.time_place : record.time_place + 8] = 0
        mask[record.step_at] = 0x80  # The bits that say how many bytes it takes.
        mask[scalar.tag] = 0
        mask[scalar.place : scalar.place + _width(scalar.form)] = 0
        differ = np.zeros(len(rows), np.uint64)
        for n, bits in enumerate(mask.view("<u8")):
            if bits:
                words = self._words(8 * n, rows)
                differ |= (words ^ words[0]) & bits
        return np.equal(differ, 0)

    def _take(self, rows: Ints, record: EventRecord) -> None:
        """Decode records that are laid out as this one."""
        scalar = record.scalars[0]
        step = np.zeros(len(rows), np.uint64)
        for n, place in enumerate(range(record.step_at.start, record.step_at.stop)):
            step |= (self._column("u1", place, rows).astype(np.uint64) & np.uint64(0x7F)) << np.uint64(7 * n)
        time = self._column("<f8", record.time_place, rows)
        if scalar.form == BFLOAT16:
            upper = self._column("<u2", scalar.place, rows)
            value: NDArray[np.generic] = (upper.astype(np.uint32) << np.uint32(16)).view(np.float32)
        else:
            value = self._column(f"<{scalar.form}", scalar.place, rows)
        self.pieces.append((rows, self._tags(rows, scalar.tag), time, step.view(np.int64), value))

    def _tags(self, rows: Ints, place: slice) -> Ints:
        """The numbers of the tags of records that have them at one place."""
        length = place.stop - place.start
        words = [self._words(place.start + n, rows) for n in range(0, length, 8)]
        if length % 8:
            words[-1] = words[-1] & np.uint64((1 << 8 * (length % 8)) - 1)
        numbers = np.full(len(rows), -1, np.int64)
        rest = np.arange(len(rows))
        for _ in range(_ROUNDS):
            if not len(rest):
                return numbers
            same = np.ones(len(rest), bool)
            for column in words:
                same &= column[rest] == column[rest[0]]
            numbers[rest[same]] = self._tag(int(rows[rest[0]]), place)
            rest = rest[~same]
        numbers[rest] = [self._tag(row, place) for row in rows[rest].tolist()]
        return numbers

    def _tag(self, row: int, place: slice) -> int:
        start = int(self.starts[row]) + HEADER
        return self.tags.setdefault(self.data[start + place.start : start + place.stop], len(self.tags))

    def _by_hand(self, rows: Ints) -> None:
        taken = []
        for row in rows.tolist():
            if record := self._record(row):
                start = int(self.starts[row]) + HEADER
                for tag, text in record.texts:
                    place = slice(start + tag.start, start + tag.stop)
                    self.texts.append((row, TextEvent(self.data[place], record.step, record.time, text)))
                for scalar in record.scalars:
                    taken.append((row, self._tag(row, scalar.tag), record.time, record.step, scalar.value))
        if taken:
            numbers, tags, times, steps, values = zip(*taken, strict=True)
            ints = [np.array(column, np.int64) for column in (numbers, tags, steps)]
            floats = [np.array(column, np.float64) for column in (times, values)]
            self.pieces.append((ints[0], ints[1], floats[0], ints[2], floats[1]))

    def _points(self) -> dict[bytes, NDArray[np.void]]:
        rows, tags, times, steps, values = (np.concatenate(parts) for parts in zip(*self.pieces, strict=True))
        # By tag, and within it in the order of the file. Each piece is in that order: that makes it quick.
        order = np.argsort(tags << 40 | rows, kind="stable")
        points = np.empty(len(order), POINT)
        points["time"] = np.where(np.isfinite(times), times, 0.0)[order]
        points["step"] = steps[order]
        points["value"] = values[order]
        tags = tags[order]
        starts = [0, *(np.flatnonzero(np.diff(tags)) + 1).tolist()]
        names = list(self.tags)
        parts = np.split(points, starts[1:])
        return {names[int(tags[start])]: part for start, part in zip(starts, parts, strict=True)}


def _is_regular(record: EventRecord | None) -> bool:
    """Whether a record is one scalar whose value has a place of its own."""
    return bool(
        record
        and record.time_place >= 0
        and not record.texts
        and len(record.scalars) == 1
        and record.scalars[0].place >= 0
    )


def _width(form: str) -> int:
    return 2 if form == BFLOAT16 else struct.calcsize(f"<{form}")
