"""The lines of several logs as one: by the time at which they came, each instance's own in the order it wrote them.

A stretch of lines that came together is never taken apart: times are noted ten times a second.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import pairwise

from .file import LogFile

__all__ = ["LineTimes", "MergedOrder"]

_PIECE = 1 << 20


class LineTimes:
    """When lines of one log came: for each time that was noted, the first line that begins from then on. Remembers what
    it has counted."""

    def __init__(self, log: LogFile) -> None:
        self.log = log
        self.times = array("d")
        self.lines = array("q")
        self._place = self._ends = 0

    def update(self) -> None:
        """Take in what was noted since. May take a moment for a log that was never looked at."""
        latest = self.times[-1] if self.times else 0.0
        for offset, time in self.log.times(len(self.times)):
            latest = max(latest, time)  # A clock that was set back does not take lines out of their order.
            self.lines.append(self._first_line(offset))
            self.times.append(latest)

    def _first_line(self, offset: int) -> int:
        last = b""
        while self._place < offset and (data := self.log.read(self._place, min(_PIECE, offset - self._place))):
            self._ends += data.count(b"\n")
            self._place += len(data)
            last = data[-1:]
        return self._ends + (last not in (b"", b"\n"))


class MergedOrder:
    """Which line of which log stands where: positions count the lines of all logs together."""

    def __init__(self, counts: Sequence[int], stretches: Sequence[LineTimes] = ()) -> None:
        """`counts` are the lines of each log that are to be shown; without stretches they stand one after the other."""
        found: list[tuple[float, int, int, int]] = []
        for rank, count in enumerate(counts):
            times, begins = (stretches[rank].times, stretches[rank].lines) if stretches else ((), ())
            # What came before the first noted time belongs to it.
            starts = [0, *(min(line, count) for line in begins[1:]), count]
            for time, (start, end) in zip(times or (0.0,), pairwise(starts), strict=True):
                if start < end:
                    found.append((time, rank, start, end - start))
        found.sort()
        self.times = array("d", (time for time, *_rest in found))
        self._ranks = array("q", (rank for _time, rank, *_rest in found))
        self._firsts = array("q", (first for *_rest, first, _n in found))
        self._begins = array("q")
        self._own: list[tuple[array[int], array[int]]] = [(array("q"), array("q")) for _count in counts]
        self._counts = counts
        self.total = 0
        for _time, rank, first, n in found:
            self._own[rank][0].append(first)
            self._own[rank][1].append(self.total)
            self._begins.append(self.total)
            self.total += n

    def runs(self, position: int, n: int) -> Iterator[tuple[int, int, int]]:
        """The lines from a position on, as (log, its own line, how many of them follow each other)."""
        end = min(position + n, self.total)
        stretch = bisect_right(self._begins, position) - 1
        while position < end:
            begin = self._begins[stretch]
            after = self._begins[stretch + 1] if stretch + 1 < len(self._begins) else self.total
            taken = min(after, end) - position
            yield self._ranks[stretch], self._firsts[stretch] + position - begin, taken
            position, stretch = position + taken, stretch + 1

    def position(self, rank: int, line: int) -> int:
        """Where a log's own line stands; the end for one that is not shown yet."""
        if line >= self._counts[rank]:
            return self.total
        firsts, begins = self._own[rank]
        stretch = bisect_right(firsts, line) - 1
        return begins[stretch] + line - firsts[stretch]

    def position_at(self, time: float) -> int:
        """Where the lines begin that came at `time` or after it."""
        stretch = bisect_left(self.times, time)
        return self._begins[stretch] if stretch < len(self._begins) else self.total
