"""The list of jobs, the tabs of jobs, and the other places where JupyterLab and Notebook 7 show jobs."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, TimeoutError as PlaywrightTimeout, expect

from .accessibility import faults
from .conftest import Lab, execute

ROW = ".jp-pai-JobRow"
# Commands of the extension whose arguments are not described.
UNDESCRIBED = """async () => {
  const { commands } = window.jupyterapp;
  const bad = [];
  for (const id of commands.listCommands().filter(id => id.startsWith('jupyter-pai:'))) {
    const { args } = await commands.describedBy(id);
    const properties = Object.values(args?.properties ?? {});
    if (args?.type !== 'object' || properties.some(one => !one.type || !one.description)) bad.push(id);
  }
  return commands.hasCommand('jupyter-pai:open-job') ? bad : ['none'];
}"""


def submit(lab: Lab, name: str, command: str = "true", notebook: str = "", **spec: Any) -> str:
    """Submit a job and return its id."""
    fields = {"name": name, "command": command, "source": {"files": {"nothing.txt": ""}}} | spec
    return str(lab.rest("POST", "/pai/api/v1/jobs", {"spec": fields, "notebook": notebook})["job"]["id"])


def waiting(tmp_path: Path) -> str:
    """Return the command of a job that runs until the test creates the file `go`."""
    return f"while [ ! -e {tmp_path}/go ]; do sleep 0.05; done"


def open_panel(page: Page, lab: Lab, reset: str = "?reset&") -> None:
    page.goto(f"{lab.url}/lab{reset}token={lab.token}")
    page.locator('.jp-SideBar [data-id="jp-pai-jobs"]').click()
    page.wait_for_selector(".jp-pai-Jobs")


def row(page: Page, name: str) -> Locator:
    return page.locator(ROW, has=page.locator(".jp-pai-JobRow-name", has_text=name))


def filter_list(page: Page) -> None:
    """Filter the list by name, status, label and notebook."""
    page.get_by_label("Search by name").fill("et")
    expect(page.locator(ROW)).to_have_count(1)
    expect(row(page, "beta")).to_be_visible()
    page.get_by_label("Search by name").fill("")
    page.get_by_label("Status", exact=True).select_option("live")
    expect(page.locator(ROW)).to_have_count(1)
    expect(row(page, "gamma")).to_be_visible()
    page.get_by_label("Status", exact=True).select_option("")
    page.get_by_label("Label (KEY=VALUE)").fill("team=a")
    expect(page.locator(ROW)).to_have_count(1)
    page.get_by_label("Label (KEY=VALUE)").fill("")
    expect(page.locator(ROW)).to_have_count(3)
    page.locator(".jp-pai-JobFilters").get_by_label("Notebook").select_option(label="This notebook: a.ipynb")
    expect(page.locator(ROW)).to_have_count(1)
    expect(row(page, "alpha")).to_be_visible()
    page.locator(".jp-pai-JobFilters").get_by_label("Notebook").select_option("")
    expect(page.locator(ROW)).to_have_count(3)


def turn_notifications_off(page: Page) -> None:
    """Change the setting in the settings editor, and wait until the page has loaded the saved value."""
    execute(page, "settingeditor:open", query="Training jobs")
    box = page.locator(".jp-SettingsPanel").get_by_label("Notify when a job ends")
    box.wait_for()
    path = "/lab/api/settings/jupyter-pai:page"
    with page.expect_response(lambda reply: path in reply.url and reply.request.method == "GET") as saved:
        box.uncheck()
    saved.value.finished()


def test_list_is_live_filtered_and_deletes_many(lab: Lab, page: Page, tmp_path: Path) -> None:
    sockets: list[str] = []
    page.on("websocket", lambda socket: sockets.append(socket.url) if "/pai/" in socket.url else None)
    lab.write("work/a.ipynb", "1")
    open_panel(page, lab, "/tree/work/a.ipynb?reset&")
    expect(page.locator(".jp-pai-Jobs-none")).to_contain_text("%%pai_train")
    submit(lab, "alpha", labels={"team": "a"}, notebook="work/a.ipynb")
    submit(lab, "beta", "exit 3")
    submit(lab, "gamma", "echo '[pai] {\"progress\": 0.5}'; echo epoch 1; " + waiting(tmp_path))
    expect(page.locator(ROW)).to_have_count(3)
    expect(row(page, "alpha")).to_contain_text("succeeded")
    expect(row(page, "beta")).to_contain_text("failed")
    expect(row(page, "gamma")).to_contain_text("running · 50 %")
    expect(page.locator(".jp-pai-StatusItem")).to_have_text("1 job")
    expect(page.locator(".jp-toast-message", has_text="beta failed: ")).to_be_visible()

    filter_list(page)
    toast = page.locator(".Toastify__toast", has_text="beta failed: ")
    toast.get_by_role("button", name="Open").click()
    expect(page.get_by_role("group", name="Training job beta")).to_be_visible()
    assert page.evaluate(UNDESCRIBED) == []
    # One WebSocket serves the list, the tabs and the log.
    row(page, "gamma").click()
    view = page.get_by_role("group", name="Training job gamma")
    view.get_by_role("tab", name="Logs").click()
    expect(view.locator(".jp-pai-Log-text")).to_contain_text("epoch 1")
    assert len(sockets) == 1

    page.get_by_role("listbox").focus()
    page.keyboard.press("Control+a")
    expect(page.locator(f'{ROW}[aria-selected="true"]')).to_have_count(3)
    page.get_by_role("toolbar", name="Selected jobs").get_by_role("button", name="Delete").click()
    dialog = page.locator(".jp-Dialog")
    expect(dialog).to_contain_text("Delete 2 jobs with all their files?")
    expect(dialog).to_contain_text("1 of the selected jobs are running or pinned and will be kept.")
    dialog.get_by_role("button", name="Delete").click()
    expect(page.locator(ROW)).to_have_count(1)
    expect(page.locator(".jp-pai-JobSelection")).to_contain_text("1 selected")
    turn_notifications_off(page)
    (tmp_path / "go").touch()
    expect(row(page, "gamma")).to_contain_text("succeeded")
    # The page counts active jobs a moment after it has notified about ended ones.
    expect(page.locator(".jp-pai-StatusItem")).to_have_text("0 jobs")
    expect(page.locator(".jp-toast-message", has_text="gamma")).to_have_count(0)


@pytest.mark.slow("browser")
def test_job_tabs_are_restored_and_the_list_recovers_after_a_disconnection(
    lab: Lab, page: Page, tmp_path: Path
) -> None:
    job = submit(lab, "digits", waiting(tmp_path))
    gone = submit(lab, "gone")
    open_panel(page, lab)
    expect(row(page, "gone")).to_contain_text("succeeded")
    row(page, "digits").click()
    tab = page.locator(".lm-DockPanel-tabBar .lm-TabBar-tab", has_text="digits")
    expect(tab).to_be_visible()
    row(page, "digits").click()
    expect(tab).to_have_count(1)
    expect(page.locator(".jp-MainAreaWidget .jp-pai-Status").first).to_have_text("running")

    port = lab.port
    lab.kill()
    for place in (".jp-pai-Jobs", ".jp-pai-Job"):
        expect(page.locator(f"{place} > .jp-pai-Broken")).to_contain_text("Retrying in")
    assert faults(page, ".jp-pai-Broken") == []
    (tmp_path / "go").touch()
    lab.port = port
    lab.start_again()
    lab.rest("DELETE", f"/pai/api/v1/jobs/{gone}")
    submit(lab, "new")
    expect(row(page, "new")).to_contain_text("succeeded")
    expect(row(page, "digits")).to_contain_text("succeeded")
    expect(row(page, "gone")).to_have_count(0)
    notification = page.locator(".jp-toast-message", has_text="digits succeeded.")
    expect(notification).to_be_visible()

    # JupyterLab saves its layout when it is idle, and restores the tabs of jobs.
    with page.expect_response(lambda reply: "/api/workspaces/" in reply.url and reply.request.method == "PUT"):
        page.keyboard.press("Control+b")
        page.keyboard.press("Control+b")
    page.goto(f"{lab.url}/lab?token={lab.token}")
    expect(tab).to_be_visible()
    expect(page.locator(".jp-pai-StatusItem")).to_have_text("0 jobs")
    expect(notification).to_have_count(0)  # It is shown once.
    assert lab.job(job)["status"] == "succeeded"


@pytest.mark.slow("browser")
def test_notebook_7_shows_jobs_beside_the_files(lab: Lab, page: Page, tmp_path: Path) -> None:
    submit(lab, "digits", waiting(tmp_path))
    page.goto(f"{lab.url}/tree?token={lab.token}")
    page.locator(".lm-TabBar-tab", has_text="Training jobs").click()
    expect(row(page, "digits")).to_contain_text("running")
    row(page, "digits").click()
    expect(page.locator(".lm-TabBar-tab.lm-mod-current", has_text="digits")).to_be_visible()
    expect(page.locator(".jp-MainAreaWidget .jp-pai-Status").first).to_have_text("running")
    # A notebook page of Notebook 7 has one tab: a job opens on the file page.
    lab.write("a.ipynb", "1")
    page.goto(f"{lab.url}/notebooks/a.ipynb?token={lab.token}")
    page.wait_for_selector(".jp-Notebook .jp-Cell")
    command = page.locator('.lm-CommandPalette-item[data-command="jupyter-pai:show-jobs"]')
    while not row(page, "digits").count():  # The palette adds commands while it loads, and redraws.
        page.keyboard.press("Escape")
        page.keyboard.press("Control+Shift+c")
        with contextlib.suppress(PlaywrightTimeout):
            page.locator(".lm-CommandPalette-input").fill("show training jobs", timeout=3_000)
            command.click(timeout=3_000)
            row(page, "digits").wait_for(timeout=5_000)
    with page.expect_popup() as popup:
        row(page, "digits").click()
    expect(popup.value.locator(".jp-MainAreaWidget .jp-pai-Status").first).to_have_text("running")
    popup.value.close()
    (tmp_path / "go").touch()


class WithoutServerPart(Lab):
    """JupyterLab with the extension of the page only."""

    disabled = ("jupyter_pai",)

    def _answers(self) -> bool:
        try:
            return bool(self.rest("GET", "/api"))
        except OSError:
            return False


@pytest.fixture
def bare(home: Any, tmp_path: Path) -> Any:
    root = tmp_path / "notebooks"
    root.mkdir()
    started = WithoutServerPart(root)
    yield started
    started.stop()


@pytest.mark.slow("browser")
def test_missing_server_extension_is_explained(bare: Lab, page: Page) -> None:
    sockets: list[str] = []
    page.on("websocket", lambda socket: sockets.append(socket.url))
    open_panel(page, bare)
    trouble = page.locator(".jp-pai-Jobs-trouble")
    expect(trouble).to_have_count(1)
    expect(trouble).to_contain_text("pip install jupyter-pai")
    assert not [url for url in sockets if "/pai/" in url]


@pytest.mark.slow("browser")
def test_version_mismatch_is_reported(lab: Lab, page: Page) -> None:
    about = {"version": "9.9.9", "backends": ["local"], "home": ""}
    page.route(re.compile(r"/pai/api/v1(\?\d+)?$"), lambda route: route.fulfill(json=about))
    open_panel(page, lab)
    expect(page.locator(".jp-pai-Jobs-trouble")).to_contain_text("9.9.9")
    expect(page.locator(".jp-toast-message", has_text="9.9.9")).to_have_count(1)
    expect(page.locator(".jp-toast-message")).to_contain_text("Restart the Jupyter server")
