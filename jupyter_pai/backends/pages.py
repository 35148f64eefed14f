"""Pages of a list of a platform, which may return fewer items than were requested."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Generic, NamedTuple, TypeVar

__all__ = ["Page", "Pages", "every_item", "every_page", "fetch_page", "has_more"]

T = TypeVar("T")

# Fetches a page by number (from 1) and size; returns its items, and the number of all if the platform counts them.
Pages = Callable[[int, int], Awaitable[tuple[Sequence[T], int | None]]]

# Items before the requested one that a page may have, so that its size can be chosen.
_MARGIN = 100


class Page(NamedTuple, Generic[T]):
    """A page of a list. `begin`: the number of items before it; `total`: that of all, None if unknown; `size`: the most
    items that the platform returns, as far as is known."""

    items: Sequence[T]
    begin: int
    total: int | None
    size: int

    @property
    def end(self) -> int:
        """The number of items up to the end of the page."""
        return self.begin + len(self.items)


def has_more(end: int, items: int, total: float | None) -> bool:
    """Return whether items follow a page: as the platform counts them, or else until a page is empty. The length of a
    page does not tell, since the platform may return fewer items than were requested.

    `end`: the number of items up to the end of the page; `items`: those of the page that are new.
    """
    return items > 0 and (total is None or end < total)


async def fetch_page(pages: Pages[T], first: int, size: int, *, near: bool = True) -> Page[T]:
    """Fetch the page that has the item `first` (from 0), or ends before it if the list does.

    `size`: the most items of a page, which falls to the number that the platform returned of more. A caller that reads
    on passes the size of the last page. `near`: the page begins at the item or shortly before it.
    """
    while True:
        asked = _size(first, size) if near else size
        number = first // asked
        items, total = await pages(number + 1, asked)
        page = Page(items, number * asked, total, size)
        if not 0 < len(items) < asked or not await _is_cut(pages, page):
            return page
        size = len(items)
        if not page.begin and first < page.end:
            return page._replace(size=size)


async def every_page(fetch: Callable[[int], Awaitable[tuple[Sequence[T], float | None]]]) -> AsyncIterator[Sequence[T]]:
    """Yield the pages of a list on demand. `fetch` returns the items from an offset on, and the number of all."""
    offset = 0
    before: Sequence[T] = ()
    while True:
        items, total = await fetch(offset)
        if not items or items == before:  # A list without pages always returns the same ones.
            return
        yield items
        offset, before = offset + len(items), items
        if not has_more(offset, len(items), total):
            return


async def every_item(pages: Pages[T], size: int) -> AsyncIterator[T]:
    """Yield the items of a list with numbered pages on demand. `size`: the most items of a page."""
    number = 0

    async def fetch(offset: int) -> tuple[Sequence[T], int | None]:
        nonlocal number, size
        number += 1
        items, total = await pages(number, size)
        size = min(size, len(items)) if number == 1 else size
        return items, total

    async for page in every_page(fetch):
        for item in page:
            yield item


def _size(first: int, largest: int) -> int:
    """Return the size of the page that has most items from an item on."""
    smallest = max(min(max(first, _MARGIN), largest // 2), 1)
    return max(range(largest, smallest - 1, -1), key=lambda size: size - first % size)


async def _is_cut(pages: Pages[T], page: Page[T]) -> bool:
    """Return whether the platform has more items than it returned of a page. Without a count, the next page tells."""
    if page.total is not None:
        return page.end < page.total
    return not page.begin and bool((await pages(2, len(page.items)))[0])
