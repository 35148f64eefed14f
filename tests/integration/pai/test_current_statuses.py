"""Polled jobs: their statuses are current when a user reads them, and errors of their platform are logged once."""

from __future__ import annotations

import logging
import subprocess
from collections.abc import Callable
from contextlib import closing
from typing import Any

import pytest

from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.client.job import JobHandle
from jupyter_pai.engine.watcher.timings import Timings
from jupyter_pai.jobs.state_dir import Home

from ...conftest import submit, until
from ...fakes.alibaba import StandIn


# Without a reader, no second poll happens during a test.
@pytest.mark.parametrize("timings", [Timings(unwatched=1000, unwatched_max=1000, refresh=0.1)])
def test_reading_a_job_refreshes_its_status(engine: EmbeddedClient, pai: StandIn) -> None:
    job = submit(engine, "true", profile="pai")
    until(lambda: engine.call("show", job=job.id)["status"] == "succeeded")


# The time-out is longer than that of a test.
@pytest.mark.parametrize("timings", [Timings(fresh_timeout=3600)])
def test_reading_a_running_job_waits_for_its_data_only(engine: EmbeddedClient, pai: StandIn) -> None:
    job = submit(engine, "echo one; sleep 600", profile="pai")
    until(lambda: "one\n" in job.logs())
    assert list(job.metrics()) == []


def test_job_that_another_process_polls_is_marked_as_watched(engine: EmbeddedClient, pai: StandIn, home: Home) -> None:
    job = submit(engine, "echo one; sleep 600", profile="pai")
    assert any("one\n" in text for text in job.follow())
    assert not (home.job(job.id).path / "watched").exists()
    with closing(EmbeddedClient()) as other:
        first, second = JobHandle(job.info, other).follow(), JobHandle(job.info, other).follow()
        assert "one\n" in next(first) and "one\n" in next(second)
        until((home.job(job.id).path / "watched").exists)
        del first
        for _ in range(3):  # The second reader is still there.
            (home.job(job.id).path / "watched").unlink()
            until((home.job(job.id).path / "watched").exists)


def test_listed_jobs_keep_the_address_of_their_page(engine: EmbeddedClient, pai: StandIn) -> None:
    """Replies on a list do not have it; few jobs are polled one by one."""
    jobs = [submit(engine, "sleep 600", name=f"job {n}", profile="pai") for n in range(5)]
    shown: list[dict[str, Any]] = []

    def all_run() -> bool:
        shown[:] = [engine.call("show", job=job.id) for job in jobs]
        return all(job["status"] == "running" for job in shown)

    until(all_run)
    assert all(job["console_url"].startswith("https://pai.console.aliyun.com/") for job in shown)


def test_removed_job_is_lost_and_not_read_again(
    engine: EmbeddedClient, pai: StandIn, cli: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    (theirs,) = pai.add_jobs(1)
    job = engine.call("adopt", body={"remote_id": theirs, "profile": "pai"})
    until(lambda: engine.call("show", job=job["id"])["status"] == "running")
    before = [note["path"] for note in pai.requests]
    pai.remove_job(theirs)
    until(lambda: engine.call("show", job=job["id"])["status"] == "lost")
    after = [note["path"] for note in pai.requests][len(before) :]
    assert [path for path in after if path.endswith(("/logs", "/events"))] == []
    followed = cli("logs", job["id"], "--follow")
    assert followed.returncode == 3
    assert f"The log of {job['id']} is incomplete: The platform no longer has the job." in followed.stderr


@pytest.mark.slow("waits")
def test_recurring_error_of_a_platform_is_logged_once(
    engine: EmbeddedClient, pai: StandIn, caplog: pytest.LogCaptureFixture
) -> None:
    job = submit(engine, "sleep 600", profile="pai")
    until(lambda: engine.call("show", job=job.id)["status"] == "running")
    pai.faults.add("refused", "paistudio:ListTrainingJobs")
    pai.faults.add("refused", "paistudio:GetTrainingJob")
    refused = len(pai.requests)
    until(lambda: sum("fault" in note for note in pai.requests[refused:]) > 3)
    assert engine.call("show", job=job.id)["status"] == "running"
    # A log that is followed with patience ends, although the job may go on.
    assert list(engine.read("log", job=job.id, follow=True, patience=1)) == []
    shown = engine.call("show", job=job.id)
    assert (shown["status"], "refused by the test" in shown["reason"]) == ("running", True)
    errors = [record for record in caplog.records if record.levelno >= logging.ERROR]
    assert len(errors) == 1
    assert "refused by the test" in errors[0].getMessage()
