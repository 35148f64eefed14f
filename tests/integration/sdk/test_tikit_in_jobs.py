"""Tikit's client in jobs: it reports metrics by the log, without keys, and where this package is not installed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from jupyter_pai.backends.runtime.job_script import Site, build
from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.core.errors import Unsupported
from jupyter_pai.jobs.job import Job, JobStatus, now
from jupyter_pai.jobs.spec import parse_spec
from jupyter_pai.sdk.tikit.client import Client

from ...conftest import submit

# The seed's lines, with its placeholders.
CODE = """
import time
from jupyter_pai.sdk.tikit.client import Client
client = Client("your_secret_id", "your_secret_key", "<region>")
for epoch in (4, 6, 8):
    client.push_training_metrics(int(time.time()), {"acc1": 40.0 + epoch, "acc5": 80.5}, epoch=epoch)
client.push_training_metrics(int(time.time()), {"loss": 1}, "train-1", 3, 200, 50)
"""
OTHER = "/usr/bin/python3"


@pytest.mark.parametrize("python", ["", OTHER])
def test_metrics_of_a_local_job_are_reported(engine: EmbeddedClient, folder: Path, python: str) -> None:
    code = CODE.replace('"train-1"', "None")
    (folder / "train.py").write_text(code)
    handle = submit(engine, folder=folder, entry_point="train.py", python=python).wait()
    assert handle.status == "succeeded", handle.logs()
    metrics = engine.call("metrics", job=handle.id)["metrics"]
    assert {name: (points["step"], points["value"]) for name, points in metrics.items()} == {
        "acc1": ([4, 6, 8], [44.0, 46.0, 48.0]),
        "acc5": ([4, 6, 8], [80.5, 80.5, 80.5]),
        "loss": ([50], [1.0]),
    }
    assert handle.info["progress"] == 0.25
    assert "your_secret" not in handle.logs()


@pytest.mark.parametrize("python", [sys.executable, OTHER])
def test_metrics_of_a_job_script_are_reported(tmp_path: Path, python: str) -> None:
    (tmp_path / "code").mkdir()
    (tmp_path / "code/train.py").write_text(CODE)
    spec = parse_spec({"name": "x", "command": f"{python} train.py", "source": {"files": {"train.py": CODE}}})
    job = Job(id="j1", spec=spec, backend="x", profile="x", status=JobStatus.STARTING, submitted_at=now())
    script = build(job, Site(code=str(tmp_path / "code"), outputs=str(tmp_path / "outputs")))
    environment = {"PATH": "/usr/bin:/bin", "TMPDIR": str(tmp_path)}
    done = subprocess.run(["/bin/dash", "-c", script], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = [line for line in done.stdout.splitlines() if "metric" in line]
    assert lines[0] == '[pai] {"metric": "acc1", "value": 44.0, "step": 4}'
    assert len(lines) == 7


def test_metrics_outside_of_a_job_are_dropped(capfd: pytest.CaptureFixture[str]) -> None:
    client = Client()
    client.push_training_metrics(1, {"acc1": 1.0}, epoch=1)
    with pytest.raises(Unsupported, match="by the job itself"):
        client.push_training_metrics(1, {"acc1": 1.0}, "train-1")
    assert capfd.readouterr().out == ""
