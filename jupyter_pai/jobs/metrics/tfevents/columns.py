"""Parsing of event files into columns of points, many records at a time.

A record consists of its length (8 bytes), a checksum of the length (4), an event, and a checksum of the event (4). Of
the events with equal length, the first is parsed individually to locate time, step, tag and value. Events with
otherwise identical bytes are decoded as columns. This repeats for the rest; events that are not a single scalar are
parsed individually.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from functools import cache
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..series import POINT
from .checksum import checksum
from .protobuf import BFLOAT16, EventRecord, read_record, width

# Bytes before an event, and before and after it.
HEADER = 12
_FRAME = 16
_LENGTH = struct.Struct("<Q")
# Number of records located individually before repetitions of their lengths are located at once.
_FEW = 64
# Maximum number of layouts per length, and of tags per layout, decoded as columns. The rest is parsed individually.
_ROUNDS = 16
# Longer events hold more than a scalar, such as images or graphs.
_LONGEST = 2048

Ints = NDArray[np.int64]


class TextEvent(NamedTuple):
    """A text written for TensorBoard."""

    tag: bytes
    step: int
    time: float
    text: str


@dataclass
class EventData:
    """The contents of the complete records in a chunk. `end` is the position after the last record.

    `points` maps tags to arrays of `series.POINT`. `needs` is the full size of the next record, 0 if unknown. `damaged`
    means that the checksum of its length is wrong.
    """

    points: dict[bytes, NDArray[np.void]] = field(default_factory=dict)
    texts: list[TextEvent] = field(default_factory=list)
    end: int = 0
    needs: int = 0
    damaged: bool = False


def read_records(data: bytes) -> EventData:
    """Parse the points and texts in a chunk of an event file that begins with a record. Invalid events in complete
    records are skipped."""
    events = EventData()
    starts, lengths = _walk(data, events)
    if len(starts):
        _Columns(data, starts, lengths).read(events)
    return events


def _walk(data: bytes, events: EventData) -> tuple[Ints, Ints]:
    """Return the positions of the records and the lengths of their events, up to the first damaged or incomplete
    record."""
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
    events.end = place if count == len(starts) else int(starts[count])
    if events.end + HEADER <= len(data):
        length = _LENGTH.unpack_from(data, events.end)[0]
        events.damaged = struct.unpack_from("<I", data, events.end + 8)[0] != _checksum(length)
        events.needs = 0 if events.damaged else length + _FRAME
    return starts[:count], lengths[:count]


def _end(data: bytes, place: int) -> int:
    """Return the position after the record at `place`."""
    return place + int(_LENGTH.unpack_from(data, place)[0]) + _FRAME


def _one_by_one(data: bytes, place: int) -> list[int]:
    """Return the positions of the next records, at most `_FEW`, and the position after the last one."""
    places = [place]
    while len(places) <= _FEW and place + HEADER <= len(data) and (place := _end(data, place)) <= len(data):
        places.append(place)
    return places


def _in_turns(data: bytes, before: list[int]) -> Ints:
    """Return the positions of the following records, as long as their lengths repeat the cycle of the preceding ones. A
    job usually writes the same tags in turn. The lengths are compared in one operation."""
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
def _checksum(length: int) -> int:
    """Return the checksum of a record's length."""
    return checksum(_LENGTH.pack(length))


def _at(data: bytes, form: str, offset: int, starts: Ints) -> NDArray[np.generic]:
    """Return the numbers at `offset` bytes after each start."""
    size = np.dtype(form).itemsize
    every = np.ndarray((len(data) - offset - size + 1,), form, data, offset, (1,))
    return every[starts]


class _Columns:
    """Collects columns: record index, tag index, time, step, value."""

    def __init__(self, data: bytes, starts: Ints, lengths: Ints) -> None:
        self.data = data + bytes(8)  # Padding for reading the last words.
        self.starts = starts
        self.lengths = lengths
        self.tags: dict[bytes, int] = {}
        self.texts: list[tuple[int, TextEvent]] = []
        self.pieces: list[tuple[NDArray[Any], ...]] = []

    def read(self, events: EventData) -> None:
        """Parse all records into `events`."""
        order = np.argsort(self.lengths, kind="stable")
        cuts = np.flatnonzero(np.diff(self.lengths[order])) + 1
        by_hand = np.concatenate([self._of_one_length(rows) for rows in np.split(order, cuts)])
        self._by_hand(np.sort(by_hand))
        events.texts = [text for _row, text in self.texts]
        if self.pieces:
            events.points = self._points()

    def _of_one_length(self, rows: Ints) -> Ints:
        """Parse records of equal length as columns. Returns the rows that need individual parsing."""
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
        """Return a mask of the records that differ from the first only in time, step, tag and value."""
        length = int(self.lengths[rows[0]])
        mask = np.zeros(-(-length // 8) * 8, np.uint8)
        mask[:length] = 0xFF
        scalar = record.scalars[0]
        mask[record.time_place : record.time_place + 8] = 0
        mask[record.step_at] = 0x80  # The continuation bits, which determine the length of the step.
        mask[scalar.tag] = 0
        mask[scalar.place : scalar.place + width(scalar.form)] = 0
        differ = np.zeros(len(rows), np.uint64)
        for n, bits in enumerate(mask.view("<u8")):
            if bits:
                words = self._words(8 * n, rows)
                differ |= (words ^ words[0]) & bits
        return np.equal(differ, 0)

    def _take(self, rows: Ints, record: EventRecord) -> None:
        """Decode records with the layout of `record`."""
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
        """Return the tag indices of records with their tag at the same place."""
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
            kinds = (np.int64, np.int64, np.float64, np.int64, np.float64)
            columns = zip(zip(*taken, strict=True), kinds, strict=True)
            self.pieces.append(tuple(np.array(column, kind) for column, kind in columns))

    def _points(self) -> dict[bytes, NDArray[np.void]]:
        rows, tags, times, steps, values = (np.concatenate(parts) for parts in zip(*self.pieces, strict=True))
        # Sort by tag, then by position. Each piece is already sorted by position, which makes the sort fast.
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
    """Return whether a record is a single scalar with a fixed-width value."""
    return bool(
        record
        and record.time_place >= 0
        and not record.texts
        and len(record.scalars) == 1
        and record.scalars[0].place >= 0
    )
