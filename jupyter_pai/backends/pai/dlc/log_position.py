"""The position in the log of a pod whose lines have neither times nor ids.

The platform returns the lines of whole seconds, at most 2,000 at once, and does not document which ones of more.
Seconds with fewer lines are complete; others are halved. It does not count the lines, and may return fewer at once: if
their number may be such a limit, they are compared with those of both halves. A line may be found some time after
others that were written later, so recent seconds are read again. Their known lines are kept as digests: a line is new
if the platform returns it more often than it is known.
"""

from __future__ import annotations

import base64
import json
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence
from hashlib import blake2b
from typing import NamedTuple

__all__ = ["LAG", "MOST", "Position", "Reading", "advance", "cursor_of", "parse"]

MOST = 2000
"""Lines that the platform returns at once."""
LAG = 30
"""Seconds for which a line is expected late."""

# Smaller limits that a service may have.
_LIMITS = (100, 200, 500, 1000)
# The most known lines: with more, the oldest seconds are not read again. Neighbours up to the second number are one.
_MOST_KNOWN, _FEW = 4000, 500
# Seconds of the first span of a log, and of the longest one. Later ones are as long as the last complete ones allow.
_FIRST, _LONGEST = 86_400, 30 * 86_400
_DIGEST, _WIDTH = 4, 6

# Fetches the lines from one Unix second to another, both included.
Fetch = Callable[[int, int], Awaitable[Sequence[str]]]


class Known(NamedTuple):
    """Seconds that are read again, both included, and the digests of their lines."""

    start: int
    end: int
    digests: tuple[str, ...]


class Position(NamedTuple):
    """The position in the log of one pod of an instance.

    `uid`: that of the pod. `next`: the first second that was not read. `length`: seconds of the next span. `known`: the
    seconds before it that are not final. `is_complete`: the job script has written its last line. `most`: the
    lines that the platform returns at once, as far as is known. `longest`: the most that it has returned.
    """

    uid: str
    attempt: int
    next: int
    length: int = _FIRST
    known: tuple[Known, ...] = ()
    is_complete: bool = False
    most: int = MOST
    longest: int = 0


class Reading(NamedTuple):
    """New lines, the position after them, the first second of the new ones, whether lines may be missing, and whether
    more can be read now."""

    lines: list[str]
    after: Position
    start: int
    is_cut: bool = False
    more: bool = False


class _Lines:
    """Fetches lines, and finds out how many the platform returns at once. `longest`: the most that it has returned."""

    def __init__(self, fetch: Fetch, most: int, longest: int) -> None:
        self._fetch, self.most, self.longest = fetch, most, longest
        # Spans whose lines are all of one second, so that they cannot be compared with those of halves.
        self._doubtful: set[tuple[int, int]] = set()

    async def __call__(self, start: int, end: int) -> Sequence[str]:
        lines = await self._fetch(start, end)
        count = len(lines)
        if self.longest <= count < self.most and count in _LIMITS:
            is_cut = await self._is_cut(start, end, count)
            self.most = count if is_cut else self.most
            if is_cut is None:
                self._doubtful.add((start, end))
        self.longest = max(self.longest, count)
        return lines

    async def _is_cut(self, start: int, end: int, count: int) -> bool | None:
        """Return whether a span has more lines than were returned; None if that cannot be known."""
        while start < end:
            middle = (start + end) // 2
            left, right = len(await self._fetch(start, middle)), len(await self._fetch(middle + 1, end))
            if left + right != count or min(left, right):
                return left + right > count
            start, end = (start, middle) if left else (middle + 1, end)
        return None

    def is_full(self, lines: Sequence[str]) -> bool:
        """Return whether the platform has more lines than these, if it has any."""
        return len(lines) >= self.most

    def may_be_cut(self, start: int, end: int, lines: Sequence[str]) -> bool:
        """Return whether a span may have more lines than these, which cannot be fetched."""
        return self.is_full(lines) or (start, end) in self._doubtful


