"""The view of a job in a cell's output."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, WebSocket, expect

from ..conftest import until
from .conftest import Lab, execute, last_number, open_notebook, run_cells

VIEW = ".jp-pai-Job"
STATUS = f"{VIEW}-head [role=status] .jp-pai-Status"
TIME = r"(\d+ \w+ )?[\d.]+ (s|min)"


def train(folder: Path, before: str = "", after: str = "") -> tuple[str, str]:
    """Return cells that train until the test creates the file `go`, and print `before` and `after` it."""
    return "%load_ext jupyter_pai", (
        "%%pai_train --metric 'loss=loss=([0-9.]+)' --name {}\n".format("digits")
        + f"import os, time\n{before}\nwhile not os.path.exists('{folder}/go'): time.sleep(0.02)\n{after}\n"
    )


def status(page: Page, word: str) -> None:
    expect(page.locator(STATUS)).to_have_text(word)


def test_job_view_updates_live(lab: Lab, page: Page, tmp_path: Path) -> None:
    reports = "from jupyter_pai import report\nreport.progress(0.01)"
    cells = train(tmp_path, f"for n in range(3): print('epoch', n)\n{reports}", "print('loss=0.25')")
    lab.write("a.ipynb", *cells)
    open_notebook(page, lab, "a.ipynb")
    run_cells(page, 2)
    status(page, "running")
    log = page.locator(f"{VIEW}-log")
    expect(log).to_have_text("epoch 0\nepoch 1\nepoch 2")
    facts = page.locator(f"{VIEW}-facts").first
    expect(facts).to_have_text(re.compile(rf"^\w{{8}} · local · {TIME} · 1 %$"))
    expect(page.locator(".jp-pai-Progress")).to_have_text(re.compile(rf"^1 % · about {TIME} left$"))
    elapsed = facts.inner_text()
    # The restarted kernel does not know the job; the view still updates.
    (kernel,) = lab.rest("GET", "/api/kernels")
    lab.rest("POST", f"/api/kernels/{kernel['id']}/restart", {})
    expect(facts).not_to_have_text(elapsed)
    (tmp_path / "go").touch()
    expect(log).to_contain_text("loss=0.25")
    status(page, "succeeded")
    expect(page.locator(f"{VIEW}-metrics")).to_have_text("loss 0.25")
    expect(page.locator(f"{VIEW}-name")).to_have_text("digits")
    expect(page.locator(VIEW)).to_have_attribute("aria-label", "Training job digits")
    log.focus()
    expect(log).to_be_focused()
    # Letters are not shortcuts of the notebook: B would insert a cell, X would cut one.
    shown = page.locator(".jp-Notebook .jp-Cell")
    count = shown.count()
    for target in (log, page.get_by_role("tab", name="Overview"), page.get_by_role("button", name="Pin")):
        target.focus()
        page.keyboard.press("b")
        page.keyboard.press("x")
        expect(target).to_be_focused()
        expect(shown).to_have_count(count)


TICK = """
import os, time
n = 0
while not os.path.exists(os.environ["GO"]):
    print("tick", n, flush=True)
    n += 1
    time.sleep(0.1)
print("total", n)
"""


class Traffic:
    """The requests and messages of a page about jobs, except notifications of ended jobs, which every page receives."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.work: list[str] = []
        self.open: set[int] = set()
        page.on("request", lambda request: self.work.append(request.url) if "/pai/" in request.url else None)
        page.on("websocket", lambda socket: self._listen(socket) if "/pai/" in socket.url else None)

    def _listen(self, socket: WebSocket) -> None:
        socket.on("framesent", self._note)
        socket.on("framereceived", self._note)

    def _note(self, frame: str | bytes) -> None:
        reply = json.loads(frame)
        if reply["type"] in ("ping", "pong", "jobs") or reply.get("topic") == "jobs":
            return
        self.work.append(reply["type"])
        if reply["type"] == "subscribe":
            self.open.add(reply["id"])
        elif reply["type"] in ("unsubscribe", "end", "error"):
            self.open.discard(reply["id"])

    def heard(self) -> Traffic:
        """Return all messages so far; Playwright delivers the events of a page during a call."""
        self.page.evaluate("0")
        return self


