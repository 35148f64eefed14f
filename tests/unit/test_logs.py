"""Logs and series on disk: positions, times, and what a follower that was killed leaves behind."""

from __future__ import annotations

import json
import re
import struct
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given
from hypothesis import strategies as st

from jupyter_pai.event import MetricPoint
from jupyter_pai.logs import Log, instances, text_of
from jupyter_pai.series import Cursor, Series

from .fuzz import MANY


def make_log(folder: Path, data: bytes, *times: tuple[int, float]) -> Log:
    folder.mkdir(exist_ok=True)
    (folder / "worker-0").write_bytes(data)
    (folder / "worker-0.index").write_bytes(b"".join(struct.pack("<qd", *entry) for entry in times))
    return Log(folder, "worker-0")


def test_reading_by_offset(folder: Path) -> None:
    log = make_log(folder, b"0123456789")
    assert log.size == 10
    assert log.read(3, 4) == b"3456"
    assert log.read(8, 100) == b"89"
    assert log.read(100, 1) == b""


def test_a_log_that_is_not_there_yet_is_empty(folder: Path) -> None:
    log = Log(folder / "nowhere", "worker-0")
    assert (log.size, log.read(0, 10), log.last_lines(5), log.time_at(0)) == (0, b"", 0, None)
    assert instances(folder / "nowhere") == []


@MANY
@given(data=st.lists(st.sampled_from([b"\n", b"ab", b"x" * 70_000]), max_size=12), n=st.integers(0, 6))
def test_last_lines(data: list[bytes], n: int) -> None:
    text = b"".join(data)
    with TemporaryDirectory() as folder:
        log = make_log(Path(folder), text)
        lines = re.findall(rb"[^\n]*\n|[^\n]+$", text)
        assert log.read(log.last_lines(n), 10**7) == b"".join(lines[-n:] if n else [])


def test_times_by_offset(folder: Path) -> None:
    log = make_log(folder, b"x" * 100, (0, 10.0), (40, 11.0), (80, 12.0))
    assert [log.time_at(place) for place in (0, 39, 40, 79, 80, 99)] == [10.0, 10.0, 11.0, 11.0, 12.0, 12.0]


def test_a_torn_index_is_read_up_to_its_last_whole_entry(folder: Path) -> None:
    log = make_log(folder, b"x" * 100, (0, 10.0), (40, 11.0))
    log.index.write_bytes(log.index.read_bytes() + b"torn")
    assert log.time_at(99) == 11.0


def test_instances_are_not_their_indexes(folder: Path) -> None:
    for name in ("worker-1", "worker-0", "worker-0.index"):
        (folder / name).touch()
    assert instances(folder) == ["worker-0", "worker-1"]


@MANY
@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=30), st.data())
def test_text_is_cut_between_characters(text: str, data: st.DataObject) -> None:
    whole = text.encode()
    cut = data.draw(st.integers(0, len(whole)))
    first, used = text_of(whole[:cut])
    rest, rest_used = text_of(whole[used:])
    assert first + rest == text
    assert used + rest_used == len(whole)
    assert cut - used < 4


@MANY
@given(st.binary(max_size=30))
def test_bytes_that_are_no_text_do_no_harm(data: bytes) -> None:
    _text, used = text_of(data)
    assert len(data) - used < 4


def point(step: int, name: str = "loss") -> MetricPoint:
    return MetricPoint(name, step, step / 2, 1000.0 + step)


def test_points_come_back_in_order(folder: Path) -> None:
    series, cursor = Series(folder), Cursor()
    series.append([point(0), point(0, "acc"), point(1)], cursor)
    series.append([point(2)], cursor)
    assert Series(folder).read("loss") == [point(0), point(1), point(2)]
    assert Series(folder).read("loss", 1, 2) == [point(1)]
    assert Series(folder).read("unknown") == []
    assert Series(folder).latest() == {"loss": point(2), "acc": point(0, "acc")}


def test_what_a_killed_follower_did_not_count_is_cut_off(folder: Path) -> None:
    series, cursor = Series(folder), Cursor()
    series.append([point(0)], cursor)
    with open(folder / "0", "ab") as file:
        file.write(b"\1" * 30)  # Points and a torn one, written but not counted.
    assert Series(folder).read("loss") == [point(0)]
    again = Series(folder).cursor()
    Series(folder).append([point(1)], again)
    assert Series(folder).read("loss") == [point(0), point(1)]
    assert (folder / "0").stat().st_size == 48


def test_the_cursor_holds_positions(folder: Path) -> None:
    cursor = Cursor({"worker-0": 7}, {}, 0.5)
    Series(folder).append([], cursor)
    assert Series(folder).cursor() == cursor
    assert json.loads((folder / "cursor.json").read_text())["offsets"] == {"worker-0": 7}


def test_metrics_may_be_called_anything(folder: Path) -> None:
    names = ["../../x", "a/b", "损失", "", "\x01", "x" * 200]
    Series(folder).append([point(n, name) for n, name in enumerate(names)], Cursor())
    assert [Series(folder).read(name)[0].step for name in names] == list(range(6))
