"""Jobs of raw documents on the stand-in of OpenPAI, and how a process follows them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from jupyter_pai.backends.openpai.client import OpenPaiClient
from jupyter_pai.backends.openpai.follow.adoption import candidates
from jupyter_pai.backends.openpai.follow.follower import Follower
from jupyter_pai.backends.reports import LogPiece, Report
from jupyter_pai.jobs.state_dir import Home

from ...fakes.openpai_client import document
from ...support.connections import run_and_close
from ...support.waiting import PATIENCE
from .conftest import USER, client_of

__all__ = ["Process", "follow", "waiting_for"]

T = TypeVar("T")


def waiting_for(*files: str, between: str = ":") -> str:
    """Return commands that wait for each of these files in the storage `nfs`."""
    return "\n".join(f"until [ -e /mnt/nfs/{file} ]; do sleep 0.02; done; {between}" for file in files)


class Process:
    """A process that follows jobs: it knows nothing of others."""

    def __init__(self, home: Home) -> None:
        self.home = home
        self.client: OpenPaiClient = client_of(home)
        self.follower = Follower(self.client)

    async def submit(self, name: str, *commands: str, roles: dict[str, Any] | None = None, **fields: Any) -> str:
        """Submit a document with the storage `nfs`. Return the remote id."""
        extras = {"storages": [{"name": "nfs"}], **fields.pop("extras", {})}
        await self.client.submit(document(name, *commands, roles=roles, extras=extras, **fields))
        return f"{USER}~{name}"

    def another(self) -> Process:
        """Return another process."""
        return Process(self.home)

    async def report(self, remote_id: str) -> Report:
        return (await self.follower.poll([remote_id]))[remote_id]

    async def until(self, remote_id: str, condition: Callable[[Report], bool]) -> Report:
        """Return the first report that meets a condition."""
        async with asyncio.timeout(PATIENCE):
            while not condition(report := await self.report(remote_id)):
                await asyncio.sleep(0.02)
        return report

    async def ours(self, job_id: str) -> set[str]:
        """Return the jobs whose names have our id of a job."""
        return {one.remote_id async for one in candidates(self.client, job_id) if one.job_id == job_id}

    async def ended(self, remote_id: str) -> Report:
        return await self.until(remote_id, lambda report: report.status.ended)

    async def instance_names(self, remote_id: str) -> list[str]:
        """Return the names of the instances once there are some."""
        async with asyncio.timeout(PATIENCE):
            while not (found := await self.follower.instances(remote_id)):
                await asyncio.sleep(0.02)
        return [one.name for one in found]

    async def log_until(self, remote_id: str, end: bytes, cursor: str = "", instance: str = "main-0") -> Log:
        """Read a log after a cursor until it ends with some bytes."""
        log = Log(cursor)
        async with asyncio.timeout(PATIENCE):
            while not log.data.endswith(end):
                # A running job is read between two polls.
                await self.report(remote_id)
                if not log.add(await self.follower.log(remote_id, instance, log.cursor)):
                    await asyncio.sleep(0.02)
        return log

    async def whole_log(self, remote_id: str, instance: str = "main-0", cursor: str = "") -> Log:
        """Read the log of an ended job to its end."""
        log = Log(cursor)
        while log.add(await self.follower.log(remote_id, instance, log.cursor)):
            pass
        return log


class Log:
    """The bytes that were read of a log."""

    def __init__(self, cursor: str) -> None:
        self.data = b""
        self.cursor = cursor
        # The bytes of each attempt.
        self.attempts: dict[int, bytes] = {}

    def add(self, piece: LogPiece) -> bool:
        """Add a piece. Return whether there may be more."""
        self.data += piece.data
        self.cursor = piece.cursor
        assert json.loads(piece.cursor) if piece.cursor else True
        if piece.data:
            assert piece.attempt >= max(self.attempts, default=1)
            self.attempts[piece.attempt] = self.attempts.get(piece.attempt, b"") + piece.data
        return piece.more


def follow(home: Home, story: Callable[[Process], Coroutine[Any, Any, T]]) -> T:
    """Run a story of a process."""
    return run_and_close(lambda: story(Process(home)))
