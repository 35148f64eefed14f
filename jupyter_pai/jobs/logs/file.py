"""A job's log on disk: one file of bytes for each instance, as the job wrote them.

Beside it are an index of times, which the supervisor writes, and one of lines: for each 64 KiB of the log, how many
line ends there are up to its end, as int64. What an entry says never changes, so whoever needs it may write it, also
two at the same time.
"""

from __future__ import annotations

import contextlib
import os
import struct
from array import array
from bisect import bisect_left
from pathlib import Path

__all__ = ["LogFile", "decode_prefix", "instances", "sizes"]

_INDEX = struct.Struct("<qd")
_BLOCK = 1 << 16
_INSIDE_CHARACTERS = bytes(range(0x80, 0xC0))


def instances(folder: Path) -> list[str]:
    """The instances that have a log, in the order of their ranks."""
    return sorted(sizes(folder), key=lambda name: (len(name), name))


def sizes(folder: Path) -> dict[str, int]:
    """The bytes that each instance's log has by now."""
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
        """Bytes that there are by now."""
        try:
            return self.path.stat().st_size
        except FileNotFoundError:
            return 0

    def read(self, offset: int, limit: int) -> bytes:
        """Up to `limit` bytes from `offset` on; fewer where there are no more yet."""
        try:
            with open(self.path, "rb") as file:
                return os.pread(file.fileno(), limit, offset)
        except FileNotFoundError:
            return b""

    def append(self, data: bytes, time: float) -> None:
        """Add bytes that came at `time`, in seconds since 1970. For who alone writes it: of a job elsewhere."""
        place = self.size
        with open(self.path, "ab", opener=_private) as file:
            file.write(data)
        with open(self.index, "ab", opener=_private) as file:
            file.write(_INDEX.pack(place, time))

    def cut(self, size: int) -> None:
        """Take away what comes after so many bytes, with the times and lines that were noted of it."""
        times = [noted for noted in self.times() if noted[0] < size]
        self.line_index.unlink(missing_ok=True)
        with open(self.index, "wb", opener=_private) as file:
            file.write(b"".join(_INDEX.pack(*noted) for noted in times))
        os.truncate(self.path, size)

    def last_lines(self, n: int, within: int = 0) -> int:
        """The offset at which the last `n` lines begin; not more than `within` bytes before the end, if given."""
        end = place = self.size
        if n <= 0:
            return end
        floor = max(0, end - within) if within else 0
        wanted = n
        while place > floor:
            start = max(floor, place - _BLOCK)
            block = self.read(start, place - start)
            # The line end at the very end of the log ends the last line; it does not begin another.
            cut = len(block) - 1 if place == end and block.endswith(b"\n") else len(block)
            found = block.count(b"\n", 0, cut)
            if found >= wanted:
                for _ in range(wanted):
                    cut = block.rindex(b"\n", 0, cut)
                return start + cut + 1
            wanted -= found
            place = start
        # In the middle of a line: not in the middle of a character as well.
        head = self.read(floor, 3) if floor else b""
        return floor + len(head) - len(head.lstrip(_INSIDE_CHARACTERS))

    def from_latest(self, offset: int, latest: int) -> int:
        """An offset; where more than `latest` bytes come after it, the one at which the last lines in so many begin."""
        start = self.size - latest
        if start <= offset:
            return offset
        data = self.read(start, latest)
        # In the middle of a line that is longer: not in the middle of a character as well.
        return start + (data.find(b"\n") + 1 or len(data[:3]) - len(data[:3].lstrip(_INSIDE_CHARACTERS)))

    def count_lines(self) -> int:
        """How many lines there are by now, the last one perhaps unfinished. Brings the index of lines up to date."""
        size = self.size
        return self.line_at(size) + (size > 0 and self.read(size - 1, 1) != b"\n")

    def line_at(self, offset: int) -> int:
        """The number of the line that the byte at `offset` belongs to: how many line ends there are before it."""
        counts = self._line_counts()
        block = min(offset // _BLOCK, len(counts))
        before = self.read(block * _BLOCK, offset - block * _BLOCK)
        return (counts[block - 1] if block else 0) + before.count(b"\n")

    def line_offset(self, line: int) -> int:
        """The byte offset at which a line begins, the first being 0; the end of the log if there are not so many."""
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
        """The line ends up to the end of each whole block."""
        counts: array[int] = array("q")
        try:
            file = os.open(self.line_index, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        except OSError:
            file = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)  # No folder, or one that may only be read.
        try:
            known = os.read(file, self.size // _BLOCK * counts.itemsize)
            counts.frombytes(known[: len(known) // counts.itemsize * counts.itemsize])
            begin = len(counts)
            while len(data := self.read(len(counts) * _BLOCK, _BLOCK)) == _BLOCK:
                counts.append((counts[-1] if counts else 0) + data.count(b"\n"))
            if begin < len(counts):
                with contextlib.suppress(OSError):  # A full disk: the next one counts again.
                    os.pwrite(file, counts[begin:].tobytes(), begin * counts.itemsize)
            return counts
        finally:
            os.close(file)

    def time_at(self, offset: int) -> float | None:
        """When the byte at `offset` came, in seconds since 1970; None if no time was noted."""
        try:
            with open(self.index, "rb") as file:
                low, high = 0, os.fstat(file.fileno()).st_size // _INDEX.size
                if not high:
                    return None
                while high - low > 1:
                    middle = (low + high) // 2
                    noted = _INDEX.unpack(os.pread(file.fileno(), _INDEX.size, middle * _INDEX.size))
                    low, high = (middle, high) if noted[0] <= offset else (low, middle)
                return float(_INDEX.unpack(os.pread(file.fileno(), _INDEX.size, low * _INDEX.size))[1])
        except FileNotFoundError:
            return None

    def offset_at(self, time: float) -> int:
        """Where the bytes begin that came at `time` or after it; the log's end if none did."""
        times = self.times()
        entry = bisect_left(times, time, key=lambda noted: noted[1])
        return times[entry][0] if entry < len(times) else self.size

    def times(self, begin: int = 0) -> list[tuple[int, float]]:
        """What was noted of times, from entry `begin` on: (offset, when the bytes from there on came)."""
        try:
            with open(self.index, "rb") as file:
                data = os.pread(file.fileno(), os.fstat(file.fileno()).st_size, begin * _INDEX.size)
        except FileNotFoundError:
            return []
        return list(_INDEX.iter_unpack(data[: len(data) // _INDEX.size * _INDEX.size]))


def _private(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_CLOEXEC, 0o600)


def decode_prefix(data: bytes) -> tuple[str, int]:
    """The text in a piece of log, and how many bytes it stands for.

    A character that is cut off at the end is left for the next piece; what is no UTF-8 becomes U+FFFD.
    """
    whole = len(data)
    for back in range(1, min(4, whole) + 1):
        byte = data[-back]
        if byte & 0b1100_0000 == 0b1000_0000:
            continue  # Inside a character.
        length = 4 if byte >= 0xF0 else 3 if byte >= 0xE0 else 2 if byte >= 0xC0 else 1
        if length > back:
            whole -= back
        break
    return data[:whole].decode("utf-8", "replace"), whole
