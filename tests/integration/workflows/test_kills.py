"""Engines that are killed while they conduct a run: no step runs twice, and the next engine continues."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.engine.workflows.step_submit import key_of
from jupyter_pai.jobs.job import Job, JobStatus, now
from jupyter_pai.jobs.spec import parse_spec
from jupyter_pai.jobs.state_dir import Home, JobFolder, PackedCode, write_files
from jupyter_pai.jobs.store.store import Store

from ...conftest import until
from .conftest import QUICK, ended, shown, start, statuses, step, steps_of

ENGINE = """
import json, sys
from jupyter_pai.client.embedded import EmbeddedClient
engine = EmbeddedClient()
print(engine.call("run_workflow", body=json.loads(sys.stdin.readline()))["run"]["id"], flush=True)
import time
time.sleep(1000)
"""


def other_engine(body: dict[str, Any]) -> tuple[subprocess.Popen[str], str]:
    """An engine of another process that has started a run, and the id of the run."""
    pipe = subprocess.PIPE
    process = subprocess.Popen([sys.executable, "-c", ENGINE], stdin=pipe, stdout=pipe, text=True)
    assert process.stdin and process.stdout
    process.stdin.write(json.dumps(body) + "\n")
    process.stdin.flush()
    return process, process.stdout.readline().strip()


def test_next_engine_continues_the_run_of_a_killed_one(home: Home, tmp_path: Path) -> None:
    wait = f"echo x >> {tmp_path}/long; touch {tmp_path}/begun; until test -e {tmp_path}/go; do sleep 0.05; done"
    steps = [step("long", wait), step("next", f"echo x >> {tmp_path}/next", "long")]
    process, run = other_engine({"workflow": {"name": "flow", "steps": steps}})
    engine = EmbeddedClient(QUICK)
    try:
        until((tmp_path / "begun").exists)
        until(lambda: statuses(shown(engine, run)) == {"long": "running", "next": "waiting"})
        # Another process can stop to conduct only by its end.
        process.send_signal(signal.SIGKILL)
        process.wait()
        (tmp_path / "go").touch()
        assert ended(engine, shown(engine, run))["status"] == "succeeded"
        assert [(tmp_path / name).read_text() for name in ("long", "next")] == ["x\n", "x\n"]
    finally:
        process.kill()
        process.communicate()
        engine.close()


@pytest.mark.slow("kills")
def test_run_of_another_process_is_stopped_and_resumed_here(home: Home, tmp_path: Path) -> None:
    command = f"test -e {tmp_path}/go || {{ touch {tmp_path}/begun; sleep 600; }}"
    process, run = other_engine({"workflow": {"name": "flow", "steps": [step("long", command)]}})
    engine = EmbeddedClient(QUICK)
    try:
        until((tmp_path / "begun").exists)
        engine.call("stop_workflow", run=run)
        assert ended(engine, shown(engine, run))["status"] == "stopped"
        (tmp_path / "go").touch()
        until(lambda: not (home.active_runs / run).exists())
        engine.call("resume_workflow", run=run)
        assert ended(engine, shown(engine, run))["status"] == "succeeded"
    finally:
        process.kill()
        process.communicate()
        engine.close()


def test_job_whose_submit_was_interrupted_is_no_failure(home: Home, tmp_path: Path) -> None:
    """An engine was killed after it had stored the job of a step, and before it had started it."""
    engine = EmbeddedClient(QUICK)
    steps = [
        step("wait", f"until test -e {tmp_path}/go; do sleep 0.05; done"),
        step("next", f"echo x >> {tmp_path}/next", "wait"),
    ]
    run = start(engine, *steps)
    until(lambda: steps_of(shown(engine, run))["wait"]["status"] == "running")
    engine.close()
    _store_unstarted(home, run["id"])
    (tmp_path / "go").touch()
    engine = EmbeddedClient(QUICK)
    try:
        done = ended(engine, run)
        assert (done["status"], steps_of(done)["next"]["attempt"]) == ("succeeded", 2)
        assert (tmp_path / "next").read_text() == "x\n"
    finally:
        engine.close()


def _store_unstarted(home: Home, run: str) -> None:
    folder = home.job("unstarte")
    spec = parse_spec({"name": "flow-next", "command": "true"})
    job = Job(
        id=folder.id, spec=spec, backend="local", profile="local", status=JobStatus.STARTING, remote_id=folder.id,
        submitted_at=now(), workflow=run, step="next",
    )  # fmt: skip
    folder.path.mkdir()
    archive = next((home.workflows / run / "code").glob("*.tar.gz"))
    write_files(JobFolder(folder.path), job, PackedCode(archive, "", {}, 0, 0))
    store = Store(home.database)
    store.jobs.insert(job, key_of(run, "next", 1), "").result()
    store.close()
