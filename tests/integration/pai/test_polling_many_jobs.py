"""Many running jobs of an account are polled with few list requests, submitted and imported ones."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest

from jupyter_pai.backends.pai.site import HOME_LABEL
from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.jobs.job import Job, JobStatus, now
from jupyter_pai.jobs.spec import parse_spec
from jupyter_pai.jobs.state_dir import Home
from jupyter_pai.jobs.store.store import Store

from ...conftest import until
from ...fakes.alibaba import StandIn

JOBS, PAGE = 1_000, 100


def add_running(pai: StandIn, home: Home, count: int) -> dict[str, str]:
    """Add running jobs submitted from this state folder. Return our ids by remote ids."""
    labels = [{"Key": HOME_LABEL, "Value": home.create().id}]
    remote_ids = pai.add_jobs(count, WorkspaceId=pai.workspace_id, Labels=labels)
    with closing(Store(home.database)) as store:
        stored = [store.jobs.insert(job, job.id, "") for job in map(_written, [home] * count, remote_ids)]
        return {job.remote_id: job.id for job in (future.result() for future in stored)}


def _written(home: Home, remote_id: str) -> Job:
    job = Job(
        id=remote_id.removeprefix("train"), spec=parse_spec({"name": "train", "command": "true"}), backend="pai",
        profile="pai", status=JobStatus.RUNNING, remote_id=remote_id, submitted_at=now(), started_at=now(),
    )  # fmt: skip
    home.job(job.id).path.mkdir(parents=True)
    home.job(job.id).spec.write_text(job.spec.model_dump_json(), "utf-8")
    return job


def requests_of(pai: StandIn) -> Counter[str]:
    """Return the number of requests by action."""
    return Counter(note["action"] for note in pai.requests if note["service"] == "paistudio")


def running(engine: EmbeddedClient) -> int:
    return int(engine.call("list_jobs", status=["running"])["total"])


@pytest.mark.slow("counts")
def test_polling_a_thousand_jobs_takes_ten_requests(pai: StandIn, home: Home) -> None:
    there = add_running(pai, home, JOBS)
    with closing(EmbeddedClient()) as engine:
        assert running(engine) == JOBS
        # It has looked once, and may have begun once more.
        assert requests_of(pai).keys() == {"ListTrainingJobs"}
        assert requests_of(pai)["ListTrainingJobs"] <= 2 * JOBS // PAGE
        ended = [*there][JOBS // 2]
        pai.set_job(ended, "Succeed")
        until(lambda: running(engine) == JOBS - 1)
        assert engine.call("show", job=there[ended])["status"] == "succeeded"


def test_imported_jobs_are_polled_in_lists(pai: StandIn, home: Home) -> None:
    theirs = pai.add_jobs(40, WorkspaceId=pai.workspace_id)
    with closing(EmbeddedClient()) as engine:

        def adopt(remote_id: str) -> str:
            return str(engine.call("adopt", body={"remote_id": remote_id, "profile": "pai"})["id"])

        with ThreadPoolExecutor(4) as threads:
            ours = dict(zip(theirs, threads.map(adopt, theirs), strict=True))
        until(lambda: running(engine) == len(theirs))
        pai.forget_requests()
        pai.set_job(theirs[7], "Failed", "JobFailed", "it was to fail")
        until(lambda: running(engine) == len(theirs) - 1)
        assert engine.call("show", job=ours[theirs[7]])["status"] == "failed"
        # No other job was polled singly, except the last imported ones.
        assert requests_of(pai)["GetTrainingJob"] < len(theirs) // 4


@pytest.fixture(autouse=True)
def _without_earlier_jobs(pai: StandIn) -> None:
    """Remove the jobs of earlier tests from the running ones."""
    for job in pai.jobs:
        if job["status"] == "Running":
            pai.set_job(job["id"], "Terminated")
