"""Events, resource samples and metric points of PAI: they never hold up the end of a job, and have bounded requests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from typing import Any

import pytest

from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.client.job import JobHandle
from jupyter_pai.engine.watcher.timings import Timings

from ...conftest import submit, until
from ...fakes.alibaba import StandIn
from .faulty_platform import OPTIONAL

# Requests between the poll that carries the end and the stored end: two polls, the log twice, and two attempts for one
# page of events, four metrics of the samples and one of the points; and the requests of a poll that was under way.
MOST_REQUESTS = 24


def adopt(engine: EmbeddedClient, remote_id: str) -> JobHandle:
    job = JobHandle(engine.call("adopt", body={"remote_id": remote_id, "profile": "pai"}), engine)
    until(lambda: job.status == "running")
    return job


def notes_about(job: JobHandle, data: str) -> list[str]:
    return [note for note in job.info["notes"] if data in note]


def end_while_watched(engine: EmbeddedClient, pai: StandIn, job: JobHandle, remote_id: str) -> list[dict[str, Any]]:
    """End a job that a user watches. Return the requests from the poll that carries the end until the end is stored."""
    with engine._context.service.watcher.watch(job.id):
        until(lambda: pai.count("paistudio", "ListTrainingJobLogs") > 0)
        before = len(pai.requests)
        pai.set_job(remote_id, "Succeed")
        until(lambda: engine._context.service.store.jobs.status(job.id).ended)
        requests = pai.requests[before:]
    return requests[[note["action"] for note in requests].index("GetTrainingJob") :]


@pytest.mark.parametrize("timings", [Timings(optional_retries=(0.3, 2.0, 1.0, 1.0))])
@pytest.mark.parametrize("fault", [{"kind": "500"}, {"kind": "refused", "status": 501}, {"kind": "503"}])
def test_failing_optional_reads_do_not_delay_the_end(engine: EmbeddedClient, pai: StandIn, fault: Any) -> None:
    (remote_id,) = pai.add_jobs(1)
    pai.add_lines(remote_id, "first", "last")
    job = adopt(engine, remote_id)
    pai.add_points(remote_id, "loss", 1.0)
    for action in OPTIONAL:
        pai.faults.add(fault["kind"], f"paistudio:{action}", **{n: v for n, v in fault.items() if n != "kind"})
    requests = end_while_watched(engine, pai, job, remote_id)
    assert len(requests) <= MOST_REQUESTS, Counter(note["action"] for note in requests)
    assert job.logs() == "first\nlast\n"
    assert notes_about(job, "log") == []
    # A few attempts later, each kind has its own note.
    until(lambda: len(notes_about(job, "may be incomplete")) == 3)
    assert len(notes_about(job, "events")) == len(notes_about(job, "resource usage")) == 1
    assert len(notes_about(job, "metrics")) == 1


def test_unanswered_optional_reads_do_not_delay_the_end(engine: EmbeddedClient, pai: StandIn) -> None:
    (remote_id,) = pai.add_jobs(1)
    job = adopt(engine, remote_id)
    for action in OPTIONAL:
        pai.faults.add("delay", f"paistudio:{action}", seconds=60)
    requests = end_while_watched(engine, pai, job, remote_id)
    assert any(note["action"] in OPTIONAL and "seconds" not in note for note in pai.requests), "all were answered"
    assert len(requests) <= MOST_REQUESTS, Counter(note["action"] for note in requests)


def test_late_optional_data_follows_the_end(engine: EmbeddedClient, pai: StandIn) -> None:
    (remote_id,) = pai.add_jobs(1)
    job = adopt(engine, remote_id)
    pai.add_points(remote_id, "loss", 1.0, 0.5)
    pai.faults.add("delay", "paistudio:ListTrainingJobMetrics", seconds=3, count=1)
    pai.faults.add("500", "paistudio:ListTrainingJobEvents", count=3)
    with engine._context.service.watcher.watch(job.id, details=False):
        pai.set_job(remote_id, "Succeed")
        until(lambda: engine._context.service.store.jobs.status(job.id).ended)
    assert engine._context.service.watcher._finishing
    until(lambda: list(engine.call("metrics", job=job.id)["metrics"].get("loss", {"value": []})["value"]) == [1.0, 0.5])
    until(lambda: any("[Succeed]" in text for text in events(engine, job)))
    assert notes_about(job, "may be incomplete") == []


@pytest.mark.usefixtures("home")
def test_interrupted_optional_reads_leave_a_note(pai: StandIn) -> None:
    (remote_id,) = pai.add_jobs(1)
    with closing(EmbeddedClient()) as engine:
        job = adopt(engine, remote_id)
        pai.faults.add("delay", "paistudio:ListTrainingJobEvents", seconds=20)
        pai.set_job(remote_id, "Succeed")
        job.wait()
    with closing(EmbeddedClient()) as engine:
        notes = engine.call("show", job=job.id)["notes"]
        assert [note for note in notes if "events may be incomplete" in note and "interrupted" in note]


def events(engine: EmbeddedClient, job: JobHandle) -> Sequence[str]:
    return [one["data"]["text"] for one in engine.call("events", job=job.id)["events"] if one["kind"] == "platform"]


@pytest.mark.parametrize(
    ("hours", "ended", "step"), [(0, False, "10s"), (13, False, "10s"), (15, False, "5m"), (500, False, "30m"),
                                 (500, True, "10s")],
)  # fmt: skip
def test_samples_begin_at_the_start_of_the_job_with_few_enough_points(
    engine: EmbeddedClient, pai: StandIn, hours: int, ended: bool, step: str
) -> None:
    (remote_id,) = pai.add_jobs(1)
    if ended:
        pai.set_job(remote_id, "Succeed")
    pai.age_job(remote_id, hours * 3600)
    body = {"remote_id": remote_id, "profile": "pai"}
    job = JobHandle(engine.call("adopt", body=body), engine)
    with engine._context.service.watcher.watch(job.id):
        until(lambda: pai.count("paistudio", "ListTrainingJobInstanceMetrics") >= 4)
        until(lambda: all("seconds" in note for note in sampled(pai)))
    assert {note["query"]["TimeStep"] for note in sampled(pai)} == {step}
    assert not any("StartTime" in note["query"] for note in sampled(pai))
    assert {note["status"] for note in sampled(pai)} == {200}


def sampled(pai: StandIn) -> list[dict[str, Any]]:
    return [note for note in pai.requests if note["action"] == "ListTrainingJobInstanceMetrics"]


def test_usage_of_an_unwatched_job_is_fetched_when_a_user_looks_at_it(engine: EmbeddedClient, pai: StandIn) -> None:
    service = engine._context.service
    jobs = [submit(engine, "sleep 1.2", profile="pai") for _n in range(2)]
    for job in jobs:
        until(lambda: service.store.jobs.status(job.id).ended)  # noqa: B023
    until(lambda: not service.watcher._finishing)
    assert sampled(pai) == []
    for _n in range(2):
        assert engine.call("metrics", job=jobs[0].id, system=True)["metrics"]["system/cpu"]["value"]
    assert len(sampled(pai)) == 4

    async def streamed() -> list[str]:
        job = service.store.jobs.get(jobs[1].id)
        return [name async for points in service.follow_metrics(job, {}, system=True) for name in points]

    assert "system/cpu" in engine._wait(streamed())
    assert len(sampled(pai)) == 8
    assert notes_about(jobs[0], "incomplete") == notes_about(jobs[1], "incomplete") == []


def test_samples_have_no_unit(engine: EmbeddedClient, pai: StandIn) -> None:
    job = submit(engine, "sleep 1.2", profile="pai")
    with engine._context.service.watcher.watch(job.id):
        job.wait()
    metrics = engine.call("metrics", job=job.id, system=True)["metrics"]
    assert metrics["system/cpu"]["source"] == "platform"
    assert len(metrics["system/memory"]["value"]) >= 1
