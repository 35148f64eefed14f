"""The job view in a page without the extension: a plain JupyterLab, like VS Code and Colab, connected by the kernel."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from jupyter_pai.jobs.state_dir import Home

from ..conftest import until
from .accessibility import faults
from .conftest import Lab, open_notebook, run_cells


class PlainLab(Lab):
    """JupyterLab with the Python package only."""

    def _answers(self) -> bool:
        return not self.info_file.exists() and self.process.poll() is None and self._is_up()

    def _is_up(self) -> bool:
        try:
            return bool(self.rest("GET", "/api"))
        except OSError:
            return False


@pytest.fixture
def lab(home: Home, tmp_path: Path) -> Iterator[PlainLab]:
    config = Path(os.environ["JUPYTER_CONFIG_DIR"])
    for name, content in {
        "labconfig/page_config.json": {"disabledExtensions": {"jupyter-pai": True}},
        "jupyter_server_config.d/jupyter_pai.json": {"ServerApp": {"jpserver_extensions": {"jupyter_pai": False}}},
    }.items():
        (config / name).parent.mkdir(parents=True, exist_ok=True)
        (config / name).write_text(json.dumps(content))
    root = tmp_path / "notebooks"
    root.mkdir()
    # In a virtual environment, installed settings would take precedence over the user's.
    started = PlainLab(root, JUPYTER_PREFER_ENV_PATH="0", JUPYTER_PAI_LANGUAGE="zh_CN")
    started.prepare()
    yield started
    started.stop()


def test_widget_is_live_and_stays_when_the_job_has_ended(lab: PlainLab, page: Page, tmp_path: Path) -> None:
    go = f"import os, time\nwhile not os.path.exists('{tmp_path}/go'): time.sleep(0.02)\n"
    train = f"%%pai_train --metric 'loss=loss=([0-9.]+)' --name digits\n{go}print('loss=0.25')"
    # The view updates while the kernel is busy.
    busy = f"import os, time\nwhile not os.path.exists('{tmp_path}/cell'): time.sleep(0.02)"
    lab.write("a.ipynb", "%load_ext jupyter_pai", train, busy)
    open_notebook(page, lab, "a.ipynb")
    run_cells(page, 2)
    view = page.locator(".jp-pai-Page .jp-pai-Job")
    expect(view).to_have_count(1)
    expect(view).to_have_attribute("aria-label", "训练作业 digits")
    expect(view.locator(".jp-pai-Job-head .jp-pai-Status")).to_have_attribute("data-status", "running")
    page.keyboard.press("Shift+Enter")
    page.wait_for_selector('.jp-Notebook-ExecutionIndicator[data-status="busy"]', state="attached")
    (tmp_path / "go").touch()
    visible = page.locator(".jp-pai-Page .jp-pai-Job:visible")
    expect(visible.locator(".jp-pai-Job-head .jp-pai-Status")).to_have_attribute("data-status", "succeeded")
    expect(visible.locator(".jp-pai-Job-metrics")).to_have_text("loss 0.25")
    (tmp_path / "cell").touch()
    page.wait_for_selector('.jp-Notebook-ExecutionIndicator[data-status="idle"]', state="attached")

    def is_saved() -> bool:
        page.keyboard.press("Control+s")
        try:
            outputs = json.loads((lab.root / "a.ipynb").read_text("utf-8"))["cells"][1]["outputs"]
        except ValueError:
            return False  # The file is being written.
        pages = ["".join(output["data"]["text/html"]) for output in outputs if "data" in output]
        return ["已成功" in page for page in pages] == [True]

    # The saved output is readable without a kernel, on GitHub and in nbconvert.
    until(is_saved)
    visible.locator('[data-tab="tensorboard"]').click()
    by_hand = re.compile("^jupyter pai tensorboard [a-z0-9]{8}$")
    expect(visible.locator(".jp-pai-TensorBoard code")).to_have_text(by_hand)


@pytest.mark.slow("browser")
def test_form_submits_and_shows_its_job_without_the_extension(lab: PlainLab, page: Page, tmp_path: Path) -> None:
    wait = f"while not os.path.exists('{tmp_path}/go'): time.sleep(0.02)"
    begin = "import argparse, os, time\np = argparse.ArgumentParser()\np.add_argument('--lr', type=float, default=0.5)"
    (lab.root / "train.py").write_text(f"{begin}\n{wait}\nprint(f'lr is {{p.parse_args().lr}}')\n")
    lab.write("a.ipynb", "%load_ext jupyter_pai\n%pai form train.py")
    open_notebook(page, lab, "a.ipynb")
    run_cells(page, 1)
    output = page.locator(".jp-OutputArea").first
    rate = output.get_by_label("lr", exact=True)
    expect(rate).to_have_attribute("placeholder", "0.5")
    rate.fill("0.25")
    # Paths are completed while typing: first the folder, then its entries.
    (lab.root / "data" / "digits").mkdir(parents=True)
    (lab.root / "data" / "letters.csv").touch()
    output.locator("summary", has_text="数据").click()
    output.get_by_role("button", name="添加输入").click()
    output.get_by_label("输入的名称").fill("train")
    place = output.get_by_role("combobox", name="train 的数据在哪里")
    for typed, names in (("da", ["data/"]), ("data/", ["digits/", "letters.csv"])):
        place.fill(typed)
        offered = output.get_by_role("listbox").get_by_role("option")
        expect(offered).to_have_text(names)
    place.fill(f"{lab.root}/data/digits/")
    place.press("Escape")
    output.get_by_role("button", name="提交", exact=True).click()
    # The view is a widget within an Output widget, and updates live.
    status = output.locator(".jp-pai-Page .jp-pai-Job-head .jp-pai-Status")
    expect(status).to_have_attribute("data-status", "running")
    (tmp_path / "go").touch()
    expect(status).to_have_attribute("data-status", "succeeded")
    expect(output.locator(".jp-pai-Job")).to_contain_text("lr is 0.25")
    expect(output.locator(".jp-pai-Job")).to_contain_text("/data/digits/")


@pytest.mark.slow("browser")
def test_workflow_is_a_graph(lab: PlainLab, page: Page) -> None:
    code = "import jupyter_pai\nrun = jupyter_pai.Workflow('digits')\nrun.step('train', command='exit 3')\n"
    lab.write("w.ipynb", code + "run.step('publish', command='true', needs=['train'])\nrun.run()")
    open_notebook(page, lab, "w.ipynb")
    run_cells(page, 1)
    view = page.locator(".jp-pai-Page .jp-pai-Workflow")
    expect(view.locator("header .jp-pai-Status")).to_have_attribute("data-status", "failed")
    expect(view.locator('.jp-pai-Graph-node[data-step="publish"]')).to_have_attribute("data-status", "skipped")
    assert view.locator(".jp-pai-Graph-edge").count() == 1
    assert faults(page, ".jp-pai-Workflow") == []
    view.locator("[data-form=table]").click()
    expect(view.locator('tr[data-step="publish"] .jp-pai-Status')).to_have_attribute("data-status", "skipped")
    view.locator("header button").last.click()
    page.locator("dialog button[value='yes']").click()
    expect(view.locator("header")).to_have_count(0)
