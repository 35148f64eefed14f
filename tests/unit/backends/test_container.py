"""The command that starts a container: it mounts only folders that are still at their place."""

from __future__ import annotations

import subprocess
from itertools import pairwise
from pathlib import Path

import pytest

from jupyter_pai.backends.local.container import Container, Mount
from jupyter_pai.jobs.job import Job, JobStatus, now
from jupyter_pai.jobs.spec import parse_spec


@pytest.fixture
def job() -> Job:
    spec = parse_spec({"name": "x", "command": "true", "image": "image:1", "instance_count": 2})
    return Job(id="aaaa", spec=spec, backend="local", profile="local", status=JobStatus.STARTING, submitted_at=now())


@pytest.fixture(params=["podman", "docker"])
def engine(tmp_path: Path, request: pytest.FixtureRequest) -> str:
    """A program of that name that prints its arguments."""
    path = tmp_path / str(request.param)
    path.write_text("#!/bin/sh\nprintf '%s\\n' \"$@\"\n")
    path.chmod(0o755)
    return str(path)


def start(command: list[str]) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": "/usr/bin:/bin", "RANK": "1", "CUDA_VISIBLE_DEVICES": ""}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_folders_are_mounted_with_their_permissions(engine: str, job: Job, tmp_path: Path) -> None:
    data, output = tmp_path / "da ta", tmp_path / "out"
    data.mkdir()
    output.mkdir()
    mounts = [Mount(data, "/ml/input/data/train"), Mount(output, "/ml/output", writable=True)]
    done = start(Container(engine, job).command(job.spec, ["true"], "/ml/usercode", mounts, []))
    words = done.stdout.splitlines()
    assert words[:3] == ["run", "--name", "jupyter-pai-aaaa-1"]
    volumes = [word for before, word in pairwise(words) if before == "--volume"]
    assert volumes == [f"{data}:/ml/input/data/train:ro", f"{output}:/ml/output"]


@pytest.mark.parametrize("part", ["up", "up/data"])
def test_folder_replaced_by_a_link_is_not_mounted(engine: str, job: Job, tmp_path: Path, part: str) -> None:
    """While the job waits in the queue, another one can replace a folder."""
    (tmp_path / "up/data").mkdir(parents=True)
    (tmp_path / "outside/data").mkdir(parents=True)
    mounts = [Mount(tmp_path / "outside", "/a"), Mount(tmp_path / "up/data", "/b")]
    command = Container(engine, job).command(job.spec, ["true"], "/ml/usercode", mounts, [])
    assert start(command).returncode == 0
    (tmp_path / part).rename(tmp_path / "before")
    (tmp_path / part).symlink_to(tmp_path / "outside")
    done = start(command)
    assert (done.returncode, done.stdout) == (125, "")
    assert f"replaced by a link: {tmp_path / 'up/data'}" in done.stderr


def test_removal_is_a_list_of_arguments(engine: str, job: Job) -> None:
    command = Container(engine, job).cleanup
    assert command[:2] == [engine, "rm"]
    assert command[-2:] == ["jupyter-pai-aaaa-0", "jupyter-pai-aaaa-1"]
