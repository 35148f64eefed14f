"""A log that is watched in a real browser while it is written, and the same lines in a plain cell."""

from __future__ import annotations

import re
import statistics
from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from playwright.sync_api import Browser, Page

from jupyter_pai.jobs.state_dir import Home

from ..conftest import until
from ..e2e.conftest import Lab, open_notebook, run_cells
from .measure import Row
from .pages import browsers, lab, view
from .scale import LINES, ended_at, printing

__all__ = ["ALL"]

RUNS = 2
RATE, SECONDS = 100, 20
# Lines as they come, each with the time at which it was written.
TICKS = f"""
import time
begun = time.time()
for n in range({RATE * SECONDS}):
    time.sleep(max(begun + n / {RATE} - time.time(), 0))
    print("step", n, "at", time.time(), flush=True)
"""
# The job waits for its watchers; a cell does not.
WAIT = """
import os, time
print("ready", flush=True)
while not os.path.exists({go!r}):
    time.sleep(0.002)
"""
LOG, NOTEBOOK = ".jp-pai-Log .xterm-rows", ".jp-Notebook"
# Notes from when on which line was the last one on the screen, by the clock that jobs have, when that has been painted;
# and how long the page could do nothing else.
WATCH = r"""place => {
  const watched = window.watched = { seen: [[0, -1]], tasks: [] };
  new PerformanceObserver(list => watched.tasks.push(...list.getEntries().map(task => task.duration / 1000)))
    .observe({ entryTypes: ['longtask'] });
  const node = place ? document.querySelector(place) : document.createElement('i');
  const painted = new MessageChannel();
  painted.port1.onmessage = () => {
    const last = Number([...node.textContent.matchAll(/step\s(\d+)\s/g)].at(-1)?.[1] ?? -1);
    if (last > watched.seen.at(-1)[1]) watched.seen.push([Date.now() / 1000, last]);
  };
  let isAsked = false;
  new MutationObserver(() => {
    if (isAsked) return;
    isAsked = true;
    requestAnimationFrame(() => {
      isAsked = false;
      painted.port2.postMessage(0);
    });
  }).observe(node, { childList: true, characterData: true, subtree: true });
}"""


@dataclass
class Watched:
    """The lines that a page received."""

    seen: list[tuple[float, int]]
    """Seconds since 1970, and the last line on the screen from then on."""
    tasks: list[float]
    """Seconds of the tasks that took more than 0.05."""

    @property
    def longest(self) -> float:
        return max(self.tasks, default=0.05)

    def delays(self, written: list[float]) -> list[float]:
        """Seconds from each line's writing until it, or one after it, was on the screen."""
        lines = [line for _when, line in self.seen]
        return [self.seen[bisect_left(lines, n)][0] - when for n, when in enumerate(written)]


def many_live() -> Iterator[Row]:
    """A job that prints 1,000,000 lines while its log is watched; the same lines printed by a plain cell."""
    with lab() as running, browsers(1) as (browser,):
        results = [job(running, browser, printing(LINES), LINES - 1) for _ in range(RUNS)]
        late = [watched.seen[-1][0] - ended_at(Home(), one) for watched, one in results]
        plain, text = cell(running, browser, printing(LINES))
    arrived = len(re.findall(r"step \d+ loss=", text))
    title = f"a live log of {LINES:,} lines: its last line on the screen, after the job's end"
    yield Row(title, f"{max(late) * 1000:.0f} ms", "–", f"{max(late):.2f} s", "under 1 s", max(late) < 1)
    ours = max(watched.longest for watched, _job in results)
    title = f"the longest task of JupyterLab's page meanwhile, against a plain cell, of which {arrived:,} lines arrived"
    yield Row(
        title, f"{ours * 1000:.0f} ms", f"{plain.longest * 1000:.0f} ms", f"{ours * 1000:.0f} ms", "under 100 ms",
        ours < 0.1,
    )  # fmt: skip


def slow_live() -> Iterator[Row]:
    """From a job's write to the line on the screen, at 100 lines a second; the same in a plain cell."""
    with lab() as running, browsers(1) as (browser,):
        watched, one = job(running, browser, TICKS, RATE * SECONDS - 1)
        ours = watched.delays(times(Home().job(one).log.joinpath("worker-0").read_text()))
        watched, text = cell(running, browser, TICKS, NOTEBOOK)
        plain = watched.delays(times(text))
    title = f"a job's line on the screen, at {RATE} lines a second, against a plain cell: 99 of 100 within"
    mine, theirs = (
        f"{last(values):.0f} ms, median {statistics.median(values) * 1000:.0f} ms" for values in (ours, plain)
    )
    yield Row(title, mine, theirs, f"{last(ours):.0f} ms", "under 250 ms", last(ours) < 250)


def last(delays: list[float]) -> float:
    """Milliseconds that 99 of 100 do not exceed."""
    return statistics.quantiles(delays, n=100)[98] * 1000


def times(log: str) -> list[float]:
    """Return the time at which each line was written."""
    results = [float(when) for when in re.findall(r"step \d+ at ([\d.]+)", log)]
    assert len(results) == RATE * SECONDS, len(results)
    return results


def job(running: Lab, browser: Browser, script: str, end: int) -> tuple[Watched, str]:
    """A job that is watched until its line `end` is on the screen."""
    go = running.root.parent / "go"
    go.unlink(missing_ok=True)
    files = {"print.py": WAIT.format(go=str(go)) + script}
    spec = {"name": "bench", "command": "python print.py", "source": {"files": files}}
    one = str(running.rest("POST", "/pai/api/v1/jobs", {"spec": spec})["job"]["id"])
    page = view(running, browser, one)
    page.click(".jp-pai-Tabs [data-tab=logs]")
    page.wait_for_selector(f"{LOG}:has-text('ready')")
    page.wait_for_load_state("networkidle")
    page.evaluate(WATCH, LOG)
    go.touch()
    page.wait_for_function(f"window.watched.seen.at(-1)[1] === {end}", timeout=300_000)
    until(lambda: running.job(one)["ended_at"])
    watched = seen(page)
    page.close()
    return watched, one


def cell(running: Lab, browser: Browser, script: str, place: str = "") -> tuple[Watched, str]:
    """A cell that is watched until it has run, and all that the notebook shows then. Its lines are only looked for in
    `place`: with many of them that would take more time than anything else."""
    page = browser.new_page(viewport={"width": 1600, "height": 900})
    running.write("plain.ipynb", "print('ready', flush=True)", script)
    open_notebook(page, running, "plain.ipynb", "lab/workspaces/plain/tree")
    run_cells(page, 1)
    page.wait_for_load_state("networkidle")
    page.evaluate(WATCH, place)
    page.keyboard.press("Shift+Enter")
    page.wait_for_selector(".jp-InputPrompt:has-text('[2]:')", timeout=300_000)
    page.wait_for_load_state("networkidle")
    watched, text = seen(page), page.locator(NOTEBOOK).text_content() or ""
    page.close()
    return watched, text


def seen(page: Page) -> Watched:
    return Watched(**page.evaluate("window.watched"))


ALL: list[Callable[[], Iterator[Row]]] = [many_live, slow_live]
