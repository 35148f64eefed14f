"""The command that starts a container: it mounts only folders that are still at their place."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from jupyter_pai.backends.local.container import Container, Mount
from jupyter_pai.jobs.job import Job, JobStatus, now
from jupyter_pai.jobs.spec import parse_spec
from jupyter_pai.jobs.state_dir import Home


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


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "state").create()


def start(engine: str, job: Job, home: Home, mounts: Sequence[Mount], gpus: str = "") -> CompletedProcess[str]:
    command = Container(engine, job, home.job(job.id)).command(job.spec, ["true"], "/ml/usercode", mounts, [])
    environment = {"PATH": "/usr/bin:/bin", "RANK": "1", "CUDA_VISIBLE_DEVICES": gpus}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def volumes(done: CompletedProcess[str]) -> list[str]:
    return [word for before, word in pairwise(done.stdout.splitlines()) if before == "--mount"]


def test_folders_are_mounted_with_their_permissions(engine: str, job: Job, home: Home, tmp_path: Path) -> None:
    data, output = tmp_path / "da ta", tmp_path / 'o:u,"t'
    data.mkdir()
    output.mkdir()
    mounts = [Mount(data, "/ml/input/data/train"), Mount(output, "/ml/output", writable=True)]
    done = start(engine, job, home, mounts, "0,3")
    assert done.stdout.splitlines()[:3] == ["run", "--name", "jupyter-pai-aaaa-1"]
    assert volumes(done) == [
        f"type=bind,source={data},target=/ml/input/data/train,readonly",
        f'type=bind,"source={tmp_path}/o:u,""t",target=/ml/output',
    ]
    gpus = ["--gpus", '"device=0,3"'] if engine.endswith("docker") else ["--device", "nvidia.com/gpu=0"]
    assert "\n".join(gpus) in done.stdout


@pytest.mark.parametrize("part", ["up", "up/data"])
def test_folder_replaced_by_a_link_is_not_mounted(engine: str, job: Job, home: Home, tmp_path: Path, part: str) -> None:
    """While the job waits in the queue, another one can replace a folder."""
    (tmp_path / "up/data").mkdir(parents=True)
    (tmp_path / "outside/data").mkdir(parents=True)
    mounts = [Mount(tmp_path / "outside", "/a"), Mount(tmp_path / "up/data", "/b")]
    assert start(engine, job, home, mounts).returncode == 0
    (tmp_path / part).rename(tmp_path / "before")
    (tmp_path / part).symlink_to(tmp_path / "outside")
    done = start(engine, job, home, mounts)
    assert (done.returncode, done.stdout) == (125, "")
    assert f"replaced by a link: {tmp_path / 'up/data'}" in done.stderr


def test_docker_gets_links_to_files_beside_which_a_job_can_write(
    job: Job, home: Home, tmp_path: Path, engine: str
) -> None:
    """It follows links, and cannot stop between the mount and the command."""
    if not engine.endswith("docker"):
        return
    data = home.job("bbbb").output / "model"
    (data / "sub").mkdir(parents=True)
    (data / "sub/a").write_text("1")
    (data / "link").symlink_to("/etc")
    done = start(engine, job, home, [Mount(data, "/ml/input/data/train")])
    (volume,) = volumes(done)
    place = Path(volume.split(",")[1].removeprefix("source="))
    assert volume == f"type=bind,source={place},target=/ml/input/data/train,readonly"
    assert place.is_relative_to(home.job(job.id).path)
    assert (place / "sub/a").samefile(data / "sub/a")
    assert (place / "link").readlink() == Path("/etc")
    done = start(engine, job, home, [Mount(data, "/ml/output/model", writable=True)])
    assert (done.returncode, done.stdout) == (125, "")
    assert f"an earlier job can write beside it and docker follows links: {data}" in done.stderr


def test_removal_is_a_list_of_arguments(engine: str, job: Job, home: Home) -> None:
    command = Container(engine, job, home.job(job.id)).cleanup
    assert command[:2] == [engine, "rm"]
    assert command[-2:] == ["jupyter-pai-aaaa-0", "jupyter-pai-aaaa-1"]
