"""TensorBoards that the platform runs, in the job view: found, started, opened, stopped, and five at most."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from ..fakes.alibaba import StandIn
from ..integration.pai.conftest import pai, platform  # noqa: F401  fixtures
from .conftest import Lab, execute, open_notebook, run_cells
from .everyone import faults
from .test_widget import lab as plain_lab  # noqa: F401  fixture

LONG = 60_000
TAB = ".jp-pai-TensorBoard"
PART = "TensorBoard on the platform"
START = "Start TensorBoard on the platform"


@pytest.fixture
def lab(pai: StandIn, lab: Lab) -> Iterator[Lab]:  # noqa: F811
    """One that starts with the profile of the stand-in, and leaves it no TensorBoards."""
    yield lab
    for board in boards(lab):
        lab.rest("DELETE", f"/pai/api/v1/platform-tensorboards/{board['id']}?backend=pai&delete=true")


def boards(lab: Lab) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = lab.rest("GET", "/pai/api/v1/platform-tensorboards?backend=pai")["boards"]
    return found


def submit(lab: Lab, name: str, profile: str = "pai") -> str:
    spec = {"name": name, "command": "true", "source": {"files": {"a.txt": ""}}, "profile": profile}
    return str(lab.rest("POST", "/pai/api/v1/jobs", {"spec": spec})["job"]["id"])


def fill(lab: Lab) -> None:
    """All five places are taken."""
    for number in range(5):
        lab.rest("POST", "/pai/api/v1/platform-tensorboards", {"job": submit(lab, f"number-{number}")})


def opened(page: Page, lab: Lab, job: str) -> Locator:
    """The tab TensorBoard of a job's view."""
    page.goto(f"{lab.url}/lab?reset&token={lab.token}")
    page.locator('.jp-SideBar [data-id="jp-pai-jobs"]').wait_for(timeout=LONG)
    execute(page, "jupyter-pai:open-job", id=job)
    view = page.locator(".jp-MainAreaWidget .jp-pai-Job")
    view.locator('[data-tab="tensorboard"]').click(timeout=LONG)
    return view


def accept(page: Page) -> None:
    page.locator(".jp-Dialog .jp-mod-accept").click(timeout=LONG)


def test_one_is_started_opened_stopped_and_deleted(lab: Lab, page: Page, pai: StandIn) -> None:  # noqa: F811
    view = opened(page, lab, submit(lab, "digits"))
    part = view.get_by_role("region", name=PART)
    expect(part).to_contain_text("one of the 5 TensorBoard slots of the account, may be billed", timeout=LONG)
    start = part.get_by_role("button", name=START)
    expect(start).to_have_accessible_description(re.compile("takes one of the 5 TensorBoard slots"))
    assert boards(lab) == []
    assert faults(page, TAB) == []
    start.press("Enter")
    expect(part.get_by_role("status")).to_have_text("Ready to open.", timeout=LONG)
    # The button has gone: the keyboard goes on from the part's title.
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
    expect(board).to_have_text("digits · stopped" + "Delete on the platform", timeout=LONG)
    assert [one["status"] for one in boards(lab)] == ["stopped"]
    # It is the same one that is started again.
    start.click()
    expect(link).to_be_visible(timeout=LONG)
    assert pai.count("dlc", "CreateTensorboard") == 1
    board.get_by_role("button", name="Delete on the platform").click()
    accept(page)
    expect(board).to_have_count(0, timeout=LONG)
    assert boards(lab) == []


def test_one_makes_room_where_all_places_are_taken(lab: Lab, page: Page, pai: StandIn) -> None:  # noqa: F811
    fill(lab)
    view = opened(page, lab, submit(lab, "sixth"))
    part = view.get_by_role("region", name=PART)
    part.get_by_role("button", name=START).click(timeout=LONG)
    expect(part.get_by_role("alert")).to_contain_text("All TensorBoard slots on the platform are in use", timeout=LONG)
    rows = part.get_by_role("listitem")
    expect(rows).to_have_count(5)
    expect(rows.filter(has_text="number-2")).to_contain_text("ada")
    assert faults(page, TAB) == []
    other = rows.filter(has_text="number-2").get_by_role("button", name="Stop it and start one for this job")
    expect(other).to_have_accessible_description(re.compile("^number-2 · ada"))
    pai.faults.add("refused", "dlc:StopTensorboard", count=1, status=403)
    other.click()
    accept(page)
    expect(part.get_by_role("alert").first).to_contain_text("refused by the test", timeout=LONG)
    expect(rows).to_have_count(5)
    # A place that was given up may count as taken for some time.
    pai.faults.add("refused", "dlc:CreateTensorboard", count=2, status=400, code="TensorboardLimitExceeded")
    other.click()
    accept(page)
    expect(part.get_by_role("link", name="Open on the platform")).to_be_visible(timeout=LONG)
    expect(rows).to_have_count(0)
    shown = {one["name"]: one["status"] for one in boards(lab)}
    assert (shown["number-2"], shown["sixth"], shown["number-0"]) == ("stopped", "running", "running")


