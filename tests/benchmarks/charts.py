"""Charts in a real browser."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial

import numpy as np
from playwright.sync_api import Browser, Page, sync_playwright

from jupyter_pai.home import Home
from jupyter_pai.job import Job, JobStatus, now, parse_spec
from jupyter_pai.series import POINT, Piece, SeriesWriter
from jupyter_pai.store import Store

from ..ui.conftest import Lab, chromium, open_notebook
from ..ui.test_view import output
from .measure import Row, ms, pairs
from .rows import COUNT, place

__all__ = ["ALL"]

CHARTS, MANY, FEW = 20, 100_000, 1_000
# From the press on the tab until there are so many charts on the screen, in milliseconds.
OPEN = """async count => {
  const tab = name => document.querySelector(`.jp-pai-Tabs [data-tab=${name}]`);
  const drawn = () => document.querySelectorAll('.jp-pai-Chart canvas').length;
  const deadline = performance.now() + 60000;
  const frame = () => new Promise((next, fail) =>
    requestAnimationFrame(performance.now() < deadline ? next : () => fail(`${drawn()} of ${count} charts`)));
  tab('overview').click();
  while (drawn()) await frame();
  const begun = performance.now();
  tab('metrics').click();
  while (drawn() < count) await frame();
  return performance.now() - begun;
}"""


def charts() -> Iterator[Row]:
    """The tab Metrics with 20 charts of 100,000 points each, against 20 of 1,000."""
    with place() as home, sync_playwright() as playwright, closing(chromium(playwright)) as browser:
        for count in (MANY, FEW):
            store(home, count)
        root = home.path.parent / "notebooks"
        root.mkdir()
        lab = Lab(root)
        try:
            pages = [shown(lab, browser, f"points{count}") for count in (MANY, FEW)]
            many, few = (partial(opened, page) for page in pages)
            ours, baseline = pairs(COUNT, many, few)
        finally:
            lab.stop()
    times = statistics.median(ours) / statistics.median(baseline)
    title = f"{CHARTS} charts of {MANY:,} points each: open, against {CHARTS} of {FEW:,}"
    yield Row(title, ms(ours), ms(baseline), f"{times:.2f} ×", "2 × its time", times < 2)


def store(home: Home, count: int) -> None:
    """A job that has ended, called after how many points each of its metrics has."""
    when = now()
    job = Job(
        id=f"points{count}", spec=parse_spec({"name": f"{count} points", "command": "true"}), backend="local",
        profile="local", status=JobStatus.SUCCEEDED, submitted_at=when, started_at=when, ended_at=when,
    )  # fmt: skip
    with closing(Store(home.create().database)) as database:
        database.insert(job, job.id, "").result()
    dice = np.random.default_rng(1)
    points = np.zeros(count, POINT)
    points["step"] = np.arange(count)
    points["time"] = when.timestamp() + np.arange(count)
    found = {}
    for n in range(CHARTS):
        points["value"] = 100 / (np.arange(count) + 100) + dice.normal(0, 0.05, count)
        found[f"train/loss{n}"] = points.tobytes()
    SeriesWriter(home.job(job.id).series).append(Piece("worker-0", 0, found))


def shown(lab: Lab, browser: Browser, job: str) -> Page:
    """A page with the job in the output of a notebook."""
    page = browser.new_page(viewport={"width": 1600, "height": 2400})
    lab.write(f"{job}.ipynb", "1", outputs=[output(job, "")])
    # A workspace of its own: else the page opens the other one's notebook too.
    open_notebook(page, lab, f"{job}.ipynb", f"lab/workspaces/{job}/tree")
    page.wait_for_selector(".jp-pai-Tabs")
    return page


def opened(page: Page) -> float:
    """Seconds until all charts are there."""
    return float(page.evaluate(OPEN, CHARTS)) / 1000


ALL: list[Callable[[], Iterator[Row]]] = [charts]
