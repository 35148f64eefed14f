"""A page without JupyterLab's code and colors, like VS Code and Colab. It plays the role of the front end and loads
the built bundles."""

from __future__ import annotations

import mimetypes
from collections import deque
from collections.abc import Callable
from typing import Any

from playwright.sync_api import ElementHandle, Page, Route, expect

from ..conftest import ROOT

BUILT = ROOT / "jupyter_pai/_widget"
PAGE = "http://127.0.0.1/"
SHOW = """async ({ name, values, texts }) => {
  const { default: widget } = await import('/loader.js');
  const listeners = new Map();
  const emit = (event, ...news) => listeners.get(event)?.forEach(heard => heard(...news));
  const bytes = async end => new DataView(await (await fetch(`/${name}.${end}`)).arrayBuffer());
  const edited = new Set();
  const set = (name, value) => {
    const isNew = JSON.stringify(values[name]) !== JSON.stringify(value);
    values[name] = value;
    if (isNew) emit(`change:${name}`);
  };
  const model = {
    get: name => values[name],
    set: (name, value) => { edited.add(name); set(name, value); },
    save_changes: () => {
      const state = Object.fromEntries([...edited].map(name => [name, values[name]]));
      edited.clear();
      return tell({ type: 'state', state });
    },
    on: (event, heard) => listeners.set(event, (listeners.get(event) ?? new Set()).add(heard)),
    off: (event, heard) => listeners.get(event)?.delete(heard),
    send: async message => message.type === 'load'
      ? emit('msg:custom', { type: 'bundle', page: message.page, texts }, await Promise.all(['js', 'css'].map(bytes)))
      : tell(message)
  };
  widget.render({ model, el: document.querySelector('#output') });
  void (async () => {
    for (;;) {
      for (const message of await news()) {
        if (message.type === 'state') Object.entries(message.state).forEach(([name, value]) => set(name, value));
        else emit('msg:custom', message);
      }
      await new Promise(resolve => setTimeout(resolve, 20));
    }
  })();
}"""
# The CSS variables that the styles use and the page does not define.
UNDEFINED = """async ([root, name]) => {
  const texts = await Promise.all(['css', 'js'].map(async end => (await fetch(`/${name}.${end}`)).text()));
  const found = texts.join(' ').matchAll(/(?:var\\(|['"`])(--jp-(?!pai-)[\\w-]+)[)'"`]/g);
  const names = new Set([...found].map(([, name]) => name));
  return [...names].filter(name => !getComputedStyle(root).getPropertyValue(name)).sort();
}"""
# The colors of VS Code's themes Dark Modern and Light Modern.
CODE = {
    "dark": {
        "foreground": "#cccccc",
        "descriptionForeground": "#9d9d9d",
        "errorForeground": "#f85149",
        "editorError-foreground": "#f14c4c",
        "focusBorder": "#0078d4",
        "button-background": "#0078d4",
        "button-foreground": "#ffffff",
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
        "button-background": "#005fb8",
        "button-foreground": "#ffffff",
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


class PlainPage:
    """A page with the widget of a bundle. `receive` takes the messages of the page; `news` holds messages for it."""

    receive: Callable[[dict[str, Any]], object]

    def __init__(self, page: Page, name: str) -> None:
        self.page, self.name = page, name
        self.news: deque[dict[str, Any]] = deque()
        page.emulate_media(reduced_motion="reduce")
        page.expose_function("tell", self.tell)
        page.expose_function("news", lambda: [self.news.popleft() for _ in range(len(self.news))])
        page.route(f"{PAGE}**", self.serve)

    def tell(self, message: dict[str, Any]) -> None:
        self.receive(message)

    def serve(self, route: Route) -> None:
        name = route.request.url.removeprefix(PAGE)
        if name:
            route.fulfill(path=BUILT / name, content_type=mimetypes.guess_type(name)[0])
        else:
            text = '<!doctype html><html lang="en"><title>Notebook</title><main><div id="output"></div></main></html>'
            route.fulfill(body=text, content_type="text/html")

    def open(self, values: dict[str, Any], scheme: str, code: bool = False) -> ElementHandle:
        """Show the widget in a page of this color scheme; VS Code's page defines its own variables."""
        self.page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        self.page.goto(PAGE)
        style = "".join(f"--vscode-{name}: {value};" for name, value in CODE[scheme].items()) if code else ""
        background = "var(--vscode-editor-background)" if code else {"dark": "#1e1e1e", "light": "#fff"}[scheme]
        self.page.add_style_tag(content=f":root {{ {style} }} body {{ background: {background}; }}")
        self.page.evaluate(SHOW, {"name": self.name, "values": values, "texts": {}})
        root = self.page.locator(".jp-pai-Page")
        expect(root).to_have_attribute("data-theme", "vscode" if code else scheme)
        return root.element_handle()

    def undefined(self, root: ElementHandle) -> list[str]:
        """Return JupyterLab's CSS variables that the bundle uses and the page does not define."""
        result: list[str] = self.page.evaluate(UNDEFINED, [root, self.name])
        return result