def test_what_goes_wrong_is_said_with_what_to_do(lab: Lab, page: Page, pai: StandIn) -> None:  # noqa: F811
    job = submit(lab, "digits")
    pai.faults.add("refused", "dlc:ListTensorboards", status=403)
    part = opened(page, lab, job).get_by_role("region", name=PART)
    expect(part.get_by_role("alert")).to_contain_text("refused by the test", timeout=LONG)
    assert faults(page, TAB) == []
    pai.faults.clear()
    part.get_by_role("button", name="Refresh").click()
    pai.fail_next_board("no room for it")
    start = part.get_by_role("button", name=START)
    start.click(timeout=LONG)
    expect(part.get_by_role("status")).to_have_text("Failed to start.", timeout=LONG)
    expect(part.get_by_role("group", name="digits")).to_contain_text("failed · PodFailed: no room for it")
    pai.faults.add("refused", "dlc:CreateTensorboard", status=403)
    start.click()
    expect(part.get_by_role("alert")).to_contain_text("refused by the test", timeout=LONG)
    expect(part.get_by_role("group", name="digits")).to_be_visible()
    pai.faults.clear()
    start.click()
    expect(part.get_by_role("link", name="Open on the platform")).to_be_visible(timeout=LONG)
    expect(part.get_by_role("alert")).to_have_count(0)
    # A page that is opened anew finds it.
    part = opened(page, lab, job).get_by_role("region", name=PART)
    expect(part.get_by_role("link", name="Open on the platform")).to_be_visible(timeout=LONG)


def test_jobs_of_this_machine_have_none(lab: Lab, page: Page) -> None:
    view = opened(page, lab, submit(lab, "here", "local"))
    expect(view.get_by_role("button", name="Start TensorBoard")).to_be_visible(timeout=LONG)
    expect(view.get_by_role("region", name=PART)).to_have_count(0)
    assert faults(page, TAB) == []


@pytest.mark.parametrize("page", [{"viewport": {"width": 480, "height": 900}}], indirect=True)
def test_dark_narrow_and_chinese(lab: Lab, page: Page) -> None:
    lab.setting("@jupyterlab/apputils-extension:themes", theme="JupyterLab Dark")
    lab.setting("@jupyterlab/translation-extension:plugin", locale="zh_CN")
    fill(lab)
    view = opened(page, lab, submit(lab, "sixth"))
    part = view.locator(".jp-pai-TensorBoard-platform")
    part.get_by_role("button").click(timeout=LONG)
    expect(part.get_by_role("alert")).to_be_visible(timeout=LONG)
    sizes = view.evaluate("node => [node.scrollWidth, node.clientWidth]")
    assert sizes[0] <= sizes[1]
    assert faults(page, TAB) == []


def test_in_a_page_without_our_extension(pai: StandIn, plain_lab: Lab, page: Page) -> None:  # noqa: F811
    """Fed by the kernel, with dialogs of the page's own; in Chinese."""
    train = "%%pai_train --backend pai --name digits --as job --wait\nprint(1)"
    # A view that shows the end of its job from the start, and so is drawn once.
    plain_lab.write("a.ipynb", "%load_ext jupyter_pai", train, "job.widget()")
    open_notebook(page, plain_lab, "a.ipynb")
    run_cells(page, 3)
    shown = page.locator(".jp-CodeCell").nth(2).locator(".jp-pai-Page")
    shown.locator('[data-tab="tensorboard"]').click(timeout=LONG)
    part = page.get_by_role("region", name="平台上的 TensorBoard")
    part.get_by_role("button", name="在平台上启动 TensorBoard").click(timeout=LONG)
    link = part.get_by_role("link", name="在新窗口中打开")
    with page.context.expect_page() as other:
        link.click(timeout=LONG)
    expect(other.value).to_have_title("TensorBoard")
    other.value.close()
    assert faults(page, TAB) == []
    part.get_by_role("button", name="从平台上删除").click()
    assert faults(page, ".jp-pai-Dialog") == []
    page.locator(".jp-pai-Dialog button[value=yes]").click()
    expect(part.get_by_role("group")).to_have_count(0, timeout=LONG)
    expect(part.get_by_role("button", name="在平台上启动 TensorBoard")).to_be_enabled()
