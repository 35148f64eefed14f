"""The tab Outputs: preview files without running them, and copy them to the workspace."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from .conftest import Lab, execute, open_notebook, run_cells

EVIL = "<script>window.evil = 1</script><img src=x onerror='window.evil = 1'>"
CODE = f"""
import base64, os, time
from pathlib import Path
model = Path(os.environ["PAI_OUTPUT_MODEL"])
(model / "sub dir").mkdir()
(model / "sub dir/训练 #1?.json").write_text('{{"seed":12345678901234567890,"html":"<b>"}}')
(model / "page.html").write_text({EVIL!r})
(model / "picture.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg" width="40" height="20">'
    '<script>parent.evil = 1; window.evil = 1</script><rect width="40" height="20" onload="window.evil = 1"/></svg>')
(model / "<img src=x onerror='window.evil = 1'>").write_text("x")
(model / "weights.bin").write_bytes(bytes(range(256)) * 5000)
(model / "out").symlink_to("/etc/passwd")
"""


def open_outputs(page: Page, lab: Lab, code: str) -> Locator:
    """Train, and open the channel `model`."""
    lab.write("work/a.ipynb", "%load_ext jupyter_pai", f"%%pai_train --name files\n{code}")
    open_notebook(page, lab, "work/a.ipynb")
    run_cells(page, 2)
    page.locator('.jp-pai-Tabs [data-tab="outputs"]').click()
    channel = page.locator('.jp-pai-Channel[data-channel="model"]')
    expect(channel).to_be_visible()
    return channel


def row(channel: Locator, path: str) -> Locator:
    return channel.locator(f'tr[data-path="{path}"]')


FIGURES = """
import os, time
from pathlib import Path
figures = Path(os.environ["PAI_OUTPUT_FIGURES"])
for width in (40, 50):
    (figures / f"figure-{width}.svg").write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="20"><rect width="40" height="20"/></svg>')
(figures / "notes.txt").write_text("not a picture")
while True:
    time.sleep(0.01)
