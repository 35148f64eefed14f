"""The position in a log of lines without times or ids: each line is read once, late ones and equal ones too."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings, strategies as st

from jupyter_pai.backends.pai.dlc.log_position import LAG, MOST, Position, advance, cursor_of, parse


@dataclass
class Log:
    """The lines of a pod with the seconds of their times. `last`: whether a span returns its last lines."""

    last: bool = False
    lines: list[tuple[int, str]] = field(default_factory=list)
    requests: int = 0
    most: int = MOST

    def read(self, start: int, end: int) -> list[str]:
        texts = [text for second, text in sorted(self.lines, key=lambda line: line[0]) if start <= second <= end]
        return texts[-self.most :] if self.last else texts[: self.most]


def read(log: Log, position: Position, now: int, *, is_over: bool = False) -> tuple[list[str], Position, bool]:
    """Read what there is now. Return the lines, the position, and whether lines may be missing."""
    lines, is_cut = list[str](), False

    async def fetch(start: int, end: int) -> list[str]:
        log.requests += 1
        return log.read(start, end)

    while True:
        position = parse(cursor_of(position)) or position
        reading = asyncio.run(advance(position, fetch, now, is_over=is_over))
        lines += reading.lines
        position, is_cut = reading.after, is_cut or reading.is_cut
        if not reading.more:
            return lines, position, is_cut


@pytest.mark.parametrize("last", [False, True])
def test_old_log_is_read_once_and_in_order(last: bool) -> None:
    log = Log(last, [(1000 + n // 40, f"line {n}") for n in range(20_000)])
    lines, _position, is_cut = read(log, Position("a", 1, 990), 1500 + 5, is_over=True)
    assert lines == [f"line {n}" for n in range(20_000)]
    assert (log.requests < 60, is_cut) == (True, False)


@pytest.mark.parametrize("most", [100, 1000, 2000])
@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("is_over", [False, True])
def test_log_is_complete_whatever_the_service_returns_at_once(most: int, last: bool, is_over: bool) -> None:
    log = Log(last, [(1000 + n // 90, f"line {n}") for n in range(2500)], most=most)
    lines, position, is_cut = read(log, Position("a", 1, 990), 1040, is_over=is_over)
    assert (sorted(lines), is_cut) == (sorted(f"line {n}" for n in range(2500)), False)
    assert position.most == most if most == 100 else position.most >= most
    log.lines += [(1039, f"late {n}") for n in range(30)]
    if not is_over:
        assert len(read(log, position, 1040)[0]) == 30


def test_as_many_lines_as_a_limit_may_be_all() -> None:
    log = Log(lines=[(1000 + n // 10, f"line {n}") for n in range(200)])
    lines, position, is_cut = read(log, Position("a", 1, 990), 1100, is_over=True)
    assert (len(lines), is_cut, position.most, log.requests) == (200, False, MOST, 5)


def test_second_with_as_many_lines_as_were_ever_returned_may_be_cut() -> None:
    log = Log(lines=[(1000, f"line {n}") for n in range(2500)], most=100)
    assert read(log, Position("a", 1, 990), 1100, is_over=True)[2]


@pytest.mark.parametrize("last", [False, True])
def test_equal_lines_of_one_second_are_counted(last: bool) -> None:
    log, position = Log(last), Position("a", 1, 100)
    seen = list[str]()
    for count in (3, 0, 2):
        log.lines += [(100, "same")] * count
        new, position, _cut = read(log, position, 100)
        seen += new
    assert seen == ["same"] * 5


@pytest.mark.parametrize("last", [False, True])
def test_burst_is_read_at_once(last: bool) -> None:
    log = Log(last, [(100 + n // 1500, f"line {n}") for n in range(9_000)])
    lines, position, is_cut = read(log, Position("a", 1, 99), 106)
    assert (lines, is_cut) == ([f"line {n}" for n in range(9_000)], False)
    assert len(cursor_of(position)) < 30_000
    log.lines.append((106, "more"))
    assert read(log, position, 107)[0] == ["more"]


def test_quiet_log_takes_one_request_at_a_time() -> None:
    log, position = Log(lines=[(second, f"line {second}") for second in range(100, 400)]), Position("a", 1, 99)
    seen = list[str]()
    for now in range(100, 500):
        new, position, _cut = read(log, position, now)
        seen += new
    assert seen == [f"line {second}" for second in range(100, 400)]
    assert log.requests < 440


def test_late_line_is_read_once() -> None:
    log, position = Log(lines=[(100, "a"), (110, "c")]), Position("a", 1, 100)
    first, position, *_ = read(log, position, 112)
    log.lines.append((105, "late"))
    second, position, *_ = read(log, position, 113)
    third, position, *_ = read(log, position, 113 + 3 * LAG)
    assert (first, second, third) == (["a", "c"], ["late"], [])
    assert [part.digests for part in position.known] == [()]


@pytest.mark.parametrize("last", [False, True])
def test_second_with_too_many_lines_says_so(last: bool) -> None:
    log = Log(last, [(100, f"line {n}") for n in range(MOST + 5)] + [(101, "next")])
    lines, _position, is_cut = read(log, Position("a", 1, 100), 200, is_over=True)
    assert (len(lines), lines[-1], is_cut) == (MOST + 1, "next", True)


@settings(max_examples=60)
@given(
    st.lists(
        st.tuples(st.integers(0, 9), st.sampled_from("abc"), st.integers(0, 8), st.sampled_from([1, 3, 300])),
        max_size=25,
    ),
    st.lists(st.integers(1, 40), max_size=15),
    st.booleans(),
)
def test_every_line_is_read_once(written: list[tuple[int, str, int, int]], pauses: list[int], last: bool) -> None:
    """Lines are written at seconds and found some seconds later, while the log is read at other seconds."""
    due: list[tuple[int, int, str]] = []
    now = 1000
    for gap, text, late, count in written:
        now += gap
        # Less than the limit in one second, also together with the lines of the same second before.
        due += [(now + late, now, text)] * (count if gap else 1)
    log, position, seen = Log(last), Position("a", 1, 1000), Counter[str]()
    clock = 1000
    for pause in [*pauses, 100, 500]:
        clock += pause
        log.lines = [(second, text) for found, second, text in due if found <= clock]
        new, position, is_cut = read(log, position, clock)
        assert not is_cut
        seen += Counter(new)
    assert seen == Counter(text for _found, _second, text in due)
