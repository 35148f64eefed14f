"""How a process follows tasks of the stand-in."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from jupyter_pai.backends.reports import LogPiece, Report
from jupyter_pai.backends.tione.api import TioneApi
from jupyter_pai.backends.tione.follow.adoption import candidates
from jupyter_pai.backends.tione.follow.follower import Follower
from jupyter_pai.cloud.tencent.account import TencentAccount
from jupyter_pai.jobs.state_dir import Home

from ...support.connections import run_and_close
from ...support.waiting import PATIENCE
from .conftest import settings_of

__all__ = ["Log", "Process", "follow"]

T = TypeVar("T")


class Process:
    """A process that follows tasks: it knows nothing of others."""

    def __init__(self, home: Home) -> None:
        self.home = home
        settings = settings_of(home)
        self.api = TioneApi(TencentAccount(settings), settings)
        self.follower = Follower(self.api)

    def another(self) -> Process:
        """Return another process."""
        return Process(self.home)

    async def report(self, task: str) -> Report:
        return (await self.follower.poll([task]))[task]

    async def until(self, task: str, condition: Callable[[Report], bool]) -> Report:
        """Return the first report that meets a condition."""
        async with asyncio.timeout(PATIENCE):
            while not condition(report := await self.report(task)):
                await asyncio.sleep(0.02)
        return report

    async def ours(self, job_id: str) -> set[str]:
        """Return the tasks whose names have our id of a job."""
        return {one.remote_id async for one in candidates(self.api, job_id) if one.job_id == job_id}

    async def ended(self, task: str) -> Report:
        return await self.until(task, lambda report: report.status.ended)

    async def whole_log(self, task: str, cursor: str = "", instance: str = "worker-0") -> Log:
        """Read a log to its present end."""
        log = Log(cursor)
        async with asyncio.timeout(PATIENCE):
            while log.add(await self.follower.log(task, instance, log.cursor)):
                pass
        return log


class Log:
    """The bytes that were read of a log, and the time of each of its lines."""

    def __init__(self, cursor: str = "") -> None:
        self.data = b""
        self.cursor = cursor
        self.times: list[float] = []
        # The bytes of each attempt.
        self.attempts: dict[int, bytes] = {}

    def add(self, piece: LogPiece) -> bool:
        """Add a piece. Return whether there may be more."""
        self.data += piece.data
        self.cursor = piece.cursor
        assert json.loads(piece.cursor) if piece.cursor else True
        offset, times = 0, dict(piece.times)
        for line in piece.data.splitlines(keepends=True):
            self.times.append(times.get(offset, self.times[-1] if offset else 0.0))
            offset += len(line)
        if piece.data:
            self.attempts[piece.attempt] = self.attempts.get(piece.attempt, b"") + piece.data
        return piece.more


def follow(home: Home, story: Callable[[Process], Coroutine[Any, Any, T]]) -> T:
    """Run a story of a process."""
    return run_and_close(lambda: story(Process(home)))
