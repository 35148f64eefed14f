"""The job view in a page that has nothing of JupyterLab's, its colours neither, as VS Code and Colab are: for everyone.

The page is bare and plays the front end's part; the view is the one that is built, and the engine a real one.
"""

from __future__ import annotations

import mimetypes
from collections import deque
from typing import Any

import pytest
from playwright.sync_api import ElementHandle, Page, Route, expect

from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.client.widgets.comm import Bridge

from ..conftest import ROOT, submit
from .everyone import cut_off, faults, moving, unreachable

LONG = 30_000
BUILT = ROOT / "jupyter_pai/_widget"
PAGE = "http://127.0.0.1/"
# What shows that a tab is drawn.
TABS = {
    "overview": ".jp-pai-Timeline",
    "logs": ".jp-pai-Log-text",
    "metrics": ".jp-pai-Chart canvas",
    "outputs": ".jp-pai-Outputs table",
    "tensorboard": ".jp-pai-TensorBoard code",
    "events": "tbody tr",
}
TRAIN = """
import os
from pathlib import Path
from jupyter_pai import report

for step in range(5):
    report.metric("loss", 1 / (step + 1), step=step)
print(*(f"\\x1b[{code}mcoloured\\x1b[0m" for code in range(31, 38)))
Path(os.environ["PAI_OUTPUT_MODEL"], "notes.txt").write_text("What was found out.")
raise SystemExit("It fails.")
"""
SHOW = """async ({ values, texts }) => {
  const { default: widget } = await import('/loader.js');
  const listeners = new Set();
  const hear = (message, buffers) => listeners.forEach(heard => heard(message, buffers));
  const bytes = async name => new DataView(await (await fetch(name)).arrayBuffer());
  const model = {
    get: name => values[name],
    on: (event, heard) => event === 'msg:custom' && listeners.add(heard),
    off: (event, heard) => listeners.delete(heard),
    send: async message => message.type === 'load'
      ? hear({ type: 'bundle', page: message.page, texts }, [await bytes('/view.js'), await bytes('/view.css')])
      : tell(message)
  };
  widget.render({ model, el: document.querySelector('#output') });
  void (async () => {
    for (;;) {
      (await news()).forEach(message => hear(message));
      await new Promise(resolve => setTimeout(resolve, 20));
    }
  })();
}"""
# What our styles ask of the page, and the page does not have.
UNDEFINED = """async root => {
  const texts = await Promise.all(['/view.css', '/view.js'].map(async name => (await fetch(name)).text()));
  const found = texts.join(' ').matchAll(/(?:var\\(|['"`])(--jp-(?!pai-)[\\w-]+)[)'"`]/g);
  const names = new Set([...found].map(([, name]) => name));
  return [...names].filter(name => !getComputedStyle(root).getPropertyValue(name)).sort();
}"""
# The colours of VS Code's themes Dark Modern and Light Modern.
CODE = {
    "dark": {
        "foreground": "#cccccc",
        "descriptionForeground": "#9d9d9d",
        "errorForeground": "#f85149",
        "editorError-foreground": "#f14c4c",
        "focusBorder": "#0078d4",
        "editor-background": "#1f1f1f",
        "editor-foreground": "#cccccc",
        "editor-inactiveSelectionBackground": "#3a3d41",
        "editorWidget-border": "#454545",
        "list-hoverBackground": "#2a2d2e",
        "list-inactiveSelectionBackground": "#37373d",
        "textCodeBlock-background": "#2b2b2b",
        "textLink-foreground": "#4daafc",
        "textLink-activeForeground": "#4daafc",
        "charts-green": "#89d185",
        "charts-orange": "#d18616",
        "charts-blue": "#3794ff",
        "font-family": "sans-serif",
    },
    "light": {
        "foreground": "#3b3b3b",
        "descriptionForeground": "#3b3b3b",
        "errorForeground": "#f85149",
        "editorError-foreground": "#e51400",
        "focusBorder": "#005fb8",
        "editor-background": "#ffffff",
        "editor-foreground": "#3b3b3b",
        "editor-inactiveSelectionBackground": "#e5ebf1",
        "editorWidget-border": "#c8c8c8",
        "list-hoverBackground": "#f2f2f2",
        "list-inactiveSelectionBackground": "#e4e6f1",
        "textCodeBlock-background": "#f8f8f8",
        "textLink-foreground": "#005fb8",
        "textLink-activeForeground": "#005fb8",
        "charts-green": "#388a34",
        "charts-orange": "#d18616",
        "charts-blue": "#1a85ff",
        "font-family": "sans-serif",
    },
}