async def advance(position: Position, fetch: Fetch, now: int, *, is_over: bool) -> Reading:
    """Read what is new. `now`: the last second in which the pod may have written a line. `is_over`: it writes no more
    lines, and no line is expected late."""
    lines_of = _Lines(fetch, position.most, position.longest)
    new, kept, is_cut, following = list[str](), list[Known](), False, position.next
    for number, known in enumerate(position.known):
        end = known.end
        if number == len(position.known) - 1 and len(known.digests) < _FEW:
            # The recent seconds and the new ones are read at once.
            end = max(end, min(now, following + position.length - 1))
            following = end + 1
        lines, parts, has_too_many = await _read_again(known, end, lines_of, now)
        new += lines
        kept += parts
        is_cut |= has_too_many
    length = position.length
    if following <= now and following == position.next:
        part = Known(following, min(following + length - 1, now), ())
        lines = [*await lines_of(part.start, part.end)]
        seconds = part.end - part.start + 1
        if lines_of.is_full(lines) and seconds > 1:
            length = seconds // 2
        else:
            following, is_cut = part.end + 1, is_cut or lines_of.may_be_cut(part.start, part.end, lines)
            length = min(max(length, seconds * 2), _LONGEST) if len(lines) < lines_of.most // 4 else length
            new += lines
            kept.append(part._replace(digests=_digests(lines)))
    recent = [] if is_over else _merged(part for part in kept if part.end > now - LAG)
    after = position._replace(next=following, length=length, known=tuple(recent), most=lines_of.most)
    after = after._replace(longest=lines_of.longest)
    start = position.known[0].start if position.known else position.next
    return Reading(new, after, start, is_cut, more=following <= now)


async def _read_again(known: Known, end: int, fetch: _Lines, now: int) -> tuple[list[str], list[Known], bool]:
    """Return the new lines from the begin of known seconds to an end, all that are known then, and whether lines may be
    missing."""
    final = now - LAG
    parts = await _complete(known.start, end, fetch) if known.start > final - LAG or final >= end else [
        *await _complete(known.start, final, fetch), *await _complete(final + 1, end, fetch),
    ]  # fmt: skip
    left, new, is_cut, found = Counter(known.digests), list[str](), False, list[Known]()
    for start, last, lines in parts:
        digests, count = _digests(lines), len(new)
        for line, digest in zip(lines, digests, strict=True):
            if left[digest]:
                left[digest] -= 1
            else:
                new.append(line)
        is_cut |= fetch.may_be_cut(start, last, lines) and len(new) > count
        found.append(Known(start, last, digests))
    found[-1] = found[-1]._replace(digests=(*found[-1].digests, *left.elements()))
    return new, found, is_cut


async def _complete(start: int, end: int, fetch: _Lines) -> list[tuple[int, int, Sequence[str]]]:
    """Return all lines of a span, in parts with fewer lines than the limit. One second cannot be halved."""
    lines = await fetch(start, end)
    if not fetch.is_full(lines) or start == end:
        return [(start, end, lines)]
    middle = (start + end) // 2
    return [*await _complete(start, middle, fetch), *await _complete(middle + 1, end, fetch)]


def _merged(parts: Iterable[Known]) -> list[Known]:
    """Return parts with few lines as one, and without the oldest ones if they have too many."""
    merged = list[Known]()
    for part in parts:
        if merged and len(merged[-1].digests) + len(part.digests) <= _FEW:
            merged[-1] = Known(merged[-1].start, part.end, (*merged[-1].digests, *part.digests))
        else:
            merged.append(part)
    while len(merged) > 1 and sum(len(part.digests) for part in merged) > _MOST_KNOWN:
        del merged[0]
    return merged


def _digests(lines: Iterable[str]) -> tuple[str, ...]:
    hashes = (blake2b(line.encode("utf-8", "replace"), digest_size=_DIGEST).digest() for line in lines)
    return tuple(base64.b64encode(digest).decode()[:_WIDTH] for digest in hashes)


def parse(cursor: str) -> Position | None:
    """Return the position that a cursor has; None for an empty one."""
    if not cursor:
        return None
    uid, attempt, following, length, known, is_complete, *most = json.loads(cursor)
    parts = (
        Known(start, end, tuple(text[place : place + _WIDTH] for place in range(0, len(text), _WIDTH)))
        for start, end, text in known
    )
    return Position(uid, attempt, following, length, tuple(parts), is_complete, *most)


def cursor_of(position: Position) -> str:
    """Return the cursor of a position."""
    uid, attempt, following, length, known, is_complete, most, longest = position
    parts = [[part.start, part.end, "".join(part.digests)] for part in known]
    return json.dumps([uid, attempt, following, length, parts, is_complete, most, longest], separators=(",", ":"))
