"""The event files of a job: selection, naming, progress, and a killed reader."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tensorboard.compat.proto import summary_pb2

from jupyter_pai.jobs.metrics.series import Cursor, Series, SeriesWriter
from jupyter_pai.jobs.metrics.tfevents.source import EventFileSource

from ...conftest import until
from ...support.event_writers import TIME, event, large_record, opened, records, simple, tensor, text, write

SINCE = TIME - 10


class Followed:
    """A folder of event files, and a reader that reads to their end."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "tensorboard"
        self.series = Series(folder / "series")
        self.reader = EventFileSource(self.folder, SINCE)

    def read(self, *, ended: bool = True) -> dict[str, list[float]]:
        """Return the values of each metric."""
        writer = SeriesWriter(self.series.folder)
        until(lambda: self.reader.advance(writer, ended=ended))
        return {name: [point.value for point in self.series.read(name)] for name in self.series.cursor().counts}

    def write(self, path: str, *events: bytes, opened_at: float = TIME) -> Path:
        return write(self.folder / path, [opened(opened_at), *events])


@pytest.fixture
def followed(folder: Path) -> Followed:
    return Followed(folder)


def test_metrics_are_named_by_the_run_folder(followed: Followed) -> None:
    followed.write("events.out.tfevents.1.host", event(1, simple("loss", 1)))
    followed.write("train/events.out.tfevents.2.host", event(1, simple("loss", 2)))
    followed.write("a/b/c/my.tfevents", event(1, tensor("loss", 3)))
    followed.write("a/notes.txt", event(1, simple("never", 3)))
    assert followed.read() == {"loss": [1.0], "a/b/c/loss": [3.0], "train/loss": [2.0]}


TIMES = ["Nov29_17-33-05_host", "20261129-173305", "2026-11-29/17-33-05", "2026-11-29_17-33-05", "20261129T173305.12Z",
         "17-33-05", "1796000000"]  # fmt: skip


@pytest.mark.parametrize("time", TIMES)
def test_time_in_the_name_of_a_run_is_no_part_of_its_metrics(time: str, followed: Followed) -> None:
    """Two jobs have equal names. A further run of a job has its whole name."""
    followed.write(f"{time}/1.tfevents", event(1, simple("loss", 1)))
    assert followed.read() == {"loss": [1.0]}
    followed.write(f"{time}/train/1.tfevents", event(1, simple("loss", 2)))
    followed.write("Nov30_08-00-00_host/1.tfevents", event(1, simple("loss", 3)))
    followed.write(f"{time}/2.tfevents", event(2, simple("loss", 4)))
    names = {"loss": [1.0, 4.0], "train/loss": [2.0], "Nov30_08-00-00_host/loss": [3.0]}
    assert {name: values for name, values in followed.read().items() if name in names} == names


@pytest.mark.parametrize("run", ["version_0", "2026-11-29", "lr_0.1", "run_20", "Nov_model"])
def test_other_names_of_runs_are_kept(run: str, followed: Followed) -> None:
    followed.write(f"{run}/1.tfevents", event(1, simple("loss", 1)))
    assert followed.read() == {f"{run}/loss": [1.0]}


def test_missing_folder_is_read_once_created(followed: Followed) -> None:
    assert followed.read(ended=False) == {}
    followed.write("train/events.out.tfevents.1", event(1, simple("loss", 1)))
    until(lambda: followed.reader.has_news(Cursor()))
    assert followed.read(ended=False) == {"train/loss": [1.0]}


def test_new_and_growing_files_are_noticed(followed: Followed) -> None:
    path = followed.write("events.out.tfevents.1", event(1, simple("loss", 1)))
    assert followed.read(ended=False) == {"loss": [1.0]}
    with path.open("ab") as file:
        file.write(records([event(2, simple("loss", 2))]))
    until(lambda: followed.reader.has_news(Cursor()))
    assert followed.read(ended=False) == {"loss": [1.0, 2.0]}
    followed.write("late/events.out.tfevents.2", event(1, simple("loss", 9)))
    until(lambda: followed.reader.has_news(Cursor()))
    assert followed.read(ended=False)["late/loss"] == [9.0]


def test_initially_empty_file_is_read_later(followed: Followed) -> None:
    path = followed.folder / "events.out.tfevents.1"
    path.parent.mkdir()
    path.touch()
    whole = records([opened(), event(1, simple("loss", 1))])
    for size in (0, 3, 12, 20):
        path.write_bytes(whole[:size])
        os.utime(followed.folder, (TIME, TIME))
        assert followed.read(ended=False) == {}
    # The folder does not change when the file grows.
    path.write_bytes(whole)
    until(lambda: followed.reader.has_news(Cursor()))
    assert followed.read(ended=False) == {"loss": [1.0]}


