"""TensorBoards on the platform, in the job view: find, start, open, stop, and replace one of five."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from ..fakes.alibaba import StandIn
from .accessibility import faults
from .conftest import Lab, execute, open_notebook, run_cells
from .test_job_view_without_extension import lab as plain_lab  # noqa: F401  fixture

TAB = ".jp-pai-TensorBoard"
PART = "TensorBoard on the platform"
START = "Start TensorBoard on the platform"


@pytest.fixture
def lab(pai: StandIn, lab: Lab) -> Iterator[Lab]:
    """JupyterLab with a profile of the stand-in; its TensorBoards are deleted after the test."""
    yield lab
    for board in boards(lab):
        lab.rest("DELETE", f"/pai/api/v1/platform-tensorboards/{board['id']}?backend=pai&delete=true")


def boards(lab: Lab) -> list[dict[str, Any]]:
    result: list[dict[str, Any]] = lab.rest("GET", "/pai/api/v1/platform-tensorboards?backend=pai")["boards"]
    return result


def submit(lab: Lab, name: str, profile: str = "pai") -> str:
    spec = {"name": name, "command": "true", "source": {"files": {"a.txt": ""}}, "profile": profile}
    return str(lab.rest("POST", "/pai/api/v1/jobs", {"spec": spec})["job"]["id"])


def fill(lab: Lab) -> None:
    """Fill all five slots."""
    for number in range(5):
        lab.rest("POST", "/pai/api/v1/platform-tensorboards", {"job": submit(lab, f"number-{number}")})


def opened(page: Page, lab: Lab, job: str) -> Locator:
    """Open the tab TensorBoard of a job."""
    page.goto(f"{lab.url}/lab?reset&token={lab.token}")
    page.locator('.jp-SideBar [data-id="jp-pai-jobs"]').wait_for()
    execute(page, "jupyter-pai:open-job", id=job)
    view = page.locator(".jp-MainAreaWidget .jp-pai-Job")
    view.locator('[data-tab="tensorboard"]').click()
    return view


def accept(page: Page) -> None:
    page.locator(".jp-Dialog .jp-mod-accept").click()


@pytest.mark.slow("browser")
def test_tensorboard_is_started_opened_stopped_and_deleted(lab: Lab, page: Page, pai: StandIn) -> None:
    view = opened(page, lab, submit(lab, "digits"))
    part = view.get_by_role("region", name=PART)
    expect(part).to_contain_text("one of the 5 TensorBoard slots of the account, may be billed")
    start = part.get_by_role("button", name=START)
    expect(start).to_have_accessible_description(re.compile("takes one of the 5 TensorBoard slots"))
    assert boards(lab) == []
    assert faults(page, TAB) == []
    start.press("Enter")
    expect(part.get_by_role("status")).to_have_text("Ready to open.")
    # The button was removed: the focus moves to the section's title.
    expect(part.locator(".jp-pai-TensorBoard-title")).to_be_focused()
    link = part.get_by_role("link", name="Open on the platform")
    assert (link.get_attribute("target"), link.get_attribute("rel")) == ("_blank", "noopener noreferrer")
    assert faults(page, TAB) == []
    with page.context.expect_page() as other:
        link.click()
    expect(other.value).to_have_title("TensorBoard")
    other.value.close()
    board = part.get_by_role("group", name="digits")
    board.get_by_role("button", name="Stop on the platform").click()
    page.locator(".jp-Dialog .jp-mod-reject").click()
    assert [one["status"] for one in boards(lab)] == ["running"]
    board.get_by_role("button", name="Stop on the platform").click()
    accept(page)
    expect(board).to_have_text("digits · stopped" + "Delete on the platform")
    assert [one["status"] for one in boards(lab)] == ["stopped"]
    # The same TensorBoard is started again.
    start.click()
    expect(link).to_be_visible()
    assert pai.count("dlc", "CreateTensorboard") == 1
    board.get_by_role("button", name="Delete on the platform").click()
    accept(page)
    expect(board).to_have_count(0)
    assert boards(lab) == []


@pytest.mark.slow("browser")
def test_tensorboard_is_replaced_when_all_slots_are_used(lab: Lab, page: Page, pai: StandIn) -> None:
    fill(lab)
    view = opened(page, lab, submit(lab, "sixth"))
    part = view.get_by_role("region", name=PART)
    part.get_by_role("button", name=START).click()
    expect(part.get_by_role("alert")).to_contain_text("All TensorBoard slots on the platform are in use")
    rows = part.get_by_role("listitem")
    expect(rows).to_have_count(5)
    expect(rows.filter(has_text="number-2")).to_contain_text("ada")
    assert faults(page, TAB) == []
    other = rows.filter(has_text="number-2").get_by_role("button", name="Stop it and start one for this job")
    expect(other).to_have_accessible_description(re.compile("^number-2 · ada"))
    pai.faults.add("refused", "dlc:StopTensorboard", count=1, status=403)
    other.click()
    accept(page)
    expect(part.get_by_role("alert").first).to_contain_text("refused by the test")
    expect(rows).to_have_count(5)
    # A released slot may count as used for a while.
    pai.faults.add("refused", "dlc:CreateTensorboard", count=2, status=400, code="TensorboardLimitExceeded")
    other.click()
    accept(page)
    expect(part.get_by_role("link", name="Open on the platform")).to_be_visible()
    expect(rows).to_have_count(0)
    shown = {one["name"]: one["status"] for one in boards(lab)}
    assert (shown["number-2"], shown["sixth"], shown["number-0"]) == ("stopped", "running", "running")


@pytest.mark.slow("browser")
def test_tensorboard_errors_are_shown_with_a_fix(lab: Lab, page: Page, pai: StandIn) -> None:
    job = submit(lab, "digits")
    pai.faults.add("refused", "dlc:ListTensorboards", status=403)
    part = opened(page, lab, job).get_by_role("region", name=PART)
    expect(part.get_by_role("alert")).to_contain_text("refused by the test")
    assert faults(page, TAB) == []
    pai.faults.clear()
    part.get_by_role("button", name="Refresh").click()
    pai.fail_next_board("no room for it")
    start = part.get_by_role("button", name=START)
    start.click()
    expect(part.get_by_role("status")).to_have_text("Failed to start.")
    expect(part.get_by_role("group", name="digits")).to_contain_text("failed · PodFailed: no room for it")
    pai.faults.add("refused", "dlc:CreateTensorboard", status=403)
    start.click()
    expect(part.get_by_role("alert")).to_contain_text("refused by the test")
    expect(part.get_by_role("group", name="digits")).to_be_visible()
    pai.faults.clear()
    start.click()
    expect(part.get_by_role("link", name="Open on the platform")).to_be_visible()
    expect(part.get_by_role("alert")).to_have_count(0)
    # A reloaded page finds it.
    part = opened(page, lab, job).get_by_role("region", name=PART)
    expect(part.get_by_role("link", name="Open on the platform")).to_be_visible()


@pytest.mark.slow("browser")
def test_local_jobs_offer_no_platform_tensorboard(lab: Lab, page: Page) -> None:
    view = opened(page, lab, submit(lab, "here", "local"))
    expect(view.get_by_role("button", name="Start TensorBoard")).to_be_visible()
    expect(view.get_by_role("region", name=PART)).to_have_count(0)
    assert faults(page, TAB) == []


@pytest.mark.slow("browser")
@pytest.mark.parametrize("page", [{"viewport": {"width": 480, "height": 900}}], indirect=True)
def test_tensorboards_are_dark_narrow_and_chinese(lab: Lab, page: Page) -> None:
    lab.setting("@jupyterlab/apputils-extension:themes", theme="JupyterLab Dark")
    lab.setting("@jupyterlab/translation-extension:plugin", locale="zh_CN")
    fill(lab)
    view = opened(page, lab, submit(lab, "sixth"))
    part = view.locator(".jp-pai-TensorBoard-platform")
    part.get_by_role("button").click()
    expect(part.get_by_role("alert")).to_be_visible()
    sizes = view.evaluate("node => [node.scrollWidth, node.clientWidth]")
    assert sizes[0] <= sizes[1]
    assert faults(page, TAB) == []


@pytest.mark.slow("browser")
def test_tensorboards_work_without_the_extension(
    pai: StandIn,
    plain_lab: Lab,  # noqa: F811
    page: Page,
) -> None:
    """A page without the extension: connected through the kernel, with its own dialogs, in Chinese."""
    train = "%%pai_train --backend pai --name digits --as job --wait\nprint(1)"
    # A view of a finished job is drawn once.
    plain_lab.write("a.ipynb", "%load_ext jupyter_pai", train, "job.widget()")
    open_notebook(page, plain_lab, "a.ipynb")
    run_cells(page, 3)
    shown = page.locator(".jp-CodeCell").nth(2).locator(".jp-pai-Page")
    shown.locator('[data-tab="tensorboard"]').click()
    part = page.get_by_role("region", name="平台上的 TensorBoard")
    part.get_by_role("button", name="在平台上启动 TensorBoard").click()
    link = part.get_by_role("link", name="在新窗口中打开")
    with page.context.expect_page() as other:
        link.click()
    expect(other.value).to_have_title("TensorBoard")
    other.value.close()
    assert faults(page, TAB) == []
    part.get_by_role("button", name="从平台上删除").click()
    assert faults(page, ".jp-pai-Dialog") == []
    page.locator(".jp-pai-Dialog button[value=yes]").click()
    expect(part.get_by_role("group")).to_have_count(0)
    expect(part.get_by_role("button", name="在平台上启动 TensorBoard")).to_be_enabled()
