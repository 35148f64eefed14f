"""Metric points on disk: complete points, leftovers of a killed writer, and damaged files."""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path

import pytest

from jupyter_pai.jobs.events import MetricPoint
from jupyter_pai.jobs.metrics.detection.state import DetectorState
from jupyter_pai.jobs.metrics.series import MOST_METRICS, Cursor, Piece, Series, SeriesWriter, pack

from ...support.counted_calls import counted_calls


def point(step: int, name: str = "loss") -> MetricPoint:
    return MetricPoint(name, step, step / 2, 1000.0 + step)


def piece(*points: MetricPoint, end: int = 0, source: str = "worker-0", origin: str = "report") -> Piece:
    packed: dict[str, bytes] = {}
    for value in points:
        packed[value.name] = packed.get(value.name, b"") + pack(value.time, value.step, value.value)
    return Piece(source, end, packed, origin)


def test_points_are_read_in_order(folder: Path) -> None:
    writer = SeriesWriter(folder)
    writer.append(piece(point(0), point(0, "acc"), point(1)))
    writer.append(piece(point(2)))
    assert Series(folder).read("loss") == [point(0), point(1), point(2)]
    assert Series(folder).read("loss", 1, 2) == [point(1)]
    assert Series(folder).read("unknown") == []
    assert Series(folder).latest() == {"loss": point(2), "acc": point(0, "acc")}


def test_columns_equal_points(folder: Path) -> None:
    SeriesWriter(folder).append(piece(*(point(n) for n in range(10))))
    for start, end in ((0, None), (3, 5), (3, 100), (7, 3), (100, None)):
        rows = zip(*Series(folder).columns("loss", start, end), strict=True)
        assert [MetricPoint("loss", *row) for row in rows] == Series(folder).read("loss", start, end)
    assert len(Series(folder).columns("unknown").step) == 0


def test_columns_are_read_in_several_chunks(folder: Path) -> None:
    data = b"".join(pack(n / 2, n, n * 2) for n in range(50_000))
    SeriesWriter(folder).append(Piece("worker-0", 0, {"loss": data}))
    columns = Series(folder).columns("loss", 3)
    assert columns.step.tolist() == list(range(3, 50_000))
    assert columns.time.tolist() == [n / 2 for n in range(3, 50_000)]
    assert columns.value.tolist() == [n * 2 for n in range(3, 50_000)]


def test_uncounted_points_of_a_killed_writer_are_cut_off(folder: Path) -> None:
    SeriesWriter(folder).append(piece(point(0)))
    with open(folder / "0", "ab") as file:
        file.write(b"\1" * 30)  # Points and a torn one, written but not counted.
    assert Series(folder).read("loss") == [point(0)]
    SeriesWriter(folder).append(piece(point(1)))
    assert Series(folder).read("loss") == [point(0), point(1)]
    assert (folder / "0").stat().st_size == 48


def test_cursor_stores_offsets_and_progress(folder: Path) -> None:
    SeriesWriter(folder).append(Piece("worker-0", 7, progress=0.5))
    assert Series(folder).cursor() == Cursor({"worker-0": 7}, {}, 0.5)
    SeriesWriter(folder).append(Piece("worker-0", 9))
    assert Series(folder).cursor() == Cursor({"worker-0": 9}, {}, 0.5)
    assert json.loads((folder / "cursor.json").read_text())["offsets"] == {"worker-0": 9}


def test_cursor_of_an_older_version_is_read(folder: Path) -> None:
    SeriesWriter(folder).append(piece(point(0), end=9))
    (folder / "cursor.json").write_text('{"offsets": {"worker-0": 9}, "counts": {"loss": 1}, "progress": null}')
    assert Series(folder).read("loss") == [point(0)]
    writer = SeriesWriter(folder)
    writer.name_sources({"loss"})
    assert writer.at.place("loss", "pattern") == ("loss", 1)
    assert writer.at.place("loss", "report") is None
    writer.append(piece(point(0, "acc"), point(1)))
    assert Series(folder).read("acc") == [point(0, "acc")]
    assert Series(folder).read("loss") == [point(0), point(1)]


