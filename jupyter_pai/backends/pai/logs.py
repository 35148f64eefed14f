"""Reads the log of an instance from the platform's numbered pages of lines.

PAI returns lines in pages, oldest first, without times or cursors: the position is the number of known lines. It is not
documented that pages keep their lines, so each request includes the last known line: if it changed, lines have moved,
and the known ones are searched around it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from hashlib import sha256

from ..pages import Pages, fetch_page, has_more
from ..reports import LogPiece

# Lines per page that are requested at first.
LARGEST_PAGE = 2000
# A smaller size is not kept for the next page: it may be that of a log which grew meanwhile.
_SMALLEST_PAGE = 100
# Lines whose digests are kept, to find the position again.
_REMEMBERED = 20
# Consecutive matches that exclude a coincidence.
_ENOUGH = 3
_END = "\n"


async def read_log(pages: Pages[str], cursor: str) -> LogPiece:
    """Return the lines after a cursor, at most one page."""
    known, digests, size = _parse(cursor)
    page = await fetch_page(pages, max(known - 1, 0), size)
    begin = known - page.begin
    if digests and (begin > len(page.items) or _digest(page.items[begin - 1]) != digests[-1]):
        last = min(known, known if page.total is None else page.total)
        page = await fetch_page(pages, max(last - 1, 0), page.size, near=False)
        begin = _place(page.items, known - page.begin, digests)
    new = page.items[begin:]
    if not new and (len(page.items) == page.size or (page.total or 0) > page.end):  # It ends with the last known line.
        page = await fetch_page(pages, page.end, page.size)
        new = page.items
    digests = (digests + [_digest(line) for line in new[-_REMEMBERED:]])[-_REMEMBERED:]
    data = "".join(f"{line.removesuffix(_END)}\n" for line in new).encode("utf-8", "surrogatepass")
    more = has_more(page.end, len(new), page.total)
    return LogPiece(
        data,
        cursor=json.dumps([page.end, digests, page.size]) if digests else "",
        more=more,
        missing=0 if more else max((page.total or 0) - page.end, 0),
    )


def _parse(cursor: str) -> tuple[int, list[str], int]:
    """Return the number of known lines, the digests of the last ones, and the size of a page."""
    known, digests, *size = json.loads(cursor) if cursor else (0, [])
    return known, digests, size[0] if size and size[0] >= _SMALLEST_PAGE else LARGEST_PAGE


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
