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

from hypothesis import given, settings, strategies as st

from jupyter_pai.jobs.logs.file import LogFile, decode_prefix, instances

from ...support.fuzz import MANY


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


@settings(max_examples=MANY.max_examples // 10, deadline=None)
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
            for n in {0, 1, len(lines) // 2, len(lines) - 1, len(lines), len(lines) + 5} - {-1}:
                assert log.line_offset(n) == starts[min(n, len(lines))]
            if log.line_index.exists():  # As of a process that was killed while it wrote.
                os.truncate(log.line_index, max(log.line_index.stat().st_size - torn, 0))
        assert instances(Path(folder)) == ["worker-0"]


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


@MANY
@given(st.binary(max_size=30))
def test_invalid_utf_8_is_decoded(data: bytes) -> None:
    _text, used = decode_prefix(data)
    assert len(data) - used < 4
