"""The Explorer: browse storages, upload, copy, rename and delete, by mouse and by keyboard."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from ..conftest import ROOT, until
from ..fakes.alibaba import StandIn
from .conftest import SCREENSHOTS, Lab, execute

AXE = ROOT / "node_modules" / "axe-core" / "axe.min.js"


@pytest.fixture
def lab(pai: StandIn, lab: Lab) -> Lab:
    """JupyterLab with a profile of the stand-in."""
    return lab


def row(page: Page, path: str) -> Locator:
    return page.locator(f'.jp-pai-Explorer-row[data-path="{path}"]')


def answer(page: Page, text: str | None = None, button: str = ".jp-mod-accept, .jp-mod-warn") -> None:
    """Fill in the field of a dialog, if any, and press a button."""
    dialog = page.locator(".jp-Dialog")
    if text is not None:
        dialog.locator("input").fill(text)
    dialog.locator(button).last.click()
    expect(dialog).to_have_count(0)


def act(page: Page, name: str) -> None:
    """Select an entry of the context menu of the selected row."""
    page.get_by_role("button", name="Actions").click()
    expect(page.get_by_role("menuitem", name="Open")).to_be_focused()
    assert faults(page, ".jp-pai-Menu") == []
    page.get_by_role("menuitem", name=name).click()


def faults(page: Page, where: str = "#jp-pai-explorer") -> list[str]:
    """Return axe's violations."""
    page.add_script_tag(path=AXE)
    result = page.evaluate("async where => await axe.run(where)", where)
    return [f"{one['id']}: {[node['html'] for node in one['nodes']]}" for one in result["violations"]]


def panel(page: Page) -> Locator:
    """Return the Explorer."""
    return page.locator(".jp-pai-Explorer")


def grid(page: Page) -> Locator:
    return panel(page).get_by_role("grid")


def news(page: Page) -> Locator:
    """Return the message about the last action."""
    return panel(page).locator(".jp-pai-Explorer-news")


def drop(page: Page, where: Locator, *paths: Path) -> None:
    """Drag files and folders of this machine onto a view."""
    box = where.bounding_box()
    assert box
    session = page.context.new_cdp_session(page)
    at = {"x": box["x"] + box["width"] / 2, "y": box["y"] + box["height"] / 2}
    data = {"items": [], "files": list(map(str, paths)), "dragOperationsMask": 1}
    for kind in ("dragEnter", "dragOver", "drop"):
        session.send("Input.dispatchDragEvent", {"type": kind, "data": data, **at})


def fields(page: Page) -> list[str]:
    return list(page.locator("#jp-pai-train input").evaluate_all("inputs => inputs.map(input => input.value)"))


def pattern(word: str) -> re.Pattern[str]:
    return re.compile(rf"\b{word}\b")


def open_the_bucket(page: Page, pai: StandIn) -> None:
    """The roots are this machine and the bucket of each profile."""
    explorer = panel(page)
    expect(explorer.get_by_role("button", name="Files of JupyterLab")).to_be_visible()
    assert faults(page) == []
    expect(explorer.get_by_role("button", name="Files of JupyterLab")).to_be_focused()
    explorer.get_by_role("button", name=pai.bucket).focus()
    page.keyboard.press("Enter")
    expect(explorer.get_by_role("grid")).to_be_focused()
    expect(news(page)).to_have_text("2 items")
    # The grid renders more than its first row only once its height is measured.
    expect(page.locator(".jp-pai-Explorer-row")).to_have_text([re.compile("^many/"), re.compile("^models/")])


def list_thousands_of_files(page: Page) -> None:
    """Only visible rows are in the page; the last ones are loaded on scrolling."""
    explorer = panel(page)
    row(page, "many/").dblclick()
    expect(news(page)).to_have_text("More than 500 items")
    assert page.locator(".jp-pai-Explorer-row").count() < 100
    grid(page).focus()
    explorer.get_by_role("button", name="Size").click()
    expect(news(page)).to_have_text("1,500 items")
    explorer.get_by_role("button", name="Size").click()
    expect(page.locator(".jp-pai-Explorer-row").first).to_contain_text("99 B")
    explorer.get_by_role("button", name="Name").click()
    grid(page).focus()
    page.keyboard.press("Home")
    for _ in range(11):
        page.keyboard.press("Shift+ArrowDown")
    expect(news(page)).to_have_text("12 selected")
    saved_files: list[str] = []
    page.on("download", lambda download: saved_files.append(download.suggested_filename))
    explorer.get_by_role("button", name="Actions").click()
    page.get_by_role("menuitem", name="Download").click()
    until(lambda: page.evaluate("0") == 0 and len(saved_files) == 12)  # More files than a browser downloads at once.
    grid(page).focus()
    page.keyboard.press("End")
    expect(row(page, "f1499")).to_have_attribute("aria-selected", "true")
    page.keyboard.press("Backspace")
    expect(row(page, "many/")).to_have_attribute("data-current", "true")


