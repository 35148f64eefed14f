"""Logs on disk: offsets, times, and boundaries of text."""

from __future__ import annotations

import itertools
import os
import re
import struct
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings, strategies as st

from jupyter_pai.jobs.logs.file import Line, LogFile, decode_prefix, instances, read_lines

from ...support.fuzz import MANY

# Bytes of a line that are shown.
LONGEST = 4_096


def make_log(folder: Path, data: bytes, *times: tuple[int, float]) -> LogFile:
    folder.mkdir(exist_ok=True)
    (folder / "worker-0").write_bytes(data)
    (folder / "worker-0.index").write_bytes(b"".join(struct.pack("<qd", *entry) for entry in times))
    return LogFile(folder, "worker-0")


def test_reads_are_by_offset(folder: Path) -> None:
    log = make_log(folder, b"0123456789")
    assert log.size == 10
    assert log.read(3, 4) == b"3456"
    assert log.read(8, 100) == b"89"
    assert log.read(100, 1) == b""


def test_missing_log_is_empty(folder: Path) -> None:
    log = LogFile(folder / "nowhere", "worker-0")
    assert (log.size, log.read(0, 10), log.last_lines(5), log.time_at(0)) == (0, b"", 0, None)
    assert instances(folder / "nowhere") == []


@MANY
@given(data=st.lists(st.sampled_from([b"\n", b"ab", b"x" * 70_000]), max_size=12), n=st.integers(0, 6))
def test_last_lines_start_at_the_right_offset(data: list[bytes], n: int) -> None:
    text = b"".join(data)
    with TemporaryDirectory() as folder:
        log = make_log(Path(folder), text)
        lines = re.findall(rb"[^\n]*\n|[^\n]+$", text)
        assert log.read(log.last_lines(n), 10**7) == b"".join(lines[-n:] if n else [])


def inside_character(byte: int) -> bool:
    return 0x80 <= byte < 0xC0


@MANY
@given(
    data=st.lists(st.sampled_from(["\n", "ab", "\x80¿", "行", "\U0001f600"]), max_size=30).map("".join),
    n=st.integers(0, 6),
    within=st.integers(1, 60),
)
def test_last_lines_are_limited_to_the_last_bytes(data: str, n: int, within: int) -> None:
    text = data.encode()
    with TemporaryDirectory() as folder:
        log = make_log(Path(folder), text)
        start = log.last_lines(n, within)
        first = log.last_lines(n)
        if first >= len(text) - within:
            assert start == first
        else:
            assert start - (len(text) - within) in range(4)
            assert not text[start:] or not inside_character(text[start])
            assert all(map(inside_character, text[len(text) - within : start]))


@MANY
@given(
    data=st.lists(st.sampled_from(["\n", "ab", "\x80¿", "行", "\U0001f600"]), max_size=30).map("".join),
    offset=st.integers(0, 60),
    latest=st.integers(1, 60),
)
def test_latest_bytes_start_at_the_first_whole_line(data: str, offset: int, latest: int) -> None:
    text = data.encode()
    with TemporaryDirectory() as folder:
        start = make_log(Path(folder), text).from_latest(offset, latest)
    if len(text) - latest <= offset:
        assert start == offset
        return
    skipped = text[len(text) - latest : start]
    if b"\n" in text[len(text) - latest :]:
        assert skipped.count(b"\n") == 1 and skipped.endswith(b"\n")
    else:
        assert all(map(inside_character, skipped)) and not (text[start:] and inside_character(text[start]))


def test_latest_bytes_start_at_a_line_or_character(folder: Path) -> None:
    log = make_log(folder, "eins\nzwei\nüüü".encode())
    assert [log.from_latest(3, n) for n in (100, 13, 12, 6)] == [3, 3, 5, 10]
    # In the middle of a line, not of a character.
    assert [log.from_latest(0, n) for n in (5, 4, 3)] == [12, 12, 14]
    assert log.from_latest(40, 5) == 40


def test_offsets_map_to_times(folder: Path) -> None:
    log = make_log(folder, b"x" * 100, (0, 10.0), (40, 11.0), (80, 12.0))
    assert [log.time_at(place) for place in (0, 39, 40, 79, 80, 99)] == [10.0, 10.0, 11.0, 11.0, 12.0, 12.0]


def test_times_map_to_offsets(folder: Path) -> None:
    log = make_log(folder, b"x" * 100, (0, 10.0), (40, 11.0), (80, 12.0))
    assert [log.offset_at(time) for time in (9, 10, 10.5, 11, 12, 13)] == [0, 0, 40, 40, 80, 100]


