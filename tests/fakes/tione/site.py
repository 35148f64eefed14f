"""One address for the API, COS, the metadata of a machine and the pages of pods; `requests` is the log of the calls."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from aiohttp import web

from ..alibaba.clock import Clock
from ..alibaba.dispatcher import Dispatcher
from ..alibaba.faults import Faults
from .account import Account
from .api import Api
from .catalogue import Catalogue
from .cos import Cos
from .keys import Keys
from .logs import Logs
from .metrics import Metrics
from .registry import Registry
from .requests import Action
from .runs import Runs
from .settings import Settings
from .training import Training

__all__ = ["Site"]

_HEADERS = ("x-tc-language", "x-tc-region", "x-tc-requestclient", "host", "user-agent", "range")


class Site:
    """All services over the files of a folder."""

    def __init__(self, folder: Path, settings: Settings) -> None:
        self.settings, self.clock, self.faults = settings, Clock(settings.clock_offset), Faults(settings.seed)
        self.keys = Keys(self.clock)
        self.requests: list[dict[str, Any]] = []
        # The proxy for clients that know the public hosts only.
        self.way_in: asyncio.Server | None = None
        self.cos = Cos(folder / "blobs", settings.region, self.keys, self.clock, settings.md5)
        self.cos.make_bucket(settings.bucket)
        self.training = Training(self.cos, settings)
        self.runs = Runs(folder / "pods", self.cos, self.clock, settings, self.training.has_room)
        self.training.start = self.runs.start
        self.metrics = Metrics(self.training.tasks)
        self.registry = Registry(self.cos, self.training.tasks, settings)
        self.account = Account(self.keys, settings)
        catalogue, logs = Catalogue(settings, self.training.used), Logs(self.training.tasks, settings)
        rooms = (self.training, catalogue, self.registry, self.metrics)
        public = {**logs.actions(), **_joined(*[room.actions() for room in rooms])}
        extras = _joined(*[room.extras() for room in (*rooms, self.account)])
        actions = {f"tione:{name}": action for name, action in public.items()} | self.account.actions()
        cut = {f"tione:{name}": action for name, action in extras.items()}
        api = Api(actions, cut, self.keys, self.clock, settings)
        self._api = Dispatcher(api, self.faults, self.requests, self.clock)
        self._cos = Dispatcher(self.cos, self.faults, self.requests, self.clock)

    async def serve(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer any request."""
        self.cos.smallest_part = self.settings.smallest_part
        if page := self._page(request):
            return page
        is_api = "X-TC-Action" in request.headers
        number = len(self.requests)
        try:
            return await (self._api if is_api else self._cos).handle(request)
        finally:
            # The list may have been cleared.
            if number < len(self.requests):
                headers = {name: request.headers[name] for name in _HEADERS if name in request.headers}
                self.requests[number]["headers"] = headers

    def _page(self, request: web.BaseRequest) -> web.Response | None:
        path = request.rel_url.path
        if request.headers.get("Host", "").startswith("metadata."):
            text = self.account.metadata(path, self.clock.now())
            return web.Response(status=200 if text else 404, text=text or "")
        if path.startswith("/webshell/") and request.headers.get("Host", "").startswith("127.0.0.1"):
            return web.Response(text="<title>a shell in the pod</title>", content_type="text/html")
        return None


def _joined(*tables: dict[str, Action]) -> dict[str, Action]:
    return {name: action for table in tables for name, action in table.items()}