def test_metrics_may_have_any_name(folder: Path) -> None:
    names = ["../../x", "a/b", "损失", "", "\x01", "x" * 200]
    SeriesWriter(folder).append(piece(*(point(n, name) for n, name in enumerate(names))))
    assert [Series(folder).read(name)[0].step for name in names] == list(range(6))


SOURCES = ["pattern", "report", "platform", "tensorboard/run", "detected"]


@pytest.mark.parametrize(("better", "worse"), list(combinations(SOURCES, 2)))
def test_better_source_replaces_a_worse_one(folder: Path, better: str, worse: str) -> None:
    writer = SeriesWriter(folder)
    writer.append(piece(point(0, "acc"), point(0), point(1), end=10, origin=worse))
    assert writer.at.place("loss", better) == ("loss", 0)
    writer.append(piece(point(7), end=20, origin=better))
    writer = SeriesWriter(folder)
    assert (Series(folder).read("loss"), Series(folder).read("acc")) == ([point(7)], [point(0, "acc")])
    assert writer.at.source("loss") == better.partition("/")[0]
    assert writer.at.place("loss", worse) is None
    assert writer.at.place("loss", better) == ("loss", 1)
    # The file of the replaced points is gone, and its number is not used again.
    assert sorted(path.name for path in folder.iterdir()) == ["0", "2", "cursor.json"]


def test_source_is_that_of_the_metric_in_all_instances(folder: Path) -> None:
    writer = SeriesWriter(folder)
    writer.append(piece(point(0), source="worker-0", origin="detected"))
    writer.append(piece(point(0, "loss@worker-1"), point(0, "a@b"), source="worker-1", origin="detected"))
    writer.append(piece(point(5, "loss@worker-1"), source="worker-1", origin="report"))
    assert list(writer.at.counts) == ["a@b", "loss@worker-1"]
    assert writer.at.place("loss", "detected") is None
    assert writer.at.place("loss@worker-2", "detected") is not None  # Not an instance of this job.


def test_reader_of_replaced_points_gets_none(folder: Path) -> None:
    writer = SeriesWriter(folder)
    writer.append(piece(point(0), point(1), origin="detected"))
    old = (folder / "cursor.json").read_bytes()
    writer.append(piece(point(7), origin="report"))
    (folder / "cursor.json").write_bytes(old)
    assert Series(folder).read("loss") == []
    assert len(Series(folder).columns("loss").step) == 0


def test_event_files_of_two_runs_have_different_names(folder: Path) -> None:
    writer = SeriesWriter(folder)
    writer.append(piece(point(0), origin="tensorboard/a"))
    assert writer.at.place("loss", "tensorboard/a") == ("loss", 1)
    assert writer.at.place("loss", "tensorboard/b") == ("loss (tensorboard)", 0)


def test_reported_progress_and_detected_progress_are_distinct(folder: Path) -> None:
    writer = SeriesWriter(folder)
    writer.append(Piece("worker-0", 7, detector=DetectorState(progress=0.5)))
    writer.append(Piece("worker-0", 9, detector=DetectorState()))
    assert (writer.at.progress, writer.at.detected_progress) == (None, 0.5)
    assert SeriesWriter(folder).at.detectors == {"worker-0": DetectorState()}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        '{"counts": [1]}',
        '{"counts": {"loss": -1}}',
        '{"counts": {"loss": "1"}}',
        '{"offsets": {"worker-0": null}}',
        '{"progress": "much"}',
        '{"unknown": 1}',
        '{"counts": {"loss": 4}}',
        '{"counts": {"loss": 3, "acc": 1}}',
        '{"texts": 1}',
        *(f'{{"counts": {{"loss": {count}}}, "texts": {count}}}' for count in (1 << 40, 1 << 61, 1 << 70)),
        "[" * 100_000,
        "\0" * 4096,
    ],
)
def test_damaged_cursor_is_set_aside_and_reading_restarts(
    folder: Path, text: str, caplog: pytest.LogCaptureFixture
) -> None:
    SeriesWriter(folder).append(piece(*(point(n) for n in range(3)), end=30))
    (folder / "cursor.json").write_text(text)
    damaged = Series(folder)
    assert damaged.latest().keys() <= {"loss"}
    points = damaged.read("loss")
    assert [one.step for one in points] == [*damaged.columns("loss").step] == [*range(len(points))]
    assert damaged.texts() == []
    writer = SeriesWriter(folder)
    assert writer.at == Cursor()
    assert (folder / "cursor.damaged").read_text() == text
    assert len(caplog.records) == 1
    writer.append(piece(point(0), end=10))
    assert Series(folder).read("loss") == [point(0)]
    SeriesWriter(folder)
    assert len(caplog.records) == 1


