"""HDFS in the Explorer: browse, upload files and folders, download, rename, delete, drag, and use as input."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page, Route, expect

from ..conftest import until
from ..fakes.webhdfs import WebHdfsServer
from .accessibility import faults
from .conftest import Lab, execute
from .test_explorer import act, answer, drop, fields, grid, news, panel, row

VIEW = "#jp-pai-explorer"


@pytest.fixture
def me(hdfs: WebHdfsServer, tmp_path: Path, lab: Lab) -> str:
    """The path of a folder of the user `me` in HDFS, which is that of the profile."""
    path = f"/user/{tmp_path.name}"
    hdfs.path(path).mkdir(parents=True)
    hdfs.own(path, "me", 0o755)
    values = {"hdfs": hdfs.uri + path[1:], "hdfs_user": "me"}
    lab.rest("PUT", "/pai/api/v1/profiles/local", {"values": values})
    return path


def open_folder(page: Page, lab: Lab, name: str) -> None:
    """Open the folder of the profile from the list of storages."""
    page.goto(f"{lab.url}/lab?reset&token={lab.token}")
    page.wait_for_selector(".jp-LauncherCard")
    execute(page, "jupyter-pai:show-explorer")
    panel(page).get_by_role("button", name=name).click()
    grid(page).wait_for()


@pytest.mark.slow("browser")
def test_explorer_manages_files_of_hdfs(lab: Lab, hdfs: WebHdfsServer, me: str, page: Page, tmp_path: Path) -> None:
    data = tmp_path / "data"
    (data / "sub").mkdir(parents=True)
    (data / "a b.csv").write_text("1")
    (data / "sub/large.bin").write_bytes(bytes(range(256)) * 20_000)
    (lab.root / "work").mkdir()
    (lab.root / "work/train.csv").write_text("1,2")
    open_folder(page, lab, me.rpartition("/")[2])
    explorer = panel(page)
    expect(explorer).to_contain_text("This folder is empty.")

    explorer.get_by_role("button", name="New folder…").click()
    answer(page, "新 1")
    expect(news(page)).to_have_text("Folder 新 1 created.")
    grid(page).focus()
    page.keyboard.press("Enter")
    expect(explorer).to_contain_text("This folder is empty.")
    here = hdfs.path(f"{me}/新 1")

    # Upload files and a folder; the progress of a file is shown meanwhile.
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.route("**/pai/api/v1/uploads/*", hold)
    explorer.locator('[data-upload="files"]').set_input_files([data / "a b.csv"])
    expect(explorer.get_by_role("progressbar").first).to_be_visible()
    until(lambda: page.evaluate("0") == 0 and held)
    held[0].continue_()
    page.unroute("**/pai/api/v1/uploads/*")
    expect(news(page)).to_have_text("Uploaded a b.csv")
    explorer.locator('[data-upload="folder"]').set_input_files(data)
    expect(news(page)).to_have_text("Uploaded 2 files")
    assert (here / "data/sub/large.bin").read_bytes() == (data / "sub/large.bin").read_bytes()
    # A name that exists asks for a decision.
    (data / "a b.csv").write_text("22")
    explorer.locator('[data-upload="files"]').set_input_files([data / "a b.csv"])
    explorer.get_by_role("button", name="Keep both").click()
    expect(row(page, "a b (2).csv")).to_be_visible()
    drop(page, grid(page), data / "sub")
    expect(row(page, "sub/")).to_be_visible()
    assert faults(page, VIEW) == []

    # Rename, download, delete.
    row(page, "a b (2).csv").click()
    page.keyboard.press("F2")
    answer(page, "b.csv")
    expect(row(page, "b.csv")).to_have_attribute("aria-selected", "true")
    with page.expect_download() as saved:
        page.keyboard.press("Enter")
    assert (saved.value.suggested_filename, Path(saved.value.path()).read_text()) == ("b.csv", "22")
    row(page, "sub/").click()
    page.keyboard.press("Delete")
    expect(page.locator(".jp-Dialog")).to_contain_text("Delete sub?")
    answer(page)
    expect(row(page, "sub/")).to_have_count(0)
    assert sorted(path.name for path in here.iterdir()) == ["a b.csv", "b.csv", "data"]

    # From and to the workspace, and as an input.
    row(page, "b.csv").click(button="right")
    page.get_by_role("menuitem", name="Copy to workspace…").click()
    answer(page, "work")
    until((lab.root / "work/b.csv").is_file)
    explorer.get_by_role("button", name="Upload").click()
    page.get_by_role("menuitem", name="From workspace…").click()
    answer(page, "work")
    expect(row(page, "work/")).to_be_visible()
    assert (here / "work/train.csv").read_text() == "1,2"
    row(page, "data/").click()
    act(page, "Use as input")
    page.locator("#jp-pai-train summary", has_text="Data").click()
    until(lambda: f"{hdfs.uri}{me[1:]}/新 1/data/" in fields(page))


@pytest.mark.slow("browser")
def test_files_are_dragged_from_the_file_browser_to_hdfs(lab: Lab, hdfs: WebHdfsServer, me: str, page: Page) -> None:
    (lab.root / "train.csv").write_text("1,2")
    open_folder(page, lab, me.rpartition("/")[2])
    move = "jupyterapp.shell.add([...jupyterapp.shell.widgets('left')].find(w => w.id === 'jp-pai-explorer'), 'right')"
    page.evaluate(move)
    execute(page, "filebrowser:activate")
    execute(page, "filebrowser:go-to-path", path="")
    execute(page, "jupyter-pai:show-explorer")
    item = page.locator(".jp-DirListing-item", has_text="train.csv")
    item.hover()
    page.mouse.down()
    box = grid(page).bounding_box()
    assert box
    for step in (0.4, 0.5, 0.6):
        page.mouse.move(box["x"] + 60, box["y"] + box["height"] * step)
    page.mouse.up()
    expect(row(page, "train.csv")).to_be_visible()
    assert hdfs.path(f"{me}/train.csv").read_text() == "1,2"


@pytest.mark.slow("browser")
def test_long_folder_of_hdfs_is_shown_in_parts(lab: Lab, hdfs: WebHdfsServer, me: str, page: Page) -> None:
    for number in range(1500):
        hdfs.path(f"{me}/f{number:04}").write_text("x" * (number % 7))
    open_folder(page, lab, me.rpartition("/")[2])
    expect(news(page)).to_have_text("More than 500 items")
    assert page.locator(".jp-pai-Explorer-row").count() < 100
    panel(page).get_by_role("button", name="Size").click()  # An order of all loads them.
    expect(news(page)).to_have_text("1,500 items")
    panel(page).get_by_role("button", name="Name").click()
    grid(page).focus()
    page.keyboard.press("End")
    expect(row(page, "f1499")).to_have_attribute("aria-selected", "true")


@pytest.mark.slow("browser")
def test_errors_of_hdfs_are_shown(lab: Lab, hdfs: WebHdfsServer, me: str, page: Page, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("1")
    open_folder(page, lab, me.rpartition("/")[2])
    explorer = panel(page)
    hdfs.set(safe_mode=True)
    explorer.get_by_role("button", name="New folder…").click()
    answer(page, "new")
    expect(page.locator(".jp-toast-message")).to_contain_text("safe mode")
    hdfs.set(safe_mode=False, full=True)
    explorer.locator('[data-upload="files"]').set_input_files([tmp_path / "a.csv"])
    expect(explorer.get_by_role("alert").last).to_contain_text("space")
    hdfs.set(full=False)
    hdfs.own(me, "somebody", 0o700)
    explorer.get_by_role("button", name="Refresh").click()
    expect(explorer.locator(".jp-pai-Jobs-trouble")).to_contain_text("HDFS denies access")
    assert faults(page, VIEW) == []
