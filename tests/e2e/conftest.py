"""Fixtures for tests in a browser, on a running JupyterLab."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import socket
import sys
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    Error as PlaywrightError,
    Page,
    Playwright,
    expect,
    sync_playwright,
)

from jupyter_pai.jobs.state_dir import Home

from ..conftest import PATIENCE, ROOT, made_once
from ..integration.pai.conftest import pai as pai
from ..integration.server.real_server import RealServer
from ..integration.server.shared_servers import home as home, places as places, servers as servers, shared_server

# Milliseconds, for each step of a page.
LONG = PATIENCE * 1000
expect.set_options(timeout=LONG)

CHROMIUM = shutil.which("chromium") or "/usr/bin/chromium"
SCREENSHOTS = ROOT / "tests/e2e/screenshots"
# Debian's Chromium without a display, as root, and without network lookups.
_FLAGS = (
    "--headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
).split()
# Without the programs of this environment.
_PATH = os.pathsep.join(path for path in os.environ["PATH"].split(os.pathsep) if path != f"{sys.prefix}/bin")

# Exposes `jupyterapp` in the page.
EXPOSED = [f"--{app}.expose_app_in_browser=True" for app in ("LabApp", "JupyterNotebookApp")]


class Lab(RealServer):
    """JupyterLab, with Notebook 7 beside it."""

    program: tuple[str, ...] = ("-m", "jupyterlab")
    disabled: tuple[str, ...] = ()
    _last_port = 0

    def __init__(self, root: Path, base_url: str = "/", **environment: str) -> None:
        # With Node, JupyterLab runs yarn for seconds at each start.
        no_node = made_once("no-node", lambda folder: (folder / "node").symlink_to("/bin/false"))
        super().__init__(root, base_url, PATH=f"{no_node}{os.pathsep}{_PATH}", **environment)

    def start(self) -> None:
        """Start it on the port of the server before it, if that is free: the browser has cached that one's scripts."""
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", Lab._last_port))
            except OSError:
                probe.bind(("127.0.0.1", 0))
            Lab._last_port = self.port = int(probe.getsockname()[1])
        self.start_again()

    def arguments(self) -> list[str]:
        return [*super().arguments(), *EXPOSED]

    def write(self, name: str, *cells: str, outputs: list[Any] | None = None) -> None:
        """Write a notebook of code cells; `outputs` belong to the first."""
        made: list[dict[str, Any]] = [
            {"cell_type": "code", "id": f"c{n}", "source": text, "metadata": {}, "outputs": [], "execution_count": None}
            for n, text in enumerate(cells)
        ]
        made[0]["outputs"] = outputs or []
        kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
        notebook = {"cells": made, "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}
        (self.root / name).parent.mkdir(exist_ok=True)
        (self.root / name).write_text(json.dumps(notebook), "utf-8")

    def prepare(self) -> None:
        """Load no news, and show no animation while a page or a theme loads, which takes a tenth of the time."""
        self.setting("@jupyterlab/apputils-extension:notification", fetchNews="false", checkForUpdates=False)
        file = Path(os.environ["JUPYTER_CONFIG_DIR"]) / "labconfig/page_config.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        disabled: dict[str, bool] = json.loads(file.read_text())["disabledExtensions"] if file.exists() else {}
        file.write_text(json.dumps({"disabledExtensions": disabled | {"@jupyterlab/apputils-extension:splash": True}}))

    def setting(self, plugin: str, **values: Any) -> None:
        """Write a setting of JupyterLab."""
        package, _colon, name = plugin.partition(":")
        folder = Path(os.environ["JUPYTER_CONFIG_DIR"]) / "lab/user-settings" / package
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.jupyterlab-settings").write_text(json.dumps(values))


# Browser and servers are shared by the files of this folder that a worker runs in sequence.
@pytest.fixture(scope="package")
def playwright() -> Iterator[Playwright]:
    with sync_playwright() as started:
        yield started


@pytest.fixture(scope="package")
def browser(playwright: Playwright) -> Iterator[Browser]:
    """A browser for pages with logins or options of their own."""
    started = chromium(playwright)
    yield started
    started.close()


@pytest.fixture(scope="package")
def context(playwright: Playwright, tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrowserContext]:
    """A browser that keeps the compiled scripts of JupyterLab, which take most of the time to load."""
    profile = tmp_path_factory.mktemp("browser")
    # Pages of a server share a process, and with it the scripts that the pages before have loaded.
    flags = [*_FLAGS, "--process-per-site"]
    started = playwright.chromium.launch_persistent_context(profile, executable_path=CHROMIUM, args=flags)
    started.set_default_timeout(LONG)
    yield started
    started.close()


def chromium(playwright: Playwright) -> Browser:
    """Launch the browser installed on the machine."""
    return playwright.chromium.launch(executable_path=CHROMIUM, args=_FLAGS)


@pytest.fixture
def lab(servers: dict[Path, Lab], home: Home) -> Iterator[Lab]:
    """JupyterLab without jobs, kernels, notebooks, profiles and settings of earlier tests."""
    server = shared_server(servers, home, Lab)
    server.prepare()
    yield server
    server.clean(home)


_FAILED = pytest.StashKey[bool]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Note that a test failed, for a picture of its page."""
    report = yield
    item.stash[_FAILED] = report.failed
    return report


@pytest.fixture
def page(context: BrowserContext, request: pytest.FixtureRequest) -> Iterator[Page]:
    """A page that may connect to this machine only; errors in the extension's scripts fail the test."""
    options = getattr(request, "param", {})
    opened = context.new_page()
    opened.set_viewport_size(options.get("viewport", {"width": 1200, "height": 900}))
    errors: list[str] = []
    opened.on("pageerror", lambda e: errors.append(str(e)) if "jupyter-pai" in (e.stack or "") else None)
    opened.on(
        "request", lambda r: errors.append(r.url) if "127.0.0.1" not in r.url and r.url.startswith("http") else None
    )
    yield opened
    SCREENSHOTS.mkdir(exist_ok=True)
    if errors or request.node.stash.get(_FAILED, False):
        opened.screenshot(path=SCREENSHOTS / f"{request.node.name}.png".replace("/", "_"))
    _forget(context, opened)
    assert errors == []


def _forget(context: BrowserContext, page: Page) -> None:
    """Close the pages of a test, and clear all that they stored, except the cache."""
    origin = page.evaluate("location.origin")
    first, *others = context.pages  # The first is the browser's own. It keeps the process of a server's pages.
    if not first.url.startswith(origin):
        with contextlib.suppress(PlaywrightError):  # The server of the test may be stopped.
            first.goto(f"{origin}/api")
    kinds = "cookies,local_storage,indexeddb,service_workers"
    context.new_cdp_session(page).send("Storage.clearDataForOrigin", {"origin": origin, "storageTypes": kinds})
    context.clear_cookies()
    context.clear_permissions()
    for one in others:
        one.close()


def last_number(word: str, text: str) -> int:
    """Return the number in the last line of the form `WORD NUMBER`; -1 without such a line. The last line may be
    incomplete while the job runs."""
    result = re.findall(rf"^{word} (\d+)\s*$", text.rpartition("\n")[0], re.MULTILINE)
    return int(result[-1]) if result else -1


# JupyterLab silently drops cells that are run before the connection. Widgets shown before the kernel has described its
# features are not updated while a cell runs.
_CONNECTED = """() => {
  const kernel = window.jupyterapp?.shell.currentWidget?.sessionContext?.session?.kernel;
  return kernel?.connectionStatus === "connected" && kernel.supportsSubshells;
}"""


def open_notebook(page: Page, lab: Lab, name: str, app: str = "lab/tree") -> None:
    """Open a notebook, and wait until it is connected to its kernel."""
    page.goto(f"{lab.url}/{app}/{name}?token={lab.token}")
    page.wait_for_selector(".jp-Notebook .jp-Cell")
    page.wait_for_function(_CONNECTED)


def run_cells(page: Page, count: int) -> None:
    """Run the first cells."""
    page.locator(".jp-CodeCell").first.locator(".jp-InputArea-editor").click()
    for _ in range(count):
        page.keyboard.press("Shift+Enter")


def execute(page: Page, command: str, **arguments: Any) -> None:
    """Run a command of JupyterLab."""
    script = "async ([command, given]) => { await window.jupyterapp.commands.execute(command, given); }"
    page.evaluate(script, [command, arguments])
