"""A real Jupyter server in its own process, which can be killed and restarted."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from websocket import WebSocketException

from binder.session import NotebookSession
from jupyter_pai.core.discovery import info_path
from jupyter_pai.jobs.state_dir import Home

from ...conftest import PATIENCE, end_jobs, until

__all__ = ["RealServer"]


class RealServer:
    """`root` is the folder of its notebooks. Environment and Jupyter's folders are the test's."""

    program: tuple[str, ...] = ("-m", "jupyter_server")
    # The pages of JupyterLab take more than half of the time to start.
    disabled: tuple[str, ...] = ("jupyterlab", "notebook", "notebook_shim", "jupyter_lsp")
    token = "a-token-for-tests"

    def __init__(self, root: Path, base_url: str = "/", **environment: str) -> None:
        self.root = root
        self.base_url = base_url
        self.environment = environment
        self.log = root.parent / "server.log"
        self.sessions: list[NotebookSession] = []
        self.start()

    def start(self) -> None:
        """Start the server on a new port, and wait until it answers."""
        for is_last in (False, False, True):
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", 0))
                self.port = int(probe.getsockname()[1])
            try:
                self.start_again()
                return
            except AssertionError as error:
                # Another process may take the port before the server does.
                if is_last or f"port {self.port} is not available" not in str(error):
                    raise

    def start_again(self) -> None:
        """Start the server on its earlier port."""
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, *self.program, *self.arguments()],
                env={**os.environ, "JUPYTER_TOKEN": self.token, **self.environment},
                stdout=log,
                stderr=log,
            )
        until(self._answers)

    def arguments(self) -> list[str]:
        return [
            *("--allow-root", "--no-browser", f"--ServerApp.port={self.port}", "--ServerApp.port_retries=0"),
            *(f"--ServerApp.root_dir={self.root}", f"--ServerApp.base_url={self.base_url}"),
            f"--ServerApp.jpserver_extensions={dict.fromkeys(self.disabled, False)}",
        ]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}{self.base_url.rstrip('/')}"

    def _answers(self) -> bool:
        assert self.process.poll() is None, self.log.read_text()
        try:
            return self.info_file.exists() and bool(self.rest("GET", "/api"))
        except (URLError, OSError):
            return False

    @property
    def info_file(self) -> Path:
        return info_path(self.process.pid)

    def rest(self, method: str, path: str, body: object = None) -> Any:
        """Make a REST call with the server's token."""
        data = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"token {self.token}", "Content-Type": "application/json"}
        try:
            with urlopen(Request(self.url + path, data, headers, method=method), timeout=PATIENCE) as reply:
                return json.loads(reply.read() or "null")
        except HTTPError as error:
            error.close()
            if error.code == 404:
                return None
            raise

    def job(self, job_id: str) -> dict[str, Any]:
        return dict(self.rest("GET", f"/pai/api/v1/jobs/{job_id}") or {})

    def notebook(self, name: str = "work.ipynb", cells: list[dict[str, Any]] | None = None) -> NotebookSession:
        """A session on a notebook, with the magics loaded."""
        path = self.root / name
        notebook = {"cells": cells or [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
        path.write_text(json.dumps(notebook), "utf-8")
        try:
            session = NotebookSession(self.url, self.token, name)
            self.sessions.append(session)
            session.run("%load_ext jupyter_pai")
        except (OSError, WebSocketException) as error:
            raise AssertionError(self.log.read_text()) from error
        return session

    def kill(self) -> None:
        """Kill the server like a crash."""
        self.process.kill()
        self.process.wait()

    def stop(self) -> None:
        """Stop the server with two signals, since the first one asks for a confirmation."""
        self.end_sessions()
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(5)  # A thread of Jupyter's own can hold it up for long.
            except subprocess.TimeoutExpired:
                self.kill()

    def end_sessions(self) -> None:
        """Close the connections to kernels that `notebook` has opened."""
        for session in self.sessions:
            session.socket.shutdown()
        self.sessions.clear()

    def _removed(self, kind: str) -> bool:
        """Remove all kernels or terminals. Their lists fail with 500 while one of them ends."""
        try:
            for one in self.rest("GET", f"/api/{kind}") or []:
                self.rest("DELETE", f"/api/{kind}/{one.get('id') or one['name']}")
        except HTTPError as error:
            if error.code != 500:
                raise
            return False
        return True

    def clean(self, home: Home) -> None:
        """Remove the sessions, jobs and files of a test."""
        self.end_sessions()
        for kind in ("kernels", "terminals"):
            until(lambda kind=kind: self._removed(kind))  # type: ignore[misc]
        for run in (path.parent.name for path in home.workflows.glob("*/run.json")):
            address = f"/pai/api/v1/workflows/{run}"
            self.rest("POST", f"{address}/stop")
            until(lambda address=address: self.rest("GET", address)["run"]["ended_at"])  # type: ignore[misc]
            self.rest("DELETE", address)
        end_jobs(home)
        while jobs := self.rest("GET", "/pai/api/v1/jobs")["jobs"]:
            job = jobs[0]["id"]
            until(lambda job=job: self.job(job)["ended_at"])  # type: ignore[misc]
            self.rest("DELETE", f"/pai/api/v1/jobs/{job}/pin")
            self.rest("DELETE", f"/pai/api/v1/jobs/{job}")
        for folder in (self.root, Path(os.environ["JUPYTER_CONFIG_DIR"])):
            for path in folder.iterdir():
                if path.is_dir() and not path.is_symlink():
                    shutil.rmtree(path)
                else:
                    path.unlink()
