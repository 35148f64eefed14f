"""The accessibility of every view: contrast, screen readers, keyboard, narrow screens, languages and time zones.

`VIEWS` lists the views; a component of the code that none of them shows fails a test.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import datetime
from zoneinfo import ZoneInfo

import pytest
from playwright.sync_api import Browser, ElementHandle, Locator, Page, expect

from ..conftest import ROOT, keep_below, until
from ..fakes.alibaba import StandIn
from ..integration.pai.conftest import write_profile
from .accessibility import THEMES, cut_off, faults, moving, unreachable
from .conftest import LONG, Lab, execute
from .test_job_view import output

SOURCES = ROOT / "labextension/src"
# Offset by 45 minutes from full hours, so that it differs from the zone of any test server.
ZONE = "Asia/Kathmandu"

SCRIPT = """
import os, sys
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
picture = '<svg xmlns="http://www.w3.org/2000/svg" width="400" height="20"><rect width="40" height="20"/></svg>'
Path(os.environ["PAI_OUTPUT_FIGURES"], "figure-1.svg").write_text(picture)
"""

DECLARING = """
import argparse

parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, default=0.01, help="how large a step is")
parser.add_argument("--optimizer", choices=["adam", "sgd"], default="adam")
parser.add_argument("--data", required=True)
options = parser.parse_args()
"""
# Looks like an access key, but is not one.
KEY = "LTAI" + "5tQr8ZbN3mXw7KpL2vYc"


class ViewPage:
    """JupyterLab with jobs of every kind, in one page for all tests."""

    def __init__(self, lab: Lab, page: Page) -> None:
        self.lab, self.page = lab, page
        files = {"train.py": SCRIPT}
        values = {"learning_rate": "0.1", "a_hyperparameter_with_a_long_name": "something of some length"}
        whole = {"entry_point": "train.py", "hyperparameters": values, "labels": {"team": "vision", "data": "digits"}}
        self.done = self.submit("done", source={"files": files}, **whole)
        self.other = self.submit(
            "other", source={"files": files}, **whole | {"hyperparameters": {"learning_rate": "1"}}
        )
        strange = {"hyperparameters": {"nothing_knows_this": "1"}}  # Shown as a note.
        self.failed = self.submit(
            "failed", source={"files": {"train.py": DECLARING}}, entry_point="train.py", instance_count=2, **strange
        )
        until(lambda: all(lab.job(job)["ended_at"] for job in (self.done, self.other, self.failed)))
        # It would occupy a processor that another job waits for.
        self.running = self.submit("running", command="echo '[pai] {\"progress\": 0.5}'; sleep 1000")
        assert [lab.job(job)["status"] for job in (self.done, self.other)] == ["succeeded"] * 2
        until(lambda: lab.job(self.running)["progress"] == 0.5)
        lab.write("work/a.ipynb", "import sys", outputs=[output(self.done, "")])
        lab.write("work/b.ipynb", "lr = 0.1  # how fast", "print(lr)")
        (lab.root / "folder").mkdir()
        (lab.root / "folder/train.py").write_text(DECLARING)
        (lab.root / "folder/a file with a rather long name, as people give them.csv").write_bytes(b"1" * 100_000)
        (lab.root / "folder/local.ini").write_text(f"key = {KEY}\n")

    def submit(self, name: str, **spec: object) -> str:
        fields = {"name": name, "profile": "local", "source": {"files": {"nothing.txt": ""}}} | spec
        body = {"spec": fields, "anyway": True}
        return str(self.lab.rest("POST", "/pai/api/v1/jobs", body)["job"]["id"])

    def job(self, job: str, tab: str) -> Locator:
        """Open the tab of a job in the main area."""
        execute(self.page, "jupyter-pai:open-job", id=job)
        view = self.page.locator(f"#jp-pai-job-{job} .jp-pai-Job, [id$='{job}'] .jp-pai-Job").first
        view.locator(f'[data-tab="{tab}"]').click()
        return view

    def panel(self) -> Locator:
        execute(self.page, "jupyter-pai:show-jobs")
        return self.page.locator(".jp-pai-Jobs")

    def form(self) -> Locator:
        """Open the Train form of a folder with all sections expanded."""
        execute(self.page, "jupyter-pai:train", path="folder/train.py")
        form = self.page.locator(".jp-pai-Train")
        form.get_by_role("heading", name="train.py").wait_for()
        expect(form.locator(".jp-pai-Train-hyper")).to_have_count(3)
        return form

    def unfold(self, view: Locator) -> None:
        """Expand all sections of a view, also nested ones."""
        while (shut := view.locator("details:not([open]) > summary:visible")).count():
            shut.first.click()

    def theme(self, name: str) -> None:
        execute(self.page, "apputils:change-theme", theme=name)
        self.page.wait_for_function("name => document.body.dataset.jpThemeName === name", arg=name)
        expect(self.page.locator("#jupyterlab-splash")).to_have_count(0)


@pytest.fixture(scope="module")
def views(
    browser: Browser,
    platform: StandIn,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[ViewPage]:
    place = tmp_path_factory.mktemp("everyone")
    with pytest.MonkeyPatch.context() as patch:
        keep_below(place, patch)
        for name, value in platform.environment().items():
            patch.setenv(name, value)
        write_profile(platform)
        (root := place / "notebooks").mkdir()
        lab = Lab(root)
        lab.prepare()
        size = {"width": 1300, "height": 900}
        page = browser.new_page(viewport=size, timezone_id=ZONE, reduced_motion="reduce")  # type: ignore[arg-type]
        page.set_default_timeout(LONG)
        made = ViewPage(lab, page)
        page.goto(f"{lab.url}/lab/tree/work/b.ipynb?reset&token={lab.token}")
        page.locator('.jp-SideBar [data-id="jp-pai-jobs"]').wait_for()
        idle = page.locator('.jp-Notebook-ExecutionIndicator[data-status="idle"]')
        idle.wait_for(state="attached")
        yield made
        page.close()
        lab.rest("POST", f"/pai/api/v1/jobs/{made.running}/stop", {})
        until(lambda: lab.job(made.running)["ended_at"])
        lab.stop()


def show(button: Locator, what: Locator) -> None:
    """Press the button that shows an element, unless it is visible."""
    button.first.wait_for()
    if not what.count():
        button.first.click()
    what.wait_for()


def jobs(views: ViewPage) -> Locator:
    panel = views.panel()
    expect(panel.locator(".jp-pai-JobRow")).to_have_count(4)
    panel.get_by_role("listbox").focus()
    views.page.keyboard.press("Control+a")
    expect(panel.get_by_role("toolbar", name="Selected jobs")).to_be_visible()
    return panel


def no_jobs(views: ViewPage) -> Locator:
    panel = views.panel()
    panel.get_by_label("Search by name").fill("nothing of that name")
    panel.locator(".jp-pai-Jobs-none").wait_for()
    return panel


def overview(views: ViewPage) -> Locator:
    views.panel().get_by_label("Search by name").fill("")
    view = views.job(views.done, "overview")
    view.locator(".jp-pai-Facts").first.wait_for()
    view.get_by_role("list", name="Figures").get_by_role("img").wait_for()
    views.unfold(view)
    return view


def running(views: ViewPage) -> Locator:
    view = views.job(views.running, "overview")
    view.get_by_role("progressbar").wait_for()
    return view


def failed(views: ViewPage) -> Locator:
    view = views.job(views.failed, "overview")
    view.locator(".jp-pai-Job-trouble, .jp-pai-Trouble").first.wait_for()
    view.get_by_role("list", name="Notes").wait_for()
    view.locator(".jp-pai-InstanceTable").wait_for()
    return view


def logs(views: ViewPage) -> Locator:
    view = views.job(views.done, "logs")
    view.locator(".jp-pai-Log-text").wait_for()
    return view


def metrics(views: ViewPage) -> Locator:
    view = views.job(views.done, "metrics")
    view.locator(".jp-pai-Chart canvas").first.wait_for()
    return view


def outputs(views: ViewPage) -> Locator:
    view = views.job(views.done, "outputs")
    show(view.get_by_role("button", name="notes with a rather long name"), view.locator(".jp-pai-Preview-text"))
    return view


def copied(views: ViewPage) -> Locator:
    view = outputs(views)
    view.get_by_role("button", name="Copy all to workspace…").first.click()
    views.page.locator(".jp-Dialog .jp-mod-accept").click()
    view.locator('.jp-pai-Copy[data-status="done"]').wait_for()
    return view


def tensorboard(views: ViewPage) -> Locator:
    view = views.job(views.done, "tensorboard")
    view.locator(".jp-pai-TensorBoard").wait_for()
    return view


def events(views: ViewPage) -> Locator:
    view = views.job(views.done, "events")
    view.locator("table").wait_for()
    return view


def edit(views: ViewPage) -> Locator:
    view = views.job(views.done, "overview")
    show(view.get_by_role("button", name="Edit and rerun"), view.get_by_role("form", name="Edit and rerun"))
    return view


def started(views: ViewPage) -> Locator:
    view = edit(views)
    view.get_by_role("form").get_by_role("button", name="Run").click()
    view.wait_for(state="hidden")  # The view of the new job replaces it.
    view = views.job(views.done, "overview")
    view.locator(".jp-pai-Started").wait_for()
    return view


def question(views: ViewPage) -> Locator:
    view = views.job(views.failed, "overview")
    view.get_by_role("button", name="Delete").click()
    return views.page.locator(".jp-Dialog-content")


def compare(views: ViewPage) -> Locator:
    views.page.keyboard.press("Escape")
    execute(views.page, "jupyter-pai:compare-jobs", ids=[views.done, views.other])
    view = views.page.locator(".jp-pai-Compare")
    view.locator("canvas").first.wait_for()
    return view


def cell(views: ViewPage) -> Locator:
    execute(views.page, "docmanager:open", path="work/a.ipynb")
    view = views.page.locator(".jp-OutputArea .jp-pai-Job")
    view.locator(".jp-pai-Job-name").wait_for()
    return view


def train(views: ViewPage) -> Locator:
    form = views.form()
    views.unfold(form)
    show(form.get_by_role("button", name="Add input"), form.locator(".jp-pai-ChannelRow"))
    form.get_by_role("alert", name="Secrets found").wait_for()
    return form


def train_less(views: ViewPage) -> Locator:
    form = train(views)
    form.get_by_role("alert").get_by_role("button", name="Exclude local.ini").click()
    form.locator(".jp-pai-Chips").wait_for()
    return form


def train_wrong(views: ViewPage) -> Locator:
    form = views.form()
    views.unfold(form)
    form.get_by_label("Time limit in seconds").fill("soon")
    form.locator('[aria-invalid="true"]').first.wait_for()
    return form


def train_elsewhere(views: ViewPage) -> Locator:
    form = views.form()
    form.get_by_label("Profile", exact=True).select_option("pai")
    form.locator("summary", has_text="Machine").wait_for()
    views.unfold(form)
    form.locator("[data-type]").first.wait_for()
    return form


def profiles(views: ViewPage) -> Locator:
    execute(views.page, "jupyter-pai:profiles")
    view = views.page.locator(".jp-pai-Profiles")
    view.locator("li[data-profile=pai]").wait_for()
    view.get_by_role("button", name="Test profile local").click()
    view.get_by_role("status").filter(has_text="Jobs can run with this profile.").wait_for()
    return view


def profile(views: ViewPage) -> Locator:
    view = profiles(views)
    view.get_by_role("button", name="Add…").click()
    view.get_by_role("button", name="Alibaba Cloud PAI", exact=True).click()
    view.get_by_role("form").wait_for()
    views.unfold(view)
    return view


def platforms(views: ViewPage) -> Locator:
    execute(views.page, "jupyter-pai:show-platforms")
    view = views.page.locator(".jp-pai-Platforms")
    view.locator("li[data-profile=pai]").wait_for()
    while (shut := view.locator(".jp-pai-Platforms-toggle[aria-expanded=false]")).count():
        shut.first.click()
    views.unfold(view)
    view.locator("[data-type]").first.wait_for()
    view.locator("[data-quota=quota1stand]").wait_for()
    view.locator("[data-remote], .jp-pai-Platforms-note:has-text('The account has no jobs')").first.wait_for()
    return view


def storages(views: ViewPage) -> Locator:
    execute(views.page, "jupyter-pai:show-explorer")
    view = views.page.locator(".jp-pai-Explorer")
    view.get_by_role("button", name="Storages").wait_for()
    if view.get_by_role("button", name="Storages").is_enabled():
        view.get_by_role("button", name="Storages").click()
    view.get_by_role("button", name="Files of JupyterLab").wait_for()
    return view


def explorer(views: ViewPage) -> Locator:
    view = storages(views)
    view.get_by_role("button", name="Files of JupyterLab").click()
    view.locator('.jp-pai-Explorer-row[data-path="folder/"]').dblclick()
    view.locator('.jp-pai-Explorer-row[data-path="train.py"]').click()
    return view


def explorer_menu(views: ViewPage) -> Locator:
    explorer(views).get_by_role("button", name="Actions").click()
    return views.page.locator(".jp-pai-Menu")


def uploaded(views: ViewPage) -> Locator:
    views.page.keyboard.press("Escape")
    view = explorer(views)
    view.locator('[data-upload="files"]').set_input_files(ROOT / "LICENSE")
    view.locator(".jp-pai-Transfers").wait_for()
    return view


def settings(views: ViewPage) -> Locator:
    execute(views.page, "settingeditor:open", query="Training")
    view = views.page.locator(".jp-pai-Settings")
    view.locator("input").first.wait_for()
    return view


VIEWS: dict[str, Callable[[ViewPage], Locator]] = {
    view.__name__: view
    for view in (
        *(jobs, no_jobs, overview, running, failed, logs, metrics, outputs, copied, tensorboard, events, edit),
        *(started, question, compare, cell, train, train_less, train_wrong, train_elsewhere, profiles, profile),
        *(platforms, storages, explorer, explorer_menu, uploaded, settings),
    )
}
WALKED: set[str] = set()
SEEN: set[str] = set()


@pytest.mark.slow("browser")
@pytest.mark.parametrize("name", VIEWS)
def test_views_pass_accessibility_checks(views: ViewPage, name: str) -> None:
    root = walk(views, name)
    wrong = {"Light": faults(views.page, root)}
    wrong |= {"moves": moving(root), "cut off": cut_off(root)}
    for theme in THEMES[1:]:
        views.theme(theme)
        if not root.is_visible():
            root = walk(views, name)  # A menu closes when it loses the focus.
        root.evaluate(SCROLL_UP)
        wrong[theme] = faults(views.page, root, "color-contrast")
    views.theme(THEMES[0])
    wrong["keyboard"] = unreachable(views.page, root)
    assert {kind: result for kind, result in wrong.items() if result} == {}


# In the scrolled form, axe cannot tell the color behind a text.
SCROLL_UP = "root => root.querySelectorAll('.jp-pai-Train-body').forEach(node => { node.scrollTop = 0; })"


def walk(views: ViewPage, name: str) -> ElementHandle:
    view = VIEWS[name](views)
    view.wait_for()
    WALKED.add(name)
    SEEN.update(views.page.evaluate(CLASSES))
    return view.element_handle()


CLASSES = """() => [...document.querySelectorAll('[class*="jp-pai-"]')].flatMap(node => [...node.classList])"""


@pytest.mark.slow("browser")
def test_elements_within_jupyterlab_pass_axe(views: ViewPage) -> None:
    mine = (".jp-pai-StatusItem", ".jp-LauncherCard[data-category='Training']")
    execute(views.page, "launcher:create")
    wrong = {}
    for theme in (*THEMES[1:], THEMES[0]):
        views.theme(theme)
        for one in mine:
            views.page.locator(one).first.wait_for()
            wrong[theme, one] = faults(views.page, one)
    assert {place: result for place, result in wrong.items() if result} == {}


# Classes that no view of the list shows, with the test that checks them with axe.
ELSEWHERE = {
    "Broken": "test_jobs",
    "Dialog": "test_plain_page_accessibility",
    "Graph": "test_workflows",
    "Models": "test_platform_job",
    "Notice": "test_plain_page_accessibility",
    "Notices": "test_plain_page_accessibility",
    "Page": "test_plain_page_accessibility",
    "Steps": "test_workflows",
    "Workflow": "test_workflows",
}


@pytest.mark.slow("browser")
def test_every_component_is_checked(views: ViewPage) -> None:
    """Each component has its own class: a new one that no view of the list shows fails this test."""
    for name in VIEWS:
        if name not in WALKED:
            walk(views, name)
    code = "\n".join(path.read_text("utf-8") for path in SOURCES.rglob("*.ts*"))
    seen = " ".join(SEEN)
    assert sorted(blocks(code) - blocks(seen)) == sorted(ELSEWHERE)
    for name, file in ELSEWHERE.items():
        names = re.findall(r'faults\(page, "(.*?)"', (ROOT / f"tests/e2e/{file}.py").read_text("utf-8"))
        assert name in blocks(" ".join(names)), f"{file} does not ask axe about {name}"


def blocks(text: str) -> set[str]:
    return set(re.findall(r"jp-pai-([A-Z][A-Za-z]*)", text))


@pytest.mark.slow("browser")
def test_times_use_the_time_zone_of_the_browser(views: ViewPage) -> None:
    view = overview(views)
    shown = view.get_by_role("list", name="Timeline").locator("time").first
    there = datetime.fromisoformat(shown.get_attribute("datetime") or "").astimezone(ZoneInfo(ZONE))
    assert f"{there:%-m/%-d/%Y, %-I:%M:%S}" in shown.inner_text()


@pytest.mark.slow("browser")
def test_end_of_a_job_is_announced(views: ViewPage) -> None:
    """Alerts are announced anywhere, and the job view has its status in a live region."""
    job = views.submit("heard", command="true")
    view = views.job(job, "overview")
    views.panel()
    expect(views.page.get_by_role("alert").filter(has_text="heard succeeded.")).to_be_visible()
    expect(view.locator(".jp-pai-Job-head").get_by_role("status")).to_have_text("succeeded")
