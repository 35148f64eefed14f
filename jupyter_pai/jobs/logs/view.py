"""Pages of lines and search for a log view, of one instance or of all instances merged by time."""

from __future__ import annotations

import threading
import time
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Callable
from datetime import datetime
from typing import Any, TypeVar

from ...core.errors import UsageError
from ...core.i18n import _
from .file import LogFile
from .lines import Line, read_lines
from .merge import LineTimes, MergedOrder
from .search import LogMatches, compile_finder

# Maximum number of characters in a page.
_ROOM = 1 << 19
_SECONDS = 2.0
_BEFORE, _AROUND = 80, 240
_REMEMBERED = 8
_INSIDE_CHARACTERS = bytes(range(0x80, 0xC0))
T = TypeVar("T")
# Search text, whether it is a pattern, whether case matters.
Query = tuple[str, bool, bool]


class LogViews:
    """Cache of line counts and search results for recently viewed logs."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: OrderedDict[object, Any] = OrderedDict()

    def of(self, logs: list[LogFile], *, ended: bool) -> LogView:
        """Return a view of the logs of a job. May be slow."""
        return LogView(self, logs, ended)

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

    def __init__(self, views: LogViews, logs: list[LogFile], ended: bool) -> None:
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

    def page(self, line: int, n: int, *, before: int | None = None) -> dict[str, Any]:
        """Return up to `n` lines from `line`, or the last ones before the line `before`, as `LogPage`. Fewer if they
        are very long."""
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
        }

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
            hits = self._hits(log, query)

            def position(offset: int, k: int = k, log: LogFile = log) -> int:
                return self.order.position(k, log.line_at(offset))

            with hits.lock:
                complete &= hits.advance(until)
                unfinished = hits.last() if complete else []
                known = hits.offsets
                whole = bisect_left(known, self.order.total, key=position)
                place = bisect_left(known, line, hi=whole, key=position)
                some = known[max(place - n, 0) : place] if back else known[place : min(place + n, whole)]
            open_ones = [o for o in unfinished if position(o) < self.order.total]
            total += whole + len(open_ones)
            rank += place
            matches += [(position(offset), k, offset) for offset in some]
            for offset in open_ones:
                is_before = position(offset) < line
                rank += is_before
                if is_before == back:
                    matches.append((position(offset), k, offset))
        matches.sort()
        matches = matches[max(len(matches) - n, 0) :] if back else matches[:n]
        return {
            "total": total,
            "complete": complete,
            "first": rank - len(matches) if back else rank,
            "hits": [self._hit(*one) for one in matches],
        }

    def _hits(self, log: LogFile, query: Query) -> LogMatches:
        text, regex, case = query
        finder = compile_finder(text, regex=regex, case=case)
        return self._views.recall(("hits", log.path, query), lambda: LogMatches(log, finder))

    def _hit(self, position: int, rank: int, offset: int) -> dict[str, Any]:
        log = self.logs[rank]
        start = max(offset - _BEFORE, 0)
        before, _end, _rest = (log.read(start, offset - start)[::-1]).partition(b"\n")
        after = log.read(offset, _AROUND).partition(b"\n")[0]
        text = (before[::-1] + after).lstrip(_INSIDE_CHARACTERS).rstrip(b"\r")
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
