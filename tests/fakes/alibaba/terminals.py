"""Terminals in instances that run: addresses with tokens, and the WebSockets behind them.

Messages are JSON, as the service documents them: ``{"operation": "stdin", "data": ...}`` from the client, also
``resize`` with cols and rows, and ``stdout`` to it. An address is good for one connection, within half a minute.
"""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import pty
import secrets
import signal
import struct
import termios
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from aiohttp import WSMsgType, web

from .clock import Clock
from .jobs import TrainingJob
from .service_errors import Refusal
from .services import Operation, Reply, Request

__all__ = ["Terminals"]

_LIFE = 30.0
_PATH = "/trainingjobs/{TrainingJobId}/instances/{InstanceId}/webterminals"


class Terminals:
    """Terminals of the jobs below a folder."""

    def __init__(self, find: Callable[[Request], TrainingJob], folder: Path, clock: Clock) -> None:
        self._find, self._folder, self._clock = find, folder, clock
        # By their tokens: until when they are good, and the folder that a shell begins in.
        self._open: dict[str, tuple[float, Path]] = {}
        # Base URL of the WebSockets, set once the port is known.
        self.address = ""

    def operations(self) -> list[Operation]:
        """The operations of this service."""
        return [
            Operation("paistudio", "CreateInstanceWebTerminal", "POST", _PATH, self._create),
            Operation("paistudio", "CheckInstanceWebTerminal", "POST", f"{_PATH}/action/check", self._check),
        ]

    def _instance(self, request: Request) -> TrainingJob:
        job = self._find(request)
        name = request.path["InstanceId"]
        if name not in job.lines_of:
            raise Refusal(404, "TRAINING_JOB_INSTANCE_NOT_FOUND", f"Instance {name} is not found.")
        if job.status != "Running":
            raise Refusal(400, "TRAINING_JOB_STATUS_INVALID", f"A job that is {job.status} has no terminal.")
        return job

    def open(self, place: str, folder: Path) -> str:
        """Return the address of a terminal, whose shell begins in a folder."""
        token = secrets.token_urlsafe(24)
        self._open[token] = (self._clock.now() + _LIFE, folder)
        return f"{self.address}/terminal/{place}?Token={token}"

    def _create(self, request: Request) -> Reply:
        job = self._instance(request)
        return {"WebTerminalId": self.open(f"{job.id}/{request.path['InstanceId']}", self._folder / job.id / "ml")}

    def _check(self, request: Request) -> Reply:
        self._instance(request)
        if request.body.get("CheckInfo", "").rpartition("Token=")[2] not in self._open:
            raise Refusal(403, "Forbidden.WebTerminal", "The web terminal has expired.")
        return {}

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """A connection to one: a shell, until either side ends."""
        end, folder = self._open.pop(request.query.get("Token", ""), (0.0, Path()))
        if end < self._clock.now():
            return web.Response(status=403, text="the token is not valid")
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        ours, theirs = pty.openpty()
        shell = await asyncio.create_subprocess_exec(
            "sh", cwd=folder, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True, preexec_fn=_own,
            env={"PATH": os.environ["PATH"], "HOME": str(folder), "PS1": "$ ", "TERM": "dumb"},
        )  # fmt: skip
        os.close(theirs)
        telling = asyncio.create_task(_tell(ours, socket))
        try:
            async for message in socket:
                data = json.loads(message.data) if message.type is WSMsgType.TEXT else {}
                if data.get("operation") == "stdin":
                    os.write(ours, data["data"].encode())
                elif data.get("operation") == "resize":
                    fcntl.ioctl(ours, termios.TIOCSWINSZ, struct.pack("HHHH", data["rows"], data["cols"], 0, 0))
        finally:
            with suppress(ProcessLookupError):
                os.killpg(shell.pid, signal.SIGKILL)
            await shell.wait()
            await telling
            os.close(ours)
        return socket


def _own() -> None:
    """The terminal becomes the shell's own: it gets the signals that keys mean."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


async def _tell(ours: int, socket: web.WebSocketResponse) -> None:
    """Send the output of the shell until it ends."""
    loop = asyncio.get_running_loop()
    with suppress(OSError):  # As when the last one lets go of the other end.
        while data := await loop.run_in_executor(None, os.read, ours, 1 << 16):
            await socket.send_json({"operation": "stdout", "data": data.decode("utf-8", "replace")})
    await socket.close()
