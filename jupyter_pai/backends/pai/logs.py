"""Reads the log of an instance from the platform's numbered pages of lines.

PAI returns lines in pages of any size, oldest first, without times or cursors: the position is the number of known
lines. It is not documented that pages keep their lines, so each request includes the last known line: if it changed,
lines have moved, and the known ones are searched around it.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from hashlib import sha256

from ..reports import LogPiece

# Maximum lines per page of the service.
LARGEST_PAGE = 2000
_SMALLEST_PAGE = 100
# Lines whose digests are kept, to find the position again.
_REMEMBERED = 20
# Consecutive matches that exclude a coincidence.
_ENOUGH = 3
_END = "\n"

# Fetches a page by number (from 1) and size; returns its lines, and the total number if known.
Pages = Callable[[int, int], Awaitable[tuple[Sequence[str], int | None]]]


async def read_log(pages: Pages, cursor: str) -> LogPiece:
    """Return the lines after a cursor, at most one page."""
    known, digests = json.loads(cursor) if cursor else (0, [])
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
    return LogPiece(
        data,
        cursor=json.dumps([end, digests]) if digests else "",
        more=len(lines) == size and (total is None or end < total),
    )


def _page(known: int) -> tuple[int, int]:
    """Return number and size of the page to fetch: large, and starting at or shortly before the last known line."""
    smallest = min(max(known - 1, _SMALLEST_PAGE), LARGEST_PAGE // 2)
    size = min(range(LARGEST_PAGE, smallest - 1, -1), key=lambda size: (known - 1) % size) if known else LARGEST_PAGE
    return max(known - 1, 0) // size + 1, size


def _place(lines: Sequence[str], expected: int, digests: list[str]) -> int:
    """Return the index of the first new line in a page, after inserted or removed lines moved the known ones.

    This is the position nearest to the expected one that follows the last known lines; else the expected one.
    """
    page = [_digest(line) for line in lines]
    for end in sorted(range(1, len(page) + 1), key=lambda end: abs(end - expected)):
        tail = min(end, len(digests))
        if page[end - tail : end] == digests[-tail:] and tail >= min(_ENOUGH, len(digests)):
            return end
    return min(max(expected, 0), len(lines))


def _digest(line: str) -> str:
    return sha256(line.encode("utf-8", "surrogatepass")).hexdigest()[:12]
