"""The merged lines of several logs, ordered by arrival time. Lines of one instance keep their order.

Lines with the same recorded time stay together. Times are recorded ten times a second.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import pairwise

from .file import LogFile

_PIECE = 1 << 20


class LineTimes:
    """The arrival times of lines in one log: for each recorded time, the first line that begins at or after it. Results
    are cached."""

    def __init__(self, log: LogFile) -> None:
        self.log = log
        self.times = array("d")
        self.lines = array("q")
        self._place = self._ends = 0

    def update(self) -> None:
        """Add the times recorded since the last call. Slow for a large log on the first call."""
        latest = self.times[-1] if self.times else 0.0
        for offset, time in self.log.times(len(self.times)):
            latest = max(latest, time)  # A clock that was set back does not reorder lines.
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
    """The order of lines in the merged log. Positions count the lines of all logs."""

    def __init__(self, counts: Sequence[int], stretches: Sequence[LineTimes] = ()) -> None:
        """`counts` are the numbers of lines to show of each log. Without `stretches` the logs are concatenated."""
        runs: list[tuple[float, int, int, int]] = []
        for rank, count in enumerate(counts):
            times, begins = (stretches[rank].times, stretches[rank].lines) if stretches else ((), ())
            # Lines before the first recorded time belong to it.
            starts = [0, *(min(line, count) for line in begins[1:]), count]
            for time, (start, end) in zip(times or (0.0,), pairwise(starts), strict=True):
                if start < end:
                    runs.append((time, rank, start, end - start))
        runs.sort()
        self.times = array("d", (time for time, *_rest in runs))
        self._ranks = array("q", (rank for _time, rank, *_rest in runs))
        self._firsts = array("q", (first for *_rest, first, _n in runs))
        self._begins = array("q")
        self._own: list[tuple[array[int], array[int]]] = [(array("q"), array("q")) for _count in counts]
        self._counts = counts
        self.total = 0
        for _time, rank, first, n in runs:
            self._own[rank][0].append(first)
            self._own[rank][1].append(self.total)
            self._begins.append(self.total)
            self.total += n

    def runs(self, position: int, n: int) -> Iterator[tuple[int, int, int]]:
        """Yield the lines from a position as runs of consecutive lines: (log, first line in it, number of lines)."""
        end = min(position + n, self.total)
        stretch = bisect_right(self._begins, position) - 1
        while position < end:
            begin = self._begins[stretch]
            after = self._begins[stretch + 1] if stretch + 1 < len(self._begins) else self.total
            taken = min(after, end) - position
            yield self._ranks[stretch], self._firsts[stretch] + position - begin, taken
            position, stretch = position + taken, stretch + 1

    def position(self, rank: int, line: int) -> int:
        """Return the position of a line of one log, or the end if it is not shown yet."""
        if line >= self._counts[rank]:
            return self.total
        firsts, begins = self._own[rank]
        stretch = bisect_right(firsts, line) - 1
        return begins[stretch] + line - firsts[stretch]

    def position_at(self, time: float) -> int:
        """Return the position of the first line that arrived at or after `time`."""
        stretch = bisect_left(self.times, time)
        return self._begins[stretch] if stretch < len(self._begins) else self.total