def test_unchanged_folder_is_rarely_scanned(followed: Followed) -> None:
    followed.write("events.out.tfevents.1", event(1, simple("loss", 1)))
    old = TIME - 5
    os.utime(followed.folder, (old, old))
    followed.read()
    assert not followed.reader.has_news(Cursor())
    followed.write("other.tfevents.2", event(1, simple("loss", 2)))
    request = [followed.reader.has_news(Cursor()) for _ in range(1000)]
    assert not any(request)


def test_incomplete_tail_is_read_later(followed: Followed) -> None:
    whole = records([opened(), *(event(n, simple("loss", n)) for n in range(4))])
    path = followed.write("events.out.tfevents.1")
    for cut in range(len(records([opened()])), len(whole) + 1):
        path.write_bytes(whole[:cut])
        values = followed.read().get("loss", [])
        assert values == [0.0, 1.0, 2.0, 3.0][: len(values)]
    assert values == [0.0, 1.0, 2.0, 3.0]
    assert followed.reader.notes() == []


def test_writers_of_the_same_tag_share_a_metric(followed: Followed) -> None:
    followed.write("events.out.tfevents.1", event(1, simple("loss", 1)))
    followed.write("events.out.tfevents.2", event(2, simple("loss", 2)))
    assert followed.read() == {"loss": [1.0, 2.0]}


def test_event_files_of_an_earlier_job_are_ignored(followed: Followed) -> None:
    followed.write("events.out.tfevents.1", event(1, simple("loss", 1)), opened_at=SINCE - 1)
    old = followed.write("events.out.tfevents.2", event(1, simple("loss", 2)), opened_at=SINCE + 1)
    os.utime(old, (SINCE - 60, SINCE - 60))
    ours = followed.write("events.out.tfevents.3", event(1, simple("loss", 3), time=5.0), opened_at=SINCE + 1)
    assert followed.read() == {"loss": [3.0]}
    # Its own times are the job's business.
    assert Series(followed.series.folder).read("loss")[0].time == 5.0
    assert list(followed.series.cursor().offsets) == [f"tensorboard/{ours.name}"]


def test_overwritten_file_of_an_earlier_job_is_read(followed: Followed) -> None:
    """Two jobs started in the same second, with separate process trees, give their files the same name."""
    path = followed.write("events.out.tfevents.1", event(1, simple("loss", 1)), opened_at=SINCE - 1)
    assert followed.read(ended=False) == {}
    changed = path.stat().st_mtime_ns
    followed.write("events.out.tfevents.1", event(1, simple("loss", 2)), opened_at=SINCE + 1)
    assert path.stat().st_mtime_ns != changed
    assert followed.read() == {"loss": [2.0]}


def test_links_are_not_followed(followed: Followed, tmp_path: Path) -> None:
    outside = write(tmp_path / "outside/events.out.tfevents.1", [opened(), event(1, simple("secret", 1))])
    followed.folder.mkdir()
    (followed.folder / "link").symlink_to(outside.parent)
    (followed.folder / "events.out.tfevents.2").symlink_to(outside)
    (followed.folder / "loop").symlink_to(followed.folder)
    os.mkfifo(followed.folder / "events.out.tfevents.3")
    assert followed.read() == {}


def test_folder_replaced_by_a_link_is_not_followed(followed: Followed, tmp_path: Path) -> None:
    followed.write("events.out.tfevents.1", event(1, simple("loss", 1)))
    assert followed.read(ended=False) == {"loss": [1.0]}
    outside = write(tmp_path / "outside/events.out.tfevents.2", [opened(), event(1, simple("secret", 1))])
    followed.folder.rename(tmp_path / "before")
    followed.folder.symlink_to(outside.parent)
    assert followed.read() == {"loss": [1.0]}


def test_damaged_file_is_noted_and_others_are_read(followed: Followed) -> None:
    path = followed.write("events.out.tfevents.1", event(1, simple("loss", 1)))
    size = path.stat().st_size
    path.write_bytes(path.read_bytes() + b"\xff" * 100 + records([event(2, simple("loss", 2))]))
    followed.write("train/events.out.tfevents.2", event(1, simple("loss", 2)))
    assert followed.read() == {"loss": [1.0], "train/loss": [2.0]}
    assert followed.reader.notes() == [f"The event file {path} is damaged at byte {size}. Later events were not read."]
    again = EventFileSource(followed.folder, SINCE)
    assert again.advance(SeriesWriter(followed.series.folder), ended=True)
    assert len(again.notes()) == 1


def test_file_limit_is_noted(followed: Followed) -> None:
    for n in range(505):
        followed.write(f"x.tfevents.{n:03}", event(1, simple(f"loss{n}", 1)))
    assert len(followed.read()) == 500
    assert followed.reader.notes() == ["Only the first 500 event files were read."]


