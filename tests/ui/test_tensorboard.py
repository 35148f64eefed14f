"""TensorBoard by the button of the job view, in a tab of JupyterLab under a base URL."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from jupyter_pai.home import Home

from ..server.test_tensorboard import TRAIN, boards
from .conftest import Lab, open_notebook, run_cells

LONG = 60_000


@pytest.fixture
def lab(home: Home, tmp_path: Path) -> Iterator[Lab]:
    root = tmp_path / "notebooks"
    root.mkdir()
    started = Lab(root, "/user/x/")
    started.setting("@jupyterlab/apputils-extension:notification", fetchNews="false", checkForUpdates=False)
    yield started
    (tmp_path / "enough").touch()
    started.stop()


def test_a_button_starts_it_and_a_tab_shows_the_scalar(lab: Lab, page: Page, tmp_path: Path) -> None:
    (tmp_path / "steps").write_text("3")
    (lab.root / "train.py").write_text(TRAIN)
    lab.write(
        "a.ipynb", "%load_ext jupyter_pai", f"%pai submit train.py --name digits --command 'python train.py {tmp_path}'"
    )
    open_notebook(page, lab, "a.ipynb")
    run_cells(page, 2)
    view = page.locator(".jp-pai-Job")
    view.get_by_role("tab", name="TensorBoard").click()
    expect(view.get_by_role("button", name="Start TensorBoard")).to_be_visible(timeout=LONG)
    assert not boards(tmp_path)
    # What a job has not written yet is said; it is there a moment later.
    print("A", flush=True)
    running = view.get_by_role("region", name="TensorBoard runs")
    expect(view.locator("[data-status='running']")).to_be_visible(timeout=LONG)
    while not running.count():
        view.get_by_role("button", name="Start TensorBoard").click()
        expect(running.or_(view.get_by_role("alert"))).to_be_visible(timeout=LONG)
    print("B", flush=True)
    board = page.frame_locator("iframe[src*='/user/x/pai/tensorboard/']")
    expect(board.locator("body")).to_contain_text("loss", timeout=LONG)
    expect(board.locator("body")).to_contain_text("digits")
    page.locator(".lm-TabBar-tab", has_text="a.ipynb").click()
    print("C", flush=True)
    link = running.get_by_role("link", name="Open in a new window")
    expect(link).to_have_attribute("rel", "noopener")
    with page.context.expect_page() as opened:
        link.click()
    expect(opened.value.locator("body")).to_contain_text("loss", timeout=LONG)
    opened.value.close()
    running.get_by_role("button", name="Open in a tab").click()
    expect(page.locator(".lm-TabBar-tab", has_text="TensorBoard: digits")).to_have_count(1)
    page.locator(".lm-TabBar-tab", has_text="a.ipynb").click()
    running.get_by_role("button", name="Stop TensorBoard").click()
    expect(running).to_have_count(0, timeout=LONG)
    expect(view.get_by_role("button", name="Start TensorBoard")).to_be_enabled()
    assert not boards(tmp_path)
