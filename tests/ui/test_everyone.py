"""Every view is for everyone: whoever sees little, hears, types, has a narrow screen, or lives elsewhere.

`VIEWS` is the list; what the code has and no view of it shows makes a test fail.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, ElementHandle, Locator, Page, expect

from ..conftest import ROOT, keep_below, until
from .conftest import Lab, execute
from .everyone import THEMES, cut_off, faults, moving, unreachable
from .test_view import output

LONG = 60_000
SOURCES = ROOT / "labextension/src"
# Fifteen minutes from any whole hour, so that no server of a test is there.
ZONE = "Asia/Kathmandu"

SCRIPT = """
import base64, os, sys
from pathlib import Path
from jupyter_pai import report

report.progress(1)
for step in range(20):
    report.metric("loss", 1 / (step + 1), step=step)
    report.metric("accuracy", step / 20, step=step)
    print("a rather long line, as programs write them: step", step, "of 20, and so on and so on and so on")
print("Error: not really", file=sys.stderr)
model = Path(os.environ["PAI_OUTPUT_MODEL"])
(model / "notes with a rather long name, as models have them.txt").write_text("What was found out.")
(model / "weights.bin").write_bytes(bytes(range(256)) * 20)
"""


class House:
    """JupyterLab with jobs of every kind, in one page that stays."""

    def __init__(self, lab: Lab, page: Page) -> None:
        self.lab, self.page = lab, page
        files = {"train.py": SCRIPT}
        values = {"learning_rate": "0.1", "a_hyperparameter_with_a_long_name": "something of some length"}
        whole = {"entry_point": "train.py", "hyperparameters": values, "labels": {"team": "vision", "data": "digits"}}
        self.done = self.submit("done", source={"files": files}, **whole)
        self.other = self.submit(
            "other", source={"files": files}, **whole | {"hyperparameters": {"learning_rate": "1"}}
        )
        self.failed = self.submit("failed", command="echo before; exit 3")
        self.running = self.submit("running", command="echo '[pai] {\"progress\": 0.5}'; sleep 1000")
        until(lambda: all(lab.job(job)["ended_at"] for job in (self.done, self.other, self.failed)))
        until(lambda: lab.job(self.running)["progress"] == 0.5)
        lab.write("work/a.ipynb", "import sys", outputs=[output(self.done, "")])
        lab.write("work/b.ipynb", "lr = 0.1  # how fast", "print(lr)")

    def submit(self, name: str, **spec: object) -> str:
        fields = {"name": name, "source": {"files": {"nothing.txt": ""}}} | spec
        return str(self.lab.rest("POST", "/pai/api/v1/jobs", {"spec": fields})["job"]["id"])

    def job(self, job: str, tab: str) -> Locator:
        """The tab of a job, in the main area."""
        execute(self.page, "jupyter-pai:open-job", id=job)
        view = self.page.locator(f"#jp-pai-job-{job} .jp-pai-Job, [id$='{job}'] .jp-pai-Job").first
        view.locator(f'[data-tab="{tab}"]').click(timeout=LONG)
        return view

    def panel(self) -> Locator:
        execute(self.page, "jupyter-pai:show-jobs")
        return self.page.locator(".jp-pai-Jobs")

    def theme(self, name: str) -> None:
        execute(self.page, "apputils:change-theme", theme=name)
        self.page.wait_for_function("name => document.body.dataset.jpThemeName === name", arg=name)
        expect(self.page.locator("#jupyterlab-splash")).to_have_count(0)


@pytest.fixture(scope="module")
def house(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    place = tmp_path_factory.mktemp("everyone")
    with pytest.MonkeyPatch.context() as patch:
        keep_below(place, patch)
        (root := place / "notebooks").mkdir()
        lab = Lab(root)
        lab.setting("@jupyterlab/apputils-extension:notification", fetchNews="false", checkForUpdates=False)
        size = {"width": 1300, "height": 900}
        page = browser.new_page(viewport=size, timezone_id=ZONE, reduced_motion="reduce")  # type: ignore[arg-type]
        made = House(lab, page)
        page.goto(f"{lab.url}/lab/tree/work/b.ipynb?reset&token={lab.token}")
        page.locator('.jp-SideBar [data-id="jp-pai-jobs"]').wait_for(timeout=LONG)
        yield made
        page.close()
        lab.rest("POST", f"/pai/api/v1/jobs/{made.running}/stop", {})
        until(lambda: lab.job(made.running)["ended_at"])
        lab.stop()


def jobs(house: House) -> Locator:
    panel = house.panel()
    expect(panel.locator(".jp-pai-JobRow")).to_have_count(4, timeout=LONG)
    panel.get_by_role("listbox").focus()
    house.page.keyboard.press("Control+a")
    expect(panel.get_by_role("toolbar", name="With the selected jobs")).to_be_visible()
    return panel


def no_jobs(house: House) -> Locator:
    panel = house.panel()
    panel.get_by_label("Search by name").fill("nothing of that name")
    panel.locator(".jp-pai-Jobs-none").wait_for()
    return panel


def overview(house: House) -> Locator:
    house.panel().get_by_label("Search by name").fill("")
    view = house.job(house.done, "overview")
    view.locator(".jp-pai-Facts").first.wait_for()
    for summary in view.locator("summary").all():
        summary.click()
    return view


def running(house: House) -> Locator:
    view = house.job(house.running, "overview")
    view.get_by_role("progressbar").wait_for()
    return view


def failed(house: House) -> Locator:
    view = house.job(house.failed, "overview")
    view.locator(".jp-pai-Job-trouble, .jp-pai-Trouble").first.wait_for()
    return view


def logs(house: House) -> Locator:
    view = house.job(house.done, "logs")
    view.locator(".jp-pai-Log-text").wait_for()
    return view


def metrics(house: House) -> Locator:
    view = house.job(house.done, "metrics")
    view.locator(".jp-pai-Chart canvas").first.wait_for()
    return view


def outputs(house: House) -> Locator:
    view = house.job(house.done, "outputs")
    view.get_by_role("button", name="notes with a rather long name").first.click(timeout=LONG)
    view.locator(".jp-pai-Preview-text").wait_for()
    return view


def tensorboard(house: House) -> Locator:
    view = house.job(house.done, "tensorboard")
    view.locator(".jp-pai-TensorBoard").wait_for()
    return view


def events(house: House) -> Locator:
    view = house.job(house.done, "events")
    view.locator("table").wait_for()
    return view


def edit(house: House) -> Locator:
    view = house.job(house.done, "overview")
    view.get_by_role("button", name="Edit and rerun").click()
    view.get_by_role("form", name="Edit and rerun").wait_for()
    return view


def question(house: House) -> Locator:
    view = house.job(house.failed, "overview")
    view.get_by_role("button", name="Delete").click()
    return house.page.locator(".jp-Dialog-content")


def compare(house: House) -> Locator:
    house.page.keyboard.press("Escape")
    execute(house.page, "jupyter-pai:compare-jobs", ids=[house.done, house.other])
    view = house.page.locator(".jp-pai-Compare")
    view.locator("canvas").first.wait_for(timeout=LONG)
    return view


def cell(house: House) -> Locator:
    execute(house.page, "docmanager:open", path="work/a.ipynb")
    view = house.page.locator(".jp-OutputArea .jp-pai-Job")
    view.locator(".jp-pai-Job-name").wait_for(timeout=LONG)
    return view


VIEWS: dict[str, Callable[[House], Locator]] = {
    view.__name__: view
    for view in (
        *(jobs, no_jobs, overview, running, failed, logs, metrics, outputs, tensorboard, events, edit),
        *(question, compare, cell),
    )
}
SEEN: set[str] = set()


@pytest.mark.parametrize("name", VIEWS)
def test_everyone_can_use(house: House, name: str) -> None:
    root = show(house, name)
    wrong = {"Light": faults(house.page, root)}
    wrong |= {"moves": moving(root), "cut off": cut_off(root), "keyboard": unreachable(house.page, root)}
    for theme in THEMES[1:]:
        house.theme(theme)
        wrong[theme] = faults(house.page, root, "color-contrast")
    house.theme(THEMES[0])
    assert {kind: found for kind, found in wrong.items() if found} == {}


def show(house: House, name: str) -> ElementHandle:
    view = VIEWS[name](house)
    view.wait_for(timeout=LONG)
    SEEN.update(house.page.evaluate(CLASSES))
    return view.element_handle()


CLASSES = """() => [...document.querySelectorAll('[class*="jp-pai-"]')].flatMap(node => [...node.classList])"""
