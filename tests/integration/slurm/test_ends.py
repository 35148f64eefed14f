"""How jobs end that Slurm itself ends: each has a reason and a fix."""

from __future__ import annotations

from pathlib import Path

import pytest

from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.client.job import JobHandle

from ...conftest import PATIENCE, submit, until
from ...support.slurm import SlurmCluster


@pytest.mark.slow("waits")
def test_time_limit(lab: SlurmCluster, engine: EmbeddedClient) -> None:
    job = submit(engine, "echo up; sleep 1000", max_run_time=60)
    until(lambda: job.status == "running")
    # Slurm counts minutes; the controller looks at limits every half minute.
    lab.run("scontrol", "update", f"JobId={job.info['remote_id']}", "EndTime=now+1")
    job.wait(timeout=PATIENCE)
    assert (job.status, job.info["platform_status"]) == ("failed", "TIMEOUT")
    assert job.reason == "Stopped at its time limit."
    assert "--max-run-time" in job.info["fix"]


def test_memory_limit(lab: SlurmCluster, engine: EmbeddedClient) -> None:
    job = submit(engine, "python -c 'x = bytearray(600_000_000); import time; time.sleep(100)'", memory="100MiB")
    job.wait(timeout=PATIENCE)
    # With control groups, which tests cannot count on, the state is OUT_OF_MEMORY.
    assert (job.status, job.info["platform_status"], job.info["exit_code"]) == ("failed", "FAILED", 137)
    assert job.reason == "The job was killed before it could report its end (node n1)."
    assert "--memory" in job.info["fix"]


def test_preemption(lab: SlurmCluster, engine: EmbeddedClient) -> None:
    low = submit(engine, "sleep 1000", cpu=8, options={"partition": "debug", "constraint": ""}, instance_count=2)
    until(lambda: low.status == "running")
    high = submit(engine, "sleep 1000", cpu=8, options={"partition": "urgent"})
    low.wait(timeout=PATIENCE)
    assert (low.status, low.info["platform_status"]) == ("failed", "PREEMPTED")
    assert low.reason == "A job of higher priority took its nodes."
    assert "requeue=true" in low.info["fix"]
    high.stop()


@pytest.mark.slow("cluster")
def test_failed_node(own_lab: SlurmCluster, engine: EmbeddedClient) -> None:
    job = submit(engine, "sleep 1000", options={"partition": "short"})
    until(lambda: job.status == "running")
    own_lab.kill("n2")
    job.wait(timeout=PATIENCE)
    assert (job.status, job.info["platform_status"]) == ("failed", "NODE_FAIL")
    assert job.reason == "A node failed (n2)."
    assert "requeue=true" in job.info["fix"]


def test_cancelled_by_another(lab: SlurmCluster, engine: EmbeddedClient) -> None:
    job = submit(engine, "sleep 1000")
    until(lambda: job.status == "running")
    lab.run("scancel", job.info["remote_id"])
    assert job.wait(timeout=PATIENCE).status == "stopped"
    assert "scancel" in job.reason


def test_waiting_job_says_why(lab: SlurmCluster, engine: EmbeddedClient) -> None:
    first = submit(engine, "sleep 1000", cpu=8, options={"partition": "short"})
    until(lambda: first.status == "running")
    second = submit(engine, "true", cpu=8, options={"partition": "short"})
    until(lambda: second.info["platform_status"].startswith("PENDING ("))
    until(lambda: second.reason.startswith("It waits: no node has enough free resources."))
    with engine._context.service.watcher.watch(second.id):  # As a page does.
        events = until(lambda: platform_events(engine, second))
    assert "no node has enough free resources" in events[-1]
    first.stop()
    assert second.wait(timeout=PATIENCE).status == "succeeded"


def platform_events(engine: EmbeddedClient, job: JobHandle) -> list[str]:
    events = engine.call("events", job=job.id)["events"]
    return [event["data"]["text"] for event in events if event["kind"] == "platform"]


def test_node_without_the_shared_folder(
    own_lab: SlurmCluster, engine: EmbeddedClient, shared: Path, tmp_path: Path
) -> None:
    shared.mkdir(mode=0o700)
    own_lab.kill("n2", 15)
    hide = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs none "$0" && exec "$@"', str(shared)]
    own_lab.start_node("n2", hide)
    until(lambda: "n2 idle" in own_lab.run("sinfo", "-h", "-N", "-o", "%N %t"))
    job = submit(engine, "true", options={"partition": "short"})
    assert job.wait(timeout=PATIENCE).status == "failed"
    assert job.reason == f"The node n2 does not see the shared folder {shared}/jobs/{job.id}."
    assert "all nodes see" in job.info["fix"]
