"""Metrics in logs whose lines have tags of launchers: each process has metrics and a context of its own."""

from __future__ import annotations

import re
from itertools import chain
from pathlib import Path

import pytest
from hypothesis import given, strategies as st
from pydantic import TypeAdapter

from jupyter_pai.jobs.events import MetricPoint
from jupyter_pai.jobs.logs.file import LogFile
from jupyter_pai.jobs.metrics.detection.detector import detect
from jupyter_pai.jobs.metrics.detection.line import Point
from jupyter_pai.jobs.metrics.detection.state import DetectorState
from jupyter_pai.jobs.metrics.log_source import LogMetricSource
from jupyter_pai.jobs.metrics.series import SeriesWriter

from ...support.fuzz import MANY

# The tags of two processes, and the instance of the second.
TAGS = {
    "mpirun 4": ("[1,0]<stderr>:", "[1,1]<stderr>:", "rank-1"),
    "mpirun 5": ("[prterun-host-7@1,0]<stdout>: ", "[prterun-host-7@1,1]<stdout>: ", "rank-1"),
    "torchrun": ("[default0]:", "[default1]:", "rank-1"),
    "srun": ("0: ", "1: ", "rank-1"),
    "ray": ("\x1b[36m(f pid=7)\x1b[0m ", "\x1b[36m(f pid=8, ip=10.0.0.2)\x1b[0m ", "pid-8"),
    "compose": ("worker-1  | ", "worker-2  | ", "worker-2"),
    "kubectl": ("[pod/train-0/main] ", "[pod/train-1/main] ", "train-1"),
    "time": ("[2026-01-01 00:00:00,123] [rank0]: ", "[2026-01-01 00:00:00,124] [rank1]: ", "rank-1"),
    "node and rank": ("worker-1  | [rank0]: ", "worker-2  | [rank3]: ", "worker-2.rank-3"),
}
BAR = "{:3.0%}|████      | {}/4 [00:0{}<00:01, 1.0it/s, loss=0.{}]"


def epochs(n: int) -> list[str]:
    """Return the lines of a process whose number is `n`, with steps of their own."""
    bars = "\r".join(BAR.format(done / 4, done, done, n + done) for done in range(1, 5))
    lines = [f"Epoch {epoch}/3 loss=0.{n}{epoch} lr=0.1\n" for epoch in (1, 2, 3)]
    return [*lines, f"{bars}\n", f"{{'acc': 0.{n}, 'step': {n}}}\n", f"[{n}]\ttrain-rmse:0.{n}\n"]


def mixed(first: str, second: str) -> bytes:
    """Return a log with the lines of two processes in turn."""
    pairs = zip((first + line for line in epochs(1)), (second + line for line in epochs(5)), strict=True)
    return "".join(chain.from_iterable(pairs)).encode()


def points_of(data: bytes) -> list[tuple[str, int | None, float]]:
    return [point[1:] for point in detect(data, 0, DetectorState(), ended=True).points]


@pytest.mark.parametrize("launcher", TAGS)
def test_each_process_has_metrics_of_its_own(launcher: str) -> None:
    first, second, instance = TAGS[launcher]
    found = points_of(mixed(first, second))
    for n, suffix in ((1, ""), (5, f"@{instance}")):
        own = points_of("".join(epochs(n)).encode())
        names = {f"{name}{suffix}" for name, _step, _value in own}
        assert [one for one in found if one[0] in names] == [(f"{name}{suffix}", *rest) for name, *rest in own]


@MANY
@given(st.sampled_from(sorted(TAGS)), st.lists(st.integers(0, 1_000), max_size=4))
def test_tagged_log_may_be_read_in_pieces(launcher: str, cuts: list[int]) -> None:
    """The context is stored as JSON between them."""
    data = mixed(*TAGS[launcher][:2])
    ends = [match.end() for match in re.finditer(rb"[\r\n]", data)]
    stored, state, start = TypeAdapter(DetectorState), DetectorState(), 0
    points: list[Point] = []
    for end in sorted({ends[cut % len(ends)] for cut in cuts}):
        more, state = detect(data[start:end], start, state)
        state = stored.validate_python(state.to_json())
        points, start = points + more, end
    more, state = detect(data[start:], start, state, ended=True)
    assert points + more == detect(data, 0, DetectorState(), ended=True).points
    assert not state.is_open


def test_numbers_before_lines_without_steps_are_no_ranks() -> None:
    assert points_of(b"0: loss=0.5\n1: loss=0.25\n") == [("loss", None, 0.5), ("loss", None, 0.25)]