@pytest.mark.slow("browser")
def test_hidden_view_does_no_work_and_its_log_is_still_followed(lab: Lab, page: Page, tmp_path: Path) -> None:
    """Behind another tab or window, the page sends no requests and receives no messages about the job. A hidden view
    has its scrollbar at the top, which is not a scroll by the user."""
    traffic = Traffic(page)
    spec = {"name": "ticks", "command": f"GO={tmp_path}/go python tick.py", "source": {"files": {"tick.py": TICK}}}
    job = lab.rest("POST", "/pai/api/v1/jobs", {"spec": spec})["job"]["id"]

    def more(count: int) -> None:
        before = ticks(lab, job)
        until(lambda: ticks(lab, job) > before + count)

    def assert_is_quiet() -> None:
        until(lambda: not traffic.heard().open, 15)
        more(5)  # Pending messages have arrived.
        traffic.heard().work.clear()
        more(20)
        assert traffic.heard().work == []

    lab.write("a.ipynb", "1", outputs=[output(job, "")])
    open_notebook(page, lab, "a.ipynb")
    status(page, "running")
    page.get_by_role("tab", name="Logs").click()
    text = page.locator(".jp-pai-Log-text")
    expect(text).to_contain_text("tick 5")
    assert traffic.heard().open
    execute(page, "launcher:create")
    assert_is_quiet()
    page.locator("#jp-main-dock-panel .lm-TabBar-tab", has_text="a.ipynb").click()
    seen = ticks(lab, job)
    until(lambda: last_number("tick", text.inner_text()) > seen)
    page.evaluate(BEHIND, "hidden")
    assert_is_quiet()
    page.evaluate(BEHIND, "visible")
    for _ in range(3):
        page.evaluate(SHOWN, "none")
        more(20)
        page.evaluate(SHOWN, "")
        now = ticks(lab, job)
        until(lambda now=now: last_number("tick", text.inner_text()) > now)  # type: ignore[misc]
        expect(page.get_by_role("button", name="Follow")).to_be_disabled()
    (tmp_path / "go").touch()
    status(page, "succeeded")
    expect(text).to_contain_text("total")
    total = int(text.inner_text().split("total ")[1])
    expect(page.locator(".jp-pai-Log-place")).to_contain_text(f"of {total + 1:,}")
    # The terminal may scroll by itself; the log stays at its end.
    page.locator(".xterm-viewport").evaluate(SCROLL_UP)
    expect(text).to_contain_text("total")


SCROLL_UP = """async node => {
  node.scrollTop -= 100;
  for (let n = 0; n < 3; n++) await new Promise(requestAnimationFrame);
}"""

SHOWN = "display => { document.querySelector('.jp-pai-Log-view').style.display = display; }"

# Emulate a page behind other windows, which never happens in a headless browser.
BEHIND = """state => {
  Object.defineProperty(document, 'visibilityState', { value: state, configurable: true });
  document.dispatchEvent(new Event('visibilitychange'));
}"""


def ticks(lab: Lab, job: str) -> int:
    return int(lab.rest("GET", f"/pai/api/v1/jobs/{job}/lines?lines=0")["lines"])


def test_failed_job_shows_its_reason_and_fix(lab: Lab, page: Page, tmp_path: Path) -> None:
    lab.write("a.ipynb", *train(tmp_path, "import no_such_module"))
    open_notebook(page, lab, "a.ipynb")
    run_cells(page, 2)
    status(page, "failed")
    trouble = page.locator(f"{VIEW}-trouble")
    expect(trouble).to_contain_text("`no_such_module` is missing")
    expect(trouble.get_by_role("button", name="Extra packages: no_such_module")).to_be_enabled()
    expect(trouble).not_to_contain_text("--requirement")
    log = page.locator(f"{VIEW}-log")
    expect(log).to_contain_text("Traceback (most recent call last):")
    expect(log).to_contain_text("ModuleNotFoundError: No module named 'no_such_module'")


@pytest.mark.slow("browser")
def test_reopened_notebook_is_live_after_all_processes_were_killed(lab: Lab, page: Page, tmp_path: Path) -> None:
    """A saved notebook, reopened on another server, without a kernel that knows its job."""
    lab.write("a.ipynb", *train(tmp_path, "print('before')", "print('after')"))
    open_notebook(page, lab, "a.ipynb")
    run_cells(page, 2)
    expect(page.locator(f"{VIEW}-log")).to_contain_text("before")
    expect(page.locator(".jp-InputPrompt").nth(1)).to_have_text("[2]:")  # Else its end changes the saved notebook.
    page.keyboard.press("Control+s")
    expect(page.locator(".jp-mod-dirty")).to_have_count(0)
    lab.kill()
    lab.start()
    open_notebook(page, lab, "a.ipynb")
    status(page, "running")
    (tmp_path / "go").touch()
    expect(page.locator(f"{VIEW}-log")).to_contain_text("after")
    status(page, "succeeded")


