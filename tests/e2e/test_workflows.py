"""Runs of workflows in JupyterLab: graph, table, actions, cell output, and their row in the list of jobs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from .accessibility import cut_off, faults, unreachable
from .conftest import Lab, execute
from .test_jobs import waiting

# Texts of users are drawn as they are.
HOSTILE = "note.kind == '\\\"]--><script>alert(1)</script>'"


def step(name: str, command: str = "true", **fields: Any) -> dict[str, Any]:
    return {"name": name, "spec": {"command": command, "source": {"files": {"nothing.txt": ""}}}} | fields


def writing(name: str, value: object) -> str:
    """Return the command of a step that writes an output parameter."""
    folder = "/ml/output/output_parameters"
    return f"mkdir -p {folder}; printf %s '{value}' > {folder}/{name}"


def run_workflow(lab: Lab, name: str, *steps: dict[str, Any]) -> str:
    """Run a workflow and return the id of the run."""
    body = {"workflow": {"name": name, "steps": steps}}
    return str(lab.rest("POST", "/pai/api/v1/workflows", body)["run"]["id"])


def digits(lab: Lab, wait: str = "true") -> str:
    """Run a workflow with a branch, where one step fails, after the command `wait`."""
    return run_workflow(
        lab,
        "digits",
        step("train", writing("accuracy", "0.97")),
        step("publish", wait, when="train.accuracy > 0.9"),
        step("tune", when="train.accuracy <= 0.9"),
        step("report", when=HOSTILE, needs=["publish"]),
        step("note", writing("kind", "<b>bold</b>")),
    )


def opened(page: Page, lab: Lab, run: str) -> Locator:
    """Open the tab of a run, and return its view."""
    page.goto(f"{lab.url}/lab?reset&token={lab.token}")
    page.wait_for_selector(".jp-Launcher")
    expect(page.locator("#jupyterlab-splash")).to_have_count(0)  # It takes the focus at its end.
    execute(page, "jupyter-pai:open-workflow", id=run)
    view = page.locator(".jp-MainAreaWidget .jp-pai-Workflow")
    view.wait_for()
    return view


def node(view: Locator, name: str) -> Locator:
    return view.locator(f'.jp-pai-Graph-node[data-step="{name}"]')


def test_graph_is_live_and_its_steps_open_their_jobs(lab: Lab, page: Page, tmp_path: Path) -> None:
    page.on("dialog", lambda dialog: pytest.fail(dialog.message))
    run = digits(lab, waiting(tmp_path))
    view = opened(page, lab, run)
    expect(node(view, "publish")).to_have_attribute("data-status", "running")
    expect(node(view, "tune")).to_contain_text("false: 0.97 <= 0.9")
    expect(node(view, "tune")).to_contain_text("⊘")
    expect(node(view, "report")).to_contain_text("not decided")
    # Texts of users are texts.
    assert f"Condition: {HOSTILE}" in (node(view, "report").locator("title").text_content() or "")
    assert view.locator("script, foreignObject").count() == 0
    # A changed status changes the nodes in place.
    drawn = node(view, "publish").element_handle()
    assert drawn
    place = drawn.get_attribute("transform")
    (tmp_path / "go").touch()
    expect(view.locator('header [data-status="succeeded"]')).to_be_visible()
    assert drawn.get_attribute("data-status") == "succeeded" and drawn.get_attribute("transform") == place
    expect(node(view, "report")).to_contain_text("note.kind = <b>bold</b>")
    expect(view.locator(".jp-pai-Job-head")).to_contain_text("5 of 5 steps ended")
    root = view.element_handle()
    assert root
    assert faults(page, ".jp-pai-Workflow:has(.jp-pai-Graph)") == []
    assert unreachable(page, root) == []
    assert cut_off(root) == []

    # The table has the same, and the choice is kept.
    view.get_by_role("button", name="Table").click()
    table = view.get_by_role("table", name="Steps of workflow digits")
    expect(table.get_by_role("row")).to_have_count(6)
    expect(table.get_by_role("row", name="tune")).to_contain_text("false: train.accuracy = 0.97")
    assert faults(page, ".jp-pai-Workflow:has(.jp-pai-Steps)") == []
    assert page.evaluate("localStorage.getItem('jupyter-pai:workflow-form')") == "table"
    view.get_by_role("button", name="Graph").click()
    # Skipped steps have no job to open.
    assert node(view, "tune").get_attribute("role") == "img"
    node(view, "publish").focus()
    page.keyboard.press("Enter")
    job = page.get_by_role("group", name="Training job digits-publish")
    job.get_by_role("button", name=f"Step publish of workflow {run}").click()
    expect(view).to_be_visible()

    # The list has one row for the run, and its jobs one by one while it is filtered.
    page.locator('.jp-SideBar [data-id="jp-pai-jobs"]').click()
    rows = page.locator(".jp-pai-JobRow")
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text("Workflow digits")
    expect(rows).to_contain_text("succeeded · 5 of 5 steps")
    page.get_by_label("Search by name").fill("digits")
    expect(rows).to_have_count(3)
    page.get_by_label("Search by name").fill("")
    expect(rows).to_have_count(1)
    page.locator(".jp-pai-Jobs-rows").focus()
    page.keyboard.press("Enter")
    expect(view).to_be_visible()
    assert faults(page, ".jp-pai-Jobs") == []

    view.get_by_role("button", name="Delete").click()
    dialog = page.locator(".jp-Dialog")
    expect(dialog).to_contain_text("Delete workflow digits?")
    dialog.get_by_role("button", name="Delete").click()
    expect(view).to_contain_text("The workflow was deleted.")


@pytest.mark.slow("browser")
def test_output_of_a_cell_is_stopped_and_resumed(lab: Lab, page: Page, tmp_path: Path) -> None:
    run = run_workflow(lab, "long", step("wait", waiting(tmp_path)), step("after", needs=["wait"]))
    output = {
        "output_type": "display_data",
        "metadata": {},
        "data": {
            "application/vnd.jupyter-pai.workflow+json": {"workflow": run, "snapshot": "as of now"},
            "text/plain": "as of now",
        },
    }
    lab.write("run.ipynb", "1", outputs=[output])
    page.goto(f"{lab.url}/lab/tree/run.ipynb?reset&token={lab.token}")
    view = page.locator(".jp-OutputArea .jp-pai-Workflow")
    expect(node(view, "wait")).to_have_attribute("data-status", "running")
    view.get_by_role("button", name="Stop").click()
    page.locator(".jp-Dialog").get_by_role("button", name="Stop").click()
    expect(view.locator('header [data-status="stopped"]')).to_be_visible()
    (tmp_path / "go").touch()
    view.get_by_role("button", name="Resume").click()
    expect(view.locator('header [data-status="succeeded"]')).to_be_visible()

    # Steps that need too many others, and more steps than a graph shows.
    before = [f"s{n}" for n in range(16)]
    dense = run_workflow(lab, "dense", *(step(f"s{n}", "exit 3", needs=before[:n]) for n in range(16)))
    execute(page, "jupyter-pai:open-workflow", id=dense)
    view = page.locator(".jp-MainAreaWidget .jp-pai-Workflow[aria-label='Workflow dense']")
    expect(view.locator("tbody tr")).to_have_count(16)
    expect(view).to_contain_text("too many others")
    many = run_workflow(lab, "many", step("s0", "exit 3"), *(step(f"s{n}", needs=["s0"]) for n in range(1, 62)))
    execute(page, "jupyter-pai:open-workflow", id=many)
    view = page.locator(".jp-MainAreaWidget .jp-pai-Workflow[aria-label='Workflow many']")
    expect(view.locator("tbody tr")).to_have_count(62)
    expect(view.get_by_role("button", name="Graph")).to_be_disabled()
    expect(view).to_contain_text("up to 60 steps")
