"""The tab Logs: paging and search in a long log, live lines, and filtered escape sequences."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from ..conftest import until
from ..support.binary_logs import BINARY_LOGS, command_of, prepare
from .conftest import Lab, last_number, open_notebook

TEXT, ROWS, PLACE = ".jp-pai-Log-text", ".jp-pai-Log .xterm-rows", ".jp-pai-Log-place"
LINES = 100_000
PRINT = f"for n in range({LINES}): print('line', n, 'needle' if n in (7, 31_000, 98_765) else '')"


def submit(lab: Lab, command: str, folder: Path, **more: Any) -> str:
    spec = {"name": "digits", "command": command, "source": {"folder": str(folder)}} | more
    return str(lab.rest("POST", "/pai/api/v1/jobs", {"spec": spec})["job"]["id"])


def show(page: Page, lab: Lab, job: str) -> None:
    """Open the log of a job in the view of a notebook."""
    data = {"application/vnd.jupyter-pai.job+json": {"job_id": job, "snapshot": ""}}
    lab.write("a.ipynb", "1", outputs=[{"output_type": "display_data", "data": data, "metadata": {}}])
    open_notebook(page, lab, "a.ipynb")
    page.get_by_role("tab", name="Logs").click()


def ended(lab: Lab, job: str) -> None:
    until(lambda: lab.job(job)["ended_at"])


def test_long_log_opens_immediately_and_completely(lab: Lab, page: Page, folder: Path) -> None:
    (folder / "long.py").write_text(PRINT)
    job = submit(lab, "python long.py", folder)
    ended(lab, job)
    show(page, lab, job)
    seen = page.locator(TEXT)
    expect(seen).to_contain_text(f"line {LINES - 1}")
    expect(page.locator(ROWS)).to_contain_text(f"line {LINES - 1}")
    expect(page.locator(PLACE)).to_contain_text("of 100,000")
    # The scrollbar covers the whole log.
    page.locator(".jp-pai-Log-bar").evaluate("bar => bar.scrollTop = 0")
    expect(seen).to_contain_text("line 0 \nline 1 \n")
    expect(page.locator(PLACE)).to_contain_text("Lines 1 to")
    # Scroll past the loaded lines, as with a wheel.
    terminal = page.locator(".jp-pai-Log-terminal")
    terminal.hover()

    def further() -> bool:
        page.mouse.wheel(0, 1_000)
        return max(map(int, re.findall(r"^line (\d+) ", seen.inner_text(), re.MULTILINE)), default=0) >= 3210

    until(further)
    field = page.get_by_role("textbox", name="Search the log")
    terminal.click()
    page.keyboard.press("Control+f")
    expect(field).to_be_focused()
    field.fill("NEEDLE")
    hits = page.locator(".jp-pai-Log-hits")
    expect(hits).to_have_text("2 of 3 lines")
    expect(seen).to_contain_text("line 31000 needle")
    field.press("Enter")
    expect(seen).to_contain_text("line 98765 needle")
    field.press("Enter")
    expect(hits).to_have_text("1 of 3 lines")
    expect(seen).to_contain_text("line 7 needle")
    field.press("Shift+Enter")
    expect(seen).to_contain_text("line 98765 needle")
    page.get_by_role("button", name="Match case").click()
    expect(hits).to_have_text("No results")
    goto = page.get_by_role("textbox", name="Go to line or time")
    goto.fill("50,001")
    goto.press("Enter")
    expect(seen).to_contain_text("line 50000 \n")
    page.get_by_role("button", name="Jump to end").click()
    expect(seen).to_contain_text(f"line {LINES - 1}")


LIVE = """
import os, time
n = 0
while not os.path.exists(os.environ["GO"]):
    print("tick", n, flush=True)
    n += 1
    time.sleep(0.02)
for k in range(200):
    print(f"\\r{k // 2}%|{'#' * (k // 10)}", end="", flush=True)
    time.sleep(0.002)