def test_failed_write_adds_no_points(folder: Path) -> None:
    writer = SeriesWriter(folder)
    writer.append(piece(point(0), end=10))
    (folder / "1").mkdir()
    with pytest.raises(IsADirectoryError):
        writer.append(piece(point(1), point(0, "acc"), end=20))
    (folder / "1").rmdir()
    writer.append(piece(point(1), point(0, "acc"), end=20))
    assert Series(folder).read("loss") == [point(0), point(1)]
    assert Series(folder).read("acc") == [point(0, "acc")]


def test_texts_are_stored_up_to_a_limit(folder: Path) -> None:
    writer = SeriesWriter(folder)
    text = {"tag": "notes", "step": 1, "time": 2.0, "text": "<b>\n中"}
    writer.append(Piece("a", 1, texts=[text]))
    with open(folder / "texts.jsonl", "ab") as file:
        file.write(b'{"torn')
    assert Series(folder).texts() == [text]
    SeriesWriter(folder).append(Piece("a", 2, texts=[text | {"step": 2}]))
    assert [reply["step"] for reply in Series(folder).texts()] == [1, 2]
    writer = SeriesWriter(folder)
    for n in range(20):
        writer.append(Piece("a", n, texts=[text | {"text": "x" * 1_000_000}]))
    assert (folder / "texts.jsonl").stat().st_size <= 8 << 20
    assert len(Series(folder).texts()) == 10


def test_number_of_metrics_is_limited(folder: Path) -> None:
    writer = SeriesWriter(folder)
    full = []
    for points in ([point(0, f"m{n}") for n in range(MOST_METRICS)], [point(0, "late"), point(1, "m0")]):
        writer.append(piece(*points))
        full.append(writer.is_full)
    assert full == [False, True]
    assert len(Series(folder).latest()) == MOST_METRICS
    assert Series(folder).read("late") == []
    assert [one.step for one in Series(folder).read("m0")] == [0, 1]  # Known metrics still grow.


def test_detected_metrics_make_room_for_others(folder: Path) -> None:
    writer = SeriesWriter(folder)
    writer.append(piece(*(point(0, f"m{n}") for n in range(MOST_METRICS)), origin="detected"))
    writer.append(piece(point(0, "late"), origin="detected"))
    writer.append(piece(point(0, "own"), origin="tensorboard/"))
    names = list(SeriesWriter(folder).at.counts)
    assert (len(names), names[-2:]) == (MOST_METRICS, [f"m{MOST_METRICS - 2}", "own"])
    assert writer.is_full


def test_names_over_the_bound_cost_no_pass_over_the_others(folder: Path) -> None:
    writer = SeriesWriter(folder)
    writer.append(piece(*(point(0, f"n{n}") for n in range(MOST_METRICS))))

    def calls(names: int) -> int:
        with counted_calls() as count:
            writer.append(piece(*(point(0, f"m{n}") for n in range(names))))
        assert len(writer.at.counts) == MOST_METRICS
        assert writer.is_full
        return count()

    few, many = calls(100), calls(1_100)
    assert (many - few) / 1_000 < 20


def test_damaged_texts_are_left_out(folder: Path) -> None:
    texts = [{"tag": "a", "text": "one"}, {"tag": "b", "text": "two"}]
    SeriesWriter(folder).append(Piece("worker-0", 0, texts=texts))
    path = folder / "texts.jsonl"
    for damage in (b"[" * 39, b"\xff" * 39, b"[1]" + b" " * 36):
        first, second = path.read_bytes().splitlines()
        path.write_bytes(damage[: len(first)] + b"\n" + second + b"\n")
        assert Series(folder).texts() == texts[1:]
