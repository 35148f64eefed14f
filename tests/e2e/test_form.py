"""The form in a notebook, in a real JupyterLab: filled in, dry run, a mistake beside its field, submitted."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from .conftest import Lab, open_notebook, run_cells
from .everyone import faults

LONG = 60_000
SCRIPT = """\
import argparse
p = argparse.ArgumentParser()
p.add_argument('--lr', type=float, default=0.5, help='how fast')
print(f'lr is {p.parse_args().lr}')
"""


def test_a_form_is_filled_in_and_submits(lab: Lab, page: Page) -> None:
    (lab.root / "train.py").write_text(SCRIPT)
    lab.write("a.ipynb", "%load_ext jupyter_pai\n%pai form train.py")
    open_notebook(page, lab, "a.ipynb")
    run_cells(page, 1)
    output = page.locator(".jp-OutputArea").first
    rate = output.get_by_label("lr", exact=True)
    expect(rate).to_have_value("0.5", timeout=LONG)
    expect(output).to_contain_text("how fast")
    rate.fill("0.25")
    rate.press("Tab")
    name = output.get_by_label("Name", exact=True)
    name.fill("bad\tname")
    name.press("Tab")
    expect(output.get_by_role("alert").filter(has_text="must not contain control").first).to_be_visible(timeout=LONG)
    name.fill("mine")
    name.press("Tab")
    expect(output.get_by_role("alert").filter(has_text="must not contain control")).to_have_count(0, timeout=LONG)
    output.get_by_role("button", name="Dry run").click()
    expect(output.get_by_role("status").filter(has_text="Nothing was submitted.")).to_be_visible(timeout=LONG)
    expect(output.get_by_role("status")).to_contain_text("--lr 0.25")
    # The titles of what is folded have the colours that ipywidgets gives them.
    assert [one for one in faults(page, ".jp-OutputArea-output .widget-vbox") if ": <span>" not in one] == []
    output.get_by_role("button", name="Submit", exact=True).click()
    view = output.locator(".jp-pai-Job")
    expect(view).to_contain_text("mine", timeout=LONG)
    expect(view).to_contain_text("lr is 0.25", timeout=LONG)
