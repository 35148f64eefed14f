"""Requests fail, replies are lost and processes are killed: each submit makes one job, with its whole log."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from jupyter_pai.backends.pai.site import JOB_LABEL
from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.engine.watcher.timings import Timings
from jupyter_pai.jobs.state_dir import Home

from ...conftest import script, submit
from ...fakes.alibaba import StandIn
from ...support.killed_submits import after_restart, only_job, submitting
from .faulty_platform import submit_and_follow

JOBS = 20


def made(pai: StandIn, before: int) -> list[str]:
    """Return our ids of the new jobs, with duplicates."""
    return [job["request"]["Settings"]["Tags"][JOB_LABEL] for job in pai.dlc.jobs[before:]]


@pytest.mark.slow("faults")
def test_submits_under_faults_make_one_job_with_a_complete_log(pai: StandIn, engine: EmbeddedClient) -> None:
    print(submit_and_follow(pai, engine, JOBS, delays=2))


def test_lost_replies_make_no_second_job(pai: StandIn, engine: EmbeddedClient) -> None:
    before = len(pai.dlc.jobs)
    pai.set_list_lag(1)
    try:
        pai.faults.add("lost", "dlc:CreateJob", probability=0.5)
        with ThreadPoolExecutor(4) as threads:
            done = [*threads.map(lambda n: submit(engine, f"echo {n}", profile="dlc").wait().id, range(8))]
    finally:
        pai.faults.clear()
        pai.set_list_lag(0)
    assert sorted(made(pai, before)) == sorted(done)


@pytest.mark.slow("kills")
def test_kill_after_creation_finds_the_job_again(pai: StandIn, home: Home, folder: Path) -> None:
    script(folder, "print('here')")
    before = len(pai.dlc.jobs)
    pai.faults.add("lost", "dlc:CreateJob", count=1)
    pai.faults.add("delay", "dlc:ListJobs", seconds=60, count=1)
    with submitting(folder, "train.py", "--profile", "dlc") as when:
        when(lambda: any(note["action"] == "ListJobs" for note in pai.requests))
    job = after_restart(lambda engine: only_job(engine, "succeeded"), Timings().unseen)
    assert [one["id"] for one in pai.dlc.jobs[before:]] == [job["remote_id"]]
