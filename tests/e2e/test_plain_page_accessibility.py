"""The accessibility of the job view in a page without JupyterLab's code and colors, like VS Code and Colab.

The page plays the role of the front end; the view is the built bundle, and the engine is a real one.
"""

from __future__ import annotations

import pytest
from playwright.sync_api import ElementHandle, Page

from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.client.widgets.comm import CommServer

from ..conftest import submit
from .accessibility import cut_off, faults, moving, unreachable
from .plain_page import PlainPage

# An element of each tab that is visible once the tab is drawn.
TABS = {
    "overview": ".jp-pai-Timeline",
    "logs": ".jp-pai-Log-text",
    "metrics": ".jp-pai-Chart canvas",
    "outputs": ".jp-pai-Outputs table",
    "tensorboard": ".jp-pai-TensorBoard code",
    "events": "tbody tr",
}
TRAIN = """
import os
from pathlib import Path
from jupyter_pai import report

for step in range(5):
    report.metric("loss", 1 / (step + 1), step=step)
print(*(f"\\x1b[{code}mcoloured\\x1b[0m" for code in range(31, 38)))
Path(os.environ["PAI_OUTPUT_MODEL"], "notes.txt").write_text("What was found out.")
raise SystemExit("It fails.")
"""


class PlainView:
    """A page with the widget of a job."""

    def __init__(self, page: Page, engine: EmbeddedClient, job: str) -> None:
        self.page, self.job = page, job
        self.plain_page = PlainPage(page, "view")
        self.plain_page.receive = CommServer(engine, self.plain_page.news.append).receive

    def open(self, scheme: str, code: bool = False) -> ElementHandle:
        """Show the widget in a page of this color scheme; VS Code's page defines its own variables."""
        root = self.plain_page.open({"job_id": self.job, "snapshot": "", "bundle": "1"}, scheme, code)
        self.page.locator(".jp-pai-Page .jp-pai-Job-head").wait_for()
        return root


@pytest.fixture
def shown(page: Page, engine: EmbeddedClient) -> PlainView:
    values = {"lr": "0.1"}
    source = {"files": {"train.py": TRAIN}}
    job = submit(engine, name="digits", source=source, entry_point="train.py", hyperparameters=values).wait()
    return PlainView(page, engine, job.id)


@pytest.mark.slow("browser")
def test_job_view_passes_accessibility_checks(shown: PlainView) -> None:
    page, wrong = shown.page, {}
    view = page.locator(".jp-pai-Job")

    def look(name: str, *rules: str) -> None:
        for tab, sign in TABS.items():
            view.locator(f'[data-tab="{tab}"]').click()
            view.locator(sign).first.wait_for()
            wrong[f"{name}: {tab}"] = faults(page, ".jp-pai-Page", *rules)

    root = shown.open("light")
    look("light")
    wrong["moves"], wrong["cut off"] = moving(root), cut_off(root)
    wrong["keyboard"] = unreachable(page, root)
    view.locator('[data-tab="logs"]').click()
    view.get_by_label("Go to line or time").fill("nowhere")
    page.keyboard.press("Enter")
    page.locator(".jp-pai-Notice").wait_for()
    wrong["notice"] = faults(page, ".jp-pai-Notices > .jp-pai-Notice")
    for scheme, code in (("light", False), ("dark", False), ("light", True), ("dark", True)):
        name = f"{scheme}, of VS Code" if code else scheme
        if name != "light":
            root = shown.open(scheme, code)
            look(name, "color-contrast")
        wrong[f"{name}: variables"] = shown.plain_page.undefined(root)
        view.get_by_role("button", name="Delete", exact=True).click()
        page.get_by_role("dialog").wait_for()
        wrong[f"{name}: dialog"] = faults(page, ".jp-pai-Dialog")
        page.keyboard.press("Escape")
    assert {kind: result for kind, result in wrong.items() if result} == {}
