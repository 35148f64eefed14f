"""The list of jobs in a real browser, and what JupyterLab loads before it."""

from __future__ import annotations

import gzip
import statistics
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import timedelta

from playwright.sync_api import Browser, Response, sync_playwright

from jupyter_pai.home import Home
from jupyter_pai.job import Job, JobStatus, now, parse_spec
from jupyter_pai.store import Store

from ..ui.conftest import Lab, chromium
from .measure import Row, ms, pairs
from .rows import place

__all__ = ["ALL"]

MANY, FEW, TIMES = 10_000, 100, 5
LIGHT = 30_000
PANEL = '.jp-SideBar [data-id="jp-pai-jobs"]'
# From the press on the panel's icon until rows with names are on the screen, in milliseconds.
OPEN = """async icon => {
  const begun = performance.now();
  const press = type => document.querySelector(icon).dispatchEvent(
    new PointerEvent(type, { bubbles: true, button: 0 }));
  press('pointerdown');
  press('mousedown');
  while (document.querySelectorAll('.jp-pai-JobRow-name').length < 5) await new Promise(requestAnimationFrame);
  return performance.now() - begun;
}"""


def jobs_list() -> Iterator[Row]:
    """The panel with 10,000 jobs, opened for the first time in a page, against 100."""
    with sync_playwright() as playwright:
        with closing(chromium(playwright)) as browser, lab(MANY) as many, lab(FEW) as few:
            ours, baseline = pairs(TIMES, lambda: opened(browser, many), lambda: opened(browser, few))
            size = loaded(browser, few)
    times = statistics.median(ours) / statistics.median(baseline)
    title = f"jobs list with {MANY:,} jobs: open, against {FEW}"
    yield Row(title, ms(ours), ms(baseline), f"{times:.2f} ×", "2 × its time", times < 2)
    title = "JavaScript that JupyterLab loads before the panel is first opened"
    yield Row(title, f"{size:,} B gzipped", "–", f"{size / 1000:.1f} kB", f"under {LIGHT // 1000} kB", size < LIGHT)


@contextmanager
def lab(count: int) -> Iterator[Lab]:
    """JupyterLab with so many jobs that have ended."""
    with place() as home:
        store(home, count)
        root = home.path.parent / "notebooks"
        root.mkdir()
        running = Lab(root)
        try:
            yield running
        finally:
            running.stop()


def store(home: Home, count: int) -> None:
    """Jobs, one a second."""
    begun = now() - timedelta(days=1)
    with closing(Store(home.create().database)) as database:
        added = []
        for n in range(count):
            when = begun + timedelta(seconds=n)
            job = Job(
                id=f"j{n:07}", spec=parse_spec({"name": f"train {n}", "command": "true"}), backend="local",
                profile="local", status=JobStatus.SUCCEEDED, submitted_at=when, started_at=when, ended_at=when,
            )  # fmt: skip
            added.append(database.insert(job, job.id, ""))
        for future in added:
            future.result()


def opened(browser: Browser, running: Lab) -> float:
    """Seconds until there are rows, in a page of its own."""
    page = browser.new_page()
    page.goto(f"{running.url}/lab?reset&token={running.token}")
    page.wait_for_selector(PANEL, timeout=60_000)
    page.wait_for_selector(".jp-pai-StatusItem >> text=0", timeout=60_000)  # JupyterLab has come to rest.
    took = float(page.evaluate(OPEN, PANEL)) / 1000
    page.close()
    return took


def loaded(browser: Browser, running: Lab) -> int:
    """Bytes of our JavaScript, gzipped, that a page has loaded when all but the panel is there."""
    page = browser.new_page()
    with_ours: list[Response] = []
    page.on("response", lambda reply: with_ours.append(reply) if "/extensions/jupyter-pai/" in reply.url else None)
    page.goto(f"{running.url}/lab?reset&token={running.token}")
    page.wait_for_selector(".jp-pai-StatusItem >> text=0", timeout=60_000)
    size = sum(len(gzip.compress(reply.body())) for reply in with_ours if ".js" in reply.url)
    page.close()
    assert size
    return size


ALL: list[Callable[[], Iterator[Row]]] = [jobs_list]
