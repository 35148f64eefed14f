"""The Jupyter server extension: one engine for all kernels, terminals and browser tabs of a server."""

from __future__ import annotations

import asyncio
import gc
import os
import re
import secrets
import sys
from pathlib import Path
from typing import Any

from aiolimiter import AsyncLimiter
from jupyter_server.extension.application import ExtensionApp

from ..api.endpoint import Context
from ..api.route import PREFIX, PROOF
from ..api.routes import ROUTES
from ..config.contents_root import ServerRoot
from ..core.discovery import VARIABLE, ServerInfo, info_path
from ..core.errors import PaiError
from ..core.i18n import _
from ..engine.doctor import shared
from ..engine.service import JobService
from ..engine.tensorboard.tensorboards import TensorBoards
from ..jobs.job import now
from .handlers import ProofHandler, StreamHandler, UnknownHandler, VerbHandler
from .tensorboard_proxy import PATH as TENSORBOARD_PATH, TensorBoardHandler

_ACTIVITY_INTERVAL = 5.0
# Seconds after which a thread that computes lets another one run.
_SWITCH_INTERVAL = 0.001
# Events of Jupyter's contents API, such as a rename.
_CONTENTS = "https://events.jupyter.org/jupyter_server/contents_service/v1"
# Proofs of identity in some seconds. A client requests one per connection, and sends some hundred requests per second.
_PROOFS, _PROOF_SECONDS = 1000, 2


class Engine:
    """The engine, started on first use: the server starts even if the engine cannot."""

    def __init__(self, base_url: str, root: ServerRoot | None = None, sessions: Any = None) -> None:
        self.root, self.base_url, self.sessions = root, base_url, sessions
        self.boards = TensorBoards(f"{base_url}{TENSORBOARD_PATH}/")
        # Valid for this extension only. Kernels and terminals read it from a file that only the user can read.
        self.secret = secrets.token_urlsafe(32)
        # Set when the server listens.
        self.info: ServerInfo | None = None
        self.proofs = AsyncLimiter(_PROOFS, _PROOF_SECONDS)
        # Of large requests to be read.
        self.turn = asyncio.Lock()
        self._context: Context | None = None
        self._lock = asyncio.Lock()

    async def context(self) -> Context:
        """Return the context of the endpoints, and start the engine if required.

        Raises:
            StateError: if the state folder is unusable. The next call retries.
        """
        async with self._lock:
            if self._context is None:
                service = await asyncio.to_thread(JobService)
                await service.start()
                self._context = Context(service, self.root, self.boards, self.base_url, self.sessions)
                # The modules of the server stay. A large request would have them searched for garbage, several times,
                # while no thread runs.
                if not gc.get_freeze_count():
                    gc.freeze()
            return self._context

    async def rename(self, old: str, new: str) -> None:
        """Assign the jobs of a renamed notebook to its new path; both are relative to the root."""
        if self.root and old != new and new.endswith(".ipynb"):
            service = (await self.context()).service
            await service.rename_notebook(str(self.root.resolve(old)), str(self.root.resolve(new)))

    def is_busy(self) -> bool:
        """Return true if jobs run on this machine and the policy keeps the server alive for them."""
        return self._context is not None and self._context.service.keeps_server()

    async def close(self) -> None:
        """Stop the engine and its TensorBoards. Jobs keep running."""
        await self.boards.close()
        if self._context is not None:
            await self._context.service.close()
            self._context = None


class PaiApp(ExtensionApp):
    """Adds the engine and its handlers to a Jupyter server."""

    name = "jupyter_pai"
    load_other_extensions = True

    def initialize_settings(self) -> None:
        # The default is 5 ms, which each step of a request waits for each thread that computes.
        sys.setswitchinterval(min(_SWITCH_INTERVAL, sys.getswitchinterval()))
        sessions = self.settings["session_manager"].list_sessions
        self.engine = Engine(self.settings["base_url"], _contents_root(self.serverapp), sessions)
        self.info_file = info_path(os.getpid())
        self.task: asyncio.Task[None] | None = None
        self.settings["jupyter_pai_engine"] = self.engine

    def initialize_handlers(self) -> None:
        verbs_of: dict[str, dict[str, str]] = {}
        for verb, route in ROUTES.items():
            verbs_of.setdefault(route.path, {})[route.method] = verb
        for path, verbs in verbs_of.items():
            pattern = re.sub(r"\{\w+\}", "([^/]+)", path)
            self.handlers.append((rf"/{PREFIX}{pattern}/?", VerbHandler, {"verbs": verbs}))
        self.handlers += [
            (rf"/{PREFIX}/stream", StreamHandler),
            (rf"/{PREFIX}{PROOF}", ProofHandler),
            (rf"/{PREFIX}/.*", UnknownHandler),
            (rf"/{TENSORBOARD_PATH}/([^/]+)(/.*)?", TensorBoardHandler),
        ]

    async def _start_jupyter_server_extension(self, serverapp: Any) -> None:
        """Publish the server's address for its kernels and terminals, and start the engine. Called once the server
        listens."""
        try:
            self.engine.info = ServerInfo(
                url=serverapp.connection_url,
                secret=self.engine.secret,
                pid=os.getpid(),
                socket=serverapp.sock,
                certificate=serverapp.certfile,
            )
            self.engine.info.write(self.info_file)
            os.environ[VARIABLE] = str(self.info_file)
        except OSError as error:
            self.log.error("jupyter-pai: kernels may not find this server: %s", error)
        serverapp.event_logger.add_listener(schema_id=_CONTENTS, listener=self._on_contents)
        self.task = asyncio.create_task(self._report_activity(), name="jupyter-pai activity")

    async def _report_activity(self) -> None:
        """Start the engine, and report running jobs as activity, since JupyterHub stops idle servers."""
        try:
            service = (await self.engine.context()).service
            for finding in shared(service.home):
                self.log.warning("jupyter-pai: %s: %s %s", finding.what, finding.text, finding.fix)
        except Exception:
            self.log.exception("jupyter-pai: the engine did not start; the next request retries")
        while True:
            if self.serverapp and self.engine.is_busy():
                self.serverapp.web_app.settings["last_activity_times"]["jupyter_pai"] = now()
            await asyncio.sleep(_ACTIVITY_INTERVAL)

    async def _on_contents(self, logger: object, schema_id: str, data: dict[str, str]) -> None:
        """Follow a notebook that is renamed in the file browser or by another client of the server."""
        if data["action"] == "rename":
            try:
                await self.engine.rename(data["source_path"], data["path"])
            except PaiError as error:
                self.log.warning("jupyter-pai: the jobs of %s keep its old path: %s", data["source_path"], error)

    def current_activity(self) -> list[str] | None:
        """Return the activities that keep an otherwise idle server from shutting down."""
        return [_("training jobs")] if self.engine.is_busy() else None

    async def stop_extension(self) -> None:
        if self.task:
            self.task.cancel()
            await asyncio.gather(self.task, return_exceptions=True)
        self.info_file.unlink(missing_ok=True)
        os.environ.pop(VARIABLE, None)
        await self.engine.close()


def _contents_root(serverapp: Any) -> ServerRoot | None:
    """Return the folder that JupyterLab shows, if its files are local."""
    contents = serverapp.contents_manager
    path = getattr(contents, "root_dir", "")
    return ServerRoot(Path(path), bool(contents.allow_hidden)) if path else None
