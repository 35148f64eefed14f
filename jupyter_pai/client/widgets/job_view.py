"""`JobWidget`: the job view in a page without our extension (VS Code, Colab), fed by the kernel.

What travels with each widget is small: a loader (`labextension/src/loader.ts`), which asks for the view itself once a
page, and the job in words, which is what is seen until the view is there.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
from functools import cache
from pathlib import Path

import anywidget
import traitlets

from ...core.i18n import catalogue, language
from ..base import Client
from .comm import Bridge

__all__ = ["JobWidget"]

_BUNDLE = Path(__file__).parents[2] / "_widget"
# Seconds; see `Bridge.tick`.
_TICK = 15.0


class JobWidget(anywidget.AnyWidget):
    """A job as JupyterLab with our extension shows it. What the page asks is answered off the kernel's own thread, and
    what is new is sent while a cell runs; but most front ends bring a question only between two cells."""

    _esm = traitlets.Unicode().tag(sync=True)
    job_id = traitlets.Unicode().tag(sync=True)
    snapshot = traitlets.Unicode().tag(sync=True)
    bundle = traitlets.Unicode().tag(sync=True)

    def __init__(self, job_id: str, snapshot: str, client: Client) -> None:
        loader, _view, _style, digest = _files()
        super().__init__(_esm=loader, job_id=job_id, snapshot=snapshot, bundle=digest)
        self._bridge = Bridge(client, self.send)
        self._ticks = False
        with contextlib.suppress(RuntimeError):  # Made outside of a kernel: nobody will look at it.
            self._kernel_loop = asyncio.get_running_loop()
        self.on_msg(self._receive)

    def _receive(self, _widget: object, message: object, _buffers: object) -> None:
        if not isinstance(message, dict):
            return
        if message.get("type") == "load":
            _loader, view, style, _digest = _files()
            self.send({"type": "bundle", "page": message.get("page"), "texts": catalogue(language())}, [view, style])
            return
        self._bridge.receive(message)
        if self._bridge.pages and not self._ticks and hasattr(self, "_kernel_loop"):
            self._ticks = True
            self._kernel_loop.call_soon_threadsafe(self._tick_later)

    def _tick_later(self) -> None:
        # In the kernel's own loop, where messages of pages are waited for: a cell that runs stops both.
        self._kernel_loop.call_later(_TICK, self._tick)

    def _tick(self) -> None:
        self._ticks = self._bridge.tick()
        if self._ticks:
            self._tick_later()


@cache
def _files() -> tuple[str, bytes, bytes, str]:
    """Loader, view, its style, and a digest of what the page keeps."""
    view, style = (_BUNDLE / "view.js").read_bytes(), (_BUNDLE / "view.css").read_bytes()
    digest = hashlib.sha256(view + style + language().encode()).hexdigest()[:16]
    return (_BUNDLE / "loader.js").read_text("utf-8"), view, style, digest
