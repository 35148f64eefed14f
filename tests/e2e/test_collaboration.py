"""Two browsers that share a notebook with jupyter-collaboration: they show the same jobs and separate panels."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from jupyter_pai.jobs.state_dir import Home

from ..conftest import made_once
from ..support.own_environments import constraint, group
from .conftest import LONG, Lab, open_notebook, run_cells
from .test_jobs import ROW
from .test_launchers import HEAD

# By default a document is saved a second after its last change, which hides unsaved changes from the test.
DELAY = 3600


def install(folder: Path) -> None:
    """Install the packages that this environment lacks into a folder, so that other tests do not share documents."""
    uv = [sys.executable, "-m", "uv", "pip", "install", "--python", sys.executable]
    command = [*uv, "--dry-run", *group("collaboration"), *constraint()]
    plan = subprocess.run(command, check=True, capture_output=True, text=True).stderr
    lacking = re.findall(r"^ \+ (\S+)$", plan, re.MULTILINE)
    subprocess.run([*uv, "--no-deps", "--prefix", str(folder), *lacking], check=True, capture_output=True)


class SharedLab(Lab):
    """JupyterLab with jupyter-collaboration."""

    def __init__(self, root: Path, place: Path) -> None:
        (packages,) = place.glob("lib/python*/site-packages")
        super().__init__(
            root,
            PYTHONPATH=str(packages),
            JUPYTER_PATH=str(place / "share/jupyter"),
            JUPYTER_CONFIG_PATH=str(place / "etc/jupyter"),
        )

    def arguments(self) -> list[str]:
        store = self.root.parent / "shared.db"  # By default it is in the working directory of the server.
        return [
            *super().arguments(),
            f"--YDocExtension.document_save_delay={DELAY}",
            f"--SQLiteYStore.db_path={store}",
        ]


@pytest.fixture
def shared_lab(home: Home, tmp_path: Path) -> Iterator[SharedLab]:
    root = tmp_path / "notebooks"
    root.mkdir()
    started = SharedLab(root, made_once("collaboration", install))
    started.prepare()
    yield started
    started.stop()


@pytest.fixture
def other(browser: Browser) -> Iterator[Page]:
    """A second browser with its own login."""
    opened = browser.new_page(viewport={"width": 1200, "height": 900})
    opened.set_default_timeout(LONG)
    yield opened
    opened.close()


def waits_for_documents(page: Page) -> None:
    """Let the page wait on if JupyterLab reports that a shared document takes long to load."""
    dialog = page.locator(".jp-Dialog", has_text="taking some time to load")
    page.add_locator_handler(dialog, lambda shown: shown.get_by_role("button", name="Continue waiting").click())


@pytest.mark.slow("browser")
def test_two_browsers_share_a_notebook_and_see_its_jobs(shared_lab: SharedLab, page: Page, other: Page) -> None:
    lab = shared_lab
    lab.write("aaa.ipynb", "%load_ext jupyter_pai", "%%pai_train\nprint('from a cell')", "x = 1")
    waits_for_documents(page)
    waits_for_documents(other)
    open_notebook(page, lab, "aaa.ipynb", "lab/tree")
    open_notebook(other, lab, "aaa.ipynb", "lab/workspaces/other/tree")
    page.locator(".jp-CodeCell").nth(2).locator(".cm-content").click()
    page.keyboard.press("Control+End")
    page.keyboard.type(" + 10")
    expect(other.locator(".jp-CodeCell").nth(2)).to_contain_text("x = 1 + 10")
    # Submitting saves the changes of both users. The panel of the other browser is separate.
    assert "x = 1 + 10" not in (lab.root / "aaa.ipynb").read_text()
    other.get_by_role("button", name="Train", exact=True).click()
    expect(other.locator(HEAD)).to_have_text("aaa.ipynb")
    other.get_by_role("button", name="Save and submit").click()
    other.wait_for_selector(".jp-MainAreaWidget .jp-pai-Job")
    assert "x = 1 + 10" in (lab.root / "aaa.ipynb").read_text()
    expect(page.locator(HEAD)).to_have_count(0)

    # Both browsers show the job view and the list.
    run_cells(page, 2)
    other.locator(".lm-TabBar-tab", has_text="aaa.ipynb").click()
    for one in (page, other):
        expect(one.locator(".jp-Notebook .jp-pai-Status").first).to_have_text("succeeded")
        one.locator('.jp-SideBar [data-id="jp-pai-jobs"]').click()
        expect(one.locator(ROW)).to_have_count(2)
        one.locator(".jp-pai-JobFilters").get_by_label("Notebook").select_option(label="This notebook: aaa.ipynb")
        expect(one.locator(ROW)).to_have_count(2)
