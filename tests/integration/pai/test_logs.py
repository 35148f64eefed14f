"""Log lines from numbered pages: every line is read once and in order."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest
from hypothesis import given, strategies as st

from jupyter_pai.backends.pai.logs import LARGEST_PAGE, read_log


class Pages:
    """The log pages of the service, of at most `most` lines. `clamps`: it takes a larger size for that number, and does
    not cut the page. `counts`: it tells the number of all lines."""

    def __init__(
        self, lines: Sequence[str] = (), most: int = LARGEST_PAGE, *, clamps: bool = True, counts: bool = True
    ) -> None:
        self.lines = list(lines)
        self.requests: list[tuple[int, int]] = []
        self.most, self.clamps, self.counts = most, clamps, counts
        self.hidden = 0

    async def __call__(self, number: int, size: int) -> tuple[list[str], int | None]:
        assert number >= 1
        assert 1 <= size <= LARGEST_PAGE
        self.requests.append((number, size))
        size = min(size, self.most) if self.clamps else size
        total = len(self.lines) + self.hidden if self.counts else None
        return self.lines[(number - 1) * size : number * size][: self.most], total


def read(pages: Pages, cursor: str) -> tuple[str, str]:
    """Return all lines after a cursor, and the next cursor."""
    text = ""
    while True:
        piece = asyncio.run(read_log(pages, cursor))
        text, cursor = text + piece.data.decode(), piece.cursor
        if not piece.more:
            return text, cursor


@given(st.lists(st.integers(0, 4500), min_size=1, max_size=6), st.booleans())
def test_each_line_is_read_once(growth: list[int], alike: bool) -> None:
    pages, result, cursor = Pages(), "", ""
    for n in growth:
        pages.lines += ["the same" if alike else f"line {len(pages.lines) + i}" for i in range(n)]
        text, cursor = read(pages, cursor)
        result += text
    assert result == "".join(f"{line}\n" for line in pages.lines)


@given(
    st.lists(st.integers(0, 700), min_size=1, max_size=4),
    st.sampled_from([100, 101, 500, 2000]),
    st.booleans(),
    st.booleans(),
)
def test_each_line_is_read_once_whatever_the_service_returns_at_once(
    growth: list[int], most: int, clamps: bool, counts: bool
) -> None:
    pages, result, cursor = Pages(most=most, clamps=clamps, counts=counts), "", ""
    for n in growth:
        pages.lines += [f"line {len(pages.lines) + i}" for i in range(n)]
        text, cursor = read(pages, cursor)
        result += text
    assert result == "".join(f"{line}\n" for line in pages.lines)


@pytest.mark.parametrize("most", [100, 1000, 2000])
@pytest.mark.parametrize("clamps", [True, False])
def test_page_size_falls_to_what_was_returned(most: int, clamps: bool) -> None:
    pages = Pages([f"line {n}" for n in range(2500)], most, clamps=clamps)
    assert read(pages, "")[0].count("\n") == 2500
    assert len(pages.requests) <= 2500 / most * 1.2 + 2


def test_lines_that_the_service_counts_and_does_not_return_are_missing() -> None:
    pages = Pages([f"line {n}" for n in range(150)])
    pages.hidden = 7
    first = asyncio.run(read_log(pages, ""))
    assert (first.data.count(b"\n"), first.more) == (150, True)
    last = asyncio.run(read_log(pages, first.cursor))
    assert (last.data, last.more, last.missing) == (b"", False, 7)
    pages.hidden = 0
    assert asyncio.run(read_log(pages, last.cursor)).missing == 0


def test_long_log_needs_few_requests() -> None:
    pages = Pages([f"line {n}" for n in range(100_000)])
    text, cursor = read(pages, "")
    assert text.count("\n") == 100_000
    assert len(pages.requests) <= 102
    pages.lines.append("one more")
    before = len(pages.requests)
    assert read(pages, cursor)[0] == "one more\n"
    assert len(pages.requests) == before + 1


def test_request_repeats_few_known_lines() -> None:
    pages = Pages([f"line {n}" for n in range(40_321)])
    _text, cursor = read(pages, "")
    pages.requests.clear()
    read(pages, cursor)
    ((number, size),) = pages.requests
    assert 40_321 - (number - 1) * size < 100


def test_lines_inserted_before_known_ones_cause_no_repeats() -> None:
    pages = Pages([f"line {n}" for n in range(500)])
    _text, cursor = read(pages, "")
    pages.lines = ["the launcher's banner came late", *pages.lines, "new"]
    assert read(pages, cursor)[0] == "new\n"


def test_removed_lines_do_not_hide_new_ones() -> None:
    pages = Pages([f"line {n}" for n in range(500)])
    _text, cursor = read(pages, "")
    pages.lines = [*pages.lines[40:], "new"]
    assert read(pages, cursor)[0] == "new\n"


def test_unencodable_text_is_read() -> None:
    assert asyncio.run(read_log(Pages(["\ud83d", "é\r50%\r100%", ""]), "")).data.endswith("é\r50%\r100%\n\n".encode())