def test_offsets_map_to_times_after_a_clock_change(folder: Path) -> None:
    log = make_log(folder, b"x" * 100, (0, 10.0), (40, 3.0), (60, 4.0), (80, 90.0), (90, 5.0))
    assert [log.time_at(place) for place in (0, 39, 40, 59, 60, 80, 99)] == [10.0, 10.0, 3.0, 3.0, 4.0, 90.0, 5.0]


def test_torn_time_index_is_read_to_its_last_complete_entry(folder: Path) -> None:
    log = make_log(folder, b"x" * 100, (0, 10.0), (40, 11.0))
    log.index.write_bytes(log.index.read_bytes() + b"torn")
    assert log.time_at(99) == 11.0


def lines_of(text: bytes) -> list[bytes]:
    return re.findall(rb"[^\n]*\n|[^\n]+$", text)


@settings(max_examples=MANY.max_examples // 10)
@given(
    parts=st.lists(st.sampled_from([b"\n", b"ab", b"\n" * 3_000, b"x" * 65_536, b"y\n" * 32_768]), max_size=10),
    cut=st.floats(0, 1),
    torn=st.integers(0, 40),
)
def test_line_offsets_follow_a_growing_log(parts: list[bytes], cut: float, torn: int) -> None:
    whole = b"".join(parts)
    with TemporaryDirectory() as folder:
        log = make_log(Path(folder), b"")
        for text in (whole[: int(len(whole) * cut)], whole):
            log.path.write_bytes(text)
            lines = lines_of(text)
            assert log.count_lines() == len(lines)
            starts = [0, *itertools.accumulate(map(len, lines))]
            for offset in {0, 1, 65_535, 65_536, 65_537, 131_072, len(text) - 1, len(text)} & {*range(len(text) + 1)}:
                assert log.line_at(offset) == text.count(b"\n", 0, offset)
            for n in {0, 1, len(lines) // 2, len(lines) - 1, len(lines), len(lines) + 5} - {-1}:
                assert log.line_offset(n) == starts[min(n, len(lines))]
            if log.line_index.exists():  # As of a process that was killed while it wrote.
                os.truncate(log.line_index, max(log.line_index.stat().st_size - torn, 0))
        assert instances(Path(folder)) == ["worker-0"]


def test_log_and_indexes_are_written_and_cut(folder: Path) -> None:
    log = LogFile(folder, "worker-0")
    log.append(b"to be cut", [(0, 9.0)])
    log.cut(0)
    for number in range(4):
        log.append(b"line\n" * 30_000, [(0, 10.0 + number)])
    assert log.times() == [(150_000 * number, 10.0 + number) for number in range(4)]
    assert log.times(3) == [(450_000, 13.0)]
    assert log.count_lines() == 120_000
    assert {path.stat().st_mode & 0o777 for path in (log.path, log.index, log.line_index)} == {0o600}
    log.cut(150_001)
    assert (log.size, log.times(), log.count_lines()) == (150_001, [(0, 10.0), (150_000, 11.0)], 30_001)
    log.cut(150_000)
    assert (log.size, log.times(), log.count_lines()) == (150_000, [(0, 10.0)], 30_000)


def test_times_of_a_log_never_decrease(folder: Path) -> None:
    """Clocks of a platform's nodes may differ. Entries that add nothing are omitted."""
    log = LogFile(folder, "worker-0")
    log.append(b"abcdef", [(0, 10.0), (1, 10.05), (2, 12.0), (4, 11.0)])
    log.append(b"ghi", [(0, 5.0), (1, 13.0)])
    assert log.times() == [(0, 10.0), (2, 12.0), (7, 13.0)]
    assert log.time_at(6) == 12.0


def test_torn_index_of_times_is_continued(folder: Path) -> None:
    log = LogFile(folder, "worker-0")
    log.index.write_bytes(b"torn")
    log.append(b"abc", [(0, 10.0)])
    assert log.read(0, 3) == b"abc"


def line_of(data: bytes, end: int, *, is_open: bool) -> Line:
    """Return what `read_lines` returns for one line; `end` is the offset after it."""
    if is_open:
        cut = len(data) - decode_prefix(data)[1]
        data, end = data[: len(data) - cut], end - cut
    shown = data if len(data) > 65_536 else data.rstrip(b"\r")
    if len(shown) <= LONGEST:
        return Line(shown.decode("utf-8", "replace"), 0, end, is_open)
    tail = shown[-LONGEST:].rstrip(b"\r")
    if b"\r" in shown[-LONGEST:].rstrip(b"\r"):
        return Line(tail.partition(b"\r")[2].decode("utf-8", "replace"), 0, end, is_open)
    start = 0 if len(data) > 65_536 else shown.rfind(b"\r") + 1
    return Line(decode_prefix(shown[start : start + LONGEST])[0], len(shown), end, is_open)


PIECES = [
    *(b"x" * (size + more) for size in (LONGEST, 65_536) for more in (-1, 0, 1)),
    *(b"\r", b"\r50%", b"", b"ab", "é行".encode() * 1_000, "行".encode() * 22_000, "行".encode()[:2]),
]


@settings(max_examples=MANY.max_examples // 5)
@given(
    lines=st.lists(st.lists(st.sampled_from(PIECES), max_size=3).map(b"".join), min_size=1, max_size=4),
    is_open=st.booleans(),
    first=st.integers(0, 3),
    n=st.integers(0, 5),
)
def test_lines_are_read_with_their_lengths(lines: list[bytes], is_open: bool, first: int, n: int) -> None:
    is_open = is_open and lines[-1] != b""
    text = b"\n".join(lines) + b"\n" * (not is_open)
    ends = list(itertools.accumulate(len(line) + 1 for line in lines))
    expected = [line_of(line, end, is_open=False) for line, end in zip(lines, ends, strict=True)]
    if is_open:
        expected[-1] = line_of(lines[-1], len(text), is_open=True)
    with TemporaryDirectory() as folder:
        assert list(read_lines(make_log(Path(folder), text), first, n)) == expected[first : first + n]


def test_line_index_avoids_recounting(folder: Path) -> None:
    log = make_log(folder, b"a\n" * 200_000)
    assert log.count_lines() == 200_000
    before = log.line_index.read_bytes()
    assert struct.unpack("<6q", before) == tuple(32_768 * n for n in range(1, 7))
    # Only what the index does not have is looked at.
    with log.path.open("r+b") as file:
        file.write(b"\n" * 65_536)
    assert LogFile(folder, "worker-0").line_offset(32_769) == 65_538
    assert log.line_index.read_bytes() == before


def test_line_index_beyond_the_log_is_ignored(folder: Path) -> None:
    log = make_log(folder, b"a\n" * 50_000)  # One complete block.
    log.line_index.write_bytes(struct.pack("<3q", 32_768, 5, 7))
    assert (log.count_lines(), log.line_offset(40_000)) == (50_000, 80_000)


def test_two_processes_share_the_line_index(folder: Path) -> None:
    code = (
        f"import sys; sys.path.insert(0, {str(Path(__file__).parents[3])!r})\n"
        "from pathlib import Path; from jupyter_pai.jobs.logs.file import LogFile\n"
        f"log = LogFile(Path({str(folder)!r}), 'worker-0')\n"
        "while log.count_lines() < 400_000: pass\n"
    )
    log = make_log(folder, b"")
    counters = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(2)]
    with log.path.open("ab", buffering=0) as file:
        for _ in range(400):
            file.write(b"abc\n" * 1_000)
    assert [counter.wait() for counter in counters] == [0, 0]
    assert struct.unpack("<24q", log.line_index.read_bytes()) == tuple(16_384 * n for n in range(1, 25))


def test_lines_are_counted_without_a_writable_index(folder: Path) -> None:
    log = make_log(folder, b"a\n" * 100_000)
    log.line_index.mkdir()
    assert (log.count_lines(), log.line_offset(99_999)) == (100_000, 199_998)
    assert LogFile(folder / "nowhere", "worker-0").count_lines() == 0


def test_instances_exclude_index_files(folder: Path) -> None:
    for name in ("worker-1", "worker-0", "worker-0.index", "worker-0.lines"):
        (folder / name).touch()
    assert instances(folder) == ["worker-0", "worker-1"]


@MANY
@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=30), st.data())
def test_text_is_cut_at_character_boundaries(text: str, data: st.DataObject) -> None:
    whole = text.encode()
    cut = data.draw(st.integers(0, len(whole)))
    first, used = decode_prefix(whole[:cut])
    rest, rest_used = decode_prefix(whole[used:])
    assert first + rest == text
    assert used + rest_used == len(whole)
    assert cut - used < 4


@pytest.mark.parametrize("character", ["\x7f", "\x80", "\u07ff", "\u0800", "\uffff", "\U00010000"])
def test_characters_of_each_length_are_whole(character: str) -> None:
    data = character.encode()
    assert decode_prefix(b"a" + data) == (f"a{character}", 1 + len(data))
    for cut in range(1, len(data)):
        assert decode_prefix(b"a" + data[:cut]) == ("a", 1)


@MANY
@given(st.binary(max_size=30))
def test_invalid_utf_8_is_decoded(data: bytes) -> None:
    _text, used = decode_prefix(data)
    assert len(data) - used < 4
