"""The log of an instance, out of the platform's numbered pages of lines.

PAI gives lines by pages of any size, oldest first, without times, and tells no place to go on from: the place is the
number of lines that are known. Whether a page that was read keeps its lines is not documented, so each question asks
for the last line that is known once more: if it is another one now, lines have moved, and the known ones are looked
for around it.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from hashlib import sha256

from ..reports import LogPiece

__all__ = ["LARGEST_PAGE", "Pages", "read_log"]

# The most lines that the service gives at once.
LARGEST_PAGE = 2000
_SMALLEST_PAGE = 100
# Lines whose digest is remembered, to find the place again.
_REMEMBERED = 20
# So many of them in a row are no chance.
_ENOUGH = 3
_END = "\n"

# Gives the lines of a page (its number from 1 on, its size), and how many lines there are in all, where that is told.
Pages = Callable[[int, int], Awaitable[tuple[Sequence[str], int | None]]]


async def read_log(pages: Pages, cursor: str) -> LogPiece:
    """The lines after a cursor, one page of them at most."""
    known, digests = _parse(cursor)
    number, size = _page(known)
    lines, total = await pages(number, size)
    begin = known - (number - 1) * size
    if digests and (begin > len(lines) or _digest(lines[begin - 1]) != digests[-1]):
        number, size = max(min(known, total or known) - 1, 0) // LARGEST_PAGE + 1, LARGEST_PAGE
        lines, total = await pages(number, size)
        begin = _place(lines, known - (number - 1) * size, digests)
    new, end = lines[begin:], (number - 1) * size + len(lines)
    digests = (digests + [_digest(line) for line in new[-_REMEMBERED:]])[-_REMEMBERED:]
    data = "".join(f"{line.removesuffix(_END)}\n" for line in new).encode("utf-8", "surrogatepass")
    more = len(lines) == size and (total is None or end < total)
    return LogPiece(data, json.dumps([end, digests]) if digests else "", more)


def _page(known: int) -> tuple[int, int]:
    """The page to ask for after so many lines: it begins at the last known one or little before it, since what is known
    travels again, and it is large. Its number and its size."""
    smallest = min(max(known - 1, _SMALLEST_PAGE), LARGEST_PAGE // 2)
    size = min(range(LARGEST_PAGE, smallest - 1, -1), key=lambda size: (known - 1) % size) if known else LARGEST_PAGE
    return max(known - 1, 0) // size + 1, size


def _place(lines: Sequence[str], expected: int, digests: list[str]) -> int:
    """Where in a page the new lines begin: after what is known, which lines that came or went before it have moved.

    The place nearest to the expected one where the last lines are the last known ones; else that itself.
    """
    found = [_digest(line) for line in lines]
    for end in sorted(range(1, len(found) + 1), key=lambda end: abs(end - expected)):
        tail = min(end, len(digests))
        if found[end - tail : end] == digests[-tail:] and tail >= min(_ENOUGH, len(digests)):
            return end
    return min(max(expected, 0), len(lines))


def _parse(cursor: str) -> tuple[int, list[str]]:
    if not cursor:
        return 0, []
    known, digests = json.loads(cursor)
    return int(known), list(digests)


def _digest(line: str) -> str:
    return sha256(line.encode("utf-8", "surrogatepass")).hexdigest()[:12]
