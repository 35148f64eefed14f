"""The log of a job on disk, one file of raw bytes per instance, and its lines for display.

Beside it are an index of times, written by the supervisor, and an index of lines: the number of line ends up to the end
of each 64 KiB block, as int64. Index entries never change, so that any process may append them, even concurrently.
"""

from __future__ import annotations

import contextlib
import math
import os
import struct
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from ...core.filesystem import read_at

_INDEX = struct.Struct("<qd")
_BLOCK = 1 << 16
# Maximum number of bytes returned for one line.
LONGEST = 1 << 12
# Seconds between two entries of the index of times.
_RESOLUTION = 0.1
INSIDE_CHARACTERS = bytes(range(0x80, 0xC0))


def instances(folder: Path, order: Sequence[str] = ()) -> list[str]:
    """Return the instances that have a log, ordered by rank. `order` has the names of a job with roles."""
    ranks = {name: rank for rank, name in enumerate(order)}
    return sorted(sizes(folder), key=lambda name: (ranks.get(name, len(ranks)), len(name), name))


def sizes(folder: Path) -> dict[str, int]:
    """Return the current size of each instance's log, in bytes."""
    try:
        with os.scandir(folder) as entries:
            logs = [entry for entry in entries if not entry.name.endswith((".index", ".lines"))]
            return {entry.name: entry.stat().st_size for entry in logs}
    except FileNotFoundError:
        return {}