class Bare:
    """A page with the widget of a job in it."""

    def __init__(self, page: Page, engine: EmbeddedClient, job: str) -> None:
        self.page, self.job = page, job
        said: deque[dict[str, Any]] = deque()
        page.emulate_media(reduced_motion="reduce")
        page.expose_function("tell", Bridge(engine, said.append).receive)
        page.expose_function("news", lambda: [said.popleft() for _ in range(len(said))])
        page.route(f"{PAGE}**", self.serve)

    def serve(self, route: Route) -> None:
        name = route.request.url.removeprefix(PAGE)
        if name:
            route.fulfill(path=BUILT / name, content_type=mimetypes.guess_type(name)[0])
        else:
            text = '<!doctype html><html lang="en"><title>Notebook</title><main><div id="output"></div></main></html>'
            route.fulfill(body=text, content_type="text/html")

    def open(self, scheme: str, code: bool = False) -> ElementHandle:
        """The widget in a page of this colour scheme; VS Code's page has variables of its own."""
        self.page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        self.page.goto(PAGE)
        style = "".join(f"--vscode-{name}: {value};" for name, value in CODE[scheme].items()) if code else ""
        background = "var(--vscode-editor-background)" if code else {"dark": "#1e1e1e", "light": "#fff"}[scheme]
        self.page.add_style_tag(content=f":root {{ {style} }} body {{ background: {background}; }}")
        values = {"job_id": self.job, "snapshot": "", "bundle": "1"}
        self.page.evaluate(SHOW, {"values": values, "texts": {}})
        root = self.page.locator(".jp-pai-Page")
        expect(root).to_have_attribute("data-theme", "vscode" if code else scheme, timeout=LONG)
        root.locator(".jp-pai-Job-head").wait_for(timeout=LONG)
        return root.element_handle()


@pytest.fixture
def bare(page: Page, engine: EmbeddedClient) -> Bare:
    values = {"lr": "0.1"}
    source = {"files": {"train.py": TRAIN}}
    job = submit(engine, name="digits", source=source, entry_point="train.py", hyperparameters=values).wait()
    return Bare(page, engine, job.id)


def test_everyone_can_use_it(bare: Bare) -> None:
    page, wrong = bare.page, {}
    view = page.locator(".jp-pai-Job")

    def look(name: str, *rules: str) -> None:
        for tab, sign in TABS.items():
            view.locator(f'[data-tab="{tab}"]').click()
            view.locator(sign).first.wait_for(timeout=LONG)
            wrong[f"{name}: {tab}"] = faults(page, ".jp-pai-Page", *rules)

    root = bare.open("light")
    look("light")
    wrong["moves"], wrong["cut off"] = moving(root), cut_off(root)
    wrong["keyboard"] = unreachable(page, root)
    view.locator('[data-tab="logs"]').click()
    view.get_by_label("Go to line or time").fill("nowhere")
    page.keyboard.press("Enter")
    page.locator(".jp-pai-Notice").wait_for(timeout=LONG)
    wrong["notice"] = faults(page, ".jp-pai-Notices > .jp-pai-Notice")
    for scheme, code in (("light", False), ("dark", False), ("light", True), ("dark", True)):
        name = f"{scheme}, of VS Code" if code else scheme
        if name != "light":
            root = bare.open(scheme, code)
            look(name, "color-contrast")
        wrong[f"{name}: variables"] = root.evaluate(UNDEFINED)
        view.get_by_role("button", name="Delete", exact=True).click()
        page.get_by_role("dialog").wait_for()
        wrong[f"{name}: dialog"] = faults(page, ".jp-pai-Dialog")
        page.keyboard.press("Escape")
    assert {kind: found for kind, found in wrong.items() if found} == {}
