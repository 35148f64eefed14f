"""Each reader of logs comes to the end of any log: of random bytes that arrive in pieces, and of long ones.

A reader that does not move forward fails an assertion in its loop. A reader that stops early is called only as often as
the log has chunks.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

import pytest
from hypothesis import given, strategies as st

from jupyter_pai.backends.runtime.recorded_output import RecordedOutput
from jupyter_pai.core.text import LogText
from jupyter_pai.jobs.logs.file import LogFile, decode_prefix, read_lines
from jupyter_pai.jobs.logs.search import LogMatches, compile_finder
from jupyter_pai.jobs.metrics.detection.detector import detect
from jupyter_pai.jobs.metrics.detection.state import DetectorState
from jupyter_pai.jobs.metrics.log_source import LogMetricSource
from jupyter_pai.jobs.metrics.series import SeriesWriter
from jupyter_pai.jobs.spec import MetricDefinition

from ...support.fuzz import MANY

Data = TypeVar("Data", bytes, str)
MEBIBYTE = 1 << 20
CUTS = st.lists(st.integers(0, 1_000_000), max_size=4)
# The context of a log with so many lines that similar ones are skipped.
LONG = DetectorState(lines=20_001, bare_lines=20_001)
TQDM = "\r 50%|█████     | {n}/40000 [00:01<00:01, 5.{n}it/s{values}]"
# Beside random bytes: line ends, and the beginnings and ends of what the readers search.
PARTS = [
    b"\r", b"\n", b"\r\n", b"\0" * 9, b"\xff\xfe", "█".encode(), b"\x1b[A", b"\x1b]", b" ", b"9" * 20, b"1" * 5_000,
    b"loss=1", b"loss=2.5\r", b"loss=2.5\r" * 3, b"acc: 0.5\n" * 3, b"step 7 ", b"epoch 3/2 ", b"x" * 9_000,
    TQDM.format(n=3, values=", loss=0.5").encode(), TQDM.format(n=4, values="").encode() * 3, b"[1]\tauc:0.5\n",
    b'{"step": 1e300, "loss": 0.5}\n', b"{'loss': 0.5, 'epoch': nan}\n", b'{"step": Infinity, "loss": 1.5}\n',
    b"Test metric  DataLoader 0\n", b"      Iter       Train Loss   Remaining Time \n",
    b"5/8 - 1s 9ms/step - loss: 1\n", b'[pai] {"metric": "a", "value": 1}\n',
    b'[pai] {"metric": "b", "step": 1e999, "value": 1}\n', b'[pai] {"progress":',
    b"[rank1]: ", b"1: step 3 ", b"(pid=7) ", b"worker-2  | ", b"[1,", b"2026-01-01 00:00:00,123 ",
]  # fmt: skip
# Those without metrics are longer than the largest chunk of a reader.
LONG_LOGS = {
    "only carriage returns": b"\r" * 1_500_000,
    "one line": b"x" * 1_500_000,
    "one line of metrics": b"loss=1 " * 200_000,
    "NUL": b"\0" * 1_500_000,
    "invalid UTF-8": b"\xe2\x96" * 750_000,
    "line feeds": b"\n" * 200_000,
    "bars with values": "".join(TQDM.format(n=n, values=f", loss=0.{n}") for n in range(12_000)).encode(),
    "bars of many processes": "".join(
        f"[rank{n % 200}]: " + TQDM.format(n=n, values=f", loss=0.{n}") + "\n" for n in range(6_000)
    ).encode(),
    "metrics with carriage returns": b"".join(b"loss=0.%d\r" % n for n in range(5_000)),
    "metrics with both line ends": b"".join(b"loss=0.%d\r\n" % n for n in range(5_000)),
}


class Followed:
    """A growing log and its metrics, which are read after each write."""

    def __init__(self, folder: Path, state: DetectorState) -> None:
        self.log = LogFile(folder / "log", "worker-0")
        self.log.path.parent.mkdir()
        definitions = [MetricDefinition(name="p", regex=r"(\d)\s*x*"), MetricDefinition(name="q", regex=r"^(.*)=")]
        self.source = LogMetricSource(folder / "log", definitions, detects=True)
        self.writer = SeriesWriter(folder / "series")
        self.writer.at.detectors["worker-0"] = state

    def read(self, *, ended: bool) -> None:
        """Read the log to its end, with no more calls than it has chunks."""
        for _ in range(self.log.size // MEBIBYTE + 3):
            if self.source.advance(self.writer, ended=ended):
                return
        pytest.fail("the log has no end")


def pieces(data: Data, cuts: list[int]) -> list[Data]:
    """Return the data in pieces that end at some positions, as shares of a million."""
    places = [0, *sorted(len(data) * cut // 1_000_000 for cut in cuts), len(data)]
    return [data[start:end] for start, end in pairwise(places)]


@MANY
@given(
    st.lists(st.binary(max_size=20) | st.sampled_from(PARTS), max_size=20).map(b"".join),
    CUTS,
    st.sampled_from([DetectorState(), LONG]),
)
def test_metrics_of_any_log_are_read_to_its_end(data: bytes, cuts: list[int], state: DetectorState) -> None:
    with TemporaryDirectory() as place:
        followed = Followed(Path(place), state)
        for piece in pieces(data, cuts):
            followed.log.append(piece, [])
            followed.read(ended=False)
        followed.read(ended=True)
        assert followed.writer.at.offsets.get("worker-0", 0) == len(data)
        # The next engine reads what was stored.
        assert SeriesWriter(Path(place) / "series").at.offsets == followed.writer.at.offsets
        assert all(len(followed.writer.read(name)) == n for name, n in followed.writer.at.counts.items())


@pytest.mark.parametrize("name", LONG_LOGS)
def test_metrics_of_a_long_log_are_read_to_its_end(name: str, folder: Path) -> None:
    followed = Followed(folder, LONG)
    followed.log.append(LONG_LOGS[name], [])
    followed.read(ended=True)
    assert followed.writer.at.offsets == {"worker-0": len(LONG_LOGS[name])}


def test_bars_without_values_are_thinned_apart_from_metrics() -> None:
    """The points that follow 20,000 bars without values are all read."""
    bars = "".join(TQDM.format(n=n, values="") for n in range(30_000))
    lines = "".join(f"step {n} loss={n}.5\n" for n in range(1_000))
    points, state = detect(f"{bars}\n{lines}".encode(), 0, DetectorState(), ended=True)
    assert [point.step for point in points] == list(range(1_000))
    assert 20_000 < state.bare_lines < 20_400
    assert state.progress == 29_999 / 40_000


def searched(log: LogFile) -> int:
    matches = LogMatches(log, compile_finder("loss=1", regex=True))
    assert matches.advance(float("inf"))
    return len(matches.offsets) + len(matches.last())


def shown(log: LogFile) -> int:
    """Return the number of lines, read page by page."""
    lines = 0
    while page := [*read_lines(log, lines, 5_000)]:
        assert lines + len(page) <= log.count_lines()
        lines += len(page)
    return lines


def printed(log: LogFile) -> int:
    """Return the number of bytes of the text for a terminal."""
    terminal, text, rest = LogText(), "", b""
    for start in range(0, log.size, 100_000):
        part, used = decode_prefix(data := rest + log.read(start, 100_000))
        rest = data[used:]
        text += terminal.feed(part)
    return len(text + terminal.feed(rest.decode("utf-8", "replace")) + terminal.finish())


@pytest.mark.parametrize("reader", [searched, shown, printed, LogFile.count_lines])
@pytest.mark.parametrize("name", LONG_LOGS)
def test_long_log_is_shown_to_its_end(name: str, reader: Callable[[LogFile], int], folder: Path) -> None:
    data = LONG_LOGS[name]
    log = LogFile(folder, "worker-0")
    log.append(data, [])
    lines = data.count(b"\n") + (not data.endswith(b"\n"))
    matches = sum(b"loss=1" in line for line in data.split(b"\n"))
    expected = {shown: lines, LogFile.count_lines: lines, searched: matches}
    assert reader(log) == expected.get(reader, len(data.decode("utf-8", "replace")))
    assert log.last_lines(2) == (0 if lines < 3 else len(data) - len(b"\n".join(data.split(b"\n")[-3:])))


def recorded(texts: list[str]) -> tuple[dict[str, list[float]], float | None]:
    output = RecordedOutput([{"name": "loss", "regex": r"loss=(\d)"}])
    output.start()
    for text in texts:
        sys.stdout.write(text)
    output.stop()
    output.finish()
    return {name: [point.value for point in points] for name, points in output.series.items()}, output.progress


@MANY
@given(
    st.lists(st.text(max_size=5) | st.sampled_from(["loss=1", "\r", "\n", '[pai] {"progress": 0.5}', "loss="])),
    CUTS,
)
def test_output_in_place_is_read_in_pieces(parts: list[str], cuts: list[int]) -> None:
    text = "".join(parts)
    assert recorded(pieces(text, cuts)) == recorded([text])


def test_long_line_of_output_in_place_counts_as_several() -> None:
    part = "x" * 100_000
    assert recorded(["loss=1", *[part] * 11, "loss=2", part, "loss=3\n"])[0] == {"loss": [1.0, 2.0]}
