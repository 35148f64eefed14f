"""The list of jobs and the view of a job in a real browser, and what JupyterLab loads before them."""

from __future__ import annotations

import gzip
import statistics
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any

from playwright.sync_api import Page, Response

from jupyter_pai.jobs.instances import Instance, write_instances
from jupyter_pai.jobs.job import JobStatus, now
from jupyter_pai.jobs.state_dir import Home

from ..conftest import until
from ..e2e.conftest import Lab
from .measure import Row, ms, pairs
from .pages import browsers, ended, lab, opened, store
from .rows import COUNT

__all__ = ["ALL"]

MANY, FEW, TIMES = 10_000, 100, 5
LIGHT = 30_000
PANEL = '.jp-SideBar [data-id="jp-pai-jobs"]'
NAMES = "document.querySelectorAll('.jp-pai-JobRow-name').length"
PRESS = f"""
  const {{ x, y }} = document.querySelector('{PANEL}').getBoundingClientRect();
  const place = {{ clientX: x + 5, clientY: y + 5, bubbles: true, button: 0 }};
  document.querySelector('{PANEL}').dispatchEvent(new PointerEvent('pointerdown', place));
"""


def jobs_list() -> Iterator[Row]:
    """The panel with 10,000 jobs, opened for the first time in a page, against 100."""
    with lab(partial(fill, count=MANY)) as many, lab(partial(fill, count=FEW)) as few, browsers(2) as both:
        pages = [browser.new_page() for browser in both]
        size = loaded(pages[1], few)
        ours, baseline = pairs(TIMES, lambda: first(pages[0], many), lambda: first(pages[1], few))
    times = statistics.median(ours) / statistics.median(baseline)
    title = f"jobs list with {MANY:,} jobs: open, against {FEW}"
    yield Row(title, ms(ours), ms(baseline), f"{times:.2f} ×", "2 × its time", times < 2)
    title = "JavaScript that JupyterLab loads before the panel is first opened"
    yield Row(title, f"{size:,} B gzipped", "–", f"{size / 1000:.1f} kB", f"under {LIGHT // 1000} kB", size < LIGHT)


def fill(home: Home, count: int) -> None:
    """Jobs that have ended, one a second."""
    begun = now() - timedelta(days=1)
    store(home, *(ended(f"j{n:07}", f"train {n}", begun + timedelta(seconds=n)) for n in range(count)))


def first(page: Page, running: Lab) -> float:
    """Seconds until rows with names are on the screen, in a page that was loaded anew."""
    load(page, running)
    return opened(page, PRESS, NAMES, 5)


def load(page: Page, running: Lab) -> None:
    """Open JupyterLab and wait until it is idle."""
    page.goto(f"{running.url}/lab?reset&token={running.token}")
    page.wait_for_selector(PANEL, timeout=60_000)
    page.wait_for_selector('.jp-pai-StatusItem:has-text("0")', timeout=60_000)
    page.wait_for_load_state("networkidle")


def loaded(page: Page, running: Lab) -> int:
    """The gzipped bytes of our JavaScript that a new page loads before a view is opened."""
    ours: list[Response] = []

    def listen(reply: Response) -> None:
        if "/extensions/jupyter-pai/" in reply.url:
            ours.append(reply)

    page.on("response", listen)
    load(page, running)
    page.remove_listener("response", listen)
    scripts = [reply.body() for reply in ours if ".js" in reply.url]
    assert scripts
    return sum(len(gzip.compress(script)) for script in scripts)


RANKS, TWO = 64, 2
# The jobs of a platform that is not installed: their instances are read from the file in the job's folder.
SHUT = "[...window.jupyterapp.shell.widgets('main')].find(one => one.id.startsWith('jp-pai-job-'))?.close();"
SHOWN = "document.querySelectorAll('.jp-pai-JobWidget .jp-pai-InstanceTable tr[data-row]').length"