@pytest.mark.slow("browser")
def test_page_survives_a_server_restart(lab: Lab, page: Page, tmp_path: Path) -> None:
    lab.write("a.ipynb", *train(tmp_path, "print('before')", "print('after')"))
    open_notebook(page, lab, "a.ipynb")
    run_cells(page, 2)
    status(page, "running")
    port = lab.port
    lab.kill()
    (tmp_path / "go").touch()
    lab.port = port
    lab.start_again()
    expect(page.locator(f"{VIEW}-log")).to_contain_text("after")
    status(page, "succeeded")


@pytest.mark.slow("browser")
@pytest.mark.parametrize("page", [{"viewport": {"width": 480, "height": 800}}], indirect=True)
def test_job_view_is_dark_narrow_and_chinese(lab: Lab, page: Page, tmp_path: Path) -> None:
    lab.setting("@jupyterlab/apputils-extension:themes", theme="JupyterLab Dark")
    lab.setting("@jupyterlab/translation-extension:plugin", locale="zh_CN")
    lab.write("a.ipynb", *train(tmp_path, f"print('{'x' * 300}')\nprint('训练')", "raise SystemExit(7)"))
    open_notebook(page, lab, "a.ipynb")
    page.keyboard.press("Control+b")  # The file browser covers most of a narrow window.
    run_cells(page, 2)
    status(page, "运行中")
    expect(page.locator(VIEW)).to_have_attribute("aria-label", "训练作业 digits")
    (tmp_path / "go").touch()
    status(page, "已失败")
    # The reason that an English server stored arrives by the stream, whose header names an English browser.
    expect(page.locator(VIEW)).to_contain_text("命令以退出码 7 结束。")
    sizes = page.locator(VIEW).evaluate("node => [node.scrollWidth, node.clientWidth]")
    assert sizes[0] <= sizes[1]
    # Times are formatted in Chinese in an English browser.
    expect(page.locator(VIEW)).to_contain_text(re.compile(r"20\d\d/\d+/\d+ \d\d:"))
    colour, ground = page.locator(f"{VIEW}-log").evaluate(
        "node => [getComputedStyle(node).color, getComputedStyle(node).backgroundColor]"
    )
    assert contrast(colour, ground) >= 4.5


def contrast(one: str, other: str) -> float:
    """Return the contrast ratio of two CSS colors, as WCAG defines it."""

    def light(colour: str) -> float:
        parts = [float(part) / 255 for part in colour.partition("(")[2].rstrip(")").split(",")[:3]]
        linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted((light(one), light(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.slow("browser")
def test_job_view_works_in_notebook_7(lab: Lab, page: Page, tmp_path: Path) -> None:
    lab.write("a.ipynb", *train(tmp_path, "print('here')"))
    open_notebook(page, lab, "a.ipynb", "notebooks")
    run_cells(page, 2)
    status(page, "running")
    expect(page.locator(f"{VIEW}-log")).to_have_text("here")
    (tmp_path / "go").touch()
    status(page, "succeeded")


def output(job_id: str, snapshot: str) -> dict[str, Any]:
    data = {
        "application/vnd.jupyter-pai.job+json": {"job_id": job_id, "snapshot": snapshot},
        "text/html": "<b>static</b>",
    }
    return {"output_type": "display_data", "data": data, "metadata": {}}


@pytest.mark.slow("browser")
def test_unknown_job_is_shown_as_saved(lab: Lab, page: Page) -> None:
    lab.write("a.ipynb", "1", outputs=[output("abcdefgh", "job: abcdefgh\nstatus: succeeded")])
    open_notebook(page, lab, "a.ipynb")
    expect(page.locator(f"{VIEW}-trouble")).to_contain_text("No job matches `abcdefgh`")
    expect(page.locator(f"{VIEW}-log")).to_have_text("job: abcdefgh\nstatus: succeeded")
    expect(page.locator(VIEW)).to_contain_text("As of the last notebook save:")
    expect(page.locator(f"{VIEW} button")).to_have_count(0)


def test_opening_a_foreign_notebook_does_nothing(lab: Lab, page: Page) -> None:
    strange = [output("x", "") for _ in range(5)]
    for one, data in zip(strange, (None, {}, {"job_id": 3}, {"job_id": "../../x"}, "text"), strict=True):
        one["data"]["application/vnd.jupyter-pai.job+json"] = data
    lab.write("a.ipynb", "1", outputs=strange)
    open_notebook(page, lab, "a.ipynb")
    expect(page.locator(".jp-OutputArea-child")).to_have_count(len(strange))
    assert lab.rest("GET", "/pai/api/v1/jobs")["total"] == 0
