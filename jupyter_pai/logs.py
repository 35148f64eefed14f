"""A job's log on disk: one file of bytes for each instance, as the job wrote them, and an index of their times."""

from __future__ import annotations

import os
import struct
from pathlib import Path

__all__ = ["Log", "instances", "text_of"]

_INDEX = struct.Struct("<qd")
_BLOCK = 1 << 16


def instances(folder: Path) -> list[str]:
    """The instances that have a log, in order."""
    try:
        names = os.listdir(folder)
    except FileNotFoundError:
        return []
    return sorted(name for name in names if not name.endswith(".index"))


class Log:
    """The log of one instance. Positions are byte offsets."""

    def __init__(self, folder: Path, instance: str) -> None:
        self.path = folder / instance
        self.index = folder / f"{instance}.index"

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

    def last_lines(self, n: int) -> int:
        """The offset at which the last `n` lines begin."""
        end = place = self.size
        if n <= 0:
            return end
        wanted = n
        while place > 0:
            start = max(0, place - _BLOCK)
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
        return 0

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


def text_of(data: bytes) -> tuple[str, int]:
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