def upload_into_a_new_folder(page: Page, pai: StandIn, data: Path) -> None:
    """Create a folder, and upload files and a folder to it."""
    explorer = panel(page)
    explorer.get_by_role("button", name="New folder…").click()
    answer(page, "新 #1")
    expect(row(page, "新 #1/")).to_have_attribute("aria-selected", "true")
    expect(news(page)).to_have_text("Folder 新 #1 created.")
    grid(page).focus()
    page.keyboard.press("Enter")
    expect(explorer).to_contain_text("This folder is empty.")
    # Closing the page during an upload asks for confirmation.
    closing = "dispatchEvent(new Event('beforeunload', {cancelable: true}))"
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.route("**/pai/api/v1/uploads/*", hold)
    assert page.evaluate(closing)
    explorer.locator('[data-upload="files"]').set_input_files([data / "a b.csv"])
    expect(explorer.get_by_role("button", name="Cancel")).to_be_visible()
    until(lambda: page.evaluate("0") == 0 and held)
    assert not page.evaluate(closing)
    held[0].continue_()
    page.unroute("**/pai/api/v1/uploads/*")
    expect(news(page)).to_have_text("Uploaded a b.csv")
    assert page.evaluate(closing)
    explorer.locator('[data-upload="folder"]').set_input_files(data)
    expect(news(page)).to_have_text("Uploaded 2 files")
    expect(row(page, "data/")).to_be_visible()
    assert pai.objects.read("新 #1/data/sub/large.bin") == (data / "sub/large.bin").read_bytes()


def upload_an_existing_name(page: Page, pai: StandIn, data: Path) -> None:
    """Uploading a name that exists asks for a decision."""
    explorer = panel(page)
    (data / "a b.csv").write_text("22")
    explorer.locator('[data-upload="files"]').set_input_files([data / "a b.csv"])
    expect(explorer.get_by_role("alert")).to_contain_text("1 file already exists: a b.csv")
    explorer.get_by_role("button", name="Keep both").click()
    expect(row(page, "a b (2).csv")).to_be_visible()
    assert (pai.objects.read("新 #1/a b.csv"), pai.objects.read("新 #1/a b (2).csv")) == (b"1", b"22")


def drop_files_and_folders(page: Page, pai: StandIn, data: Path) -> None:
    """Drop files and folders, as from a desktop."""
    explorer = panel(page)
    (data / "sub/深").mkdir()
    (data / "sub/深/x.txt").write_text("deep")
    drop(page, grid(page), data / "sub", data / "a b.csv")
    explorer.get_by_role("button", name="Replace").click()
    expect(row(page, "sub/")).to_be_visible()
    until(lambda: pai.objects.read("新 #1/a b.csv") == b"22")
    assert pai.objects.keys("新 #1/sub/") == ["新 #1/sub/large.bin", "新 #1/sub/深/x.txt"]
    for key in pai.objects.keys("新 #1/sub/"):
        pai.objects.delete(key)
    pai.objects.write("新 #1/a b.csv", b"1")
    explorer.get_by_role("button", name="Refresh").click()
    expect(row(page, "sub/")).to_have_count(0)


def rename_download_and_delete_by_keyboard(page: Page, pai: StandIn) -> None:
    """Rename, download, select, and delete after a confirmation."""
    row(page, "a b (2).csv").click()
    page.keyboard.press("F2")
    answer(page, "b.csv")
    expect(row(page, "b.csv")).to_have_attribute("aria-selected", "true")
    with page.expect_download() as saved:
        page.keyboard.press("Enter")
    assert (saved.value.suggested_filename, Path(saved.value.path()).read_text()) == ("b.csv", "22")
    page.keyboard.press("Home")
    page.keyboard.press("Shift+End")
    expect(news(page)).to_have_text("3 selected")
    page.keyboard.press("Delete")
    dialog = page.locator(".jp-Dialog")
    expect(dialog).to_contain_text("4 files, 5.1 MB")
    dialog.locator(".jp-mod-reject").click()
    assert len(pai.objects.keys("新 #1/")) == 5
    row(page, "data/").click()
    page.keyboard.press("Delete")
    expect(dialog).to_contain_text("Delete data?")
    answer(page)
    expect(row(page, "data/")).to_have_count(0)
    assert pai.objects.keys("新 #1/") == ["新 #1/", "新 #1/a b.csv", "新 #1/b.csv"]


def copy_to_the_workspace_and_back(page: Page, lab: Lab, pai: StandIn) -> None:
    explorer = panel(page)
    row(page, "b.csv").click(button="right")
    page.get_by_role("menuitem", name="Copy to workspace…").click()
    answer(page, "work")
    until((lab.root / "work/b.csv").is_file)
    explorer.get_by_role("button", name="Upload").click()
    page.get_by_role("menuitem", name="From workspace…").click()
    answer(page, "work")
    expect(row(page, "work/")).to_be_visible()
    assert pai.objects.read("新 #1/work/train.csv") == b"1,2"


