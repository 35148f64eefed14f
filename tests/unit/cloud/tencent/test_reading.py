"""Replies are read whatever form the platform gives their values."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given, strategies as some

from jupyter_pai.cloud.tencent.reading import nanoseconds_of, nanoseconds_text, number_of, rows_of, text_of, time_of

MOMENT = datetime(2025, 5, 28, 10, 18, 33, tzinfo=UTC)


@pytest.mark.parametrize(
    "value",
    [
        "2025-05-28T18:18:33+08",
        "2025-05-28T18:18:33+08:00",
        "2025-05-28T10:18:33Z",
        " 2025-05-28 18:18:33 ",
        1748427513,
        1748427513.0,
    ],
)
def test_time_is_read_in_each_form(value: object) -> None:
    assert time_of(value) == MOMENT


def test_time_of_a_log_line_has_microseconds() -> None:
    assert time_of("2025-05-28T10:18:33.123456789Z") == MOMENT.replace(microsecond=123456)


def test_nanoseconds_of_a_log_line_are_kept() -> None:
    text = "2025-05-28T10:18:33.123456789Z"
    assert nanoseconds_of(text) == int(MOMENT.timestamp()) * 10**9 + 123456789
    assert nanoseconds_text(nanoseconds_of(text) or 0) == text
    assert nanoseconds_of("2025-05-28T18:18:33.5+08") == int(MOMENT.timestamp()) * 10**9 + 500_000_000
    assert nanoseconds_of("2025-05-28T18:18:33+08") == nanoseconds_of(1748427513) == int(MOMENT.timestamp()) * 10**9
    assert nanoseconds_of("soon") is None


@pytest.mark.parametrize("value", ["", None, "0001-01-01T00:00:00Z", "0000-00-00 00:00:00", 0, "soon", [], True, 1e300])
def test_other_values_are_not_a_time(value: object) -> None:
    assert time_of(value) is None


@pytest.mark.parametrize(
    ("value", "number"),
    [(3, 3.0), ("3.5", 3.5), ("", None), (None, None), (True, None), ("many", None), ("nan", None), ([3], None)],
)
def test_number_may_be_written_as_text(value: object, number: float | None) -> None:
    assert number_of(value) == number


@pytest.mark.parametrize("table", [None, "", {}, [], [None, "x", 3]])
def test_null_and_other_values_are_an_empty_table(table: object) -> None:
    assert rows_of({"Rows": table}, "Rows") == rows_of({}, "Rows") == []


def test_rows_and_texts() -> None:
    assert rows_of({"Rows": [{"A": 1}, None, {}]}, "Rows") == [{"A": 1}, {}]
    values: list[object] = ["a", 3, None, [], {}, False]
    assert [text_of(value) for value in values] == ["a", "3", "", "", "", "False"]


@given(
    some.recursive(
        some.none() | some.booleans() | some.integers() | some.floats() | some.text(),
        lambda inner: some.lists(inner, max_size=3) | some.dictionaries(some.text(), inner, max_size=3),
        max_leaves=5,
    )
)
def test_no_value_raises(value: object) -> None:
    text_of(value)
    number_of(value)
    rows_of({"Rows": value}, "Rows")
    time_of(value)
