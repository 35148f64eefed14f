"""A job on a platform: the costs shown before its submission, and all parts of its view."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from ..conftest import until
from ..fakes.alibaba import StandIn
from .accessibility import faults
from .conftest import Lab, execute, open_notebook, run_cells
from .test_job_view import VIEW, status
from .test_train import begun, fold, form

CELL = """%%pai_train --backend pai --name digits --metric 'loss=loss=([0-9.]+)' --hp lr=0.1
import os, time, pathlib
print('epoch 0 loss=0.5', flush=True)
while not os.path.exists('{folder}/go'): time.sleep(0.02)
print('epoch 1 loss=0.25')
pathlib.Path(os.environ['PAI_OUTPUT_MODEL'], 'weights.txt').write_text('0.1 0.2')
"""


@pytest.fixture
def lab(pai: StandIn, lab: Lab, tmp_path: Path) -> Iterator[Lab]:
    """JupyterLab with a profile of the stand-in."""
    yield lab
    (tmp_path / "go").touch()


@pytest.mark.slow("browser")
def test_job_on_the_platform_has_all_its_parts(
    lab: Lab,
    pai: StandIn,
    page: Page,
    tmp_path: Path,
) -> None:
    lab.write("a.ipynb", "%load_ext jupyter_pai", CELL.format(folder=tmp_path))
    open_notebook(page, lab, "a.ipynb")
    run_cells(page, 2)
    status(page, "running")
    view = page.locator(VIEW)
    expect(page.locator(f"{VIEW}-log")).to_contain_text("epoch 0 loss=0.5")
    # The command in the terminal requests the URL of the web terminal.
    view.get_by_role("button", name="Terminal", exact=True).click()
    view.get_by_role("button", name="Run in a terminal").click()
    expect(page.locator(".jp-Terminal")).to_be_visible()
    until(lambda: pai.count("paistudio", "CreateInstanceWebTerminal") == 1)
    page.get_by_role("tab", name="a.ipynb").click()
    (tmp_path / "go").touch()
    status(page, "succeeded")
    expect(view.get_by_role("button", name="Terminal", exact=True)).to_have_count(0)
    expect(page.locator(f"{VIEW}-log")).to_contain_text("epoch 1 loss=0.25")
    view.locator("summary", has_text=re.compile("^Job$")).click()
    link = view.get_by_role("link", name="console")
    expect(link).to_have_attribute("href", re.compile(r"^https://pai\.console\.aliyun\.com/.*#/training/jobs/train"))
    view.get_by_role("tab", name="Metrics").click()
    expect(view.locator(".jp-pai-Chart", has_text="loss")).to_be_visible()
    view.get_by_role("tab", name="Outputs").click()
    expect(view.get_by_text("weights.txt")).to_be_visible()
    for version in ("0.1.0", "0.2.0"):
        view.get_by_role("button", name="Register model…").click()
        registration = view.get_by_role("form", name="Register model")
        expect(registration.get_by_role("button", name="Register", exact=True)).to_be_disabled()
        assert faults(page, ".jp-pai-Models") == []
        page.keyboard.type("digits")
        registration.get_by_label("Format").select_option("TorchScript")
        registration.get_by_role("button", name="Register", exact=True).click()
        models = view.get_by_role("list", name="Registered models")
        expect(models.get_by_text(f"digits {version}", exact=True)).to_be_visible()
        expect(view.get_by_role("button", name="Register model…")).to_be_focused()
    view.get_by_role("tab", name="Events").click()
    expect(view.get_by_role("cell", name="platform").first).to_be_visible()


@pytest.mark.slow("browser")
def test_costs_are_shown_before_the_submission(lab: Lab, page: Page, tmp_path: Path) -> None:
    lab.write("work/a.ipynb", "1")
    (lab.root / "work/train.py").write_text("print('trained')")
    (tmp_path / "images").mkdir()
    (tmp_path / "images/a.png").write_bytes(b"0" * 1000)
    open_notebook(page, lab, "work/a.ipynb")
    execute(page, "jupyter-pai:train", path="work/train.py")
    shown = form(page)
    shown.get_by_label("Profile", exact=True).select_option("pai")
    foot = shown.get_by_role("region", name="Submit")
    expect(foot).to_contain_text(re.compile("1 machine ecs.c6.large; .* until the job ends, even if"))
    fold(shown, "Machine")
    shown.get_by_label("GPUs", exact=True).fill("1")
    expect(foot).to_contain_text("It runs on 1 machine ecs.gn6i")
    fold(shown, "Data")
    shown.get_by_role("button", name="Add input").click()
    page.keyboard.type("images")
    page.keyboard.press("Control+Enter")  # An input without a path is rejected.
    place = shown.get_by_placeholder("path or URI")
    expect(place).to_have_accessible_description(re.compile("needs a path or a URI"))
    place.fill(str(tmp_path / "images"))
    expect(place).to_have_attribute("aria-invalid", "false")
    page.keyboard.press("Escape")
    page.keyboard.press("Control+Enter")
    dialog = page.locator(".jp-Dialog")
    expect(dialog).to_contain_text("It runs on 1 machine ecs.gn6i")
    dialog.get_by_role("button", name="Cancel").click()
    expect(shown.get_by_role("button", name="Submit", exact=True)).to_be_enabled()
    assert begun(lab) == []
    shown.get_by_role("button", name=re.compile("ubmit$")).click()
    dialog.get_by_role("button", name="Submit").click()
    view = page.get_by_role("group", name="Training job train_")
    expect(view.locator(".jp-pai-Status").first).to_have_text("succeeded")
    (job,) = begun(lab)
    assert (job["profile"], job["spec"]["gpu"], list(job["spec"]["inputs"])) == ("pai", 1, ["images"])
