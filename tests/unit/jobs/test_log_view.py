"""Pages of lines, merged logs, and search, compared with plain Python on the same bytes."""

from __future__ import annotations

import re
import struct
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings, strategies as st

from jupyter_pai.core.errors import UsageError
from jupyter_pai.jobs.logs.file import LONGEST, LogFile
from jupyter_pai.jobs.logs.search import ERRORS
from jupyter_pai.jobs.logs.view import LogView, LogViews, parse_time

from ...support.binary_logs import BINARY_LOGS
from ...support.fuzz import MANY

END = 1 << 60
# Each instance's log, as what came at which time.
SOME = {
    "worker-0": [(1.0, b"a0\na1\n"), (3.0, b"a2\npart"), (5.0, b" of a3\n"), (6.0, b"open")],
    "worker-1": [(2.0, b"b0\n"), (3.0, b"b1\n"), (4.0, b"b2\n")],
}


def write(folder: Path, logs: dict[str, list[tuple[float, bytes]]]) -> list[LogFile]:
    for name, pieces in logs.items():
        place = 0
        with (folder / name).open("wb") as log, (folder / f"{name}.index").open("wb") as index:
            for time, data in pieces:
                index.write(struct.pack("<qd", place, time))
                place += log.write(data)
    return [LogFile(folder, name) for name in logs]


def view_of(folder: Path, data: bytes) -> LogView:
    return LogView(LogViews(), write(folder, {"worker-0": [(1.0, data)]}), ended=True)


def whole(view: LogView) -> list[str]:
    """Return all texts, page by page, and check the last ones backwards."""
    forth: list[str] = []
    while page := view.page(len(forth), 5_000)["texts"]:
        forth += page
    place = len(forth)
    for _ in range(3):
        result = view.page(0, 700, before=place)
        assert result["line"] + len(result["texts"]) == place
        assert result["texts"] == forth[result["line"] : place]
        place = result["line"]
    return forth


@pytest.mark.parametrize("name", BINARY_LOGS)
def test_pages_of_binary_logs_are_complete(name: str, folder: Path) -> None:
    view = view_of(folder, BINARY_LOGS[name])
    lines = [line.removesuffix(b"\n") for line in re.findall(rb"[^\n]*\n|[^\n]+$", BINARY_LOGS[name])]
    texts = whole(view)
    assert (len(texts), view.page(0, 0)["lines"]) == (len(lines), len(lines))
    for number, (line, text) in enumerate(zip(lines, texts, strict=True)):
        assert len(text) <= LONGEST
        if len(line) <= LONGEST - 4 and number < len(lines) - 1:
            assert text == line.rstrip(b"\r").decode("utf-8", "replace")
    # A character that is cut off at the end is left for what comes next.
    assert 0 <= len(BINARY_LOGS[name]) - view.page(0, 5, before=END)["ends"]["worker-0"] < 4


