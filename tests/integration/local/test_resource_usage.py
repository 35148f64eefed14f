"""Resource usage of jobs, as metrics."""

from __future__ import annotations

import time
from pathlib import Path

from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.client.job import JobHandle
from jupyter_pai.jobs.metrics.resource_samples import RECORD
from jupyter_pai.jobs.state_dir import Home

from ...conftest import script, submit, until

# It works and holds memory, in a child of its own and in one that leaves it, until it may end.
HUNGRY = """
    import os, subprocess, sys

    if len(sys.argv) > 1:
        held = bytearray(150 << 20)
        print("ready", flush=True)
    else:
        subprocess.Popen([sys.executable, "train.py", "child"], start_new_session=True)
    while not os.path.exists(os.environ["GO"]):
        sum(range(100_000))
"""


def test_cpu_and_memory_of_all_processes_are_sampled(engine: EmbeddedClient, folder: Path, tmp_path: Path) -> None:
    script(folder, HUNGRY)
    job = submit(engine, folder=folder, entry_point="train.py", environment={"GO": str(tmp_path / "go")})
    begun = time.time()

    def usage() -> dict[str, dict[str, float]]:
        return dict(engine.call("show", job=job.id)["usage"])

    until(lambda: usage().get("system/memory", {}).get("value", 0) > 150 << 20)
    until(lambda: usage()["system/cpu"]["value"] > 0.2)
    assert usage()["system/memory"]["value"] < 1 << 30
    assert begun - 60 < usage()["system/cpu"]["time"] < time.time() + 1
    (tmp_path / "go").touch()
    assert job.wait().status == "succeeded"
    result = engine.call("metrics", job=job.id, system=True)["metrics"]
    assert list(result) == ["system/cpu", "system/memory"]  # It had no GPU of its own.
    assert result["system/cpu"]["step"] == list(range(len(result["system/cpu"]["step"])))


def test_usage_metrics_are_returned_on_request_only(engine: EmbeddedClient, tmp_path: Path) -> None:
    gate = tmp_path / "go"
    job = submit(engine, f"while [ ! -e {gate} ]; do sleep 0.01; done; echo loss=1", metric_definitions=[
        {"name": "loss", "regex": "loss=(.*)"}
    ])  # fmt: skip
    until(lambda: engine.call("show", job=job.id)["usage"])
    gate.touch()
    assert job.wait().status == "succeeded"
    assert list(job.info["metrics"]) == ["loss"]
    assert list(engine.call("metrics", job=job.id)["metrics"]) == ["loss"]
    assert list(engine.call("metrics", job=job.id, name=["system/cpu"])["metrics"]) == ["system/cpu"]


def test_metric_of_the_job_overrides_a_usage_metric(engine: EmbeddedClient, home: Home, tmp_path: Path) -> None:
    gate = tmp_path / "go"
    job = submit(engine, f"echo cpu=7; while [ ! -e {gate} ]; do sleep 0.01; done", metric_definitions=[
        {"name": "system/cpu", "regex": "cpu=(.*)"}
    ])  # fmt: skip
    until(lambda: home.job(job.id).usage.exists() and home.job(job.id).usage.stat().st_size)
    gate.touch()
    assert job.wait().status == "succeeded"
    result = engine.call("metrics", job=job.id, system=True)["metrics"]
    assert list(result) == ["system/cpu", "system/memory"]
    assert result["system/cpu"]["value"] == [7.0]


def test_usage_is_recorded_without_an_engine(home: Home, tmp_path: Path) -> None:
    engine = EmbeddedClient()
    gate = tmp_path / "go"
    job = submit(engine, f"while [ ! -e {gate} ]; do sleep 0.01; done")
    engine.close()
    usage = home.job(job.id).usage
    until(lambda: usage.exists() and usage.stat().st_size >= 2 * RECORD.size)
    gate.touch()
    engine = EmbeddedClient()
    ended = JobHandle(engine.call("show", job=job.id), engine).wait()
    assert ended.status == "succeeded"
    points = engine.call("metrics", job=job.id, name=["system/cpu"])["metrics"]["system/cpu"]["value"]
    assert len(points) == usage.stat().st_size // RECORD.size
    thinned = engine.call("metrics", job=job.id, points=1, system=True)["metrics"]["system/memory"]
    assert len(thinned["step"]) == 1
    assert engine.call("show", job=job.id)["usage"] == {}  # It uses nothing any more.
    engine.close()