def test_processes_beyond_the_limit_are_not_read() -> None:
    data = "".join(f"[rank{n}]: step 1 loss=0.5\n" for n in range(1_000)).encode()
    assert [point.name for point in detect(data, 0, DetectorState(), ended=True).points] == [
        "loss", *(f"loss@rank-{n}" for n in range(1, 65)),
    ]  # fmt: skip


class Stored:
    """The metrics of a log in a folder."""

    def __init__(self, folder: Path, text: str, instance: str = "worker-0") -> None:
        (folder / "log").mkdir(exist_ok=True)
        LogFile(folder / "log", instance).append(text.encode(), [(0, 100.0)])
        source, self.writer = LogMetricSource(folder / "log", [], detects=True), SeriesWriter(folder / "series")
        while not source.advance(self.writer, ended=True):
            pass

    def steps(self, name: str) -> list[tuple[int, float]]:
        points: list[MetricPoint] = self.writer.read(name)
        return [(point.step, point.value) for point in points]


def test_better_source_replaces_the_metrics_of_all_processes(folder: Path) -> None:
    first = "[rank0]: step 1 loss=0.5\n[rank1]: step 1 loss=0.75\n"
    stored = Stored(folder, first)
    assert stored.writer.at.counts == {"loss": 1, "loss@rank-1": 1}
    assert stored.writer.at.place("loss", "platform") == ("loss", 0)
    assert set(stored.writer.at.worse("loss", "platform")) == {"loss", "loss@rank-1"}
    assert stored.writer.at.worse("loss@rank-1", "platform") == ["loss", "loss@rank-1"]


SUMMARY = "{'train_runtime': 9.5, 'train_loss': 0.4, 'epoch': 3.0}\n"


@pytest.mark.parametrize("between", ["", "done\n", "100%|██████████| 40/40 [00:04<00:00, 9.9it/s]\n"])
def test_summary_follows_the_points_before_it(between: str, folder: Path) -> None:
    text = "".join(
        f"{{'loss': 0.5, 'epoch': {n / 10}}}\r{n / 40:.0%}|█| {n}/40 [00:01<00:03, 9.9it/s]\n" for n in (10, 20, 30)
    )
    steps = Stored(folder, text + between + SUMMARY).steps("epoch")
    assert [value for _step, value in steps] == [1.0, 2.0, 3.0, 3.0]
    assert [step for step, _value in steps] == sorted(step for step, _value in steps)


@pytest.mark.parametrize("line", ["Epoch lr: 0.1, loss: 0.5", "loss: 0.5 epoch lr=0.1", "loss: 0.5, current lr: 0.1"])
def test_learning_rate_has_one_name(line: str) -> None:
    assert ("lr", None, 0.1) in points_of(line.encode())
    assert points_of(b"Epoch loss: 0.5, learning rate: 0.1") == [
        ("Epoch loss", None, 0.5),
        ("learning rate", None, 0.1),
    ]


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        (" 25%|██▌ | 1/4 [00:10<00:30, 10.0s/it]\r", 30.0),
        (" 25%|██▌ | 1/4 [1:00:00<3:00:00, 1.0s/it]\r", 10_800.0),
        # Two further epochs follow the first of three.
        ("Epoch 1/3:  25%|██▌ | 1/4 [00:10<00:30, 10.0s/it]\r", 30.0 + 2 * 40),
        # The bar of an inner loop is not that of the job.
        (" 25%|██▌ | 1/4 [00:10<00:30, 10.0s/it]\r 50%|█ | 1/2 [00:01<00:02, 3.0it/s]\r", 30.0),
        ("[default0]: 25%|██▌ | 1/4 [00:10<00:30, 10.0s/it]\r", 30.0),
        ("Validating:  25%|██▌ | 1/4 [00:10<00:30, 10.0s/it]\r", None),
        ("  0%| | 0/4 [00:00<?, ?it/s]\r", None),
        ("Epoch 1/3 loss=0.5\n", None),
    ],
)
def test_time_left_is_that_of_the_bar(text: str, seconds: float | None, folder: Path) -> None:
    end = Stored(folder, text).writer.at.expected_end
    assert end == (seconds and 100 + seconds)


def test_points_are_those_of_the_tagged_lines() -> None:
    data = mixed("[rank0]: ", "[rank1]: ")
    points: list[Point] = detect(data, 7, DetectorState(), ended=True).points
    for point in points:
        line = re.split(rb"[\r\n]", data[point.offset - 7 :], maxsplit=1)[0].decode()
        assert str(point.value) in line
