"""The points of metrics as users get them."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys

import pandas
import pytest

from jupyter_pai.core.errors import NotFound
from jupyter_pai.jobs.events import MetricPoint
from jupyter_pai.jobs.metrics.points import Metrics

POINTS = [
    MetricPoint("loss", 0, 0.5, 10.0),
    MetricPoint("loss", 1, 0.25, 11.0),
    MetricPoint("<b>", 7, float("nan"), 12.0),
]


def test_points_are_a_sequence() -> None:
    metrics = Metrics(POINTS)
    assert (len(metrics), list(metrics), metrics[0], metrics[-1].step) == (3, POINTS, POINTS[0], 7)
    assert metrics.names == ["loss", "<b>"]
    assert metrics["loss"] == Metrics(POINTS[:2]) == metrics[:2]
    assert max(point.value for point in metrics["loss"]) == 0.5
    assert not Metrics()
    assert copy.deepcopy(metrics[:2]) == metrics[:2] == pickle.loads(pickle.dumps(metrics[:2]))
    with pytest.raises(NotFound, match=r"`lsos`.*loss, <b>.*to_pandas"):
        metrics["lsos"]


def test_points_are_converted() -> None:
    frame = Metrics(POINTS).to_pandas()
    assert list(frame.columns) == ["name", "step", "value", "time"]
    assert list(frame["step"]) == [0, 1, 7]
    assert frame["time"][0] == pandas.Timestamp(10, unit="s", tz="UTC")
    assert list(Metrics().to_pandas().columns) == list(frame.columns)
    assert Metrics(POINTS[:2]).to_dict() == {"loss": {"step": [0, 1], "value": [0.5, 0.25], "time": [10.0, 11.0]}}


@pytest.mark.parametrize("name", ["plot", "head", "pivot", "columns"])
def test_names_of_data_frames_lead_to_pandas(name: str) -> None:
    with pytest.raises(AttributeError, match=rf"'{name}'.*\.to_pandas\(\)\.{name}"):
        getattr(Metrics(POINTS), name)
    assert not hasattr(Metrics(POINTS), "_repr_png_")


def test_picture_is_a_bounded_table() -> None:
    lines = repr(Metrics(POINTS)).splitlines()
    assert lines[0].split() == ["name", "step", "value", "time"]
    assert lines[2].split()[:3] == ["loss", "1", "0.25"]
    assert len({len(line) for line in lines[:-1]}) == 1
    html = Metrics(POINTS)._repr_html_()
    assert "&lt;b&gt;" in html and "<td>nan</td>" in html
    long = Metrics([MetricPoint("loss", n, n, n) for n in range(1000)])
    assert len(repr(long).splitlines()) == 23
    assert [row in repr(long) for row in (" 9 ", " 10 ", " 989 ", " 990 ", " 999 ")] == [True, False, False, True, True]
    assert "points: 0" in repr(Metrics()) and "<table>" not in Metrics()._repr_html_()


def test_missing_pandas_is_named() -> None:
    code = (
        "import sys; sys.modules['pandas'] = None\n"
        "from jupyter_pai.jobs.metrics.points import Metrics\n"
        "try: Metrics().to_pandas()\nexcept Exception as error: print(type(error).__name__, error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "Unsupported pandas is not installed. Install it: pip install pandas\n"
