"""Pages of a real browser on a real JupyterLab, and the jobs that they show."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import datetime

from playwright.sync_api import Browser, Page, sync_playwright

from jupyter_pai.jobs.job import Job, JobStatus
from jupyter_pai.jobs.spec import parse_spec
from jupyter_pai.jobs.state_dir import Home
from jupyter_pai.jobs.store.store import Store

from ..e2e.conftest import Lab, chromium, open_notebook
from ..e2e.test_job_view import output
from .rows import place

__all__ = ["browsers", "ended", "lab", "opened", "store", "tab_opened", "view"]

# From a press until something is there, in milliseconds.
OPEN = """async () => {{
  const count = () => {count};
  const tab = name => document.querySelector(`.jp-pai-Tabs [data-tab=${{name}}]`).click();
  const deadline = performance.now() + 60000;
  const frame = () => new Promise((next, fail) =>
    requestAnimationFrame(performance.now() < deadline ? next : () => fail(`there are ${{count()}}`)));
  {before}
  while (count() > 0) await frame();
  const begun = performance.now();
  {press}
  while (count() < {wanted}) await frame();
  return performance.now() - begun;
}}"""


@contextmanager
def browsers(count: int) -> Iterator[list[Browser]]:
    """Open several browsers, each in its own processes."""
    with sync_playwright() as playwright:
        started = [chromium(playwright) for _ in range(count)]
        try:
            yield started
        finally:
            for browser in started:
                browser.close()


@contextmanager
def lab(prepare: Callable[[Home], None] = lambda home: None) -> Iterator[Lab]:
    """JupyterLab over a state folder that was prepared."""
    with place() as home:
        prepare(home)
        root = home.path.parent / "notebooks"
        root.mkdir()
        running = Lab(root)
        # Nothing that comes by itself; and it would ask a host outside.
        running.setting("@jupyterlab/apputils-extension:notification", fetchNews="false", checkForUpdates=False)
        try:
            yield running
        finally:
            running.stop()


def ended(job: str, name: str, when: datetime) -> Job:
    """A job that has ended well, at once."""
    return Job(
        id=job, spec=parse_spec({"name": name, "command": "true"}), backend="local", profile="local",
        status=JobStatus.SUCCEEDED, submitted_at=when, started_at=when, ended_at=when,
    )  # fmt: skip


def store(home: Home, *jobs: Job) -> None:
    """Put jobs into the store of a state folder."""
    with closing(Store(home.create().database)) as database:
        for future in [database.jobs.insert(job, job.id, "") for job in jobs]:
            future.result()


def view(running: Lab, browser: Browser, job: str, *cells: str, height: int = 900) -> Page:
    """A page with the job in the output of a notebook, which may have more cells."""
    page = browser.new_page(viewport={"width": 1600, "height": height})
    running.write(f"{job}.ipynb", "1", *cells, outputs=[output(job, "")])
    # A workspace of its own: else the page opens the other one's notebook too.
    open_notebook(page, running, f"{job}.ipynb", f"lab/workspaces/{job}/tree")
    page.wait_for_selector(".jp-pai-Tabs")
    return page


def opened(page: Page, press: str, count: str, wanted: int, before: str = "") -> float:
    """Return the seconds from a press until `count` reaches a number; `before` runs before the press. All three are
    JavaScript, where `tab(NAME)` shows a tab of a job's view."""
    return float(page.evaluate(OPEN.format(press=press, count=count, wanted=wanted, before=before))) / 1000


def tab_opened(page: Page, name: str, count: str, wanted: int = 1) -> float:
    """The same for a tab of a job's view, from another one."""
    return opened(page, f"tab('{name}');", count, wanted, "tab('overview');")
