"""Kills around `sbatch`, and kills of the daemons of a real Slurm cluster: no job is lost, doubled or cut short."""

from __future__ import annotations

import random
import signal
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.client.job import JobHandle
from jupyter_pai.jobs.state_dir import Home

from ..conftest import submit, until
from ..integration.server.real_server import RealServer
from ..integration.slurm.conftest import write_profile
from ..support.slurm import NODES, SlurmCluster

pytestmark = pytest.mark.soak

SUBMITS, ROUNDS = 50, 20


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    return tmp_path / "shared"


@pytest.fixture
def lab(home: Home, shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SlurmCluster]:
    """A cluster, with a profile for it."""
    with SlurmCluster(tmp_path / "slurm") as running:
        monkeypatch.setenv("SLURM_CONF", str(running.config))
        write_profile(shared)
        yield running


@pytest.mark.timeout(3600)
def test_kills_around_sbatch_make_one_job_each(lab: SlurmCluster, shared: Path, tmp_path: Path, seed: int) -> None:
    """The server is killed while `sbatch` runs or after it, before the row has Slurm's id. If it is
    killed before, the row ends without a job of Slurm, with a reason."""
    dice, counts = random.Random(seed), Counter[str]()
    root = tmp_path / "root"
    root.mkdir()
    server = RealServer(root)
    try:
        while counts["one job"] < SUBMITS:
            before = _folders(shared)
            key = f"key-{sum(counts.values())}"
            spec = {"name": "soak", "command": "echo run >> $PAI_OUTPUT_MODEL/runs", "source": {"files": {"a": ""}}}
            sending = threading.Thread(target=_send, args=(server, {"key": key, "spec": spec}))
            sending.start()
            until(lambda before=before: any((path / "batch").exists() for path in _folders(shared) - before))  # type: ignore[misc]
            time.sleep(dice.uniform(0, 0.03))  # The kill is at any moment from here on.
            server.kill()
            sending.join()
            server.start()
            (job_id,) = {path.name for path in _folders(shared) - before}
            job = until(lambda job_id=job_id: _ended(server, job_id), 180)  # type: ignore[misc]
            made = [line for line in _listed(lab) if line == f"jupyter-pai:{job_id}"]
            assert len(made) <= 1
            if made:
                assert job["status"] == "succeeded", job
                assert (shared / "outputs" / job_id / "model" / "runs").read_text() == "run\n"
            else:
                assert job["status"] in ("lost", "failed"), job
                assert job["reason"]
            again = server.rest("POST", "/pai/api/v1/jobs", {"key": key, "spec": spec})
            assert again["job"]["id"] == job_id
            counts["one job" if made else "no job"] += 1
    finally:
        server.stop()
    print(f"\n{sum(counts.values())} kills around sbatch: {dict(counts)}, none twice")


def _send(server: RealServer, body: object) -> None:
    with suppress(Exception):  # The reply is lost with the server.
        server.rest("POST", "/pai/api/v1/jobs", body)


def _folders(shared: Path) -> set[Path]:
    return {*(shared / "jobs").glob("*")}


def _ended(server: RealServer, job_id: str) -> dict[str, Any]:
    """Return an ended job; empty while it runs."""
    job: dict[str, Any] = server.job(job_id)
    return job if job["ended_at"] else {}


def _listed(cluster: SlurmCluster) -> list[str]:
    """Return the comments of all jobs that the controller knows."""
    return cluster.run("squeue", "--noheader", "--states=all", "-O", "Comment:100").split()


@pytest.mark.timeout(3600)
def test_jobs_survive_kills_of_the_daemons(lab: SlurmCluster, shared: Path, home: Home, seed: int) -> None:
    """The controller or a node is killed while jobs run, and starts again after a while."""
    dice, counts, lines = random.Random(seed), Counter[str](), 0
    engine = EmbeddedClient()
    command = 'n=0; until [ -e "$GO" ]; do echo $n; n=$((n+1)); sleep 0.01; done; echo $n'
    try:
        for number in range(ROUNDS):
            go = shared.parent / f"go-{number}"
            jobs = [
                submit(engine, command, environment={"GO": str(go)}, instance_count=count, memory="100MiB")
                for count in (1, 1, 2)
            ]
            until(lambda jobs=jobs: all(job.status == "running" for job in jobs))  # type: ignore[misc]
            running = time.time()
            # The controller forgets jobs whose state it has not written. A change makes it write the state soon.
            lab.run("scontrol", "update", f"JobId={jobs[0].info['remote_id']}", "AdminComment=running")
            until(lambda running=running: (lab.folder / "state/job_state").stat().st_mtime > running)  # type: ignore[misc]
            victim = dice.choice(["ctld", *NODES])
            lab.kill(victim, signal.SIGKILL)
            time.sleep(dice.uniform(0, 3))
            lab.start_controller() if victim == "ctld" else lab.start_node(victim)
            time.sleep(dice.uniform(0, 1))
            go.touch()
            for job in jobs:
                lines += _check(job.wait(timeout=180), victim)
            counts[victim] += 1
    finally:
        engine.close()
    print(f"\n{ROUNDS} kills of daemons under {3 * ROUNDS} jobs: {dict(counts)}, {lines:,} lines, all in place")


def _check(job: JobHandle, victim: str) -> int:
    """Check that a job ran once and that its logs are whole. Return the number of lines."""
    assert job.status == "succeeded", (victim, job.reason, job.info["platform_status"])
    count = 0
    for instance in job.instances():
        assert instance["attempt"] == 1
        log = job.logs(instance=instance["name"])
        lines = [line for line in log.splitlines() if not line.startswith("[")]
        assert lines == [str(n) for n in range(len(lines))]
        count += len(lines)
    return count
