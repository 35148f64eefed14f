"""Following jobs by lists: few requests for many jobs, and own replies for few jobs and for ended ones."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, ClassVar

from jupyter_pai.backends.reports import Report
from jupyter_pai.backends.rows import Followed, RowFollower
from jupyter_pai.core.errors import Refused
from jupyter_pai.jobs.job import JobStatus, now


class Follower(RowFollower[Followed]):
    """Follows jobs whose names begin with their state. Counts the requests."""

    most_rows: ClassVar[int] = 10

    def __init__(self, *jobs: str) -> None:
        self.time = 1000.0
        super().__init__(Followed, lambda: self.time)
        self.jobs = set(jobs)
        self.ended: set[str] = set()
        self.lists: list[Sequence[str]] = []
        self.replies: list[str] = []
        self.refuses = False

    def has_ended(self, row: Mapping[str, Any]) -> bool:
        return bool(row["ended"])

    async def list_rows(self, remote_ids: Sequence[str]) -> Mapping[str, Mapping[str, Any]]:
        self.lists.append(remote_ids)
        if self.refuses:
            raise Refused("no")
        return {one: {"ended": one in self.ended} for one in remote_ids if one in self.jobs}

    async def latest(self, remote_id: str) -> Report | None:
        self.replies.append(remote_id)
        if remote_id not in self.jobs:
            return None
        self.update(remote_id, {"ended": remote_id in self.ended}, self.time)
        return self.last(remote_id)

    def last(self, remote_id: str) -> Report:
        return Report(JobStatus.SUCCEEDED if self.state_of(remote_id).row["ended"] else JobStatus.RUNNING)

    def states(self, *remote_ids: str) -> list[str]:
        return [str(one.status) for one in asyncio.run(self.poll(remote_ids)).values()]


NAMES = [f"j{n}" for n in range(25)]


def test_few_jobs_are_polled_by_their_own_replies() -> None:
    follower = Follower(*NAMES)
    assert follower.states("j0", "gone", "j2") == ["running", "running"]
    assert (follower.lists, follower.replies) == ([], ["j0", "gone", "j2"])


def test_many_jobs_are_polled_by_lists_and_ended_ones_by_their_replies() -> None:
    follower = Follower(*NAMES)
    follower.ended = {"j3"}
    found = asyncio.run(follower.poll([*NAMES, "gone"]))
    assert [len(one) for one in follower.lists] == [10, 10, 6]
    assert follower.replies == ["j3", "gone"]
    assert found.keys() == {*NAMES}
    assert [one for one, report in found.items() if report.status.ended] == ["j3"]


def test_list_is_filled_with_other_jobs_and_used_for_two_seconds() -> None:
    follower = Follower(*NAMES)
    asyncio.run(follower.poll(NAMES))
    follower.time += 3
    follower.lists.clear()
    assert follower.states(*NAMES[:4]) == ["running"] * 4
    (listed,) = follower.lists
    assert len(listed) == 10
    assert follower.states(*NAMES[:4]) == ["running"] * 4
    assert len(follower.lists) == 1


def test_one_poll_requests_at_most_forty_replies() -> None:
    names = [f"j{n}" for n in range(60)]
    follower = Follower(*names)
    follower.ended = {*names}
    assert sorted(follower.states(*names)) == ["running"] * 20 + ["succeeded"] * 40
    assert len(follower.replies) == 40


def test_refused_lists_are_replaced_by_replies() -> None:
    follower = Follower(*NAMES)
    follower.refuses = True
    assert follower.states(*NAMES) == ["running"] * 25
    assert follower.replies == NAMES


def test_log_of_an_ended_job_may_lag_for_some_seconds() -> None:
    follower = Follower("j0")
    follower.states("j0")
    job = follower.state_of("j0")
    assert not follower.may_lag(job, None)
    follower.ended = {"j0"}
    follower.states("j0")
    assert follower.may_lag(job, None)
    follower.time += 6
    assert not follower.may_lag(job, None)
    late = Follower("j0")
    late.ended = {"j0"}
    late.states("j0")
    assert late.may_lag(late.state_of("j0"), now())
    assert not late.may_lag(late.state_of("j0"), now() - timedelta(minutes=1))


def test_pods_of_an_ended_job_are_requested_once_more() -> None:
    follower = Follower("j0")
    follower.states("j0")
    job = follower.state_of("j0")
    assert not follower.has_current_pods(job)
    job.pods_requested = follower.time
    assert follower.has_current_pods(job)
    follower.time += 2
    assert not follower.has_current_pods(job)
    follower.ended = {"j0"}
    follower.states("j0")
    assert not follower.has_current_pods(job)
    job.pods_requested = follower.time
    follower.time += 100
    assert follower.has_current_pods(job)
