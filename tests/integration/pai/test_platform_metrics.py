"""Metrics that only PAI has: those of imported jobs and of expired logs."""

from __future__ import annotations

import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.client.job import JobHandle
from jupyter_pai.engine.watcher.timings import Timings

from ...conftest import script, submit, until
from ...fakes.alibaba import StandIn
from ...fakes.official_clients import finished, submitted
from .conftest import IMAGE

PRINTS = 'i=0; while [ $i -lt 250 ]; do echo "loss=$i.5 lr 0.$i"; i=$((i + 1)); done'
# The second has two groups: the service takes the first of them, and we take none.
DEFINED = [{"Name": "loss", "Regex": r"loss=([\d.]+)"}, {"Name": "lr", "Regex": r"lr ([\d.]+)(\s|$)"}]


def theirs(pai: StandIn) -> str:
    """Submit a job with the official client, and wait for its end."""
    job_id = submitted(pai, PRINTS, AlgorithmSpec={"Image": IMAGE, "MetricDefinitions": DEFINED})
    assert finished(pai, job_id)["Status"] == "Succeed"
    return job_id


def adopted(engine: EmbeddedClient, remote_id: str) -> JobHandle:
    job = JobHandle(engine.call("adopt", body={"remote_id": remote_id, "profile": "pai"}), engine)
    return job.wait() if job.status == "starting" else job


def points(engine: EmbeddedClient, job: JobHandle) -> dict[str, Any]:
    result: dict[str, Any] = engine.call("metrics", job=job.id)["metrics"]
    return result


def test_imported_job_has_complete_metrics(engine: EmbeddedClient, pai: StandIn) -> None:
    job = adopted(engine, theirs(pai))
    assert [one["name"] for one in job.spec["metric_definitions"]] == ["loss"]
    result = points(engine, job)
    assert result.keys() == {"loss", "lr"}
    assert result["loss"]["value"] == [n + 0.5 for n in range(250)]
    assert result["lr"]["value"] == [float(f"0.{n}") for n in range(250)]
    assert result["loss"]["step"] == result["lr"]["step"] == list(range(250))
    # The log gave us the first one: only the other was asked for, by pages of a hundred.
    queries = [r["query"] for r in pai.requests if r["action"] == "ListTrainingJobMetrics"]
    assert {query["Name"] for query in queries} == {"lr"}
    assert [query["PageNumber"] for query in queries] == ["1", "2", "3"]


def test_expired_log_leaves_platform_metrics(engine: EmbeddedClient, pai: StandIn) -> None:
    remote_id = theirs(pai)
    pai.expire_log(remote_id)
    result = points(engine, adopted(engine, remote_id))
    assert result.keys() == {"loss", "lr"}
    assert result["loss"]["value"] == [n + 0.5 for n in range(250)]


def test_own_job_has_no_duplicate_points(engine: EmbeddedClient, pai: StandIn, folder: Path) -> None:
    script(folder, "for n in range(120): print(f'loss={n} recall={n}', flush=True)")
    defined = [{"name": "loss", "regex": r"loss=(\d+)"}, {"name": "recall@5", "regex": r"recall=(\d+)"}]
    spec: Any = {"entry_point": "train.py", "profile": "pai", "metric_definitions": defined, "detect_metrics": False}
    job = submit(engine, folder=folder, **spec).wait()
    result = points(engine, job)
    assert result.keys() == {"loss", "recall@5"}
    assert result["loss"]["value"] == result["recall@5"]["value"] == list(range(120))
    assert pai.count("paistudio", "ListTrainingJobMetrics") == 0


@pytest.mark.parametrize("timings", [Timings(points=0.1)])
def test_metrics_of_unknown_patterns_grow_while_followed(engine: EmbeddedClient, pai: StandIn) -> None:
    (remote_id,) = pai.add_jobs(1, AlgorithmSpec={"Command": ["x"], "Image": IMAGE, "JobType": "PyTorchJob"})
    job = JobHandle(engine.call("adopt", body={"remote_id": remote_id, "profile": "pai"}), engine)
    pai.add_points(remote_id, "loss", *range(150))
    watching = threading.Thread(target=lambda: list(job.follow()))
    watching.start()
    try:
        until(lambda: len(points(engine, job).get("loss", {"step": []})["step"]) == 150)
        pai.add_points(remote_id, "loss", *range(150, 203))
        until(lambda: len(points(engine, job)["loss"]["step"]) == 203)
    finally:
        pai.add_points(remote_id, "loss", 203)
        pai.set_job(remote_id, "Succeed")
        watching.join()
    until(lambda: job.ended)
    assert points(engine, job)["loss"]["value"] == points(engine, job)["loss"]["step"] == list(range(204))


@pytest.mark.usefixtures("home")
def test_second_engine_resumes_platform_metrics(pai: StandIn) -> None:
    (remote_id,) = pai.add_jobs(1)
    pai.add_points(remote_id, "loss", *range(130))
    with closing(EmbeddedClient()) as first:
        job = JobHandle(first.call("adopt", body={"remote_id": remote_id, "profile": "pai"}), first)
        until(lambda: len(points(first, job).get("loss", {"step": []})["step"]) == 130)
    pai.add_points(remote_id, "loss", *range(130, 140))
    pai.set_job(remote_id, "Succeed")
    with closing(EmbeddedClient()) as second:
        until(lambda: second.call("show", job=job.id)["status"] == "succeeded")
        assert points(second, job)["loss"]["value"] == list(range(140))
    pages = [r["query"]["PageNumber"] for r in pai.requests if r["action"] == "ListTrainingJobMetrics"]
    # The first page tells the second engine the size of a page.
    assert pages == ["1", "2", "1", "2"]


def test_refused_platform_metrics_do_not_delay_the_end(engine: EmbeddedClient, pai: StandIn) -> None:
    remote_id = theirs(pai)
    pai.faults.add("refused", "paistudio:ListTrainingJobMetrics", code="Forbidden.NoPermission", message="no")
    job = adopted(engine, remote_id)
    assert job.status == "succeeded"
    assert points(engine, job).keys() == {"loss"}
    assert any("metrics may be incomplete" in note for note in job.info["notes"])
