"""YAML of job documents: values as js-yaml 3 reads them, and writing that is read back exactly."""

from __future__ import annotations

import math
from datetime import UTC, datetime

import pytest
from hypothesis import example, given, strategies as st

from jupyter_pai.backends.openpai.protocol.reader import parse
from jupyter_pai.backends.openpai.protocol.scalars import Value, js_text
from jupyter_pai.backends.openpai.protocol.writer import write


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("yes", "yes"),
        ("on", "on"),
        ("True", True),
        ("~", None),
        ("", None),
        ("Null", None),
        ("017", 15),
        ("08", "08"),
        ("0o17", "0o17"),
        ("0b11", 3),
        ("0x1F", 31),
        ("0x_", "0x_"),
        ("1_000", 1000),
        ("1_", "1_"),
        ("-0", 0),
        ("1:30", 90),
        ("1:30.5", 90.5),
        ("1e3", 1000.0),
        ("1.5e-3", 0.0015),
        (".5", 0.5),
        (".inf", math.inf),
        ("-.inf", -math.inf),
        ("2020-01-02", datetime(2020, 1, 2, tzinfo=UTC)),
        ("2020-01-02T03:04:05.5+01:00", datetime(2020, 1, 2, 2, 4, 5, 500_000, tzinfo=UTC)),
        ("2020-02-30", datetime(2020, 3, 1, tzinfo=UTC)),
        ("2020-13-01 25:00:00", datetime(2021, 1, 2, 1, tzinfo=UTC)),
        ('"\\ud83d\\ude00"', "\N{GRINNING FACE}"),
        ("!!str 5", "5"),
        ("!!int '7'", 7),
        ("!!binary aGk=", b"hi"),
        ("'<<'", "<<"),
        ("<% $parameters.x %>", "<% $parameters.x %>"),
    ],
)
def test_scalar_has_the_value_that_the_server_reads(text: str, value: Value) -> None:
    assert parse(f"a: {text}\n").value == {"a": value}


def test_not_a_number_is_a_number() -> None:
    value = parse("[.nan]").value
    assert isinstance(value, list) and isinstance(value[0], float) and math.isnan(value[0])


def test_keys_become_texts_and_maps_are_merged() -> None:
    text = "base: &b {q: 1, r: 2}\nx:\n  q: 3\n  <<: *b\ny:\n  <<: [*b]\n  q: 4\n1: a\ntrue: b\n~: c\n1.5: d\n"
    value = parse(text).value
    assert isinstance(value, dict)
    assert (value["x"], value["y"]) == ({"q": 3, "r": 2}, {"q": 4, "r": 2})
    assert list(value)[3:] == ["1", "true", "null", "1.5"]


@pytest.mark.parametrize(
    ("text", "message", "line"),
    [
        ("b: 1\na: 1\na: 2\n", "The key `a` occurs twice.", 3),
        ("1: a\n'1': b\n", "The key `1` occurs twice.", 2),
        ("a: 1\n---\nb: 2\n", "The file has several documents.", 2),
        ("a: !!python/none x\n", "The server cannot read a value with the tag `!!python/none`.", 1),
        ("a: !mine x\n", "The server cannot read a value with the tag `!mine`.", 1),
        ("a: !!int x\n", "The server cannot read a value with the tag `!!int`.", 1),
        ("\na: &x [*x]\n", "The value contains itself.", 2),
        ("a: *x\n", "Invalid YAML: found undefined alias.", 1),
        ("<<: 5\n", "`<<` merges maps only.", 1),
        ("a: \ud800\n", "The file contains bytes that are not text.", 0),
        ("a: \0\n", "Invalid YAML: unacceptable character #x0000: control characters are not allowed.", 0),
        ("a: '\n", "Invalid YAML: found unexpected end of stream.", 2),
    ],
)
def test_error_of_the_syntax_has_its_line(text: str, message: str, line: int) -> None:
    parsed = parse(text)
    assert parsed.error
    assert (parsed.error.text, parsed.error.line, bool(parsed.error.fix)) == (message, line, True)


@pytest.mark.parametrize("text", ["[" * 900 + "]" * 900, "[" * 60_000, "- " * 20_000])
def test_deep_nesting_is_an_error_not_a_crash(text: str) -> None:
    assert parse(text).error


def test_values_have_lines() -> None:
    parsed = parse("a:\n  b:\n    - x\n    - y\n")
    assert [parsed.line(path) for path in (("a",), ("a", "b", 1), ("a", "c", "d"))] == [1, 4, 1]


_TEXTS = st.text(st.characters(codec="utf-8"))
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | _TEXTS,
    lambda inner: st.lists(inner) | st.dictionaries(_TEXTS, inner),
    max_leaves=8,
)


@given(st.dictionaries(_TEXTS, _VALUES))
@example({"a": " b\n  c \n\n", "0o17": "1e3", "d": "\n", "e": "x\r\ny\u2028z", "<<": "<<", "f": "2020-01-01"})
def test_written_document_is_read_back(document: dict[str, Value]) -> None:
    assert parse(write(document)).value == document


def test_text_of_several_lines_is_a_literal_block_and_long_lines_are_not_wrapped() -> None:
    line = "x " * 500 + "y"
    assert write({"commands": [f"{line}\nsecond\n", line]}) == f"commands:\n  - |\n    {line}\n    second\n  - {line}\n"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.0, "1"),
        (1e21, "1e+21"),
        (1e-7, "1e-7"),
        (0.00001, "0.00001"),
        (0.1, "0.1"),
        (-math.inf, "-Infinity"),
        ([1, None, ["a", True]], "1,,a,true"),
        ({"a": 1}, "[object Object]"),
    ],
)
def test_value_is_printed_as_by_javascript(value: Value, text: str) -> None:
    assert js_text(value) == text


def test_lists_that_repeat_each_other_are_not_printed() -> None:
    lines = ["l0: &l0 [x, x]", *(f"l{n}: &l{n} [*l{n - 1}, *l{n - 1}]" for n in range(1, 40))]
    value = parse("\n".join(lines)).value
    assert isinstance(value, dict)
    with pytest.raises(OverflowError):
        js_text(value["l39"])
