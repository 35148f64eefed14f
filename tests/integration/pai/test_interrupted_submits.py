"""A submit to the platform that is interrupted at a given request."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.jobs.state_dir import Home

from ...conftest import script, until
from ...fakes.alibaba import StandIn


def interrupted(pai: StandIn, folder: Path, action: str, *options: str) -> tuple[int, str]:
    """Submit by the command line, and interrupt it at a request. Return the exit code and the output."""
    command = [sys.executable, "-m", "jupyter_pai", "submit", "train.py", "--profile", "pai", "--json", *options]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    until(lambda: any(note["action"] == action for note in pai.requests))
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate()
    assert output == ""  # Standard output is JSON only.
    return process.returncode, errors


def test_interrupt_during_upload_of_code_makes_no_job(pai: StandIn, home: Home, folder: Path) -> None:
    script(folder, "print('here', 1)")
    pai.faults.add("delay", "oss:PutObject", seconds=2, count=1)
    before = len(pai.jobs)
    assert interrupted(pai, folder, "PutObject") == (130, "\nInterrupted: no job was submitted.\n")
    assert (len(pai.jobs), list(home.jobs.iterdir())) == (before, [])


@pytest.mark.slow("platform")
def test_interrupt_during_upload_of_inputs_makes_no_job(pai: StandIn, home: Home, folder: Path, tmp_path: Path) -> None:
    script(folder, "print('here', 2)")
    (tmp_path / "data").mkdir()
    for n in range(3):
        (tmp_path / f"data/{n}").write_text(str(n))
    pai.faults.add("delay", "oss:PutObject", seconds=2, count=1)
    before = len(pai.jobs)
    code, errors = interrupted(pai, folder, "PutObject", "--input", f"train={tmp_path / 'data'}")
    assert (code, errors) == (130, "\nInterrupted: no job was submitted.\n")
    assert (len(pai.jobs), list(home.jobs.iterdir())) == (before, [])


@pytest.mark.slow("platform")
def test_interrupt_during_creation_names_the_job(pai: StandIn, home: Home, folder: Path) -> None:
    script(folder, "print('here', 3)")
    pai.faults.add("delay", "paistudio:CreateTrainingJob", seconds=2, count=1)
    before = {job["id"] for job in pai.jobs}
    code, errors = interrupted(pai, folder, "CreateTrainingJob")
    (made,) = [job for job in pai.jobs if job["id"] not in before]
    engine = EmbeddedClient()
    try:
        (job,) = engine.call("list_jobs")["jobs"]
        assert job["remote_id"] == made["id"]
        assert code == 130
        assert f"Job {job['id']} is still running. To stop it: jupyter pai stop {job['id']}" in errors
        assert "billed" in errors
    finally:
        engine.close()