"""


@pytest.mark.slow("browser")
def test_figures_are_displayed_while_the_job_runs(lab: Lab, page: Page) -> None:
    lab.write("work/a.ipynb", "%load_ext jupyter_pai", f"%%pai_train --name figures\n{FIGURES}")
    open_notebook(page, lab, "work/a.ipynb")
    run_cells(page, 2)
    figures = page.get_by_role("list", name="Figures").locator("img")
    expect(figures).to_have_count(2)
    page.wait_for_function("document.querySelectorAll('.jp-pai-Figures img')[1].naturalWidth === 50")
    assert figures.first.get_attribute("alt") == "figure-40.svg"
    expect(page.locator(".jp-pai-Job")).to_contain_text("running")


def test_files_are_previewed_without_running(lab: Lab, page: Page) -> None:
    channel = open_outputs(page, lab, CODE)
    expect(channel.locator("tbody tr")).to_have_count(6)
    for name in ("page.html", "sub dir/训练 #1?.json", "weights.bin", "picture.svg"):
        row(channel, name).locator(".jp-pai-Files-path button").click()
    expect(channel.locator('pre[aria-label="page.html"]')).to_have_text(EVIL)
    expect(channel.locator('pre[aria-label$=".json"]')).to_contain_text('\n  "seed": 12345678901234567890,\n')
    expect(channel.get_by_text("Binary file (1.3 MB).")).to_be_visible()
    picture = channel.locator("img")
    expect(picture).to_have_count(1)
    page.wait_for_function("document.querySelector('.jp-pai-Channel img').naturalWidth === 40")
    expect(row(channel, "out")).to_contain_text("leads out of its folder")
    expect(row(channel, "out").locator("button, a")).to_have_count(0)
    # The URL of the file is for downloads: opened as a page, it shows and runs nothing.
    address = row(channel, "page.html").locator("a").get_attribute("href") or ""
    with page.expect_download() as saved:
        row(channel, "page.html").locator("a").click()
    assert saved.value.suggested_filename == "page.html"
    assert Path(saved.value.path()).read_text() == EVIL
    framed = "address => { const f = document.createElement('iframe'); f.src = address; document.body.append(f); }"
    page.evaluate(framed, address)
    page.wait_for_load_state("networkidle")
    assert page.evaluate("window.evil") is None
    assert [frame.url for frame in page.frames if "page.html" in frame.url] == []
    view = page.locator(".jp-pai-Job")
    view.evaluate("node => { node.style.boxSizing = 'border-box'; }")
    for width in (240, 500):
        view.evaluate("(node, width) => { node.style.width = `${width}px`; }", width)
        sizes = view.evaluate("node => [node.scrollWidth, node.clientWidth]")
        assert sizes[0] <= sizes[1]
        lines = "nodes => nodes.map(node => node.offsetHeight / parseFloat(getComputedStyle(node).fontSize))"
        assert max(row(channel, "page.html").locator(".jp-pai-Link").evaluate_all(lines)) < 2
    page.get_by_label("Filter by path").fill("SUB")
    expect(channel.locator("tr[data-path]")).to_have_count(1)


@pytest.mark.slow("browser")
def test_files_appear_while_the_job_runs_and_are_copied_into_the_workspace(
    lab: Lab, page: Page, tmp_path: Path
) -> None:
    wait = f"\nwhile not os.path.exists('{tmp_path}/go'): time.sleep(0.02)\n(model / 'last.txt').write_text('last')\n"
    wait += "open(os.environ['PAI_OUTPUT_CHECKPOINTS'] + 'huge', 'wb').truncate(1 << 42)  # Larger than any disk.\n"
    channel = open_outputs(page, lab, CODE + wait)
    expect(row(channel, "weights.bin")).to_be_visible()
    (tmp_path / "go").touch()
    expect(row(channel, "last.txt")).to_be_visible()

    row(channel, "last.txt").get_by_role("button", name="Copy…").click()
    dialog = page.locator(".jp-Dialog")
    expect(dialog.locator("input")).to_have_value(re.compile("^work/model-[a-z2-7]{8}$"))  # Beside the notebook.
    dialog.locator("input").fill("my models/a")
    dialog.locator(".jp-mod-accept").click()
    copy = page.locator(".jp-pai-Copy")
    expect(copy).to_have_attribute("data-status", "done")
    expect(copy).to_contain_text("Copied 1 file to my models/a.")
    assert (lab.root / "my models/a/last.txt").read_text() == "last"

    mine = lab.root / "my models/a/last.txt"
    mine.write_text("mine")
    for answer in (".jp-mod-reject", ".jp-mod-accept"):
        channel.get_by_role("button", name="Copy all to workspace…").click()
        dialog.locator("input").fill("my models/a")
        dialog.locator(".jp-mod-accept").click()
        expect(dialog).to_contain_text(re.compile("Files with these names already exist in .*: last.txt"))
        assert mine.read_text() == "mine"
        dialog.locator(answer).click()
        if answer == ".jp-mod-reject":
            expect(page.locator(".jp-pai-Copies").get_by_role("alert")).to_contain_text("last.txt")
            assert [path.name for path in mine.parent.iterdir()] == ["last.txt"]
            assert mine.read_text() == "mine"
    expect(page.locator('.jp-pai-Copy[data-status="done"]')).to_have_count(2)
    there = {path.relative_to(lab.root / "my models/a").as_posix() for path in (lab.root / "my models/a").rglob("*")}
    assert there >= {"last.txt", "sub dir/训练 #1?.json", "weights.bin"}
    assert "out" not in there
    expect(page.locator(".jp-pai-Copies")).to_contain_text("Skipped 1 unreadable file.")

    row(channel, "last.txt").get_by_role("button", name="Open").click()
    expect(page.locator(".jp-FileEditor .cm-content")).to_have_text("last")

    # A job tab has no notebook: the file browser's folder is suggested. A long copy can be canceled.
    (lab.root / "data").mkdir()
    execute(page, "filebrowser:go-to-path", path="data")
    expect(page.locator(".jp-BreadCrumbs-item", has_text="data")).to_be_visible()
    execute(page, "jupyter-pai:open-job", id="last")
    tab = page.locator(".jp-MainAreaWidget > .jp-pai-JobWidget")
    tab.locator('[data-tab="outputs"]').click()
    row(tab, "huge").get_by_role("button", name="Copy…").click()
    expect(dialog.locator("input")).to_have_value(re.compile("^data/checkpoints-[a-z2-7]{8}$"))
    dialog.locator(".jp-mod-accept").click()
    expect(tab.get_by_role("progressbar", name=re.compile("of 4.4 TB"))).to_be_visible()
    tab.locator(".jp-pai-Copy").get_by_role("button", name="Cancel").click()
    expect(tab.locator('.jp-pai-Copy[data-status="cancelled"]')).to_be_visible()
    assert list((lab.root / "data").iterdir()) == []
