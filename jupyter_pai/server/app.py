"""The Jupyter server extension: the engine of every kernel, terminal and browser tab of one server."""

from __future__ import annotations

import asyncio
import os
import secrets
from pathlib import Path
from typing import Any

from jupyter_core.paths import jupyter_runtime_dir
from jupyter_server.extension.application import ExtensionApp

from ..api.api import Api
from ..api.route import PREFIX
from ..api.routes import ROUTES
from ..config.contents_root import ServerRoot
from ..core import discovery as server_info
from ..core.discovery import ServerInfo
from ..core.i18n import _
from ..engine.service import JobService
from ..engine.tensorboard.tensorboards import TensorBoards
from ..jobs.job import now
from . import tensorboard_proxy as tensorboard
from .handlers import UnknownHandler, VerbHandler
from .tensorboard_proxy import TensorBoardHandler
from .websocket import StreamHandler

__all__ = ["Engine", "PaiApp"]

_ACTIVITY_EVERY = 5.0


class Engine:
    """The engine, started when it is first asked for: one that cannot start must not take the server along."""

    def __init__(self, base_url: str, root: ServerRoot | None = None) -> None:
        self.root, self.base_url = root, base_url
        self.boards = TensorBoards(f"{base_url}{tensorboard.PATH}/")
        # Good for this extension only; kernels and terminals find it in a file that only the user may read.
        self.secret = secrets.token_urlsafe(32)
        self._api: Api | None = None
        self._lock = asyncio.Lock()

    async def api(self) -> Api:
        """The engine's verbs.

        Raises:
            StateError: if the state folder cannot be used; the next call tries again.
        """
        async with self._lock:
            if self._api is None:
                service = await asyncio.to_thread(JobService)
                await service.start()
                self._api = Api(service, self.root, self.boards, self.base_url)
            return self._api

    def is_busy(self) -> bool:
        """Whether jobs run on this machine, and that is to keep the server."""
        return self._api is not None and self._api.service.keeps_server()

    async def close(self) -> None:
        """Let go of everything. Jobs go on; TensorBoards do not."""
        await self.boards.close()
        if self._api is not None:
            await self._api.service.close()
            self._api = None


class PaiApp(ExtensionApp):
    """Puts the engine and its handlers into a Jupyter server."""

    name = "jupyter_pai"
    load_other_extensions = True

    def initialize_settings(self) -> None:
        self.engine = Engine(self.settings["base_url"], _root(self.serverapp))
        self.info_file: Path | None = None
        self.task: asyncio.Task[None] | None = None
        self.settings["jupyter_pai_engine"] = self.engine

    def initialize_handlers(self) -> None:
        verbs_of: dict[str, dict[str, str]] = {}
        for verb, route in ROUTES.items():
            verbs_of.setdefault(route.path, {})[route.method] = verb
        for path, verbs in verbs_of.items():
            pattern = "/".join("([^/]+)" if part.startswith("{") else part for part in path.split("/"))
            self.handlers.append((rf"/{PREFIX}{pattern}/?", VerbHandler, {"verbs": verbs}))
        self.handlers.append((rf"/{PREFIX}/stream", StreamHandler))
        self.handlers.append((rf"/{PREFIX}/.*", UnknownHandler))
        self.handlers.append((rf"/{tensorboard.PATH}/([^/]+)(/.*)?", TensorBoardHandler))

    async def _start_jupyter_server_extension(self, serverapp: Any) -> None:
        """Once the server listens: tell those whom it starts where it is, and look after its jobs."""
        self.info_file = Path(jupyter_runtime_dir()) / f"jupyter-pai-{os.getpid()}.json"
        info = ServerInfo(
            url=serverapp.connection_url,
            secret=self.engine.secret,
            pid=os.getpid(),
            socket=serverapp.sock,
            certificate=serverapp.certfile,
        )
        try:
            info.write(self.info_file)
            os.environ[server_info.VARIABLE] = str(self.info_file)
        except OSError as error:
            self.log.error("jupyter-pai: kernels may not find this server: %s", error)
        self.task = asyncio.create_task(self._look_after_jobs(), name="jupyter-pai activity")

    async def _look_after_jobs(self) -> None:
        """Follow jobs from before, and count the running ones as activity: JupyterHub stops servers that idle."""
        try:
            api = await self.engine.api()
            for finding in api.service.shared():
                self.log.warning("jupyter-pai: %s: %s %s", finding.what, finding.text, finding.fix)
        except Exception:
            self.log.exception("jupyter-pai: the engine did not start; it is tried again when it is used")
        while True:
            if self.serverapp and self.engine.is_busy():
                self.serverapp.web_app.settings["last_activity_times"]["jupyter_pai"] = now()
            await asyncio.sleep(_ACTIVITY_EVERY)

    def current_activity(self) -> list[str] | None:
        """What keeps the server from shutting itself down when nothing else happens."""
        return [_("training jobs")] if self.engine.is_busy() else None

    async def stop_extension(self) -> None:
        if self.task:
            self.task.cancel()
            await asyncio.gather(self.task, return_exceptions=True)
        if self.info_file:
            self.info_file.unlink(missing_ok=True)
            os.environ.pop(server_info.VARIABLE, None)
        await self.engine.close()


def _root(serverapp: Any) -> ServerRoot | None:
    """What JupyterLab shows, if those are files of this machine."""
    contents = serverapp.contents_manager
    path = getattr(contents, "root_dir", "")
    return ServerRoot(Path(path), bool(contents.allow_hidden)) if path else None