class LogFile:
    """The log of one instance. Positions are byte offsets."""

    def __init__(self, folder: Path, instance: str) -> None:
        self.path = folder / instance
        self.index = folder / f"{instance}.index"
        self.line_index = folder / f"{instance}.lines"

    @property
    def size(self) -> int:
        """The current size in bytes."""
        try:
            return self.path.stat().st_size
        except FileNotFoundError:
            return 0

    def read(self, offset: int, limit: int) -> bytes:
        """Read up to `limit` bytes from `offset`. Shorter at the end of the log."""
        return read_at(self.path, offset, limit)

    def append(self, data: bytes, times: Sequence[tuple[int, float]]) -> None:
        """Append bytes. Only for the single writer of a remote job's log.

        `times` has offsets in `data` and the times of the bytes from there, in seconds since 1970. A time before that
        of earlier bytes counts as that one, since the index is searched by time.
        """
        place = self.size
        with open(self.path, "ab", opener=_private) as file:
            file.write(data)
        with open(self.index, "ab", opener=_private) as file:
            last = self.times(max(file.tell() // _INDEX.size - 1, 0))
            latest = last[-1][1] if last else -math.inf
            for offset, time in times:
                if time >= latest + _RESOLUTION:
                    file.write(_INDEX.pack(place + offset, time))
                    latest = time

    def cut(self, size: int) -> None:
        """Truncate the log to `size` bytes, with its indexes."""
        times = [noted for noted in self.times() if noted[0] < size]
        self.line_index.unlink(missing_ok=True)
        with open(self.index, "wb", opener=_private) as file:
            file.write(b"".join(_INDEX.pack(*noted) for noted in times))
        os.truncate(self.path, size)

    def last_lines(self, n: int, within: int = 0) -> int:
        """Return the offset of the last `n` lines, at most `within` bytes before the end if given."""
        end = place = self.size
        if n <= 0:
            return end
        floor = max(0, end - within) if within else 0
        missing = n
        while place > floor:
            start = max(floor, place - _BLOCK)
            block = self.read(start, place - start)
            # A line end at the very end of the log does not begin another line.
            cut = len(block) - 1 if place == end and block.endswith(b"\n") else len(block)
            lines = block.count(b"\n", 0, cut)
            if lines >= missing:
                for _ in range(missing):
                    cut = block.rindex(b"\n", 0, cut)
                return start + cut + 1
            missing -= lines
            place = start
        # Within a line. Do not split a UTF-8 character.
        head = self.read(floor, 3) if floor else b""
        return floor + len(head) - len(head.lstrip(INSIDE_CHARACTERS))

    def from_latest(self, offset: int, latest: int) -> int:
        """Return `offset`, or the offset of the first whole line in the last `latest` bytes if more bytes follow."""
        start = self.size - latest
        if start <= offset:
            return offset
        data = self.read(start, latest)
        # Within a longer line. Do not split a UTF-8 character.
        return start + (data.find(b"\n") + 1 or len(data[:3]) - len(data[:3].lstrip(INSIDE_CHARACTERS)))

    def count_lines(self) -> int:
        """Return the current number of lines, including an unfinished one. Updates the index of lines."""
        size = self.size
        return self.line_at(size) + (size > 0 and self.read(size - 1, 1) != b"\n")

    def line_at(self, offset: int) -> int:
        """Return the number of the line that contains the byte at `offset`, which is the number of line ends before
        it."""
        counts = self._line_counts()
        block = min(offset // _BLOCK, len(counts))
        before = self.read(block * _BLOCK, offset - block * _BLOCK)
        return (counts[block - 1] if block else 0) + before.count(b"\n")

    def line_offset(self, line: int) -> int:
        """Return the byte offset of a line, counted from 0, or the end of the log if it has fewer lines."""
        if line <= 0:
            return 0
        counts = self._line_counts()
        block = bisect_left(counts, line)
        left = line - (counts[block - 1] if block else 0)
        data = self.read(block * _BLOCK, _BLOCK)
        place = -1
        for _ in range(left):
            place = data.find(b"\n", place + 1)
            if place < 0:
                return block * _BLOCK + len(data)
        return block * _BLOCK + place + 1

    def _line_counts(self) -> array[int]:
        """Return the number of line ends up to the end of each complete block."""
        counts: array[int] = array("q")
        try:
            file = os.open(self.line_index, os.O_CREAT | os.O_RDWR, 0o600)
        except OSError:
            file = os.open(os.devnull, os.O_RDWR)  # The folder is missing or read-only.
        try:
            known = os.read(file, self.size // _BLOCK * counts.itemsize)
            counts.frombytes(known[: len(known) // counts.itemsize * counts.itemsize])
            begin = len(counts)
            while len(data := self.read(len(counts) * _BLOCK, _BLOCK)) == _BLOCK:
                counts.append((counts[-1] if counts else 0) + data.count(b"\n"))
            if begin < len(counts):
                with contextlib.suppress(OSError):  # The disk is full. The next call counts again.
                    os.pwrite(file, counts[begin:].tobytes(), begin * counts.itemsize)
            return counts
        finally:
            os.close(file)

    def time_at(self, offset: int) -> float | None:
        """Return the time at which the byte at `offset` arrived, in seconds since 1970, or None if unknown."""
        with contextlib.suppress(FileNotFoundError), open(self.index, "rb") as file:

            def entry(n: int) -> tuple[int, float]:
                return _INDEX.unpack(os.pread(file.fileno(), _INDEX.size, n * _INDEX.size))

            if count := os.fstat(file.fileno()).st_size // _INDEX.size:
                after = bisect_right(range(count), offset, key=lambda n: entry(n)[0])
                return entry(max(after - 1, 0))[1]
        return None

    def offset_at(self, time: float) -> int:
        """Return the offset of the first byte that arrived at or after `time`, or the end of the log."""
        times = self.times()
        entry = bisect_left(times, time, key=lambda noted: noted[1])
        return times[entry][0] if entry < len(times) else self.size

    def times(self, begin: int = 0) -> list[tuple[int, float]]:
        """Return the index of times from entry `begin`: (offset, arrival time of the bytes from there)."""
        data = read_at(self.index, begin * _INDEX.size)
        return list(_INDEX.iter_unpack(data[: len(data) // _INDEX.size * _INDEX.size]))


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def decode_prefix(data: bytes) -> tuple[str, int]:
    """Decode a chunk of log. Returns the text and the number of bytes it represents.

    An incomplete character at the end is left for the next chunk. Invalid UTF-8 becomes U+FFFD.
    """
    whole = len(data)
    for back in range(1, min(4, whole) + 1):
        byte = data[-back]
        if byte & 0b1100_0000 == 0b1000_0000:
            continue  # Within a character.
        length = 4 if byte >= 0xF0 else 3 if byte >= 0xE0 else 2 if byte >= 0xC0 else 1
        if length > back:
            whole -= back
        break
    return data[:whole].decode("utf-8", "replace"), whole


class Line(NamedTuple):
    """A line without its end. `bytes` is its full length if `text` is shortened, otherwise 0. `end` is the byte offset
    after it. `is_open` means that its end is not written yet."""

    text: str
    bytes: int
    end: int
    is_open: bool = False


def read_lines(log: LogFile, line: int, n: int) -> Iterator[Line]:
    """Read up to `n` lines, starting with number `line`."""
    place = log.line_offset(line)
    while n > 0 and (data := log.read(place, _BLOCK)):
        begin = 0
        while n > 0 and (end := data.find(b"\n", begin)) >= 0:
            yield Line(*_shown(data[begin:end]), place + end + 1)
            begin, line, n = end + 1, line + 1, n - 1
        place += begin
        if n > 0 and not begin:
            # It is longer than a chunk, or the last line. The index of lines has its end.
            after = log.line_offset(line + 1)
            shortened = _long(log, place, after)
            yield shortened
            place, line, n = shortened.end, line + 1, 0 if shortened.is_open else n - 1


def _long(log: LogFile, start: int, after: int) -> Line:
    is_open = log.read(after - 1, 1) != b"\n"
    end = after if is_open else after - 1
    if is_open:  # An incomplete character follows with the next bytes.
        last = log.read(max(end - 4, start), min(4, end - start))
        end -= len(last) - decode_prefix(last)[1]
    if end - start <= _BLOCK:
        text, size = _shown(log.read(start, end - start))
    else:
        text, size = _cut(log.read(start, LONGEST), log.read(end - LONGEST, LONGEST), end - start)
    return Line(text, size, end if is_open else after, is_open)


def _shown(data: bytes) -> tuple[str, int]:
    """Return the text of a line, and its length in bytes if the text is shortened, otherwise 0."""
    data = data.rstrip(b"\r")
    if len(data) <= LONGEST:
        return data.decode("utf-8", "replace"), 0
    start = data.rfind(b"\r") + 1
    return _cut(data[start : start + LONGEST], data[-LONGEST:], len(data))


def _cut(head: bytes, tail: bytes, size: int) -> tuple[str, int]:
    """Return the last state of a progress bar, or the beginning of another long line."""
    tail = tail.rstrip(b"\r")
    if b"\r" in tail:
        return tail[tail.index(b"\r") + 1 :].decode("utf-8", "replace"), 0
    return decode_prefix(head)[0], size