def job_view() -> Iterator[Row]:
    """The tab of a job with a table of 64 instances, against 2."""
    with lab(fill_instances) as running, browsers(2) as both:
        pages = [browser.new_page() for browser in both]
        for page in pages:
            load(page, running)
        # As many rows as are in sight.
        many, few = (
            partial(opened, page, open_tab(count), SHOWN, min(count, 12), SHUT)
            for page, count in zip(pages, (RANKS, TWO), strict=True)
        )
        ours, baseline = pairs(COUNT, many, few)
    times = statistics.median(ours) / statistics.median(baseline)
    title = f"the view of a job with {RANKS} instances: open, until their table is shown, against {TWO}"
    yield Row(title, ms(ours), ms(baseline), f"{times:.2f} ×", "1.5 × its time", times < 1.5)


def open_tab(count: int) -> str:
    """Return the JavaScript that opens the job with this number of instances."""
    return f"window.jupyterapp.commands.execute('jupyter-pai:open-job', {{ id: 'ranks{count}' }});"


def fill_instances(home: Home) -> None:
    """Two jobs, called after how many instances they have, each with a log."""
    when = now()
    for count in (RANKS, TWO):
        job = ended(f"ranks{count}", f"{count} ranks", when)
        store(home, job.model_copy(update={"backend": "elsewhere", "profile": "elsewhere"}))
        folder = home.job(job.id)
        folder.log.mkdir(parents=True)
        names = [f"worker-{rank}" for rank in range(count)]
        for name in names:
            (folder.log / name).write_text(f"this is {name}\n")
        one = Instance("", "worker", None, JobStatus.SUCCEEDED, node="node-7", started_at=when, ended_at=when)
        write_instances(folder, [replace(one, name=name, rank=rank) for rank, name in enumerate(names)])


STEPS, SIX = 60, 6
DRAWN = "document.querySelectorAll('.jp-pai-Graph-node').length"


def workflow_view() -> Iterator[Row]:
    """The tab of a workflow of 60 steps, opened for the first time in a page, until its graph is drawn, against 6."""
    with lab() as running, browsers(2) as both:
        many, few = (
            partial(first_graph, browser.new_page(), running, steps, run_of(running, steps))
            for browser, steps in zip(both, (STEPS, SIX), strict=True)
        )
        ours, baseline = pairs(TIMES, many, few)
    times = statistics.median(ours) / statistics.median(baseline)
    title = f"workflow of {STEPS} steps shown, against one of {SIX}"
    yield Row(title, ms(ours), ms(baseline), f"{times:.2f} ×", "2 × its time", times < 2)


def first_graph(page: Page, running: Lab, steps: int, run: str) -> float:
    """Return the seconds until the graph of a run is drawn, in a page that was loaded anew."""
    load(page, running)
    return opened(page, open_run(run), DRAWN, steps)


def run_of(running: Lab, count: int) -> str:
    """Return the id of a run that has ended: a tree of steps, whose first one failed."""
    empty = {"source": {"files": {"nothing.txt": ""}}}
    steps: list[dict[str, Any]] = [{"name": "s0", "spec": {"command": "exit 3"} | empty}]
    steps += [
        {"name": f"s{n}", "spec": {"command": "true"} | empty, "needs": [f"s{(n - 1) // 2}"]} for n in range(1, count)
    ]
    reply = running.rest("POST", "/pai/api/v1/workflows", {"workflow": {"name": f"w{count}", "steps": steps}})
    run = str(reply["run"]["id"])
    until(lambda: running.rest("GET", f"/pai/api/v1/workflows/{run}")["run"]["ended_at"])
    return run


def open_run(run: str) -> str:
    """Return the JavaScript that opens a run of a workflow."""
    return f"window.jupyterapp.commands.execute('jupyter-pai:open-workflow', {{ id: '{run}' }});"


ALL: list[Callable[[], Iterator[Row]]] = [jobs_list, job_view, workflow_view]
