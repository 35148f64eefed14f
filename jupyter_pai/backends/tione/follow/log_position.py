"""The position in the log of a pod, and what is new in a page of lines.

The platform lists the lines of a pod by time, and continues a list by its context. After 10,000 lines the list has to
begin anew at the time of the last line. A line may be found later than others that were written after it, so a list
that continues a complete one begins some seconds earlier. Lines that were read are known by their ids.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import NamedTuple

__all__ = ["Line", "Position", "Window", "accept", "begin", "cursor_of", "parse", "restart"]

_SECOND = 10**9
# The most lines that a position knows by their ids, and the time for which a line is expected late.
_MOST_KNOWN, _OVERLAP = 300, 30 * _SECOND
# Lines of one list.
_LIMIT = 10_000


class Line(NamedTuple):
    """A line of a log. `time` is in nanoseconds since 1970."""

    time: int
    id: str
    text: str


class Window(NamedTuple):
    """A list that is being read, from a time on. `offset`: its first lines that are left out by the platform. `skip`:
    the lines of the time `start` that are still to be left out here. `read`: the lines so far. `is_new`: one of them
    was new. `context`: empty before the first page."""

    start: int
    offset: int = 0
    skip: int = 0
    read: int = 0
    is_new: bool = False
    context: str = ""


class Tip(NamedTuple):
    """The last line in the order of the platform, and its number among those of its time, from 1; 0 for none."""

    time: int = 0
    id: str = ""
    number: int = 0


class Position(NamedTuple):
    """The position in the log of a pod.

    `known` has the times and ids of all lines from the time `floor` on that were read. `is_complete`: the job script
    has written its last line.
    """

    pod: str
    attempt: int = 1
    floor: int = 0
    known: tuple[tuple[int, str], ...] = ()
    tip: Tip = Tip()
    window: Window | None = None
    is_complete: bool = False


def begin(position: Position) -> Window:
    """Return the list to read next: the current one, or one that begins before the last line."""
    if position.window:
        return position.window
    tip = position.tip
    if tip.number and position.floor > tip.time:
        return _exact(tip)
    return Window(max(position.floor, tip.time - _OVERLAP))


def restart(position: Position, window: Window, *, is_limit: bool = False) -> Position:
    """Return the position after a list that cannot be continued. The next one begins at the last line, or earlier if
    the platform did not return that line first. `is_limit`: the list has reached its limit. If it had no new line, the
    next one would have none either, so that the rest of the lines of this time is left out."""
    tip = position.tip
    if not tip.number:
        return position._replace(window=None)
    if is_limit and not window.is_new:
        return position._replace(floor=tip.time + 1, known=(), tip=Tip(), window=None)
    if window.read or not window.offset:
        return position._replace(window=_exact(tip))
    is_known = position.floor <= tip.time
    return position._replace(window=Window(min(position.floor, tip.time), skip=0 if is_known else tip.number))


def _exact(tip: Tip) -> Window:
    """Return the list whose first line is the last one that was read."""
    return Window(tip.time, offset=tip.number - 1)


def accept(position: Position, window: Window, lines: Sequence[Line], context: str) -> tuple[list[Line], Position]:
    """Return the new lines of a page, and the position after it. `context`: that of the next page; empty for none."""
    is_first, read = not window.context, window.read + len(lines)
    tip = position.tip
    if is_first and window.offset:
        if not lines or lines[0].id != tip.id:
            return [], restart(position, window)
        lines = lines[1:]
    elif is_first:
        tip = Tip()
    ids, skip, new = {one for _time, one in position.known}, window.skip, list[Line]()
    for line in lines:
        tip = Tip(line.time, line.id, tip.number + 1 if line.time == tip.time else 1)
        if skip and line.time == window.start:
            skip -= 1
        elif line.time >= window.start and line.id not in ids:
            ids.add(line.id)
            new.append(line)
    tip = tip if tip.number else position.tip
    after = _remember(position._replace(tip=tip), new)
    if not context:
        return new, after._replace(window=None)
    next_page = window._replace(skip=skip, read=read, is_new=window.is_new or bool(new), context=context)
    after = after._replace(window=next_page)
    return new, restart(after, next_page, is_limit=True) if read >= _LIMIT else after


def _remember(position: Position, new: Sequence[Line]) -> Position:
    """Return a position that knows new lines, and no longer the oldest ones."""
    known = sorted([*position.known, *((line.time, line.id) for line in new)], key=lambda pair: pair[0])
    floor = max(position.floor, position.tip.time - _OVERLAP if position.tip.number else 0)
    if len(known) > _MOST_KNOWN:
        floor = max(floor, known[-_MOST_KNOWN - 1][0] + 1)
    return position._replace(floor=floor, known=tuple(pair for pair in known if pair[0] >= floor))


def parse(cursor: str) -> Position | None:
    """Return the position that a cursor has; None for an empty one."""
    if not cursor:
        return None
    pod, attempt, floor, known, tip, window, is_complete = json.loads(cursor)
    pairs = tuple((int(time), str(one)) for time, ids in known for one in ids)
    return Position(pod, attempt, floor, pairs, Tip(*tip), Window(*window) if window else None, is_complete)


def cursor_of(position: Position) -> str:
    """Return the cursor of a position."""
    times: dict[int, list[str]] = {}
    for time, one in position.known:
        times.setdefault(time, []).append(one)
    pod, attempt, floor, _known, tip, window, is_complete = position
    return json.dumps([pod, attempt, floor, [*times.items()], tip, window, is_complete], separators=(",", ":"))