print("\\ndone", n)
"""


@pytest.mark.slow("browser")
def test_live_log_survives_a_server_restart(lab: Lab, page: Page, folder: Path, tmp_path: Path) -> None:
    (folder / "live.py").write_text(LIVE)
    job = submit(lab, f"GO={tmp_path}/go python live.py", folder)
    # JupyterLab's own dialogs about the connection and about a starting kernel may open at any time.
    dialog = page.locator(".jp-Dialog", has_text=re.compile("Server Connection Error|Error Starting Kernel"))
    # One may follow the other at once, so that the handler must not wait until there is none.
    close = dialog.get_by_role("button", name=re.compile("Close|Ok")).first
    page.add_locator_handler(dialog.first, lambda _dialog: close.click(), no_wait_after=True)
    show(page, lab, job)
    seen = page.locator(TEXT)
    expect(seen).to_contain_text("tick 20")
    port = lab.port
    lab.kill()
    lab.port = port
    lab.start_again()
    count = int(lab.rest("GET", f"/pai/api/v1/jobs/{job}/lines?lines=0")["lines"])
    # No specific line: missed lines arrive at once and scroll out of view.
    until(lambda: last_number("tick", seen.inner_text()) > count)
    # The network drops packets while the socket stays open.
    page.context.set_offline(True)
    try:
        expect(page.locator(".jp-pai-Broken")).to_contain_text("Retrying in")
    finally:
        page.context.set_offline(False)  # The next tests have the same browser.
    expect(page.locator(".jp-pai-Broken")).to_have_count(0)
    # Scrolling up pauses the view while lines arrive.
    page.locator(".jp-pai-Log-terminal").hover()
    page.mouse.wheel(0, -300)
    follow = page.locator(".jp-pai-Log-follow")
    expect(follow).to_be_enabled()
    page.locator(".jp-pai-Log-terminal").click()
    page.keyboard.press("Home")
    expect(seen).to_contain_text("tick 0\ntick 1\n")
    follow.click()
    (tmp_path / "go").touch()
    expect(seen).to_contain_text("done")
    ended(lab, job)
    total = int(seen.inner_text().split("done ")[1])
    last = "".join(f"tick {n}\n" for n in range(total - 5, total)) + f"99%|{'#' * 19}\ndone {total}"
    expect(seen).to_contain_text(last)
    # The terminal shows the progress bar in one row.
    expect(page.locator(f"{ROWS} > div", has_text="%|")).to_have_count(1)
    # No line is missing or duplicated.
    expect(page.locator(PLACE)).to_contain_text(f"of {total + 2:,}")


@pytest.mark.slow("browser")
def test_escape_sequences_of_a_job_are_filtered(lab: Lab, page: Page, folder: Path) -> None:
    prepare(folder)
    command = "; ".join(command_of(name) for name in BINARY_LOGS if name not in ("byte by byte", "truncating"))
    evil = r"printf '\033]0;evil\007\033]52;c;ZXZpbA==\007\033]8;;http://x.test\007link\033]8;;\007\033[c\033[?1049hshown\n'"
    job = submit(lab, f"{command}; {evil}", folder)
    ended(lab, job)
    show(page, lab, job)
    seen = page.locator(TEXT)
    expect(seen).to_contain_text("linkshown")
    expect(page.locator(ROWS)).to_contain_text("linkshown")
    assert "evil" not in page.title()
    assert page.locator(f"{ROWS} a, .jp-pai-Log img, .jp-pai-Log script").count() == 0
    total = int(lab.rest("GET", f"/pai/api/v1/jobs/{job}/lines?lines=0")["lines"])
    field = page.get_by_role("textbox", name="Go to line or time")
    for line in (1, total // 3, total // 2):
        field.fill(str(line + 1))
        field.press("Enter")
        expect(page.locator(PLACE)).to_contain_text("of " + format(total, ","))
    page.get_by_role("textbox", name="Search the log").fill("<script>")
    expect(seen).to_contain_text("<script>alert(1)</script>")


@pytest.mark.slow("browser")
@pytest.mark.parametrize("page", [{"viewport": {"width": 480, "height": 800}}], indirect=True)
def test_logs_of_instances_are_merged_by_time(lab: Lab, page: Page, folder: Path) -> None:
    (folder / "a.py").touch()
    command = 'for n in 1 2 3; do echo "\\033[31m$RANK says $n\\033[0m"; sleep 0.3; done; echo "KeyError: $RANK"'
    job = submit(lab, command, folder, instance_count=2)
    ended(lab, job)
    show(page, lab, job)
    seen = page.locator(TEXT)
    expect(seen).to_contain_text("worker-1 KeyError: 1")
    expect(seen).to_contain_text("worker-0 0 says 3")
    page.get_by_role("combobox", name="Instance").select_option("worker-1")
    expect(seen).to_have_text("1 says 1\n1 says 2\n1 says 3\nKeyError: 1")
    colour = page.locator(f"{ROWS} span", has_text="1 says 1").first.evaluate("node => getComputedStyle(node).color")
    ground = page.locator(ROWS).evaluate("node => getComputedStyle(node).color")
    assert colour != ground
    page.get_by_role("button", name="First error").click()
    expect(seen).to_contain_text("KeyError: 1")
