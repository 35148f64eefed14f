"""What a view of a log asks: pages of lines, and where something stands. One instance's, or all of them by time."""

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

__all__ = ["LogView", "LogViews", "Query", "parse_time"]

# Of a page, not more text than this, in characters.
_ROOM = 1 << 19
_SECONDS = 2.0
_BEFORE, _AROUND = 80, 240
_REMEMBERED = 8
_INSIDE_CHARACTERS = bytes(range(0x80, 0xC0))
T = TypeVar("T")
# What is looked for; whether that is a pattern; whether case counts.
Query = tuple[str, bool, bool]


class LogViews:
    """Remembers what was counted and found in the logs that were looked at last."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: OrderedDict[object, Any] = OrderedDict()

    def of(self, logs: list[LogFile], *, ended: bool) -> LogView:
        """A view of the logs of a job. May take a moment."""
        return LogView(self, logs, ended)

    def recall(self, key: object, make: Callable[[], T]) -> T:
        """What was made for a key, if that was not long ago; else it is made now."""
        with self._lock:
            found: T = self._known.pop(key) if key in self._known else make()
            self._known[key] = found
            while len(self._known) > _REMEMBERED * 4:
                self._known.popitem(last=False)
            return found


class LogView:
    """Logs as they are now. Of one log the last line may be unfinished; of several, only whole lines are shown until
    the job has ended, so that no line moves later on."""

    def __init__(self, views: LogViews, logs: list[LogFile], ended: bool) -> None:
        self.logs = logs
        self._views = views
        self._merged = len(logs) > 1
        shows_all = ended or not self._merged
        counts = [log.count_lines() if shows_all else log.line_at(log.size) for log in logs]
        self._ends = [log.size if shows_all else log.line_offset(n) for log, n in zip(logs, counts, strict=True)]
        self.order = MergedOrder(counts, [self._stretches(log) for log in logs] if self._merged else ())

    def _stretches(self, log: LogFile) -> LineTimes:
        found, lock = self._views.recall(("times", log.path), lambda: (LineTimes(log), threading.Lock()))
        with lock:
            found.update()
        return found

    def page(self, line: int, n: int, *, before: int | None = None) -> dict[str, Any]:
        """Up to `n` lines from a line on, or the last ones before the line `before`, as `replies.LogPage`. Fewer where
        they are very long."""
        if before is None:
            first, found = line, self._read(line, n)
        else:
            before = min(before, self.order.total)
            while True:
                first = max(before - n, 0)
                found = self._read(first, before - first)
                if n <= 1 or first + len(found) >= before:
                    break
                n //= 2
        lines = [one for _rank, one in found]
        is_open = bool(lines) and lines[-1].is_open and not self._merged
        ends = {log.path.name: end for log, end in zip(self.logs, self._ends, strict=True)}
        if not self._merged and found:
            ends[self.logs[0].path.name] = lines[-1].end
        return {
            "line": first,
            "lines": max(self.order.total, first + len(lines) if found else 0),
            "texts": [one.text for one in lines],
            "long": {str(first + k): one.bytes for k, one in enumerate(lines) if one.bytes},
            "instances": [self.logs[rank].path.name for rank, _one in found] if self._merged else [],
            "ends": ends,
            "open": is_open,
        }

    def _read(self, line: int, n: int) -> list[tuple[int, Line]]:
        found: list[tuple[int, Line]] = []
        room = _ROOM
        for rank, first, count in self.order.runs(line, n):
            for one in read_lines(self.logs[rank], first, count):
                room -= len(one.text)
                if room < 0 and found:
                    return found
                found.append((rank, one))
        return found

    def at(self, moment: float) -> int:
        """The first line that came at a time, in seconds since 1970, or after it."""
        if self._merged:
            return self.order.position_at(moment)
        return min(self.logs[0].line_at(self.logs[0].offset_at(moment)), self.order.total)

    def search(self, query: Query, line: int, n: int, *, back: bool = False) -> dict[str, Any]:
        """The first `n` lines from `line` on that have what is asked for, or with `back` the last `n` before it, as
        `replies.LogHits`. What could not be looked through in time is looked through when the same is asked again."""
        until = time.monotonic() + _SECONDS
        rank = total = 0
        complete = True
        found: list[tuple[int, int, int]] = []
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
            found += [(position(offset), k, offset) for offset in some]
            for offset in open_ones:
                is_before = position(offset) < line
                rank += is_before
                if is_before == back:
                    found.append((position(offset), k, offset))
        found.sort()
        found = found[max(len(found) - n, 0) :] if back else found[:n]
        return {
            "total": total,
            "complete": complete,
            "first": rank - len(found) if back else rank,
            "hits": [self._hit(*one) for one in found],
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
    """Seconds since 1970, of a number of them or an ISO time; None for no text.

    Raises:
        UsageError: for anything else.
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
        _("at: `{text}` is no time.").format(text=text),
        fix=_("Write seconds since 1970, or a time like 2026-11-20T14:03:00+08:00."),
    )
