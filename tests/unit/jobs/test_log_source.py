"""Metrics of growing logs: several instances, unfinished and long lines, and sources of one metric."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import pytest

from jupyter_pai.jobs.metrics.log_source import LogMetricScanner, LogMetricSource
from jupyter_pai.jobs.metrics.series import MOST_METRICS, SeriesWriter
from jupyter_pai.jobs.spec import MetricDefinition

from ...support.counted_calls import counted_calls

MEBIBYTE = 1 << 20


class Followed:
    """The log of a job and its metrics."""

    def __init__(self, folder: Path, *, detects: bool = False, **patterns: str) -> None:
        self.log = folder / "log"
        self.log.mkdir()
        definitions = [MetricDefinition(name=name, regex=regex) for name, regex in patterns.items()]
        self.source = LogMetricSource(self.log, definitions, detects=detects)
        self.writer = SeriesWriter(folder / "series")

    def write(self, text: str, instance: str = "worker-0", *, time: float | None = None) -> None:
        path = self.log / instance
        if time is not None:
            with (self.log / f"{instance}.index").open("ab") as file:
                file.write(struct.pack("<qd", path.stat().st_size if path.exists() else 0, time))
        with path.open("a", encoding="utf-8", newline="") as file:
            file.write(text)

    def advance(self, *, ended: bool = False) -> bool:
        return self.source.advance(self.writer, ended=ended)

    def points(self, name: str) -> list[tuple[int, float]]:
        return [(point.step, point.value) for point in self.writer.read(name)]


def report(name: str, value: float, **fields: int) -> str:
    return "[pai] " + json.dumps({"metric": name, "value": value, **fields}) + "\n"


def test_points_are_counted_over_several_reads(folder: Path) -> None:
    log = Followed(folder, loss=r"loss=(\d+)")
    assert not log.source.has_news(log.writer.at)
    log.write("loss=1\nloss=2\nlos", time=10.0)
    assert log.source.has_news(log.writer.at)
    assert log.advance()
    assert log.points("loss") == [(0, 1.0), (1, 2.0)]
    assert log.writer.at.offsets == {"worker-0": 14}
    log.write("s=3\n" + report("acc", 0.5, step=7) + report("acc", 0.75), time=20.0)
    assert log.advance()
    assert log.points("loss") == [(0, 1.0), (1, 2.0), (2, 3.0)]
    assert log.points("acc") == [(7, 0.5), (1, 0.75)]
    assert [point.time for point in log.writer.read("loss")] == [10.0, 10.0, 10.0]
    assert [point.time for point in log.writer.read("acc")] == [20.0, 20.0]
    assert not log.source.has_news(log.writer.at)


def test_single_byte_is_news_and_nothing_is_detected_by_default(folder: Path) -> None:
    log = Followed(folder)
    log.write("l")
    assert log.source.has_news(log.writer.at)
    log.write("oss=1\n")
    assert log.advance(ended=True)
    assert log.writer.at.counts == {}


def test_instances_have_series_of_their_own(folder: Path) -> None:
    log = Followed(folder, loss=r"loss=(\d+)")
    for rank in (10, 2, 0):
        log.write(f"loss={rank}\n", f"worker-{rank}")
    assert log.advance()
    assert sorted(log.writer.at.counts) == ["loss", "loss@worker-10", "loss@worker-2"]
    assert [log.points(name) for name in sorted(log.writer.at.counts)] == [[(0, 0.0)], [(0, 10.0)], [(0, 2.0)]]


def test_unfinished_line_is_read_at_the_end_of_the_job(folder: Path) -> None:
    log = Followed(folder, loss=r"loss=(\d+)")
    log.write("loss=1")
    assert log.advance()
    assert log.points("loss") == []
    assert log.advance(ended=True)
    assert log.points("loss") == [(0, 1.0)]


def test_long_log_is_read_in_chunks(folder: Path) -> None:
    log = Followed(folder, loss=r"loss=(\d+)")
    log.write("x" * (MEBIBYTE + 10) + "loss=1\nloss=2\n")
    # The end of a chunk splits a long line.
    assert not log.advance()
    assert log.writer.at.offsets == {"worker-0": MEBIBYTE}
    assert log.advance(ended=True)
    assert log.points("loss") == [(0, 1.0), (1, 2.0)]
    log.write("y\n" * (MEBIBYTE // 2 - 2) + "loss=3\nloss=4\n")
    assert not log.advance()
    assert log.points("loss")[2:] == [(2, 3.0)][: len(log.points("loss")) - 2]
    assert log.advance(ended=True)
    assert log.points("loss") == [(0, 1.0), (1, 2.0), (2, 3.0), (3, 4.0)]


def test_chunk_of_the_exact_size_is_not_the_last(folder: Path) -> None:
    log = Followed(folder, loss=r"loss=(\d+)")
    log.write("x" * (MEBIBYTE - 7) + "\nloss=1")
    assert not log.advance(ended=True)
    assert log.writer.at.offsets == {"worker-0": MEBIBYTE - 6}
    assert log.advance(ended=True)
    assert log.points("loss") == [(0, 1.0)]


def test_worse_source_in_the_same_chunk_is_dropped(folder: Path) -> None:
    log = Followed(folder, detects=True, loss=r"loss is (\d+)")
    log.write("epoch 1 loss=5 acc=5 f1=5\n" + report("loss", 6) + report("acc", 6) + "loss is 7\n")
    assert log.advance(ended=True)
    assert {name: [value for _step, value in log.points(name)] for name in sorted(log.writer.at.counts)} == {
        "acc": [6.0],
        "f1": [5.0],
        "loss": [7.0],
    }
    assert log.writer.at.origins == {"acc": "report", "f1": "detected", "loss": "pattern"}
    # The better source remains, and other metrics of the chunk are read.
    log.write(report("loss", 8) + "epoch 2 acc=8 f1=8\n")
    log.advance(ended=True)
    assert [len(log.points(name)) for name in ("acc", "f1", "loss")] == [1, 2, 1]


def test_disabled_pattern_is_a_note(folder: Path) -> None:
    log = Followed(folder, bad=r"(x+x+)+y", good=r"loss=(\d)")
    log.write(("x" * 5_000 + "\nloss=1\n") * 200)
    assert log.advance(ended=True)
    assert log.source.notes() == ["The pattern of the metric `bad` took too long and was disabled: (x+x+)+y"]
    assert len(log.points("good")) == 200


def test_time_of_a_pattern_is_not_that_of_the_process() -> None:
    scanner = LogMetricScanner([MetricDefinition(name="loss", regex=r"(?:a|aa)+([0-9])")])
    # Each of the later pieces takes some milliseconds, and replenishes less.
    slow = (b"a" * 12 + b"!a1\n") * 20
    for _ in range(3):
        result = scanner.scan(slow, 0)
        assert (len(result.points), result.given_up) == (20, [])


@pytest.mark.parametrize(
    ("line", "points"),
    [
        ('x [pai] {"metric": "a", "value": 1}', [(0, "a", 1.0)]),
        ('[pai] {"metric": "a", "value": 1} and {"more": 2} text', []),
        ('[pai] {"metric": "a", "value": 1} text', [(0, "a", 1.0)]),
        ('[pai] {"metric": "' + "n" * 300 + '", "value": 1}', [(0, "n" * 200, 1.0)]),
        ('[pai] {"metric": 5, "value": "0.5", "step": 3.0}', [(0, "5", 0.5)]),
    ],
)
def test_reports_are_one_object_in_a_line(line: str, points: list[tuple[int, str, float]]) -> None:
    for before, after in (("", ""), ("\n", ""), ("é\n", ""), ("é\r", "\r"), ("x\n", "\ny")):
        data = f"{before}{line}{after}".encode()
        found = [(point.offset, point.name, point.value) for point in LogMetricScanner([]).scan(data, 100).points]
        assert found == [(100 + len(before.encode()) + place, name, value) for place, name, value in points]


def test_progress_is_a_fraction() -> None:
    for value, progress in ((-1, 0.0), (0, 0.0), (0.25, 0.25), (1, 1.0), (2, 1.0), ('"0.5"', 0.5)):
        assert LogMetricScanner([]).scan(b'[pai] {"progress": %s}\n' % str(value).encode(), 0).progress == progress


@pytest.mark.parametrize(("step", "kept"), [(2**63 - 1, True), (2**63, False), (-(2**63), True), (-(2**63) - 1, False)])
def test_steps_have_64_bits(step: int, kept: bool) -> None:
    points = LogMetricScanner([]).scan(report("a", 1, step=step).encode(), 0).points
    assert [point.step for point in points] == [step] * kept


def test_a_line_over_the_bound_of_names_costs_as_much_as_one_that_is_no_metric(folder: Path) -> None:
    log = Followed(folder, detects=True)
    log.write("".join(report(f"n{n}", 1.0) for n in range(MOST_METRICS)))

    def calls(lines: str) -> int:
        log.write(lines)
        with counted_calls() as count:
            assert log.advance()
        assert len(log.writer.at.counts) == MOST_METRICS
        return count()

    log.advance()
    assert not log.writer.is_full
    # The first of them are offered to the series, in case that they are better than detected ones.
    calls("".join(report(f"first{n}", 1.0) for n in range(2_000)))
    over = calls("".join(report(f"more{n}", 1.0) for n in range(4_000)))
    offered = calls("".join(report(f"last{n}", 1.0) for n in range(2_000)))
    other = calls("".join(report(f"n{n}", 1.0).replace("metric", "metrix") for n in range(2_000)))
    assert over - offered < other * 2
    assert log.writer.is_full
