"""The form in a notebook: fill in, preview, show an error beside its field, submit."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from .accessibility import faults
from .conftest import Lab, open_notebook, run_cells

SCRIPT = """\
import argparse
p = argparse.ArgumentParser()
p.add_argument('--lr', type=float, default=0.5, help='how fast')
print(f'lr is {p.parse_args().lr}')
"""


def test_form_is_filled_in_and_submits(lab: Lab, page: Page) -> None:
    (lab.root / "train.py").write_text(SCRIPT)
    lab.write("a.ipynb", "%load_ext jupyter_pai\n%pai form train.py")
    open_notebook(page, lab, "a.ipynb")
    run_cells(page, 1)
    output = page.locator(".jp-OutputArea").first
    rate = output.get_by_label("lr", exact=True)
    expect(rate).to_have_attribute("placeholder", "0.5")
    expect(output).to_contain_text("how fast")
    rate.fill("0.25")
    output.locator("summary", has_text="Name, time limit, labels").click()
    name = output.get_by_label("Name", exact=True)
    name.fill("bad\tname")
    expect(output.locator(".jp-pai-Trouble", has_text="must not contain control").first).to_be_visible()
    expect(name).to_have_attribute("aria-invalid", "true")
    # JupyterLab's cell shortcuts, such as A for a new cell, are inactive in the form.
    cells = page.locator(".jp-Notebook .jp-Cell").count()
    output.locator("summary", has_text="Metrics").press("a")
    page.wait_for_timeout(300)
    assert page.locator(".jp-Notebook .jp-Cell").count() == cells
    assert output.locator("summary", has_text="Metrics").evaluate("node => node === document.activeElement")
    name.fill("mine")
    expect(output.locator(".jp-pai-Trouble", has_text="must not contain control")).to_have_count(0)
    # The preview is a dry run and submits nothing.
    expect(output.get_by_role("status").filter(has_text="2 files")).to_be_visible()
    output.locator("summary", has_text="Export as").click()
    expect(output.locator(".jp-pai-Code-text")).to_contain_text("--hp lr=0.25")
    assert faults(page, ".jp-OutputArea-output .jp-pai-Page") == []
    assert lab.rest("GET", "/pai/api/v1/jobs")["total"] == 0
    output.get_by_role("button", name="Submit", exact=True).click()
    view = output.locator(".jp-pai-Job")
    expect(view).to_contain_text("mine")
    expect(view).to_contain_text("lr is 0.25")
