"""One submit makes one job, whatever its platform replies, and when."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from jupyter_pai.backends.base import Submission
from jupyter_pai.backends.reports import RemoteJob
from jupyter_pai.core.errors import NotFound, PaiError, Refused, ReplyLost, Unreachable
from jupyter_pai.engine.lost_reply import SubmitOnce, Waits, submit_once
from jupyter_pai.engine.testing.lost_replies import check_lost_reply
from jupyter_pai.engine.watcher.second_jobs import SecondJobs
from jupyter_pai.engine.watcher.timings import Timings
from jupyter_pai.jobs.job import Job, now
from jupyter_pai.jobs.state_dir import Home
from jupyter_pai.jobs.store.store import Store

from ...support.waiting import PATIENCE
from ..jobs.test_store import job
from .test_remote_sync import Platform

AT_ONCE = (0.05,) * 4
NEVER = (float(PATIENCE),) * 4


class Lossy(Platform):
    """Loses replies: the outcome of each request is `made`, `lost` after the job was made, or `reset` before that. Its
    list has a job once so many requests have come (`lag`)."""

    def __init__(self, home: Home, *outcomes: str, lag: int = 0) -> None:
        super().__init__(home)
        self.outcomes = list(outcomes)
        self.lag = lag
        # The request that made a job, by the job's id.
        self.made: dict[str, int] = {}
        self.created: dict[str, datetime] = {}
        self.requests = 0
        self.stopped: list[str] = []
        self.is_silent = False

    async def submit(self, job: object, folder: object, secrets: object) -> Submission:
        outcome = self.outcomes[min(self.requests, len(self.outcomes) - 1)]
        self.requests += 1
        if outcome == "refused":
            raise Refused("no")
        if outcome != "reset":
            self.made[f"r{self.requests}"], self.created[f"r{self.requests}"] = self.requests, now()
        if outcome != "made":
            raise ReplyLost("The connection broke.", status=500)
        return Submission(f"r{self.requests}")

    async def find(self, job_id: str) -> str:
        return next((remote_id for remote_id, _time in await self.copies(job_id)), "")

    async def copies(self, job_id: str) -> Sequence[tuple[str, datetime]]:
        if self.is_silent:
            await asyncio.sleep(PATIENCE)
        self._fail("copies")
        listed = [remote_id for remote_id, number in self.made.items() if self.requests - number >= self.lag]
        return sorted([(remote_id, self.created[remote_id]) for remote_id in listed], key=lambda one: one[1])

    async def lists_any(self, remote_ids: Collection[str]) -> bool:
        return "later" in remote_ids

    def list_later(self) -> None:
        """List a job that was submitted after all others."""
        self.submits.append((float("inf"), "later"))

    async def stop(self, remote_id: str) -> None:
        self.stopped.append(remote_id)

    async def job(self, remote_id: str) -> RemoteJob:
        raise NotFound("It has no own outputs.")


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "state").create()


@pytest.fixture
def store(home: Home) -> Iterator[Store]:
    opened = Store(home.database)
    opened.jobs.insert(job(), "key", "").result()
    yield opened
    opened.close()


def submit(platform: Lossy, unlisted: Sequence[float] = AT_ONCE, settling: float = PATIENCE) -> tuple[str, int]:
    """Return the id of the job that is ours, and how often the submit was sent again."""
    again = 0

    async def send_again() -> None:
        nonlocal again
        again += 1

    timings = Timings(unlisted=tuple(unlisted), executed=0, settling=settling)
    folder = platform.home.job("aaaa")
    work = submit_once(platform, job(), folder, {}, timings, Waits(), send_again)
    return asyncio.run(work).remote_id, again


def test_job_that_is_listed_is_not_submitted_again(home: Home) -> None:
    platform = Lossy(home, "lost")
    assert submit(platform, NEVER) == ("r1", 0)
    assert platform.requests == 1


def test_submit_is_sent_again_when_a_later_job_is_listed(home: Home) -> None:
    platform = Lossy(home, "reset", "made")
    platform.list_later()
    assert submit(platform, NEVER) == ("r2", 1)
    assert platform.requests == 2


def test_submit_is_sent_again_after_a_time(home: Home) -> None:
    assert submit(Lossy(home, "reset", "reset", "made")) == ("r3", 2)


def test_list_without_a_reply_does_not_delay_a_submit(home: Home) -> None:
    platform = Lossy(home, "reset", "made")
    platform.is_silent = True
    assert submit(platform, settling=0.05) == ("r2", 1)


@pytest.mark.parametrize("lists_later", [False, True])
def test_submits_are_bounded_whatever_a_backend_replies(home: Home, lists_later: bool) -> None:
    platform = Lossy(home, "reset")
    if lists_later:
        platform.list_later()
    with pytest.raises(ReplyLost, match="Unknown at the platform") as caught:
        submit(platform)
    assert platform.requests == len(AT_ONCE)
    assert caught.value.details["status"] == 500


def test_refused_submit_is_not_sent_again(home: Home) -> None:
    platform = Lossy(home, "refused")
    with pytest.raises(Refused):
        submit(platform)
    assert platform.requests == 1


def test_oldest_of_two_jobs_is_ours(home: Home) -> None:
    platform = Lossy(home, "lost", "made", lag=1)
    assert submit(platform) == ("r1", 1)
    assert list(platform.made) == ["r1", "r2"]


@pytest.mark.parametrize("executed", [True, False])
def test_conformance_suite_passes_a_right_backend(home: Home, executed: bool) -> None:
    platform = Lossy(home, "made")
    assert asyncio.run(check_lost_reply(platform, job(), home.job("aaaa"), executed=executed)) == "r1"


@pytest.mark.parametrize("lists_later", [False, True])
def test_conformance_suite_finds_a_backend_that_lets_submits_be_repeated(home: Home, lists_later: bool) -> None:
    platform = Lossy(home, "made", lag=1000)
    if lists_later:
        platform.list_later()
    with pytest.raises(AssertionError, match="`find` and `lists_any` lead to 3 requests"):
        asyncio.run(check_lost_reply(platform, job(), home.job("aaaa"), executed=True, patience=0.2))


def run(store: Store, platform: Lossy, timings: Timings) -> Job:
    """Submit as the engine does, store the job, and wait until no second job is searched any more."""

    async def work() -> None:
        second_jobs = SecondJobs(platform.home, store, lambda _job: platform, timings)
        once = SubmitOnce(store, second_jobs, timings)
        submission = await once(platform, store.jobs.get("aaaa"), platform.home.job("aaaa"), {})
        await asyncio.wrap_future(store.jobs.update("aaaa", remote_id=submission.remote_id))
        async with asyncio.timeout(PATIENCE):
            while second_jobs.is_watching:
                platform.lag = 0
                await asyncio.sleep(0.01)

    asyncio.run(work())
    return store.jobs.get("aaaa")


def test_second_job_is_stopped_and_a_note_says_so(home: Home, store: Store) -> None:
    platform = Lossy(home, "lost", "made", lag=2)
    found = run(store, platform, Timings(unlisted=AT_ONCE, settling=0.05, unseen=1))
    assert (found.remote_id, platform.stopped) == ("r2", ["r1"])
    assert [note for note in found.notes if "r1" in note] == [
        "The submit was sent again and created a second job, r1. It was stopped."
    ]
    assert not [*home.repeated.iterdir()]


def test_only_job_is_not_stopped(home: Home, store: Store) -> None:
    platform = Lossy(home, "reset", "made")
    assert run(store, platform, Timings(unlisted=AT_ONCE, unseen=0)).remote_id == "r2"
    assert platform.stopped == []


def test_copy_that_a_user_made_later_is_not_stopped(home: Home, store: Store) -> None:
    platform = Lossy(home, "reset", "made")
    platform.made["copy"], platform.created["copy"] = 2, now() + timedelta(hours=1)
    assert run(store, platform, Timings(unlisted=AT_ONCE, unseen=0)).remote_id == "r2"
    assert platform.stopped == []


def test_second_jobs_are_not_searched_after_one_request(home: Home, store: Store) -> None:
    timings = Timings(unlisted=NEVER, unseen=0)
    assert run(store, Lossy(home, "lost"), timings).remote_id == "r1"
    assert not home.repeated.exists()


def test_later_process_stops_second_jobs_of_a_killed_one(home: Home, store: Store) -> None:
    platform = Lossy(home, "lost", "lost")
    platform.made, platform.requests = {"r1": 1, "r2": 2}, 2
    platform.created = dict.fromkeys(platform.made, now())
    timings = Timings(unseen=0)

    async def killed() -> None:
        SecondJobs(home, store, lambda _job: platform, timings).mark("aaaa")
        await asyncio.wrap_future(store.jobs.update("aaaa", remote_id="r1"))

    async def later() -> None:
        second_jobs = SecondJobs(home, store, lambda _job: platform, timings)
        second_jobs.start()
        async with asyncio.timeout(PATIENCE):
            while second_jobs.is_watching:
                await asyncio.sleep(0.01)

    asyncio.run(killed())
    asyncio.run(later())
    assert platform.stopped == ["r2"]
    asyncio.run(later())
    assert platform.stopped == ["r2"]


@pytest.mark.parametrize(("error", "is_kept"), [(Unreachable("away"), True), (NotFound("no profile"), False)])
def test_search_for_second_jobs_is_repeated_after_a_temporary_error(
    home: Home, store: Store, error: PaiError, is_kept: bool
) -> None:
    platform = Lossy(home, "made")
    platform.errors["copies"] = [error]
    second_jobs = SecondJobs(home, store, lambda _job: platform, Timings(unseen=0))
    second_jobs.mark("aaaa")

    async def work() -> None:
        await asyncio.wrap_future(store.jobs.update("aaaa", remote_id="r1"))
        second_jobs.watch("aaaa")
        async with asyncio.timeout(PATIENCE):
            while platform.errors["copies"]:
                await asyncio.sleep(0.01)
        await second_jobs.close()

    asyncio.run(work())
    assert (home.repeated / "aaaa").exists() == is_kept


def test_waiting_submit_says_for_what_until_it_is_over(home: Home, store: Store) -> None:
    platform = Lossy(home, "reset", "made")
    reasons: list[str] = []

    async def work() -> None:
        times = Timings(unlisted=(1.0, 1.0), executed=0, settling=0.05, unseen=0, waits=0.01)
        second_jobs = SecondJobs(home, store, lambda _job: platform, times)
        once = SubmitOnce(store, second_jobs, times)
        submitting = asyncio.create_task(once(platform, store.jobs.get("aaaa"), home.job("aaaa"), {}))
        while not submitting.done():
            reasons.append(store.jobs.get("aaaa").reason)
            await asyncio.sleep(0.01)
        await second_jobs.close()

    asyncio.run(work())
    assert "The reply to the submit was lost. Waiting until the platform lists the job." in reasons
    assert store.jobs.get("aaaa").reason == ""
