"""Toolbar buttons, menus, shortcuts and settings in JupyterLab and Notebook 7, in the user's language."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from jupyter_pai.config.toml_file import user_file
from jupyter_pai.jobs.state_dir import Home

from ..fakes.jupyterhub import Hub
from ..integration.server.test_jupyterhub import HubServer
from .conftest import EXPOSED, Lab, execute, open_notebook
from .test_jobs import row, submit, waiting

HEAD = ".jp-pai-Train-head h2"
# Shortcuts of the extension that another command uses as well.
CLASHES = """() => {
  const all = window.jupyterapp.commands.keyBindings;
  const ours = all.filter(one => one.command.startsWith('jupyter-pai:'));
  const keys = new Set(ours.map(one => one.keys.join(' / ')));
  const taken = all.filter(one => !one.command.startsWith('jupyter-pai:') && keys.has(one.keys.join(' / ')));
  return ours.length ? taken.map(one => one.command) : ['none of ours'];
}"""


def item(page: Page, name: str) -> Locator:
    return page.locator(".jp-DirListing-item:visible", has=page.get_by_text(name, exact=True))


def menu_entry(page: Page, label: str) -> Locator:
    return page.locator(".lm-Menu-item:visible", has=page.get_by_text(label, exact=True))


def of_context_menu(page: Page, name: str, label: str = "Train…") -> Locator:
    """Return an entry of the context menu of an item."""
    item(page, name).click(button="right")
    expect(menu_entry(page, "Rename")).to_be_visible()
    return menu_entry(page, label)


def follow_documents(page: Page, head: Locator) -> None:
    """The panel follows the open notebook or script, and returns to it from the folder."""
    execute(page, "docmanager:open", path="bbb.ipynb")
    expect(head).to_have_text("bbb.ipynb")
    execute(page, "docmanager:open", path="train.py")
    expect(head).to_have_text("train.py")
    execute(page, "docmanager:open", path="notes.txt")
    page.get_by_role("button", name=re.compile("^Folder: ")).click()
    expect(head).to_have_text("Root folder")
    page.get_by_role("button", name="File: train.py").click()
    expect(head).to_have_text("train.py")


@pytest.mark.slow("browser")
def test_toolbar_menus_and_shortcuts_train_the_right_file(lab: Lab, page: Page) -> None:
    for name in ("aaa.ipynb", "bbb.ipynb"):
        lab.write(name, "1")
    (lab.root / "work").mkdir()
    for name in ("run.sh", "notes.txt", "train.py"):
        (lab.root / name).write_text("")
    open_notebook(page, lab, "aaa.ipynb", "lab/tree")
    head = page.locator(HEAD)

    # The toolbar trains its own notebook, not the selected file.
    item(page, "bbb.ipynb").click()
    page.get_by_role("button", name="Train", exact=True).click()
    expect(head).to_have_text("aaa.ipynb")
    # The context menu trains the file under the pointer, for folders, notebooks and scripts only.
    page.locator('.jp-SideBar [data-id="filebrowser"]').click()
    for name in ("bbb.ipynb", "run.sh", "train.py", "work"):
        item(page, "aaa.ipynb").click()
        of_context_menu(page, name).click()
        expect(head).to_have_text(name)
        page.locator('.jp-SideBar [data-id="filebrowser"]').click()
    expect(of_context_menu(page, "notes.txt")).to_have_count(0)
    page.keyboard.press("Escape")

    # The shortcuts work in the notebook and do not clash with others.
    cell = page.locator(".jp-Notebook .jp-Cell .jp-InputArea-editor").first
    cell.click()
    page.keyboard.press("Control+Shift+Enter")
    expect(head).to_have_text("aaa.ipynb")
    expect(cell).to_have_text("1")
    # In an editor the shortcuts train the script.
    execute(page, "docmanager:open", path="train.py")
    page.locator(".jp-FileEditor .cm-content").click()
    page.keyboard.press("Control+Alt+Enter")
    expect(head).to_have_text("train.py")
    follow_documents(page, head)
    execute(page, "docmanager:open", path="train.py")
    page.locator(".jp-FileEditor:visible .cm-content").click()
    page.keyboard.press("Control+Shift+Enter")
    expect(head).to_have_text("train.py")
    # The panel follows a renamed notebook.
    execute(page, "docmanager:open", path="aaa.ipynb")
    expect(head).to_have_text("aaa.ipynb")
    execute(page, "filebrowser:refresh")  # Listing a folder fails on the server if a name disappears meanwhile.
    page.evaluate("window.jupyterapp.serviceManager.contents.rename('aaa.ipynb', 'ccc.ipynb')")
    expect(head).to_have_text("ccc.ipynb")
    expect(page.get_by_text(re.compile(r"\d files?, "))).to_be_visible()
    expect(page.get_by_role("button", name="File: ")).to_have_count(0)
    page.keyboard.press("Alt+Shift+J")
    expect(page.locator(".jp-pai-Jobs")).to_be_visible()
    page.keyboard.press("Alt+Shift+T")
    expect(head).to_be_visible()
    assert page.evaluate(CLASHES) == []
    for menu, entry in (("Run", "Train…"), ("View", "Show Training Jobs"), ("Help", "Open Training Tutorials")):
        page.locator(".lm-MenuBar-itemLabel", has_text=re.compile(f"^{menu}$")).click()
        expect(menu_entry(page, entry)).to_be_visible()
        page.keyboard.press("Escape")

    # The launcher trains the folder that it shows.
    page.locator('.jp-SideBar [data-id="filebrowser"]').click()
    item(page, "work").dblclick()
    expect(item(page, "bbb.ipynb")).to_have_count(0)
    execute(page, "launcher:create")
    card = page.locator(".jp-LauncherCard:visible")
    card.filter(has_text=re.compile("^Train$")).click()
    expect(head).to_have_text("work")
    card.filter(has_text=re.compile("^Tutorials$")).click()
    expect(page.locator(".lm-DockPanel-tabBar .lm-TabBar-tab", has_text="tutorial.ipynb")).to_be_visible()
    copy = lab.root / "work/pai-tutorials"
    assert {path.name for path in copy.iterdir()} >= {"tutorial.ipynb", "folder.ipynb", "metrics.ipynb"}
    assert not list(copy.glob("*zh-CN*"))
    # The user's changes to a tutorial are kept.
    page.locator(".lm-TabBar-tab.lm-mod-current .lm-TabBar-tabCloseIcon:visible").first.click()
    (copy / "folder.ipynb").write_text("mine")
    execute(page, "jupyter-pai:open-tutorials", cwd="work")
    expect(page.locator(".lm-DockPanel-tabBar .lm-TabBar-tab", has_text="tutorial.ipynb")).to_be_visible()
    assert (copy / "folder.ipynb").read_text() == "mine"


class HubLab(HubServer, Lab):
    """JupyterLab started by a JupyterHub: pages log in at the hub and return with a cookie."""

    def arguments(self) -> list[str]:
        return [*super().arguments(), *EXPOSED]


@pytest.fixture
def named_server(home: Home, tmp_path: Path) -> Iterator[Lab]:
    """A named server of a JupyterHub user."""
    root = tmp_path / "notebooks"
    root.mkdir()
    hub = Hub("train")
    started = HubLab(root, hub)
    started.prepare()
    yield started
    started.stop()
    hub.close()


@pytest.mark.slow("browser")
def test_notebook_7_works_below_a_hub_url(named_server: Lab, page: Page, tmp_path: Path) -> None:
    lab = named_server
    for name in ("aaa.ipynb", "bbb.ipynb"):
        lab.write(name, "1")
    outside: list[str] = []
    page.on("request", lambda request: outside.append(request.url) if "/user/ada/train/" not in request.url else None)
    open_notebook(page, lab, "aaa.ipynb", "notebooks")
    page.get_by_role("button", name="Train", exact=True).click()
    expect(page.locator(HEAD)).to_have_text("aaa.ipynb")
    # The page of the form has a URL, and its jobs update live.
    page.goto(f"{lab.url}/tree?pai-train=bbb.ipynb&token={lab.token}")
    expect(page.locator(".lm-TabBar-tab.lm-mod-current", has_text="Train")).to_be_visible()
    expect(page.locator(HEAD)).to_have_text("bbb.ipynb")
    page.locator(".lm-TabBar-tab", has_text="Files").click()
    of_context_menu(page, "aaa.ipynb").click()
    expect(page.locator(HEAD)).to_have_text("aaa.ipynb")
    submit(lab, "digits", waiting(tmp_path))
    page.locator(".lm-TabBar-tab", has_text="Training jobs").click()
    expect(row(page, "digits")).to_contain_text("running")
    (tmp_path / "go").touch()
    expect(row(page, "digits")).to_contain_text("succeeded")
    # The browser logged in at the hub; its cookie authorized all requests and the WebSocket.
    assert len([url for url in outside if "/hub/api/oauth2/authorize?" in url]) == len(outside) == 1
    assert "101 GET /user/ada/train/pai/api/v1/stream" in lab.log.read_text()


@pytest.mark.slow("browser")
def test_chinese_works_with_and_without_the_language_pack(lab: Lab, page: Page) -> None:
    urls: list[str] = []
    page.on("request", lambda request: urls.append(request.url) if "/catalogue" in request.url else None)
    jobs = page.locator('.jp-SideBar [data-id="jp-pai-jobs"]')

    def open_lab() -> None:
        page.goto(f"{lab.url}/lab?reset&token={lab.token}")
        expect(jobs).to_be_visible()

    # JupyterLab in English, the extension in Chinese: the page, messages of the engine, and settings.
    lab.setting("jupyter-pai:page", language="zh-CN")
    open_lab()
    expect(jobs).to_have_attribute("title", re.compile("训练作业"))
    expect(page.locator(".lm-MenuBar-itemLabel", has_text=re.compile("^File$"))).to_be_visible()
    # The extension's elements declare their language for screen readers.
    jobs.click()
    expect(page.locator(".jp-pai-JobsPanel")).to_have_attribute("lang", "zh-CN")
    expect(page.locator("html")).to_have_attribute("lang", "en")
    execute(page, "jupyter-pai:open-job", id="nothing")
    expect(page.locator(".jp-toast-message", has_text="没有作业")).to_be_visible()
    submit(lab, "完")
    expect(row(page, "完")).to_contain_text("已成功")
    rows = page.get_by_role("listbox")  # JupyterLab may move the focus while it starts.
    rows.press("Control+a")
    expect(row(page, "完")).to_have_attribute("aria-selected", "true")
    rows.press("Delete")
    expect(page.locator(".jp-Dialog")).to_have_attribute("lang", "zh-CN")
    page.keyboard.press("Escape")
    execute(page, "settingeditor:open")
    page.locator(".jp-PluginList-entry", has_text="训练作业").click()
    settings = page.locator(".jp-SettingsPanel")
    assert len(urls) == 1
    # Settings of the engine are written to its own file; a failure is shown.
    room = settings.get_by_label("作业和环境可占的空间")
    room.fill("much")
    room.press("Enter")
    expect(settings.get_by_role("alert")).to_contain_text("much")
    room.fill("5GB")
    room.press("Enter")
    expect(settings.get_by_role("status").filter(has_text="已写入")).to_be_visible()
    assert 'limit = "5GB"' in user_file().read_text()
    # Another language needs a reload, which is offered.
    field = settings.locator('select[id$="_language"]')
    field.select_option(label="English")
    toast = page.locator(".Toastify__toast", has=page.get_by_role("button", name="重新加载"))
    toast.get_by_role("button").first.click()
    expect(jobs).to_have_attribute("title", re.compile("^Training jobs"))
    # JupyterLab is set to Chinese without a language pack: the response of the server.
    lab.setting("jupyter-pai:page")
    lab.setting("@jupyterlab/translation-extension:plugin", locale="zh_CN")
    nothing: Any = {"data": {}, "message": "Language 'zh_CN' is not installed."}
    page.route(re.compile("/api/translations/zh"), lambda route: route.fulfill(json=nothing))
    open_lab()
    expect(jobs).to_have_attribute("title", re.compile("训练作业"))
    assert len(urls) == 2
    # With the language pack, JupyterLab loads the extension's texts as well.
    page.unroute(re.compile("/api/translations/zh"))
    open_lab()
    expect(page.locator(".lm-MenuBar-itemLabel", has_text="文件")).to_be_visible()
    expect(jobs).to_have_attribute("title", re.compile("训练作业"))
    assert len(urls) == 2
    execute(page, "jupyter-pai:open-tutorials")
    expect(page.locator(".lm-DockPanel-tabBar .lm-TabBar-tab", has_text="tutorial.zh-CN.ipynb")).to_be_visible()
