"""Failures of the network, the platform and the own process: each submit creates one job with a complete log."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from jupyter_pai.backends.pai.site import JOB_LABEL
from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.client.job import JobHandle
from jupyter_pai.core.errors import Conflict, ReplyLost
from jupyter_pai.engine.watcher.timings import Timings
from jupyter_pai.jobs.state_dir import Home

from ...conftest import PATIENCE, script, submit, until
from ...fakes.alibaba import StandIn
from ...support.killed_submits import after_restart, only_job, submitting
from .faulty_platform import submit_and_follow, submit_with_lost_replies

JOBS = 30


@pytest.mark.slow("faults")
def test_submits_under_faults_create_one_job_with_a_complete_log(pai: StandIn, engine: EmbeddedClient) -> None:
    print(submit_and_follow(pai, engine, JOBS, delays=2))


def asking(pai: StandIn, action: str) -> Callable[[], bool]:
    return lambda: any(note["action"] == action for note in pai.requests)


def killed(pai: StandIn, folder: Path, action: str) -> None:
    """Submit by the command line, and kill it at a given request."""
    with submitting(folder, "train.py", "--profile", "pai") as when:
        when(asking(pai, action))


def jobs_of(engine: EmbeddedClient) -> list[dict[str, str]]:
    return list(engine.call("list_jobs")["jobs"])


def succeeded_after_restart() -> dict[str, Any]:
    """Return the only job when it has succeeded under a new engine."""
    return after_restart(lambda engine: only_job(engine, "succeeded"), Timings().unseen)


def test_kill_during_upload_creates_no_job(pai: StandIn, home: Home, folder: Path) -> None:
    script(folder, "print('here', 1)")
    pai.faults.add("delay", "oss:PutObject", seconds=2, count=1)
    before = len(pai.jobs)
    killed(pai, folder, "PutObject")
    engine = EmbeddedClient()
    try:
        assert jobs_of(engine) == []
        assert len(pai.jobs) == before
    finally:
        engine.close()


@pytest.mark.slow("kills")
def test_kill_after_creation_finds_the_job_again(pai: StandIn, home: Home, folder: Path) -> None:
    script(folder, "print('here', 2)")
    pai.faults.add("lost", "paistudio:CreateTrainingJob", count=1)
    pai.faults.add("delay", "paistudio:ListTrainingJobs", seconds=60, count=1)
    before = {job["id"] for job in pai.jobs}
    killed(pai, folder, "ListTrainingJobs")
    job = succeeded_after_restart()
    (made,) = [job for job in pai.jobs if job["id"] not in before]
    assert job["remote_id"] == made["id"]


@pytest.mark.slow("kills")
def test_kill_before_creation_makes_the_job_unknown(pai: StandIn, home: Home, folder: Path) -> None:
    script(folder, "print('here', 3)")
    pai.faults.add("reset", "paistudio:CreateTrainingJob", count=1)
    before = len(pai.jobs)
    killed(pai, folder, "ListTrainingJobs")  # Looking for what may have been made.
    engine = EmbeddedClient(Timings(unseen=3))
    try:
        (job,) = jobs_of(engine)
        until(lambda: engine.call("show", job=job["id"])["status"] == "lost")
        info = engine.call("show", job=job["id"])
        assert "Unknown at the platform" in info["reason"]
        assert f"{JOB_LABEL}={job['id']}" in info["fix"]
        assert "%pai adopt" in info["fix"]
        assert len(pai.jobs) == before
    finally:
        engine.close()


@pytest.mark.slow("faults")
def test_job_being_submitted_cannot_be_stopped(pai: StandIn, home: Home, folder: Path) -> None:
    script(folder, "print('here', 4)")
    pai.faults.add("delay", "paistudio:CreateTrainingJob", seconds=60, count=1)
    killed(pai, folder, "CreateTrainingJob")
    engine = EmbeddedClient()
    try:
        (job,) = jobs_of(engine)
        with pytest.raises(Conflict, match="is still being submitted"):
            engine.call("stop", job=job["id"])
    finally:
        engine.close()


def test_started_engine_reports_current_statuses(pai: StandIn, home: Home, folder: Path) -> None:
    script(folder, "print('here', 5)")
    engine = EmbeddedClient()
    remote_id = submit(engine, "python train.py", folder, profile="pai").info["remote_id"]
    engine.close()
    until(lambda: {one["id"]: one["status"] for one in pai.jobs}[remote_id] == "Succeed")
    engine = EmbeddedClient()
    try:
        assert [job["status"] for job in jobs_of(engine)] == ["succeeded"]
    finally:
        engine.close()


def test_lost_replies_and_lagging_lists_create_no_second_job(engine: EmbeddedClient, pai: StandIn) -> None:
    print(submit_with_lost_replies(pai, engine, 12, lag=2))


@pytest.mark.slow("kills")
def test_kill_after_a_lost_reply_finds_the_job_in_a_lagging_list(pai: StandIn, home: Home, folder: Path) -> None:
    script(folder, "print('here', 6)")
    pai.set_list_lag(4)
    pai.faults.add("lost", "paistudio:CreateTrainingJob", count=1)
    before = {job["id"] for job in pai.jobs}
    killed(pai, folder, "ListTrainingJobs")
    succeeded_after_restart()
    assert len([job for job in pai.jobs if job["id"] not in before]) == 1


@pytest.mark.parametrize("timings", [Timings(unlisted=(2.0,))])
def test_job_that_is_not_listed_in_time_is_unknown_and_can_be_imported(engine: EmbeddedClient, pai: StandIn) -> None:
    pai.set_list_lag(1000)
    pai.faults.add("lost", "paistudio:CreateTrainingJob", count=1)
    before = {job["id"] for job in pai.jobs}
    with pytest.raises(ReplyLost, match="Unknown at the platform") as caught:
        submit(engine, "true", profile="pai")
    (job,) = jobs_of(engine)
    assert job["status"] == "lost"
    assert f"{JOB_LABEL}={job['id']}" in caught.value.fix
    (made,) = [one for one in pai.jobs if one["id"] not in before]
    assert made["labels"][JOB_LABEL] == job["id"]
    adopted = JobHandle(engine.call("adopt", body={"remote_id": made["id"], "profile": "pai"}), engine)
    assert adopted.wait().status == "succeeded"


@pytest.mark.parametrize("timings", [Timings(unlisted=(1000.0, 1000.0), executed=0.5)])
def test_submit_is_repeated_when_the_platform_lists_a_later_job(engine: EmbeddedClient, pai: StandIn) -> None:
    before = {job["id"] for job in pai.jobs}
    pai.set_list_lag(1)
    pai.faults.add("reset", "paistudio:CreateTrainingJob", count=1)
    with ThreadPoolExecutor(1) as thread:
        first = thread.submit(submit, engine, "true", profile="pai", name="first")
        until(lambda: pai.count("paistudio", "ListTrainingJobs") >= 3)
        assert not [job for job in pai.jobs if job["id"] not in before]
        submit(engine, "true", profile="pai", name="later").wait()
        assert first.result().wait().status == "succeeded"
    assert sorted(job["name"] for job in pai.jobs if job["id"] not in before) == ["first", "later"]


@pytest.mark.slow("kinds", first=2)
@pytest.mark.parametrize("kind", ["500", "503", "throttled", "reset", "cut", "lost"])
@pytest.mark.parametrize("timings", [Timings(unlisted=(3.0, 3.0))])
def test_one_fault_of_a_create_only_delays_the_job(engine: EmbeddedClient, pai: StandIn, kind: str) -> None:
    before, asked = {job["id"] for job in pai.jobs}, pai.count("paistudio", "CreateTrainingJob")
    pai.faults.add(kind, "paistudio:CreateTrainingJob", count=1)
    job = submit(engine, "true", profile="pai", name=f"after {kind}").wait()
    assert job.status == "succeeded"
    assert [one["id"] for one in pai.jobs if one["id"] not in before] == [job.info["remote_id"]]
    found = kind in ("cut", "lost")
    assert pai.count("paistudio", "CreateTrainingJob") - asked == (1 if found else 2)


@pytest.mark.slow("waits")
@pytest.mark.parametrize("timings", [Timings(unlisted=(float(PATIENCE), 1.0), waits=0.1)])
def test_waiting_submit_prints_for_what(
    engine: EmbeddedClient, pai: StandIn, capsys: pytest.CaptureFixture[str]
) -> None:
    pai.set_list_lag(1000)
    pai.faults.add("lost", "paistudio:CreateTrainingJob", count=1)
    printed = ""

    def is_printed() -> bool:
        nonlocal printed
        printed += capsys.readouterr().err
        return printed.count("\n") > 1

    with ThreadPoolExecutor(1) as thread:
        waiting = thread.submit(submit, engine, "true", profile="pai")
        until(is_printed)
        (job,) = jobs_of(engine)
        text = "The reply to the submit was lost. Waiting until the platform lists the job."
        assert (job["status"], job["reason"]) == ("starting", text)
        pai.set_list_lag(0)
        assert waiting.result().wait().status == "succeeded"
    assert [line[: len(text)] for line in printed.splitlines()] == [text] * printed.count("\n")
    assert not waiting.result().info["reason"]


@pytest.mark.parametrize("timings", [Timings(unlisted=(1.0, 1.0), settling=60.0)])
def test_younger_of_two_jobs_is_stopped_and_a_note_says_so(engine: EmbeddedClient, pai: StandIn) -> None:
    before = {job["id"] for job in pai.jobs}
    pai.set_list_lag(3)
    pai.faults.add("lost", "paistudio:CreateTrainingJob", count=1)
    job = submit(engine, "sleep 1000", profile="pai")
    older, younger = [one["id"] for one in pai.jobs if one["id"] not in before]
    assert job.info["remote_id"] == older
    until(lambda: {one["id"]: one["status"] for one in pai.jobs}[younger] == "Terminated")
    until(lambda: [note for note in job.info["notes"] if younger in note])
    assert job.status in ("starting", "queued", "running")
    job.stop()


def test_expired_key_is_reported_until_it_is_renewed(
    pai: StandIn, home: Home, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lent = pai.sts(3600)
    for name, value in pai.environment(lent).items():
        monkeypatch.setenv(name, value)
    engine = EmbeddedClient()
    try:
        gate = tmp_path / "gate"
        job = submit(engine, f"while [ ! -e {gate} ]; do sleep 0.1; done", profile="pai")
        until(lambda: job.status == "running")
        pai.change_key(lent.id, expires=0)
        until(lambda: job.info["fix"])
        assert job.status == "running"
        assert "key" in job.reason or "token" in job.reason.lower(), job.reason
        pai.change_key(lent.id, expires=time.time() + 3600)
        until(lambda: not job.reason)
        messages = [event for event in engine.call("events", job=job.id)["events"] if event["kind"] == "detail"]
        assert len(messages) <= 4, messages
    finally:
        engine.close()


@pytest.mark.slow("faults")
def test_unresponsive_platform_delays_no_other_profile(engine: EmbeddedClient, pai: StandIn, tmp_path: Path) -> None:
    wait = "while [ ! -e {} ]; do sleep 0.05; done".format
    remote = submit(engine, wait(tmp_path / "remote"), profile="pai")
    local = submit(engine, wait(tmp_path / "local"), profile="local")
    until(lambda: remote.status == local.status == "running")
    pai.faults.add("reset", "paistudio:GetTrainingJob")
    until(lambda: remote.info and pai.faults.struck)
    (tmp_path / "local").touch()
    assert local.wait().status == "succeeded"
    assert not remote.reason  # The request is still retried.
    until(lambda: remote.reason)
    assert "No response from" in remote.reason
    assert remote.status == "running"
    (tmp_path / "remote").touch()


def test_wrong_clock_is_reported(engine: EmbeddedClient, pai: StandIn) -> None:
    pai.set_clock(20 * 60)
    try:
        with pytest.raises(Exception, match="20 min") as caught:
            submit(engine, "true", profile="pai", source={"files": {"a": "clock"}})
        assert "clock" in str(caught.value)
    finally:
        pai.set_clock(0)