def copy_from_the_file_browser(page: Page, lab: Lab, pai: StandIn) -> None:
    """Copy from the file browser; the Explorer then replaces it."""
    for name in ("one.csv", "two.csv"):
        (lab.root / "work" / name).write_text(name)
    execute(page, "filebrowser:go-to-path", path="work")
    execute(page, "filebrowser:activate")
    page.locator(".jp-DirListing-item", has_text="one.csv").click()
    second = page.locator(".jp-DirListing-item", has_text="two.csv")
    second.click(modifiers=["ControlOrMeta"])
    second.click(button="right")
    page.locator(".lm-Menu-item", has_text="Copy to Storage…").click()
    expect(page.locator(".jp-Dialog input")).to_have_value(f"oss://{pai.bucket}/新 #1/")
    answer(page)
    expect(row(page, "two.csv")).to_be_visible()
    expect(row(page, "one.csv")).to_be_visible()
    assert [pai.objects.read(f"新 #1/{name}.csv") for name in ("one", "two")] == [b"one.csv", b"two.csv"]


def drag_from_the_file_browser(page: Page, pai: StandIn) -> None:
    """Drag from the file browser, with both visible."""
    move = "jupyterapp.shell.add([...jupyterapp.shell.widgets('left')].find(w => w.id === 'jp-pai-explorer'), 'right')"
    page.evaluate(move)
    execute(page, "filebrowser:go-to-path", path="work")
    execute(page, "jupyter-pai:show-explorer")
    item = page.locator(".jp-DirListing-item", has_text="train.csv")
    item.hover()
    page.mouse.down()
    box = grid(page).bounding_box()
    assert box
    for step in (0.4, 0.5, 0.6):
        page.mouse.move(box["x"] + 60, box["y"] + box["height"] * step)
    expect(page.locator(".jp-pai-ExplorerPanel")).to_have_class(pattern("jp-mod-dropTarget"))
    page.mouse.up()
    expect(row(page, "train.csv")).to_be_visible()
    assert pai.objects.read("新 #1/train.csv") == b"1,2"


def use_data_as_an_input(page: Page, pai: StandIn) -> None:
    """Use data as an input of the form."""
    row(page, "work/").click()
    page.locator("#jp-pai-explorer").screenshot(path=SCREENSHOTS / "explorer.png")
    assert faults(page) == []
    act(page, "Use as input")
    expect(page.locator("#jp-pai-train")).to_be_visible()
    # The form is drawn anew when it has loaded, which closes its sections.
    expect(page.locator("#jp-pai-train").get_by_text("Undo all changes")).to_be_visible()
    page.locator("#jp-pai-train summary", has_text="Data").click()
    until(lambda: f"oss://{pai.bucket}/新 #1/work/" in fields(page))


def enter_addresses(page: Page, lab: Lab, pai: StandIn) -> None:
    """A wrong URI shows an error and keeps the folder; the URI of a file selects it."""
    explorer = panel(page)
    address = explorer.get_by_role("textbox", name="Path")
    address.fill(f"oss://{pai.bucket}/no/such")
    address.press("Enter")
    expect(explorer.get_by_role("alert")).to_contain_text("does not exist")
    address.fill((lab.root / "work/train.csv").as_uri())
    address.press("Enter")
    expect(row(page, "train.csv")).to_have_attribute("aria-selected", "true")
    expect(explorer.get_by_role("navigation")).to_contain_text("Files of JupyterLab")


def show_a_narrow_and_dark_panel(page: Page) -> None:
    """A narrow panel cuts nothing off."""
    explorer = panel(page)
    explorer.evaluate("node => { node.style.width = '240px'; }")
    sizes = explorer.evaluate("node => [node.scrollWidth, node.clientWidth]")
    assert sizes[0] <= sizes[1]
    explorer.screenshot(path=SCREENSHOTS / "explorer_narrow.png")
    execute(page, "apputils:change-theme", theme="JupyterLab Dark")
    page.wait_for_function("document.body.dataset.jpThemeLight === 'false'")
    explorer.screenshot(path=SCREENSHOTS / "explorer_dark.png")
    assert faults(page) == []


def test_explorer_manages_files(lab: Lab, pai: StandIn, page: Page, tmp_path: Path) -> None:
    for n in range(1500):
        pai.objects.write(f"many/f{n:04}", b"x" * (n % 100))
    pai.objects.write("models/a/weights.bin", bytes(2_500_000))
    data = tmp_path / "data"
    (data / "sub").mkdir(parents=True)
    (data / "a b.csv").write_text("1")
    (data / "sub/large.bin").write_bytes(bytes(range(256)) * 20_000)
    (lab.root / "work").mkdir()
    (lab.root / "work/train.csv").write_text("1,2")
    page.goto(f"{lab.url}/lab?token={lab.token}")
    page.wait_for_selector(".jp-LauncherCard")
    execute(page, "jupyter-pai:show-explorer")
    open_the_bucket(page, pai)
    list_thousands_of_files(page)
    upload_into_a_new_folder(page, pai, data)
    upload_an_existing_name(page, pai, data)
    drop_files_and_folders(page, pai, data)
    rename_download_and_delete_by_keyboard(page, pai)
    copy_to_the_workspace_and_back(page, lab, pai)
    copy_from_the_file_browser(page, lab, pai)
    drag_from_the_file_browser(page, pai)
    use_data_as_an_input(page, pai)
    enter_addresses(page, lab, pai)
    show_a_narrow_and_dark_panel(page)
