"""Charts in a real browser."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from jupyter_pai.jobs.job import now
from jupyter_pai.jobs.metrics.series import POINT, Piece, SeriesWriter
from jupyter_pai.jobs.state_dir import Home

from .measure import Row, ms, pairs
from .pages import browsers, ended, lab, store, tab_opened, view
from .rows import COUNT

__all__ = ["ALL"]

CHARTS, MANY, FEW = 20, 100_000, 1_000
DRAWN = "document.querySelectorAll('.jp-pai-Chart canvas').length"


def charts() -> Iterator[Row]:
    """The tab Metrics with 20 charts of 100,000 points each, against 20 of 1,000."""
    with lab(fill) as running, browsers(2) as both:
        # So high that all are in sight: others would not be drawn.
        pages = [view(running, one, f"points{n}", height=2400) for n, one in zip((MANY, FEW), both, strict=True)]
        many, few = (partial(tab_opened, page, "metrics", DRAWN, CHARTS) for page in pages)
        ours, baseline = pairs(COUNT, many, few)
    times = statistics.median(ours) / statistics.median(baseline)
    title = f"{CHARTS} charts of {MANY:,} points each: open, against {CHARTS} of {FEW:,}"
    yield Row(title, ms(ours), ms(baseline), f"{times:.2f} ×", "2 × its time", times < 2)


def fill(home: Home) -> None:
    """Two jobs, called after how many points each of their metrics has."""
    when = now()
    store(home, *(ended(f"points{count}", f"{count} points", when) for count in (MANY, FEW)))
    dice = np.random.default_rng(1)
    for count in (MANY, FEW):
        points = np.zeros(count, POINT)
        points["step"] = np.arange(count)
        points["time"] = when.timestamp() + np.arange(count)
        result = {}
        for n in range(CHARTS):
            points["value"] = 100 / (np.arange(count) + 100) + dice.normal(0, 0.05, count)
            result[f"train/loss{n}"] = points.tobytes()
        SeriesWriter(home.job(f"points{count}").series).append(Piece("worker-0", 0, result))


ALL: list[Callable[[], Iterator[Row]]] = [charts]
