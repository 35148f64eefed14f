"""Metrics in a log: patterns, reports, offsets, and endless patterns."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from jupyter_pai.core.errors import SpecError
from jupyter_pai.jobs.metrics.log_source import LogMetricScanner, compile_pattern
from jupyter_pai.jobs.spec import MetricDefinition

from ...support.fuzz import MANY


def scanner(**patterns: str) -> LogMetricScanner:
    return LogMetricScanner(MetricDefinition(name=name, regex=pattern) for name, pattern in patterns.items())


def points(data: bytes, offset: int = 0, **patterns: str) -> list[tuple[int, str, int | None, float]]:
    return [tuple(point)[:4] for point in scanner(**patterns).scan(data, offset).points]  # type: ignore[misc]


def test_one_point_per_line_with_the_offset_of_the_line() -> None:
    data = b"epoch 1 loss=0.5 loss=9\nnothing\nepoch 2 loss=2.5e-1\n"
    assert points(data, 100, loss=r"loss=([0-9.e-]+)") == [(100, "loss", None, 0.5), (132, "loss", None, 0.25)]


def test_documented_pattern_of_pai_finds_the_last_value() -> None:
    pattern = r".*accuracy=([-+]?[0-9]*.?[0-9]+(?:[eE][-+]?[0-9]+)?).*"
    assert points(b"x accuracy=0.1 y accuracy=0.75 z\n", acc=pattern) == [(0, "acc", None, 0.75)]


def test_pattern_matches_within_a_line() -> None:
    assert points(b"loss=\n7\n", loss=r"loss=\s*(\d+)") == []
    assert points(b"loss=\nloss= 3\n", loss=r"loss=\s*(\d+)") == [(6, "loss", None, 3.0)]
    assert points(b"a 1\nb 2\n", b=r"^b (\d)$") == [(4, "b", None, 2.0)]


def test_progress_bar_updates_are_lines() -> None:
    assert points(b"\r10% loss=3\r20% loss=2\r30% loss=1\n", loss=r"loss=(\d)") == [
        (1, "loss", None, 3.0),
        (12, "loss", None, 2.0),
        (23, "loss", None, 1.0),
    ]


def test_offsets_count_bytes_not_characters() -> None:
    data = "准确率=0.5\nαβγ\xff\n准确率=0.75\n".encode() + b"\xff\xfe x\n" + "准确率=1\n".encode()
    result = points(data, acc="准确率=([0-9.]+)")
    assert [(data[place:].split(b"\n")[0].decode(), value) for place, _n, _s, value in result] == [
        ("准确率=0.5", 0.5),
        ("准确率=0.75", 0.75),
        ("准确率=1", 1.0),
    ]


def test_report_lines_give_points_and_progress() -> None:
    data = (
        b'[pai] {"metric": "loss", "value": 0.5, "step": 3}\n'
        b'45%[pai] {"metric": "loss", "value": NaN}\n'
        b'[pai] {"progress": 0.4}\n'
    )
    result = scanner().scan(data, 0)
    assert result.points[0] == (0, "loss", 3, 0.5, "report")
    assert result.points[1][:3] == (50, "loss", None)
    assert result.points[1][3] != result.points[1][3]
    assert result.progress == 0.4


@pytest.mark.parametrize(
    "line",
    [
        b"[pai] {}",
        b"[pai] {broken}",
        b'[pai] {"metric": "x"}',
        b'[pai] {"metric": "x", "value": "much"}',
        b'[pai] {"metric": "x", "value": 1, "step": 1e300}',
        b'[pai] {"metric": "x", "value": 1, "step": "a"}',
        b'[pai] {"progress": []}',
        b'[pai] {"progress": NaN}',
        b'[pai] {"metric": ' + b"[" * 100_000 + b"}",
        b'[pai] {"metric": "x", "value": 1' + b"0" * 5_000 + b"}",
        b"[pai] {" * 150_000,
    ],
)
def test_invalid_report_lines_are_ignored(line: bytes) -> None:
    result = scanner().scan(line + b'\n[pai] {"metric": "y", "value": 1}\n', 0)
    assert [point[1] for point in result.points] == ["y"]
    assert result.progress is None


def test_non_numeric_values_are_ignored() -> None:
    assert points(b"loss=abc\nloss=nan\n", loss=r"loss=(\w+)")[0][0] == 9


# Patterns and the lines on which they take for ever, or the square or cube of the lines' length.
BACKTRACKING = [
    (r"(a|aa)+$", b"a" * 60 + b"!"),
    (r"(?:a|aa|aaa)+([0-9])$", b"a" * 60 + b"!"),
    (r"(?:=|==)+([0-9])", b"=" * 400),
    (r"(\d+)*[a-z]=(?:\d+)*x", b"1" * 5_000 + b"!"),
    (r"(x+x+)+y", b"x" * 5_000),
    (r".*.*.*.*=(\d+)z", b"=" * 3_000),
]


@pytest.mark.slow("cases", first=1)
@pytest.mark.parametrize(("pattern", "line"), BACKTRACKING)
def test_endless_pattern_is_disabled_and_named(pattern: str, line: bytes) -> None:
    watched = scanner(bad=pattern, good=r"loss=(\d)")
    data = (line + b"\nloss=1\n") * (1 + 900_000 // len(line))
    result = watched.scan(data, 0)
    assert result.given_up == ["bad"]
    assert {point[1] for point in result.points} == {"good"}
    assert watched.scan(data[:1000], 0).given_up == []


def test_pattern_slow_in_each_line_is_disabled() -> None:
    """Each single search is fast, but there are many."""
    watched = scanner(slow=r"(?:a|aa)+([0-9])")
    pieces = 0
    while not watched.scan((b"a" * 16 + b"!a1\n") * 100, 0).given_up:
        pieces += 1
        assert pieces < 1_000


def test_fast_pattern_stays_enabled() -> None:
    pattern = r".*accuracy=([-+]?[0-9]*.?[0-9]+(?:[eE][-+]?[0-9]+)?).*"
    watched = scanner(acc=pattern)
    data = b"epoch 3 of 100, step 1200, loss=0.25, accuracy=0.75, 3.2 s a step\n" * 15_000
    for _ in range(10):
        result = watched.scan(data, 0)
        assert (len(result.points), result.given_up) == (15_000, [])


@pytest.mark.parametrize(
    ("pattern", "words"),
    [("loss=([0-9.", "unterminated"), ("loss=.*", "but has 0"), ("(a)(b)", "but has 2"), ("*", "nothing to repeat")],
)
def test_invalid_pattern_is_quoted_in_the_error(pattern: str, words: str) -> None:
    with pytest.raises(SpecError) as caught:
        compile_pattern(MetricDefinition(name="loss", regex=pattern))
    assert words in str(caught.value)
    assert pattern in str(caught.value)
    assert "`loss`" in str(caught.value)


def test_invalid_pattern_error_marks_the_position() -> None:
    with pytest.raises(SpecError) as caught:
        compile_pattern(MetricDefinition(name="loss", regex="abc)(x)"))
    *_rest, regex_line, caret_line = str(caught.value).splitlines()
    assert regex_line[caret_line.index("^")] == ")"


@MANY
@given(
    st.lists(st.binary(max_size=20) | st.sampled_from([b"loss=1", b"\r", b"\n", b"\xff", "中".encode()]), max_size=20)
)
def test_chunks_give_the_same_points_as_the_whole_log(parts: list[bytes]) -> None:
    data = b"".join(parts)
    whole = points(data, 0, loss=r"loss=(\d)")
    cut = data.rfind(b"\n", 0, len(data) // 2) + 1
    assert points(data[:cut], 0, loss=r"loss=(\d)") + points(data[cut:], cut, loss=r"loss=(\d)") == whole
    assert all(data[place:].startswith(data[place : place + 1]) for place, *_rest in whole)
