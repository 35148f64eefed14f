"""TensorBoard started from the job view, in a tab of JupyterLab under a base URL."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from jupyter_pai.jobs.state_dir import Home

from ..conftest import until
from ..integration.server.test_tensorboard import TRAIN, boards
from .conftest import Lab, execute, open_notebook
from .test_job_view import output

# Creates its event file when the test allows it.
WAIT = "while not (place / 'go').exists(): time.sleep(0.02)\n"
SCRIPT = TRAIN.replace("writer = ", f"{WAIT}writer = ")


@pytest.fixture
def lab(home: Home, tmp_path: Path) -> Iterator[Lab]:
    root = tmp_path / "notebooks"
    root.mkdir()
    started = Lab(root, "/user/x/")
    started.prepare()
    yield started
    for name in ("go", "enough"):
        (tmp_path / name).touch()
    started.stop()


@pytest.mark.slow("browser")
def test_button_starts_tensorboard_and_a_tab_shows_the_scalar(lab: Lab, page: Page, home: Home, tmp_path: Path) -> None:
    (tmp_path / "steps").write_text("3")
    command = f"{sys.executable} train.py {tmp_path}"
    spec = {"name": "digits", "command": command, "source": {"files": {"train.py": SCRIPT}}}
    job = lab.rest("POST", "/pai/api/v1/jobs", {"spec": spec})["job"]["id"]
    lab.write("a.ipynb", "1", outputs=[output(job, "")])
    open_notebook(page, lab, "a.ipynb")
    view = page.locator(".jp-pai-Job")
    view.get_by_role("tab", name="TensorBoard").click()
    expect(view.get_by_role("button", name="Start TensorBoard")).to_be_visible()
    assert not boards(home.path.parent)
    other = lab.rest("POST", "/pai/api/v1/jobs", {"spec": spec | {"name": "letters"}})["job"]["id"]
    # A job without metrics says so before a click.
    expect(view.get_by_text("This job has no metrics for TensorBoard yet.")).to_be_visible()
    expect(view.get_by_role("button", name="Start TensorBoard")).to_be_disabled()
    expect(view.get_by_role("alert")).to_have_count(0)
    (tmp_path / "go").touch()
    expect(view.get_by_role("button", name="Start TensorBoard")).to_be_enabled()
    expect(view.get_by_text("This job has no metrics for TensorBoard yet.")).to_have_count(0)
    view.get_by_role("button", name="Start TensorBoard").click()
    running = view.get_by_role("region", name="TensorBoard is running")
    board = page.frame_locator("iframe[src*='/user/x/pai/tensorboard/']")
    expect(board.locator("body")).to_contain_text("loss")
    expect(board.locator("body")).to_contain_text("digits")
    page.locator(".lm-TabBar-tab", has_text="a.ipynb").click()
    link = running.get_by_role("link", name="Open in a new window")
    expect(link).to_have_attribute("rel", "noopener")
    with page.context.expect_page() as opened:
        link.click()
    expect(opened.value.locator("body")).to_contain_text("loss")
    opened.value.close()
    running.get_by_role("button", name="Open in a tab").click()
    expect(page.locator(".lm-TabBar-tab", has_text="TensorBoard: digits")).to_have_count(1)
    page.locator(".lm-TabBar-tab", has_text="a.ipynb").click()
    running.get_by_role("button", name="Stop TensorBoard").click()
    expect(running).to_have_count(0)
    expect(view.get_by_role("button", name="Start TensorBoard")).to_be_enabled()
    assert not boards(home.path.parent)
    # Compare several jobs in one TensorBoard.
    until(lambda: any((home.job(other).path / "output" / "tensorboard").glob("*tfevents*")))
    execute(page, "jupyter-pai:compare-jobs", ids=[job, other])
    page.get_by_role("button", name="Compare in TensorBoard").click()
    both = re.compile("TensorBoard: (digits, letters|letters, digits)")
    expect(page.locator(".lm-TabBar-tab", has_text=both)).to_be_visible()
    assert len(boards(home.path.parent)) == 1
