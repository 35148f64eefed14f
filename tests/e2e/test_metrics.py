"""The tab Metrics of the job view."""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import Any

from playwright.sync_api import Locator, Page, expect

from .conftest import Lab, open_notebook
from .test_job_view import output
from .test_overview import EVIL

SCRIPT = f"""
import math, os, sys, time
from jupyter_pai import report

def wait(name):
    while not os.path.exists(os.path.join(sys.argv[1], name)):
        time.sleep(0.02)

wait("begin")
for step in range(3000):
    report.metric("train/loss", math.nan if step == 1500 else 100 / (step + 100) + 0.1 * math.sin(step), step=step)
    report.metric("train/acc", 1 - 100 / (step + 100), step=step)
report.metric({EVIL!r}, 1, step=0)
wait("more")
for step in range(3000, 3010):
    report.metric("train/loss", 0.5, step=step)
wait("end")
"""


def watched(lab: Lab, page: Page, folder: Path) -> str:
    """Submit a job that writes metrics, open its metrics in a notebook, and return its id."""
    spec: dict[str, Any] = {"name": "charts", "command": f"python train.py {folder}"}
    spec["source"] = {"files": {"train.py": SCRIPT}}
    job = str(lab.rest("POST", "/pai/api/v1/jobs", {"spec": spec})["job"]["id"])
    lab.write("a.ipynb", "1", outputs=[output(job, "")])
    open_notebook(page, lab, "a.ipynb")
    page.get_by_role("tab", name="Metrics").click()
    return job


def figure(page: Page, name: str) -> Locator:
    return page.locator(f'figure[aria-label^="{name}: "]')


def test_charts_update_zoom_and_export(lab: Lab, page: Page, tmp_path: Path) -> None:
    watched(lab, page, tmp_path)
    view = page.locator(".jp-pai-Metrics")
    expect(view).to_contain_text("No metrics logged yet.")
    expect(view).to_contain_text("report.metric")
    (tmp_path / "begin").touch()
    loss = figure(page, "train/loss")
    expect(loss).to_have_accessible_name(re.compile("3000 points, latest .* at step 2999, min "))
    expect(loss.locator("canvas")).to_be_visible()
    expect(figure(page, "train/acc")).to_have_accessible_name(re.compile("max 0.9"))
    expect(page.get_by_role("button", name="train (2)")).to_have_attribute("aria-expanded", "true")
    expect(page.get_by_role("button", name="System")).to_be_visible()
    assert page.evaluate("window.evil") is None
    before = picture(loss)

    (tmp_path / "more").touch()
    expect(loss).to_have_accessible_name(re.compile("3010 points, latest 0.5 at step 3009"))
    page.wait_for_function("([node, before]) => node.toDataURL() !== before", arg=[canvas(loss), before])

    # Live points may be complete and are not fetched again; a fresh page fetches downsampled ones.
    page.get_by_role("tab", name="Overview").click()
    page.get_by_role("tab", name="Metrics").click()
    expect(loss).to_have_accessible_name(re.compile("3010 points"))
    expect(loss.locator("canvas")).to_be_visible()
    over = loss.locator(".u-over")
    over.scroll_into_view_if_needed()
    box = over.bounding_box()
    assert box
    page.mouse.move(box["x"] + 0.4 * box["width"], box["y"] + 50)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.6 * box["width"], box["y"] + 60, steps=3)
    with page.expect_request(re.compile("/metrics.*first=1[12]")) as request:
        page.mouse.up()
    assert "last=" in request.value.url
    back = loss.get_by_role("button", name="Reset zoom")
    expect(back).to_be_visible()
    over.dblclick()
    expect(back).to_have_count(0)

    with page.expect_download() as saved:
        loss.get_by_role("button", name="Save train/loss as CSV").click()
    rows = list(csv.DictReader(saved.value.path().read_text("utf-8").splitlines()))
    assert [row["step"] for row in rows] == [str(step) for step in range(3010)]
    assert (rows[0]["value"], rows[1500]["value"], rows[3009]["value"]) == ("1", "NaN", "0.5")
    with page.expect_download() as saved:
        loss.get_by_role("button", name="Save train/loss as PNG").click()
    assert saved.value.path().read_bytes().startswith(b"\x89PNG")

    (tmp_path / "end").touch()
    page.get_by_label("Smoothing").fill("0.9")
    page.get_by_label("Log scale").check()
    page.get_by_label("X axis").select_option("elapsed")
    page.get_by_role("tab", name="Overview").click()
    page.get_by_role("tab", name="Metrics").click()
    expect(page.get_by_label("X axis")).to_have_value("elapsed")
    expect(page.get_by_label("Log scale")).to_be_checked()
    expect(loss.locator("canvas")).to_be_visible()


def canvas(chart: Locator) -> Any:
    return chart.locator("canvas").element_handle()


def picture(chart: Locator) -> str:
    return str(chart.locator("canvas").evaluate("node => node.toDataURL()"))
