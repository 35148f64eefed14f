"""Pages of lists: every item once, whatever number of items the platform returns at once."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from hypothesis import given, strategies as st

from jupyter_pai.backends.pages import every_item, every_page, fetch_page, has_more


class List:
    """A list of numbers. `most`: items of a page; `clamps`: the size of a page is that; `counts`: it tells how many it
    has."""

    def __init__(self, items: int, most: int, clamps: bool = True, counts: bool = True) -> None:
        self.items, self.most, self.clamps, self.counts = list(range(items)), most, clamps, counts
        self.requests = 0

    def _total(self) -> int | None:
        self.requests += 1
        assert self.requests < 5000
        return len(self.items) if self.counts else None

    async def page(self, number: int, size: int) -> tuple[Sequence[int], int | None]:
        size = min(size, self.most) if self.clamps else size
        return self.items[(number - 1) * size : number * size][: self.most], self._total()

    async def after(self, offset: int) -> tuple[Sequence[int], int | None]:
        return self.items[offset : offset + self.most], self._total()

    async def without_pages(self, number: int, size: int) -> tuple[Sequence[int], int | None]:
        return self.items, self._total()


_LISTS = st.builds(List, st.integers(0, 400), st.sampled_from([1, 7, 50, 100]), st.booleans(), st.booleans())


@given(_LISTS)
def test_list_with_numbered_pages_is_complete(given_list: List) -> None:
    async def read() -> list[int]:
        return [item async for item in every_item(given_list.page, 100)]

    assert asyncio.run(read()) == given_list.items


@given(_LISTS)
def test_list_with_offsets_is_complete(given_list: List) -> None:
    async def read() -> list[int]:
        return [item async for page in every_page(given_list.after) for item in page]

    assert asyncio.run(read()) == given_list.items


@given(_LISTS, st.lists(st.integers(0, 120), max_size=3))
def test_list_that_grows_is_complete(given_list: List, growth: list[int]) -> None:
    async def read() -> list[int]:
        found, size = list[int](), 100
        for more in (0, *growth):
            given_list.items += range(len(given_list.items), len(given_list.items) + more)
            while True:
                page = await fetch_page(given_list.page, len(found), size)
                new, size = page.items[len(found) - page.begin :], page.size
                found += new
                if not has_more(page.end, len(new), page.total):
                    break
        return found

    assert asyncio.run(read()) == given_list.items


def test_list_without_pages_is_read_once() -> None:
    async def read() -> list[int]:
        return [item async for item in every_item(List(30, 30, counts=False).without_pages, 100)]

    assert asyncio.run(read()) == [*range(30)]
