"""Widgets that show a view in a page without our extension (VS Code, Colab), fed by the kernel.

Each widget carries a loader (`labextension/src/anywidget/loader.ts`), which requests the view's bundle once per page,
and a text that is shown until the view is loaded.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path

import anywidget
import traitlets

from ...core.i18n import catalogue, language
from ..base import Client
from .comm import CommServer, Perform

_BUNDLES = Path(__file__).parents[2] / "_widget"
# Seconds; see `CommServer.tick`.
_TICK = 15.0


class PageWidget(anywidget.AnyWidget):
    """A view of the bundle `_widget/NAME.js`. Replies and updates are sent while a cell runs, but most front ends
    deliver a page's requests only between two cells."""

    _esm = traitlets.Unicode().tag(sync=True)
    snapshot = traitlets.Unicode().tag(sync=True)
    bundle = traitlets.Unicode().tag(sync=True)

    def __init__(
        self,
        name: str,
        client: Client,
        allows: Callable[[str], bool] | None = None,
        perform: Perform | None = None,
        **state: object,
    ) -> None:
        loader, _script, _style, digest = _files(name)
        super().__init__(_esm=loader, bundle=digest, **state)
        self._bundle_name = name
        self._comm_server = CommServer(client, self.send, allows, perform)
        self._ticks = False
        with contextlib.suppress(RuntimeError):  # Created outside a kernel: no page shows it.
            self._kernel_loop = asyncio.get_running_loop()
        self.on_msg(self._receive)

    def run_in_kernel(self, work: Callable[[], None]) -> None:
        """Run `work` in the kernel's event loop. May be called from any thread. Outside a kernel, run it at once."""
        if hasattr(self, "_kernel_loop"):
            self._kernel_loop.call_soon_threadsafe(work)
        else:
            work()

    def _receive(self, _widget: object, message: object, _buffers: object) -> None:
        if not isinstance(message, dict):
            return
        if message.get("type") == "load":
            _loader, script, style, _digest = _files(self._bundle_name)
            self.send({"type": "bundle", "page": message.get("page"), "texts": catalogue(language())}, [script, style])
            return
        self._comm_server.receive(message)
        if self._comm_server.pages and not self._ticks and hasattr(self, "_kernel_loop"):
            self._ticks = True
            # In the kernel's event loop, which also receives heartbeats: a running cell delays both.
            self._kernel_loop.call_soon_threadsafe(self._kernel_loop.call_later, _TICK, self._tick)

    def _tick(self) -> None:
        self._ticks = self._comm_server.tick()
        if self._ticks:
            self._kernel_loop.call_later(_TICK, self._tick)


class JobWidget(PageWidget):
    """The job view of our JupyterLab extension."""

    job_id = traitlets.Unicode().tag(sync=True)

    def __init__(self, job_id: str, snapshot: str, client: Client) -> None:
        super().__init__("view", client, job_id=job_id, snapshot=snapshot)


@cache
def _files(name: str) -> tuple[str, bytes, bytes, str]:
    """Return the loader, the bundle `name`, its style sheet, and the digest under which pages cache them."""
    script, style = (_BUNDLES / f"{name}.js").read_bytes(), (_BUNDLES / f"{name}.css").read_bytes()
    digest = hashlib.sha256(script + style + language().encode()).hexdigest()[:16]
    return (_BUNDLES / "loader.js").read_text("utf-8"), script, style, digest
