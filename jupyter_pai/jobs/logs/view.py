"""Pages of lines and search for a log view, of one instance or of all instances merged by arrival time.

Lines of one instance keep their order. Lines with the same recorded time stay together. Times are recorded ten times a
second.
"""

from __future__ import annotations

import threading
import time
from array import array
from bisect import bisect_left, bisect_right
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from functools import partial
from itertools import pairwise
from typing import Any, TypeVar

from ...core.errors import UsageError
from ...core.i18n import _
from .file import INSIDE_CHARACTERS, Line, LogFile, read_lines
from .search import LogMatches, compile_finder

# Maximum number of characters in a page.
_ROOM = 1 << 19
_SECONDS = 2.0
_CHUNK = 1 << 20
_BEFORE, _AROUND = 80, 240
_REMEMBERED = 8
T = TypeVar("T")
# Search text, whether it is a pattern, whether case matters.
Query = tuple[str, bool, bool]


class LogViews:
    """Cache of line counts and search results for recently viewed logs."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: OrderedDict[object, Any] = OrderedDict()

    def recall(self, key: object, make: Callable[[], T]) -> T:
        """Return the cached value of a key, or create it."""
        with self._lock:
            value: T = self._known.pop(key) if key in self._known else make()
            self._known[key] = value
            while len(self._known) > _REMEMBERED * 4:
                self._known.popitem(last=False)
            return value


class LogView:
    """The logs at one point in time. A single log may end with an unfinished line. Merged logs show only whole lines
    until the job has ended, so that lines never move."""

    def __init__(self, views: LogViews, logs: list[LogFile], *, ended: bool) -> None:
        self.logs = logs
        self._views = views
        self._merged = len(logs) > 1
        shows_all = ended or not self._merged
        counts = [log.count_lines() if shows_all else log.line_at(log.size) for log in logs]
        self._ends = [log.size if shows_all else log.line_offset(n) for log, n in zip(logs, counts, strict=True)]
        self.order = MergedOrder(counts, [self._stretches(log) for log in logs] if self._merged else ())

    def _stretches(self, log: LogFile) -> LineTimes:
        times, lock = self._views.recall(("times", log.path), lambda: (LineTimes(log), threading.Lock()))
        with lock:
            times.update()
        return times

    def page(self, line: int, n: int, *, before: int | None = None, times: bool = False) -> dict[str, Any]:
        """Return up to `n` lines from `line`, or the last ones before the line `before`, as `LogPage`. Fewer if they
        are very long. `times`: with the arrival time of each line."""
        if before is None:
            first, rows = line, self._read(line, n)
        else:
            before = min(before, self.order.total)
            while True:
                first = max(before - n, 0)
                rows = self._read(first, before - first)
                if n <= 1 or first + len(rows) >= before:
                    break
                n //= 2
        lines = [one for _rank, one in rows]
        is_open = bool(lines) and lines[-1].is_open and not self._merged
        ends = {log.path.name: end for log, end in zip(self.logs, self._ends, strict=True)}
        if not self._merged and rows:
            ends[self.logs[0].path.name] = lines[-1].end
        return {
            "line": first,
            "lines": max(self.order.total, first + len(lines) if rows else 0),
            "texts": [one.text for one in lines],
            "long": {str(first + k): one.bytes for k, one in enumerate(lines) if one.bytes},
            "instances": [self.logs[rank].path.name for rank, _one in rows] if self._merged else [],
            "ends": ends,
            "open": is_open,
            "times": self._times(first, len(rows)) if times else [],
        }

    def _times(self, line: int, n: int) -> list[float]:
        found: list[float] = []
        for rank, first, count in self.order.runs(line, n):
            known = self._stretches(self.logs[rank])
            entries = (max(bisect_right(known.lines, own) - 1, 0) for own in range(first, first + count))
            found += [known.times[entry] if known.times else 0.0 for entry in entries]
        return found

    def _read(self, line: int, n: int) -> list[tuple[int, Line]]:
        rows: list[tuple[int, Line]] = []
        room = _ROOM
        for rank, first, count in self.order.runs(line, n):
            for one in read_lines(self.logs[rank], first, count):
                room -= len(one.text)
                if room < 0 and rows:
                    return rows
                rows.append((rank, one))
        return rows

    def at(self, moment: float) -> int:
        """Return the number of the first line that arrived at or after `moment`, in seconds since 1970."""
        if self._merged:
            return self.order.position_at(moment)
        return min(self.logs[0].line_at(self.logs[0].offset_at(moment)), self.order.total)

    def search(self, query: Query, line: int, n: int, *, back: bool = False) -> dict[str, Any]:
        """Return the first `n` matching lines from `line`, or with `back` the last `n` before it, as `LogHits`. A
        search that hits the time limit continues in the next identical call."""
        until = time.monotonic() + _SECONDS
        rank = total = 0
        complete = True
        matches: list[tuple[int, int, int]] = []
        for k, log in enumerate(self.logs):
            finder = compile_finder(query[0], regex=query[1], case=query[2])
            hits = self._views.recall(("hits", log.path, query), partial(LogMatches, log, finder))

            def position(offset: int, k: int = k, log: LogFile = log) -> int:
                return self.order.position(k, log.line_at(offset))

            with hits.lock:
                complete &= hits.advance(until)
                offsets = hits.offsets + array("q", hits.last() if complete else ())
            shown = bisect_left(offsets, self.order.total, key=position)
            place = bisect_left(offsets, line, hi=shown, key=position)
            some = offsets[max(place - n, 0) : place] if back else offsets[place : min(place + n, shown)]
            total += shown
            rank += place
            matches += [(position(offset), k, offset) for offset in some]
        matches.sort()
        matches = matches[max(len(matches) - n, 0) :] if back else matches[:n]
        return {
            "total": total,
            "complete": complete,
            "first": rank - len(matches) if back else rank,
            "hits": [self._hit(*one) for one in matches],
        }

    def _hit(self, position: int, rank: int, offset: int) -> dict[str, Any]:
        log = self.logs[rank]
        start = max(offset - _BEFORE, 0)
        before, _end, _rest = (log.read(start, offset - start)[::-1]).partition(b"\n")
        after = log.read(offset, _AROUND).partition(b"\n")[0]
        text = (before[::-1] + after).lstrip(INSIDE_CHARACTERS).rstrip(b"\r")
        return {"line": position, "instance": log.path.name, "text": text.decode("utf-8", "replace")}


def parse_time(text: str) -> float | None:
    """Parse a number of seconds since 1970 or an ISO time. Returns None for an empty text.

    Raises:
        UsageError: if it is invalid.
    """
    if not text:
        return None
    try:
        moment = float(text) if text[:1].isdecimal() and "-" not in text else datetime.fromisoformat(text).timestamp()
        if moment < 1 << 62:
            return moment
    except (ValueError, OverflowError, OSError):
        pass
    raise UsageError(
        _("at: invalid time `{text}`.").format(text=text),
        fix=_("Use seconds since 1970, or an ISO time such as 2026-11-20T14:03:00+08:00."),
    )


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
        for offset, moment in self.log.times(len(self.times)):
            latest = max(latest, moment)  # A clock that was set back does not reorder lines.
            self.lines.append(self._first_line(offset))
            self.times.append(latest)

    def _first_line(self, offset: int) -> int:
        last = b""
        while self._place < offset and (data := self.log.read(self._place, min(_CHUNK, offset - self._place))):
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
            for moment, (start, end) in zip(times or (0.0,), pairwise(starts), strict=True):
                if start < end:
                    runs.append((moment, rank, start, end - start))
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