def test_folder_limit_is_noted(followed: Followed) -> None:
    for n in range(505):
        (followed.folder / f"{n:03}").mkdir(parents=True)
    followed.read()
    (note,) = followed.reader.notes()
    assert str(followed.folder) in note


def with_image(step: int, size: int) -> bytes:
    """An event with an image beside a scalar."""
    image = summary_pb2.Summary.Value(tag="image")
    image.image.encoded_image_string = b"x" * size
    return large_record(event(step, image, simple("loss", step)))


def test_records_larger_than_a_chunk_are_read_or_skipped(followed: Followed) -> None:
    """Records of images are parsed; records larger than any summary are skipped once they are complete."""
    path = followed.write("events.out.tfevents.1")
    huge = with_image(9, 40 << 20)
    with path.open("ab") as file:
        file.write(with_image(1, 3 << 20) + huge[: 20 << 20])
    assert followed.read() == {"loss": [1.0]}
    with path.open("ab") as file:
        file.write(huge[20 << 20 :] + records([event(2, simple("loss", 2))]))
    assert followed.read() == {"loss": [1.0, 2.0]}
    assert followed.reader.notes() == []


def test_large_file_is_read_in_several_steps(followed: Followed) -> None:
    path = followed.write("events.out.tfevents.1")
    with path.open("ab") as file:
        file.write(b"".join(with_image(n, 1 << 20) for n in range(12)))
    writer = SeriesWriter(followed.series.folder)
    assert not followed.reader.advance(writer, ended=True)
    assert followed.reader.has_news(writer.at)
    assert 0 < len(followed.series.read("loss")) < 12
    assert followed.reader.advance(writer, ended=True)
    assert len(followed.series.read("loss")) == 12


def test_long_texts_are_truncated(followed: Followed) -> None:
    followed.write("train/events.out.tfevents.1", event(3, text("notes", "中" * 100_000)))
    followed.read()
    (output,) = followed.series.texts()
    assert (output["tag"], output["step"], output["time"]) == ("train/notes", 3, TIME + 3 / 8)
    assert output["text"] == "中" * 16_384


def test_run_metric_and_tag_of_equal_name_are_distinct(followed: Followed) -> None:
    followed.write("events.out.tfevents.1", event(1, simple("train/loss", 1)))
    followed.write("train/events.out.tfevents.2", event(1, simple("loss", 2)))
    assert followed.read() == {"train/loss": [1.0], "train/loss (tensorboard)": [2.0]}


FOLLOW = """
import sys
from pathlib import Path
from jupyter_pai.jobs.metrics.tfevents.source import EventFileSource
from jupyter_pai.jobs.spec import MetricDefinition
from jupyter_pai.jobs.metrics.log_source import LogMetricSource
from jupyter_pai.jobs.metrics.series import SeriesWriter
folder = Path(sys.argv[1])
writer = SeriesWriter(folder / "series")
readers = [LogMetricSource(folder / "log", [MetricDefinition(name="n", regex=r"n=(\\d+)")]),
           EventFileSource(folder / "tensorboard", 0)]
ended = len(sys.argv) > 2
while not all([reader.advance(writer, ended=ended) for reader in readers]) or not ended:
    pass
"""


@pytest.mark.slow("kills")
def test_killed_reader_loses_and_duplicates_no_points(folder: Path) -> None:
    """The reader is killed repeatedly while log and event files grow, each time after some progress."""
    (folder / "log").mkdir()
    runs, at, kills = range(40), 0, 25
    series = Series(folder / "series")
    torn: dict[Path, bytes] = {}

    def grow(path: Path, data: bytes) -> None:
        """Append to a file, and keep the last bytes for the next time."""
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab") as file:
            file.write(torn.get(path, b"") + data[:-3])
        torn[path] = data[-3:]

    command = [sys.executable, "-c", FOLLOW, str(folder)]
    for _ in range(kills):
        grow(folder / "log/worker-0", b"".join(b"n=%d\n" % n for n in range(at, at + 500)))
        for run in runs:
            new = [event(n, simple("n", n), time=1.0) for n in range(at, at + 50)]
            grow(folder / f"tensorboard/{run}/x.tfevents", records(new if at else [opened(), *new]))
        at += 500
        before = series.cursor()
        child = subprocess.Popen(command)
        until(lambda: series.cursor() != before or child.poll() is not None)  # noqa: B023
        assert child.poll() is None
        child.kill()
        child.wait()
    for path, rest in torn.items():
        with path.open("ab") as file:
            file.write(rest)
    subprocess.run([*command, "ended"], check=True)
    wanted = [n for start in range(0, at, 500) for n in range(start, start + 50)]
    for name, values in {"n": list(range(at)), **{f"{run}/n": wanted for run in runs}}.items():
        points = series.read(name)
        assert [point.value for point in points] == values
        assert [point.step for point in points] == values
    assert len(series.cursor().counts) == 1 + len(runs)