def test_long_lines_are_cut_and_report_their_length(folder: Path) -> None:
    bar = b"\r".join(b"%6d/100000 |%s|" % (n, b"#" * (n // 2000)) for n in range(100_000))
    view = view_of(folder, b"x" * 10_000_000 + b"\n" + "中".encode() * 3_000 + b"\n" + bar + b"\nshort\n")
    page = view.page(0, 10)
    assert page["long"] == {"0": 10_000_000, "1": 9_000}
    assert page["texts"][0] == "x" * LONGEST
    assert page["texts"][1] == "中" * (LONGEST // 3)
    assert page["texts"][2].endswith(f"99999/100000 |{'#' * 49}|")
    assert page["texts"][3] == "short"
    assert view.search(("x" * 100, False, True), 0, 1)["total"] == 1


@settings(max_examples=MANY.max_examples // 10)
@given(st.lists(st.binary(max_size=6), max_size=8), st.integers(0, 30))
def test_page_end_is_the_start_of_the_stream(parts: list[bytes], cut: int) -> None:
    """A page and the text after its end are the whole log, wherever it is cut."""
    data = "行\n".encode().join(parts)
    with TemporaryDirectory() as place:
        log = LogFile(Path(place), "worker-0")
        log.path.write_bytes(data[:cut])
        page = LogView(LogViews(), [log], ended=False).page(0, 100, before=END)
        end = page["ends"]["worker-0"]
        log.path.write_bytes(data)
        text = "\n".join(page["texts"]) + ("" if page["open"] or not page["texts"] else "\n")
        shown = data[:end].decode("utf-8", "replace")
        assert re.sub("\r*(\n|$)", r"\1", text) == re.sub("\r*(\n|$)", r"\1", shown)
        assert min(cut, len(data)) - end < 4


def test_several_logs_are_merged_by_time(folder: Path) -> None:
    logs = write(folder, SOME)
    views = LogViews()
    page = LogView(views, logs, ended=False).page(0, 100)
    assert list(zip(page["instances"], page["texts"], strict=True)) == [
        ("worker-0", "a0"),
        ("worker-0", "a1"),
        ("worker-1", "b0"),
        ("worker-0", "a2"),
        ("worker-0", "part of a3"),
        ("worker-1", "b1"),
        ("worker-1", "b2"),
    ]
    assert (page["ends"], page["open"]) == ({"worker-0": 20, "worker-1": 9}, False)
    assert [LogView(views, logs, ended=False).at(moment) for moment in (0, 2.0, 2.5, 99)] == [0, 2, 3, 7]
    assert LogView(views, logs, ended=True).page(7, 5)["texts"] == ["open"]
    # Earlier lines keep their position in a growing log.
    more = {name: [*pieces, (7.0, b" end\nnext\n")] for name, pieces in SOME.items()}
    grown = LogView(views, write(folder, more), ended=False).page(0, 100)["texts"]
    assert grown[:7] == page["texts"]
    assert grown[7:] == ["open end", "next", " end", "next"]


def test_lines_have_the_times_of_their_arrival(folder: Path) -> None:
    logs = write(folder, SOME)
    views = LogViews()
    merged = LogView(views, logs, ended=False)
    assert merged.page(0, 100, times=True)["times"] == [1.0, 1.0, 2.0, 3.0, 3.0, 3.0, 4.0]
    assert merged.page(0, 2, before=6, times=True)["times"] == [3.0, 3.0]
    single = LogView(views, logs[:1], ended=True)
    assert single.page(1, 100, times=True)["times"] == [1.0, 3.0, 3.0, 6.0]
    assert single.page(0, 100)["times"] == []
    (folder / "worker-1.index").unlink()
    assert LogView(LogViews(), logs[1:], ended=True).page(0, 100, times=True)["times"] == [0.0, 0.0, 0.0]


def test_search_covers_several_logs(folder: Path) -> None:
    view = LogView(LogViews(), write(folder, SOME), ended=True)
    result = view.search(("[AB]2", True, False), 0, 10)
    assert [(hit["line"], hit["instance"], hit["text"]) for hit in result["hits"]] == [
        (3, "worker-0", "a2"),
        (6, "worker-1", "b2"),
    ]
    assert view.search(("[AB]2", True, False), 6, 1, back=True) == result | {"hits": result["hits"][:1]}
    assert view.search(("2", False, True), 4, 1) == result | {"first": 1, "hits": result["hits"][1:]}
    assert view.search(("open", False, True), 0, 1)["hits"][0]["line"] == 7


@settings(max_examples=MANY.max_examples // 10)
@given(
    st.lists(
        st.sampled_from([b"ab\n", b"\n", b"xAb ab\n", b"y" * 70_000, b"\n" * 3_000, "é Ä\n".encode()]), max_size=9
    ),
    st.sampled_from(["ab", "é", "Ä", "b a", "y"]),
    st.booleans(),
    st.booleans(),
    st.integers(0, 10_000),
)
def test_search_equals_a_search_of_each_line(parts: list[bytes], text: str, regex: bool, case: bool, line: int) -> None:
    data = b"".join(parts)
    lines = [one.decode() for one in re.findall(rb"[^\n]*\n|[^\n]+$", data)]
    wanted = [n for n, one in enumerate(lines) if re.search(text, one, 0 if case else re.IGNORECASE)]
    with TemporaryDirectory() as place:
        log = LogFile(Path(place), "worker-0")
        views = LogViews()
        for size in (len(data) // 2, len(data)):  # Also in a log that has grown since.
            log.path.write_bytes(data[:size])
            result = LogView(views, [log], ended=False).search((text, regex, case), line, 1_000)
        after = [n for n in wanted if n >= line]
        assert (result["total"], result["first"]) == (len(wanted), len(wanted) - len(after))
        assert [hit["line"] for hit in result["hits"]] == after[:1_000]
        back = LogView(views, [log], ended=False).search((text, regex, case), line, 2, back=True)
        assert [hit["line"] for hit in back["hits"]] == [n for n in wanted if n < line][-2:]


@pytest.mark.parametrize("pattern", ["(", "a(?=b)", "x" * 1_001, "", "a\nb", "(a{1000}){1000}", r"\1"])
def test_invalid_search_pattern_is_rejected(pattern: str, folder: Path) -> None:
    with pytest.raises(UsageError):
        view_of(folder, b"a\n").search((pattern, True, True), 0, 1)


def test_empty_matches_and_slow_patterns_are_handled(folder: Path) -> None:
    view = view_of(folder, b"aaaa\n\nb\n" + b"x" * 150_000)
    assert view.search(("q*", True, True), 0, 9)["total"] == 4
    assert view.search(("^$", True, True), 0, 9)["hits"][0]["line"] == 1
    assert view.search((r"a\s+b", True, True), 0, 9)["total"] == 0  # A line stands for itself.
    # Given up in time, and taken up again where it was.
    while not (result := view.search(("(.{1,100}){1,3}q$", True, True), 0, 1))["complete"]:
        pass
    assert result["total"] == 0


@pytest.mark.parametrize(
    "line",
    [
        "Traceback (most recent call last):",
        "RuntimeError: CUDA out of memory. Tried to allocate 2 GiB",
        "[rank1]: torch.cuda.OutOfMemoryError: no",
        "\x1b[31mERROR\x1b[0m something",
        "2026-11-20 14:03:00 CRITICAL it broke",
        "FAILED tests/test_x.py::test_y",
        "error: no such option",
        "bash: line 1: foo: command not found",
        "Segmentation fault (core dumped)",
        "Killed",
        "KeyboardInterruptError",
    ],
)
def test_error_pattern_matches_error_lines_only(line: str, folder: Path) -> None:
    fine = b"error=0.25 loss=1\nepoch 3 mean error 0.1\n0 errors, 3 warnings\nErrorRate: 0.5\nterror: no\n"
    result = view_of(folder, fine + line.encode() + b"\n").search((ERRORS, True, True), 0, 9)
    assert [hit["line"] for hit in result["hits"]] == [5]


def test_times_are_parsed_from_seconds_or_iso_format() -> None:
    assert (parse_time(""), parse_time("12.5"), parse_time("1970-01-01T00:01:00+00:00")) == (None, 12.5, 60.0)
    for text in ("x", "nan", "1e99", "-5", "9" * 400):
        with pytest.raises(UsageError, match="invalid time"):
            parse_time(text)
