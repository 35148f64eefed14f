"""Checks that a submit whose reply is lost makes one job on a platform, as the engine sends it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from ...backends.base import Backend, Submission
from ...core.errors import ReplyLost
from ...core.secret import Secret
from ...jobs.job import Job
from ...jobs.state_dir import JobFolder
from ..lost_reply import Waits, submit_once
from ..watcher.timings import Timings

__all__ = ["check_lost_reply"]

# The most requests of a submit here.
_REQUESTS = 3


class _LosingReplies:
    """A backend whose first submits get no reply. `executed`: the platform gets them nevertheless."""

    def __init__(self, backend: Backend, *, executed: bool, times: int) -> None:
        self.backend = backend
        self.executed = executed
        self.times = times
        self.requests = 0
        self.made: list[str] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self.backend, name)

    async def submit(self, job: Job, folder: JobFolder, secrets: Mapping[str, Secret]) -> Submission:
        self.requests += 1
        is_lost = self.requests <= self.times
        if is_lost and not self.executed:
            raise ReplyLost(job.id)
        submission = await self.backend.submit(job, folder, secrets)
        self.made.append(submission.remote_id)
        if is_lost:
            raise ReplyLost(job.id)
        return submission


async def check_lost_reply(
    backend: Backend, job: Job, folder: JobFolder, *, executed: bool, patience: float = 10.0
) -> str:
    """Submit a prepared job whose first request gets no reply, and return its remote id. `executed`: the platform has
    executed this request, and lists the job within `patience` seconds.

    Raises:
        AssertionError: if the platform gets more requests, or has other jobs, than it should.
    """
    losing = _LosingReplies(backend, executed=executed, times=_REQUESTS if executed else 1)
    waits = (patience if executed else 1.0, *[0.2] * (_REQUESTS - 1))

    async def send_again() -> None: ...

    work = submit_once(cast(Backend, losing), job, folder, {}, Timings(unlisted=waits), Waits(), send_again)
    try:
        remote_id = (await work).remote_id
    except ReplyLost:
        remote_id = ""
    expected = 1 if executed else 2
    assert losing.requests == expected, f"`find` and `lists_any` lead to {losing.requests} requests: {expected}"
    assert losing.made == [remote_id], "`find` does not return the job that was made"
    assert [one for one, _time in await backend.copies(job.id)] == [remote_id]
    return remote_id
