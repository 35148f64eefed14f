"""Logs, attempts, events, resource usage, stop and delete of jobs on PAI-DLC."""

from __future__ import annotations

import pytest

from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.client.job import JobHandle
from jupyter_pai.jobs.state_dir import Home

from ...conftest import submit, until
from ...fakes.alibaba import StandIn

LAST = '[pai] {"exit_code": 0}'


def adopted(engine: EmbeddedClient, remote_id: str) -> JobHandle:
    return JobHandle(engine.call("adopt", body={"remote_id": remote_id, "profile": "dlc"}), engine)


def test_long_log_has_each_line_once(engine: EmbeddedClient, pai: StandIn) -> None:
    (remote_id,) = pai.dlc.add()
    pai.dlc.age(remote_id, 60)
    pai.dlc.add_lines(remote_id, "line {number}", count=9_000, over=30)
    job = adopted(engine, remote_id)
    pai.dlc.add_lines(remote_id, "line {number}", count=500)
    until(lambda: "line 9499\n" in job.logs())
    pai.dlc.add_lines(remote_id, LAST)
    pai.dlc.set(remote_id, "Succeeded")
    job.wait()
    assert job.logs().splitlines() == [*(f"line {n}" for n in range(9_500)), LAST]


@pytest.mark.parametrize("most", [100, 1000, 2000])
def test_log_is_complete_whatever_the_service_returns_at_once(engine: EmbeddedClient, pai: StandIn, most: int) -> None:
    (remote_id,) = pai.dlc.add()
    pai.dlc.age(remote_id, 120)
    pai.dlc.add_lines(remote_id, "line {number}", count=2500, over=60)
    pai.dlc.add_lines(remote_id, LAST)
    pai.dlc.set(remote_id, "Succeeded")
    with pai.small_pages(most):
        job = adopted(engine, remote_id)
        job.wait()
    assert job.logs().splitlines() == [*(f"line {n}" for n in range(2500)), LAST]


def test_second_with_too_many_lines_is_marked(engine: EmbeddedClient, pai: StandIn) -> None:
    (remote_id,) = pai.dlc.add()
    pai.dlc.add_lines(remote_id, "line {number}", count=5_000)
    pai.dlc.set(remote_id, "Failed", "JobFailed", "exit code 1")
    job = adopted(engine, remote_id)
    job.wait()
    assert "[jupyter-pai] Here lines may be missing" in job.logs()


def test_log_goes_on_with_the_next_pod(engine: EmbeddedClient, pai: StandIn) -> None:
    (remote_id,) = pai.dlc.add()
    job = adopted(engine, remote_id)
    pai.dlc.add_lines(remote_id, "first", '[pai] {"exit_code": 1}')
    until(lambda: "first" in job.logs())
    pai.dlc.restart_pod(remote_id)
    pai.dlc.add_lines(remote_id, "second", LAST)
    until(lambda: "second" in job.logs())
    pai.dlc.set(remote_id, "Succeeded")
    job.wait()
    lines = [line for line in job.logs().splitlines() if "attempt" not in line.lower()]
    assert [line for line in lines if line in ("first", "second")] == ["first", "second"]
    (row,) = engine.call("job_instances", job=job.id)["instances"]
    assert row["attempt"] == 2


@pytest.mark.parametrize(("status", "shown"), [("SucceededReserving", "running"), ("Brewing", "running")])
def test_job_has_not_ended_yet(engine: EmbeddedClient, pai: StandIn, status: str, shown: str) -> None:
    (remote_id,) = pai.dlc.add()
    pai.dlc.set(remote_id, status)
    job = adopted(engine, remote_id)
    until(lambda: (job.status, job.info["platform_status"]) == (shown, status))
    pai.dlc.set(remote_id, "Succeeded")
    assert job.wait().status == "succeeded"


def test_events_name_what_a_job_waits_for(engine: EmbeddedClient, pai: StandIn) -> None:
    (remote_id,) = pai.dlc.add(status="Queuing")
    pai.dlc.add_events(remote_id, "Insufficient GPU")
    pai.dlc.add_events(remote_id, "Back-off pulling image", pod=0)
    job = adopted(engine, remote_id)

    def texts() -> list[tuple[str, str]]:
        events = engine.call("events", job=job.id)["events"]
        return [
            (str(one["data"]["text"]), str(one["data"].get("instance", "")))
            for one in events
            if one["kind"] == "platform"
        ]

    with engine._context.service.watcher.watch(job.id):  # As a page does.
        until(lambda: ("Back-off pulling image", "worker-0") in texts())
        assert ("Insufficient GPU", "") in texts()
        pai.dlc.add_events(remote_id, "Started")
        until(lambda: ("Started", "") in texts())
    assert len(texts()) == len({*texts()})
    job.stop()


def test_resource_usage_is_shown(engine: EmbeddedClient, pai: StandIn) -> None:
    job = submit(engine, "sleep 1.2", profile="dlc")
    with engine._context.service.watcher.watch(job.id):
        job.wait()
    metrics = engine.call("metrics", job=job.id, system=True)["metrics"]
    assert metrics["system/cpu"]["source"] == "platform"
    assert len(metrics["system/memory"]["value"]) >= 1


def test_stop_and_delete(engine: EmbeddedClient, pai: StandIn, home: Home) -> None:
    job = submit(engine, "echo here; sleep 1000", profile="dlc")
    until(lambda: "here" in job.logs())
    job.stop()
    remote_id = job.wait().info["remote_id"]
    assert job.status == "stopped"
    assert "here\n" in job.logs()
    job.delete()
    assert remote_id not in [one["id"] for one in pai.dlc.jobs]


def test_job_deleted_on_the_platform_is_lost(engine: EmbeddedClient, pai: StandIn) -> None:
    (remote_id,) = pai.dlc.add()
    job = adopted(engine, remote_id)
    pai.dlc.remove(remote_id)
    assert job.wait().status == "lost"
