"""The comparison of jobs: selected in the list, side by side in a table, overlaid in charts."""

from __future__ import annotations

import re
from typing import Any

from playwright.sync_api import Locator, Page, expect

from .conftest import Lab
from .test_jobs import open_panel, row

SCRIPT = """
import sys
from jupyter_pai import report

for step in range(50):
    report.metric("loss", float(sys.argv[1]) / (step + 1), step=step)
report.metric("alone" if sys.argv[2] == "yes" else "loss", 0.5, step=50)
"""


def train(lab: Lab, name: str, loss: int, alone: str = "no", script: str = SCRIPT, **hyperparameters: str) -> None:
    spec: dict[str, Any] = {"name": name, "command": f"python train.py {loss} {alone}"}
    spec |= {"source": {"files": {"train.py": script}}, "hyperparameters": hyperparameters}
    lab.rest("POST", "/pai/api/v1/jobs", {"spec": spec})


def cells(view: Locator, name: str) -> Locator:
    line = view.get_by_role("row").filter(has=view.page.get_by_role("rowheader", name=name, exact=True))
    return line.first.get_by_role("cell")


# Return for the first and the second job if the chart has pixels in its color.
DRAWN = """
figure => ['--jp-pai-line-0', '--jp-pai-line-1'].map(name => {
  const probe = figure.appendChild(document.createElement('i'));
  probe.style.color = `var(${name})`;
  const wanted = getComputedStyle(probe).color.match(/\\d+/g).map(Number);
  probe.remove();
  const { width, height } = figure.querySelector('canvas');
  const { data } = figure.querySelector('canvas').getContext('2d').getImageData(0, 0, width, height);
  for (let at = 0; at < data.length; at += 4) {
    if (data[at + 3] > 200 && wanted.every((part, n) => Math.abs(part - data[at + n]) < 24)) return true;
  }
  return false;
}).join()
"""


def expect_drawn(chart: Locator, wanted: str) -> None:
    arg = [chart.element_handle(), wanted]
    chart.page.wait_for_function(f"([figure, wanted]) => ({DRAWN.strip()})(figure) === wanted", arg=arg)


def test_jobs_are_compared_in_table_and_charts(lab: Lab, page: Page) -> None:
    train(lab, "slow", 100, "yes", batch="20", lr="0.1", warmup="5")
    train(lab, "fast", 10, script=SCRIPT + "print('other')\n", batch="20", lr="0.5")
    open_panel(page, lab)
    for name in ("slow", "fast"):
        expect(row(page, name)).to_contain_text("succeeded")
        before = row(page, "fast").bounding_box()
        row(page, name).locator(".jp-pai-JobRow-check").click()
        expect(row(page, name)).to_have_attribute("aria-selected", "true")
        assert row(page, "fast").bounding_box() == before  # The layout does not shift between clicks.
    page.get_by_role("button", name="Compare").click()
    view = page.get_by_role("group", name="Job comparison")
    expect(page.locator("#jp-main-dock-panel .lm-TabBar-tab", has_text="Compare 2 jobs")).to_be_visible()

    # Differing hyperparameters are marked; identical ones are collapsed.
    heads = view.get_by_role("region", name="Jobs and differing hyperparameters").get_by_role("columnheader")
    expect(heads.filter(has_text="s")).to_have_text([re.compile("slow"), re.compile("fast")])
    expect(cells(view, "lr")).to_have_text(["0.1", "0.5"])
    expect(cells(view, "warmup")).to_have_text(["5", "–"])
    expect(cells(view, "lr").nth(1)).to_have_class("jp-pai-mod-other")
    expect(cells(view, "lr").nth(0)).not_to_have_class("jp-pai-mod-other")
    expect(view.get_by_role("rowheader", name="batch")).to_have_count(0)
    view.get_by_text("1 identical hyperparameter").click()
    expect(cells(view, "batch")).to_have_text(["20", "20"])

    # Both lines are in one chart, and the legend hides one of them.
    expect(cells(view, "loss")).to_have_text(["2 · min 2", re.compile(r"^0\.5 · min 0\.2$")])
    loss = view.locator('figure[aria-label^="loss: "]')
    expect(loss).to_have_accessible_name(re.compile("slow: 50 points.*; fast: 51 points"))
    expect(loss.locator("canvas")).to_be_visible()
    alone = view.locator('figure[aria-label^="alone: "]')
    expect(alone).to_have_count(1)
    legend = view.get_by_role("group", name="Jobs in the charts").get_by_role("button")
    expect(legend).to_have_text([re.compile("slow"), re.compile("fast")])
    expect_drawn(loss, "true,true")
    legend.first.click()
    expect(legend.first).to_have_attribute("aria-pressed", "false")
    expect(loss).to_have_accessible_name(re.compile("^loss: 51 points"))
    expect(alone).to_have_count(0)
    expect_drawn(loss, "false,true")

    # Differences in the code, and links to the jobs.
    view.get_by_text("Differences in code and packages").click()
    expect(view.locator(".jp-pai-Compare-file [data-sign='+']")).to_contain_text(["print('other')"])
    expect(view.get_by_role("rowheader", name=re.compile(r"^hyperparameters\."))).to_have_count(0)
    heads.get_by_role("button", name="fast").click()
    expect(page.get_by_role("group", name="Training job fast")).to_be_visible()
