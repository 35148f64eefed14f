"""Event files that are written for TensorBoard, as its own reader and ours read them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tensorboard.backend.event_processing.plugin_event_accumulator import EventAccumulator
from tensorboard.util import tensor_util

from jupyter_pai.jobs.metrics.series import Columns, Piece, Series, SeriesWriter, pack
from jupyter_pai.jobs.metrics.tfevents.columns import read_records
from jupyter_pai.jobs.metrics.tfevents.writer import MetricEventFile, scalars

LARGE = 2**62


def append(writer: SeriesWriter, name: str, *points: tuple[int, float], origin: str = "detected") -> None:
    data = b"".join(pack(1_700_000_000.5 + step % 97, step, value) for step, value in points)
    writer.append(Piece("worker-0", 1, {name: data}, origin))


def written(path: Path) -> dict[str, list[tuple[int, float]]]:
    """Return the points of each tag in a run, as in TensorBoard itself."""
    reader = EventAccumulator(str(path), tensor_size_guidance={"scalars": 0})
    reader.Reload()
    return {
        tag: [(point.step, float(tensor_util.make_ndarray(point.tensor_proto))) for point in points]
        for tag in reader.Tags()["tensors"]
        if (points := reader.Tensors(tag))
    }


@pytest.fixture
def series(tmp_path: Path) -> SeriesWriter:
    return SeriesWriter(tmp_path / "series")


@pytest.fixture
def file(tmp_path: Path, series: SeriesWriter) -> MetricEventFile:
    return MetricEventFile(Series(series.folder), tmp_path / "run")


def test_points_are_appended(series: SeriesWriter, file: MetricEventFile) -> None:
    file.update()
    assert not file.path.exists()
    append(series, "loss", (0, 0.5), (LARGE, float("inf")))
    append(series, "val/损失", (-1, 0.25), origin="pattern")
    append(series, "tag", (1, 1.0), origin="tensorboard/run")
    append(series, "files/tag", (1, 1.0), origin="files/run")
    for _ in range(2):
        file.update()
    assert written(file.path.parent) == {
        "loss": [(0, 0.5), (LARGE, float("inf"))],
        "val/损失": [(-1, 0.25)],
        "files/tag": [(1, 1.0)],
    }
    append(series, "loss", (3, 1e300))
    file.update()
    assert written(file.path.parent)["loss"] == [(0, 0.5), (LARGE, float("inf")), (3, float("inf"))]


def test_points_of_another_source_replace_the_written_ones(series: SeriesWriter, file: MetricEventFile) -> None:
    append(series, "loss", (0, 0.5), (1, 0.25))
    append(series, "acc", (0, 0.75))
    file.update()
    append(series, "loss", (7, 7.0), (8, 8.0), (9, 9.0), origin="report")
    file.update()
    assert written(file.path.parent) == {"loss": [(7, 7.0), (8, 8.0), (9, 9.0)], "acc": [(0, 0.75)]}


@pytest.mark.slow("counts")
def test_many_points_are_written(series: SeriesWriter, file: MetricEventFile) -> None:
    points = [(n, float(n)) for n in range(70_000)]
    append(series, "loss", *points)
    file.update()
    assert written(file.path.parent)["loss"] == points


def test_own_reader_reads_the_records() -> None:
    columns = Columns(np.arange(-2, 5), np.linspace(0, 1, 7).astype("<f4").astype("<f8"), np.arange(7) / 8 + 1e9)
    events = read_records(scalars("loss", columns))
    (points,) = events.points.values()
    assert list(events.points) == [b"loss"]
    for name in ("step", "value", "time"):
        assert points[name].tolist() == getattr(columns, name).tolist()
    assert not events.damaged
