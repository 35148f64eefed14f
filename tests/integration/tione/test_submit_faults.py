"""Requests to TI-ONE and COS that fail at a submit or while a task is followed: each submit creates one task."""

from __future__ import annotations

from pathlib import Path

import pytest

from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.core.errors import PaiError

from ...fakes.tione import TiOne
from ...support.faulty_submits import submit_and_follow
from .jobs import ended, send


def check_submits(tione: TiOne, engine: EmbeddedClient, jobs: int, delays: int) -> None:
    def made() -> list[str]:
        return [task.name.rpartition("-")[2] for task in tione.tasks]

    outcome = submit_and_follow(tione, made, engine, jobs, delays)
    print(outcome.summary)
    assert (outcome.made, outcome.unknown) == (jobs, 0)
    services = {note["service"] for note in tione.requests if note.get("fault")}
    assert services == {"tione", "cos"}


@pytest.mark.slow("faults")
def test_requests_that_fail_create_one_task_each_with_a_complete_log(engine: EmbeddedClient, tione: TiOne) -> None:
    check_submits(tione, engine, 30, delays=2)


@pytest.mark.soak
def test_soak_requests_that_fail_create_one_task_each_with_a_complete_log(engine: EmbeddedClient, tione: TiOne) -> None:
    check_submits(tione, engine, 300, delays=50)


@pytest.mark.parametrize("kind", ["500", "503", "throttled", "reset", "cut", "lost"])
def test_submit_whose_request_fails_is_repeated(engine: EmbeddedClient, tione: TiOne, kind: str) -> None:
    tione.faults.add(kind, "tione:CreateTrainingTask", count=2)
    job = send(engine, "true")
    assert tione.count("CreateTrainingTask") >= 2
    assert [task.name for task in tione.tasks] == [f"test-{job.id}"]
    assert ended(tione, job).status == "SUCCEED"


@pytest.mark.slow("waits", first=1)
@pytest.mark.parametrize("code", ["", "InternalError"])
def test_task_whose_search_fails_as_well_is_found_later(engine: EmbeddedClient, tione: TiOne, code: str) -> None:
    """The reply is lost, and lists fail for longer than one search is repeated."""
    tione.faults.add("lost", "tione:CreateTrainingTask", count=1)
    if code:
        tione.faults.add("refused", "tione:CreateTrainingTask", code=code)
    tione.faults.add("503", "tione:DescribeTrainingTasks", count=7)
    job = send(engine, "true")
    tione.faults.clear()
    assert [task.name for task in tione.tasks] == [f"test-{job.id}"]
    assert job.wait().status == "succeeded"
    assert job.info["outputs"]["model"].endswith(f"{tione.tasks[0].id}/model/")


def test_platform_that_always_fails_is_quoted(engine: EmbeddedClient, tione: TiOne) -> None:
    tione.faults.add("refused", "tione:CreateTrainingTask", code="InternalError", message="the disk is full")
    with pytest.raises(PaiError, match="the disk is full"):
        send(engine, "true")
    assert engine.call("list_jobs")["jobs"][0]["status"] == "failed"
    assert tione.tasks == []


@pytest.mark.slow("cases", first=4)
@pytest.mark.parametrize("kind", ["500", "503", "throttled", "reset", "lost"])
def test_upload_whose_request_fails_is_repeated(engine: EmbeddedClient, tione: TiOne, folder: Path, kind: str) -> None:
    (folder / "train.sh").write_text("echo trained\n")
    tione.faults.add(kind, "cos:PutObject", count=2)
    job = send(engine, "sh train.sh", folder)
    assert tione.count("PutObject") >= 2
    job.wait()
    assert (job.status, "trained" in job.logs().splitlines()) == ("succeeded", True)
