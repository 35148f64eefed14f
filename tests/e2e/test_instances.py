"""The table of a job's instances: live, with the keyboard, with many rows, narrow, and in Chinese."""

from __future__ import annotations

import re
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from jupyter_pai.jobs.instances import Instance, write_instances
from jupyter_pai.jobs.job import Job, JobStatus, now
from jupyter_pai.jobs.spec import parse_spec
from jupyter_pai.jobs.state_dir import Home
from jupyter_pai.jobs.store.store import Store

from .conftest import Lab, execute, open_notebook
from .test_job_view import VIEW, output, status

MANY = 1000


def opened(page: Page, lab: Lab, job: str) -> Locator:
    """Return the table of a job in the output of a notebook, where its section is collapsed at first."""
    lab.write("a.ipynb", "1", outputs=[output(job, "")])
    open_notebook(page, lab, "a.ipynb")
    page.locator(f"{VIEW} summary", has_text=re.compile(r"^(Instances|实例)")).click()
    return page.locator(f"{VIEW} .jp-pai-InstanceTable table")


def headers(table: Locator) -> list[str]:
    return table.locator("thead th[scope=col]").all_inner_texts()


def submit(lab: Lab, folder: Path) -> str:
    """Submit three instances: each prints its rank; the first one succeeds, the last one fails."""
    wait = f"[ $RANK = 0 ] || until [ -e {folder}/go$RANK ]; do sleep 0.02; done"
    spec = {"name": "ranks", "command": f"echo rank $RANK; {wait}; exit $((RANK / 2 * 7))", "instance_count": 3}
    spec["source"] = {"files": {"nothing.txt": ""}}
    return str(lab.rest("POST", "/pai/api/v1/jobs", {"spec": spec})["job"]["id"])


def many(home: Home) -> str:
    """Store an ended job of a platform that is not installed, with many instances; the last one has a log."""
    spec = parse_spec({"name": "many", "command": "true", "instance_count": MANY})
    when = now()
    job = Job(
        id="manymany", spec=spec, backend="elsewhere", profile="elsewhere", status=JobStatus.FAILED,
        submitted_at=when, started_at=when, ended_at=when,
    )  # fmt: skip
    with closing(Store(home.database)) as store:
        store.jobs.insert(job, job.id, "").result()
    folder = home.job(job.id)
    folder.log.mkdir(parents=True)
    (folder.log / f"worker-{MANY - 1}").write_text("the last one\n")
    (folder.log / "worker-1").write_text("an early one\n")
    one = Instance("", "worker", None, JobStatus.FAILED, "Evicted", address="10.0.0.7", ports=(22, 80))
    write_instances(folder, [replace(one, name=f"worker-{n}", rank=n) for n in range(MANY)])
    return job.id


@pytest.mark.slow("browser")
def test_table_moves_live_and_opens_logs(lab: Lab, page: Page, tmp_path: Path) -> None:
    table = opened(page, lab, submit(lab, tmp_path))
    rows = table.locator("tbody tr[data-row]")
    expect(rows).to_have_count(3)
    states = table.locator("tbody .jp-pai-Status")
    expect(states).to_have_text(["succeeded", "running", "running"])
    assert headers(table) == ["Instance", "Status", "Role", "Rank", "Node", "Exit code", "Started", "Duration"]
    expect(rows.nth(0).get_by_role("rowheader")).to_have_text("worker-0")
    # The row that has the focus keeps it when its values change.
    second = rows.nth(1).get_by_role("button", name="worker-1")
    rows.nth(0).get_by_role("button", name="worker-0").focus()
    page.keyboard.press("ArrowDown")
    expect(second).to_be_focused()
    (tmp_path / "go1").touch()
    expect(states.nth(1)).to_have_text("succeeded")
    expect(second).to_be_focused()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    expect(rows.nth(2).get_by_role("button")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("tab", name="Logs")).to_be_focused()
    expect(page.locator(".jp-pai-Log-text")).to_have_text(re.compile(r"^\s*rank 2\s*$"))
    expect(page.get_by_label("Instance", exact=True)).to_have_value("worker-2")
    # The tab itself shows all instances.
    page.get_by_role("tab", name="Overview").click()
    page.get_by_role("tab", name="Logs").click()
    expect(page.get_by_label("Instance", exact=True)).to_have_value("")
    (tmp_path / "go2").touch()
    status(page, "failed")
    page.get_by_role("tab", name="Overview").click()
    page.locator(f"{VIEW} summary", has_text="Instances (3)").click()
    expect(states).to_have_text(["succeeded", "succeeded", "failed"])
    expect(rows.nth(2).locator("[data-column=code]")).to_have_text("7")
    rows.nth(1).locator("[data-column=node]").click()
    expect(page.locator(".jp-pai-Log-text")).to_have_text(re.compile(r"^\s*rank 1\s*$"))


@pytest.mark.slow("browser")
@pytest.mark.parametrize("page", [{"viewport": {"width": 480, "height": 800}}], indirect=True)
def test_thousand_instances_in_a_narrow_window(lab: Lab, page: Page, home: Home) -> None:
    table = opened(page, lab, many(home))
    rows = table.locator("tbody tr[data-row]")
    expect(rows.nth(5)).to_be_visible()
    execute(page, "application:toggle-left-area")  # The file browser covers most of a narrow window.
    expect(page.locator("#filebrowser")).to_be_hidden()
    assert rows.count() < 40
    expect(table).to_have_attribute("aria-rowcount", str(MANY + 1))
    assert headers(table) == ["Instance", "Status", "Role", "Rank", "Address"]
    expect(rows.nth(3)).to_contain_text("failed (Evicted)")
    expect(rows.nth(3).locator("[data-column=address]")).to_have_text("10.0.0.7:22, 80")
    sizes = page.locator(VIEW).evaluate("node => [node.scrollWidth, node.clientWidth]")
    assert sizes[0] <= sizes[1], "only the table scrolls"
    heights = rows.evaluate_all("rows => rows.map(row => row.getBoundingClientRect().height)")
    assert set(heights) == {26}
    rows.nth(0).get_by_role("button").focus()
    page.keyboard.press("End")
    last = table.locator(f"tr[data-row='{MANY - 1}']").get_by_role("button")
    expect(last).to_be_focused()
    expect(last).to_be_in_viewport()
    # A row that is scrolled out of sight keeps the focus.
    page.locator(".jp-pai-InstanceTable").evaluate("node => node.scrollTo(0, 0)")
    expect(table.locator("tr[data-row='5']")).to_be_visible()
    expect(last).to_be_focused()
    page.keyboard.press("PageUp")
    expect(table.locator("button:focus")).to_be_in_viewport()
    # An instance without a log opens none.
    page.keyboard.press("Enter")
    expect(page.get_by_role("tab", name="Overview")).to_have_attribute("aria-selected", "true")
    page.keyboard.press("End")
    page.keyboard.press("Enter")
    expect(page.locator(".jp-pai-Log-text")).to_contain_text("the last one")


@pytest.mark.slow("browser")
def test_table_is_chinese(lab: Lab, page: Page, tmp_path: Path) -> None:
    lab.setting("@jupyterlab/translation-extension:plugin", locale="zh_CN")
    table = opened(page, lab, submit(lab, tmp_path))
    expect(table.locator("tbody .jp-pai-Status").first).to_have_text("已成功")
    assert headers(table)[:4] == ["实例", "状态", "角色", "序号"]
    (tmp_path / "go2").touch()
    # The reason is in the language of the page.
    expect(table.locator("tr[data-row='1'] [data-column=reason]")).to_have_text("因 worker-2 失败而停止。")
