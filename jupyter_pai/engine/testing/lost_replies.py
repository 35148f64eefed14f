"""The conformance suite of lost replies: a submit makes one job on a platform, as the engine sends it."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any, cast

import pytest

from ...backends.base import Backend, Submission
from ...core.errors import PaiError, ReplyLost
from ...core.secret import Secret
from ...jobs.job import Job
from ...jobs.state_dir import JobFolder, new_id
from ..lost_reply import Waits, submit_once
from ..watcher.timings import Timings
from .backend import BackendPromises
from .harness import Bench, story
from .lossy_proxy import LossyProxy

__all__ = ["LostReplyPromises", "check_lost_reply", "check_no_reply"]

# The most submits here, and the most requests that they may send together without a reply.
_SUBMITS, _REQUESTS = 3, 60


class _Submits:
    """The submits of a backend. The first ones get no reply (`lost`), although the platform gets them (`executed`)."""

    def __init__(self, backend: Backend, *, executed: bool, lost: int) -> None:
        self.backend = backend
        self.executed = executed
        self.lost = lost
        self.number = 0
        self.made: set[str] = set()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.backend, name)

    async def submit(self, job: Job, folder: JobFolder, secrets: Mapping[str, Secret]) -> Submission:
        self.number += 1
        is_lost = self.number <= self.lost
        if is_lost and not self.executed:
            raise ReplyLost(job.id)
        submission = await self.backend.submit(job, folder, secrets)
        self.made.add(submission.remote_id)
        if is_lost:
            raise ReplyLost(job.id)
        return submission

    async def __call__(self, job: Job, folder: JobFolder, waits: tuple[float, ...], settling: float) -> str:
        """Submit a job as the engine does, and return its remote id. `waits`: seconds after each lost reply;
        `settling`: after a repeated submit."""

        async def send_again() -> None: ...

        timings = Timings(unlisted=waits, settling=settling)
        work = submit_once(cast(Backend, self), job, folder, {}, timings, Waits(), send_again)
        return (await work).remote_id


async def check_lost_reply(
    backend: Backend,
    job: Job,
    folder: JobFolder,
    *,
    executed: bool,
    proxy: LossyProxy | None = None,
    patience: float = 10.0,
) -> str:
    """Submit a prepared job whose first request gets no reply, and return its remote id. `executed`: the platform has
    executed this request, and lists the job within `patience` seconds. `proxy`: the backend reaches its platform by it;
    without one, the backend itself gets no reply.

    Raises:
        AssertionError: if the platform gets more requests, or has other jobs, than it should.
    """
    submits = _Submits(backend, executed=executed, lost=0 if proxy else _SUBMITS if executed else 1)
    if proxy:
        proxy.losing = 1
    waits = (patience if executed else 1.0, *(0.2,) * (_SUBMITS - 1))
    try:
        remote_id = await submits(job, folder, waits, patience)
    except ReplyLost:
        remote_id = ""
    expected = 1 if executed else 2
    if proxy:
        assert proxy.requests, "no request of the submit has our id"
        assert submits.number <= expected, _repeated(submits.number, expected)
    else:
        assert submits.number == expected, _repeated(submits.number, expected)
    assert submits.made <= {remote_id}, "`find` does not return the job that was made"
    copies = [one for one, _time in await backend.copies(job.id)]
    assert copies == [remote_id], f"the platform has other jobs with our id: {copies}"
    return remote_id


def _repeated(number: int, expected: int) -> str:
    return f"`find` and `lists_any` lead to {number} requests: {expected}"


async def check_no_reply(
    backend: Backend, job: Job, folder: JobFolder, proxy: LossyProxy, *, patience: float = 60.0
) -> None:
    """Submit a prepared job no request of which gets a reply, and check that this ends with an error.

    Raises:
        AssertionError: if requests are sent without end, or the submit succeeds.
    """
    submits = _Submits(backend, executed=proxy.executed, lost=0)
    proxy.losing = 10**9
    try:
        async with asyncio.timeout(patience):
            await submits(job, folder, (0.2,) * _SUBMITS, 0.2)
    except PaiError:
        assert proxy.requests, "no request of the submit has our id"
        assert proxy.requests <= _REQUESTS, f"one submit sends {proxy.requests} requests: at most {_REQUESTS}"
    except TimeoutError:
        raise AssertionError(f"the submit sends requests without end: {proxy.requests} by now") from None
    else:
        raise AssertionError("the submit returns although it got no reply")
    finally:
        proxy.losing = 0


class LostReplyPromises(BackendPromises):
    """Tests of submits whose replies are lost."""

    @pytest.fixture
    def others_first(self) -> AbstractContextManager[None]:
        """A context in which the platform ignores the filters of its lists, and lists jobs of others first; none if it
        cannot."""
        return nullcontext()

    @pytest.fixture
    def address(self, keys: dict[str, Any]) -> str:
        """The HTTP address of the platform of the tests, by which its replies can be lost: by default, the first one of
        this machine in `keys`. Empty if there is none: then the backend itself loses them."""
        found = re.search(r"http://(?:127\.0\.0\.1|localhost):\d+", json.dumps(keys, default=str))
        return found[0] if found else ""

    async def through(self, bench: Bench, keys: dict[str, Any], address: str, proxy: str) -> Backend:
        """Return the backend of a profile that reaches the platform by the address of a proxy. It is called with the
        platform's own address after that."""
        return bench.edit(json.loads(json.dumps(keys).replace(address, proxy)))

    @story
    async def test_a_job_is_found_by_our_id(self, bench: Bench) -> None:
        job, remote_id = await bench.submit("true")
        assert await bench.backend.find(job.id) == remote_id
        await bench.ended(remote_id)
        assert await bench.backend.find(job.id) == remote_id

    @story
    async def test_a_lost_reply_finds_our_job_or_none(
        self, bench: Bench, others_first: AbstractContextManager[None]
    ) -> None:
        job, remote_id = await bench.submit("true")
        await bench.submit("true")  # The newest job is not the one that is searched.
        with others_first:
            assert await bench.backend.find(job.id) == remote_id
            assert await bench.backend.find(new_id()) == ""

    @pytest.mark.parametrize("executed", [True, False], ids="executed not-executed".split())
    @story
    async def test_a_submit_with_a_lost_reply_makes_one_job(
        self, bench: Bench, keys: dict[str, Any], address: str, executed: bool
    ) -> None:
        job = await bench.prepare("true")
        remote_id = await check_lost_reply(bench.backend, job, bench.folder(job), executed=executed)
        await bench.ended(remote_id)
        if not address:
            return
        job = await bench.prepare("true")
        async with LossyProxy(address, job.id, executed=executed) as proxy:
            backend = await self.through(bench, keys, address, proxy.url)
            remote_id = await check_lost_reply(backend, job, bench.folder(job), executed=executed, proxy=proxy)
        await self.through(bench, keys, address, address)
        await bench.ended(remote_id)

    @story
    async def test_submit_without_any_reply_ends(self, bench: Bench, keys: dict[str, Any], address: str) -> None:
        if not address:
            return
        job = await bench.prepare("true")
        async with LossyProxy(address, job.id, executed=False) as proxy:
            backend = await self.through(bench, keys, address, proxy.url)
            await check_no_reply(backend, job, bench.folder(job), proxy, patience=5 * bench.patience)
        await self.through(bench, keys, address, address)
        assert await bench.backend.find(job.id) == ""
