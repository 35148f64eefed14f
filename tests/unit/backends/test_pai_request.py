"""The request that creates a job on PAI: its URIs, and the script that unpacks the code in the container."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import pytest

from jupyter_pai.backends.local.supervisor import namespaces
from jupyter_pai.backends.pai.backend import PaiBackend
from jupyter_pai.backends.pai.request_body import ARCHIVE, Destination, request_body, script_of
from jupyter_pai.backends.pai.site import PaiSettings
from jupyter_pai.backends.runtime.job_script import KeptFiles
from jupyter_pai.jobs.job import Job
from jupyter_pai.jobs.state_dir import Home

from ...conftest import NO_ML, allows
from ...fakes.alibaba import launch
from ..jobs.test_store import job

REGION, OWN = "cn-hangzhou", "oss-cn-hangzhou.aliyuncs.com"


def backend(home: Home, **settings: Any) -> PaiBackend:
    fields = {"backend": "pai", "region_id": REGION, "workspace_id": "1", "oss_bucket_name": "mine"}
    return PaiBackend(PaiSettings(**fields | {"network": "public"} | settings), home)


def body_of(pai: PaiBackend, home: Home, *, staged: dict[str, str] | None = None, **spec: Any) -> dict[str, Any]:
    """Return the body for a job with these inputs that we staged."""
    one = job(image="i", **spec)
    outputs = asyncio.run(pai.prepare(one, home.job(one.id))).outputs
    one = one.model_copy(update={"outputs": outputs, "inputs": staged or {}})
    assert all(uri.startswith("oss://") and "." in uri.split("/")[2] for uri in outputs.values())
    return request_body(one, Destination("1", "", "home", short=pai._short_uris(one)))


def uris(channels: list[dict[str, str]], word: str) -> dict[str, str]:
    return {one["Name"]: one[word] for one in channels}


@pytest.mark.parametrize("network", ["public", "vpc"])
def test_own_uris_have_no_endpoint(home: Home, network: str) -> None:
    pai = backend(home, network=network)
    host = OWN if network == "public" else f"oss-{REGION}-internal.aliyuncs.com"
    staged = {"train": f"oss://mine.{host}/pai/input_data/x/", "theirs": f"oss://theirs.{OWN}/y/"}
    body = body_of(pai, home, staged=staged, inputs={"train": "/local/x", "theirs": f"oss://theirs.{OWN}/y/"})
    assert uris(body["OutputChannels"], "OutputUri")["model"].startswith("oss://mine/pai/training_job/")
    assert uris(body["InputChannels"], "InputUri") == {
        "train": "oss://mine/pai/input_data/x/",
        "theirs": f"oss://theirs.{OWN}/y/",
    }
    assert body["AlgorithmSpec"]["SupportsDistributedTraining"] is True


def test_uris_of_the_user_and_of_another_endpoint_stay(home: Home) -> None:
    named: dict[str, Any] = {"output_path": f"oss://mine.{OWN}/runs/", "outputs": {"model": f"oss://mine.{OWN}/model/"}}
    body = body_of(backend(home), home, **named)
    outputs = uris(body["OutputChannels"], "OutputUri")
    assert outputs["model"] == f"oss://mine.{OWN}/model/"
    assert outputs["checkpoints"] == f"oss://mine.{OWN}/runs/checkpoints/"
    body = body_of(backend(home, oss_endpoint=f"https://{OWN}"), home, staged={"a": f"oss://mine.{OWN}/a"})
    assert all(uri.startswith(f"oss://mine.{OWN}/") for uri in uris(body["OutputChannels"], "OutputUri").values())
    assert uris(body["InputChannels"], "InputUri") == {"a": f"oss://mine.{OWN}/a"}
    body = body_of(backend(home, oss_bucket_name="mine"), home, staged={"a": "oss://b.oss-cn-beijing.aliyuncs.com/a"})
    assert uris(body["InputChannels"], "InputUri") == {"a": "oss://b.oss-cn-beijing.aliyuncs.com/a"}


@pytest.mark.parametrize(
    ("uri", "full"),
    [("oss://mine/a/b", f"oss://mine.{OWN}/a/b"), ("oss://mine", f"oss://mine.{OWN}"),
     ("oss://mine.oss-cn-beijing.aliyuncs.com/a", "oss://mine.oss-cn-beijing.aliyuncs.com/a"),
     ("oss://mine/a?endpoint=oss-cn-beijing.aliyuncs.com", "oss://mine/a?endpoint=oss-cn-beijing.aliyuncs.com"),
     ("nas://x/y", "nas://x/y"), ("", "")],
)  # fmt: skip
def test_endpoint_is_added_where_it_is_required(home: Home, uri: str, full: str) -> None:
    assert asyncio.run(backend(home).account.with_endpoint(uri)) == full


@pytest.fixture
def code(tmp_path: Path) -> Path:
    """A folder as PAI mounts it, with the archive of the code."""
    folder = tmp_path / "ml/usercode"
    folder.mkdir(parents=True)
    (tmp_path / "train.txt").write_text("packed")
    with tarfile.open(folder / ARCHIVE, "w:gz") as archive:
        archive.add(tmp_path / "train.txt", "train.txt")
    return folder


def path_of(tmp_path: Path, *programs: str) -> dict[str, str]:
    """Return an environment with these programs only."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for program in programs:
        (folder / program).symlink_to(f"/bin/{program}")
    return {"PATH": str(folder)}


def unpacking(job_: Job) -> str:
    return script_of(job_, Destination("1", "", "home", kept=KeptFiles(0)))


COMMAND = "read -r line <train.txt; echo $line; pwd"


def test_code_is_unpacked_in_place(code: Path, tmp_path: Path) -> None:
    words = ["/bin/sh", "-c", unpacking(job(command=COMMAND))]
    done = subprocess.run(
        words, cwd=code, env=path_of(tmp_path, "sh", "tar", "gzip"), capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == ["packed", str(code)]
    assert done.stderr == ""


@pytest.mark.parametrize("programs", [["sh", "tar", "gzip"], ["sh", "tar", "gzip", "mktemp"]], ids=["bare", "mktemp"])
def test_shared_folder_stays_unchanged(code: Path, tmp_path: Path, programs: list[str]) -> None:
    words = ["/bin/sh", "-c", unpacking(job(command=COMMAND, instance_count=2))]
    done = subprocess.run(words, cwd=code, env=path_of(tmp_path, *programs), capture_output=True, text=True, check=True)
    first, place = done.stdout.splitlines()
    assert (first, place != str(code)) == ("packed", True)
    assert [path.name for path in code.iterdir()] == [ARCHIVE]
    # A folder around it belongs to the job.
    shutil.rmtree(Path(place).parent if "mktemp" in programs else place)


@pytest.mark.parametrize("programs", [["sh"], ["sh", "tar"]])
def test_missing_programs_are_reported(code: Path, tmp_path: Path, programs: list[str]) -> None:
    if programs == ["sh", "tar"] and b"busybox" in Path(os.path.realpath("/bin/tar")).name.encode():
        programs = ["sh"]  # It unpacks by itself.
    words = ["/bin/sh", "-c", unpacking(job(command=COMMAND))]
    environment = path_of(tmp_path, *programs)
    done = subprocess.run(words, cwd=code, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 125
    assert "[jupyter-pai] Cannot unpack the code. The image needs `sh`, and `tar` with `gzip`." in done.stderr
    assert (code / ARCHIVE).exists()


def run_in_container(code: Path, script: str) -> list[str]:
    """Run a script where the folder above the code is `/ml`, and return the lines that it prints."""
    (code.parent.parent / "root").mkdir()
    words = [sys.executable, "-I", "-S", str(launch.__file__), str(code.parent.parent), "root", "sh", "-c", script]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout.splitlines()


@pytest.mark.skipif(not allows(namespaces.PRIVATE), reason=NO_ML)
@pytest.mark.parametrize(
    ("count", "chief", "hosts"),
    [
        (1, "j-master-0", "j-master-0:1"),
        (3, "j-master-0", "j-master-0:1,j-worker-0:1,j-worker-1:1"),
        (2, "10.0.0.1", "none"),
    ],
)
def test_names_of_tione_are_there(code: Path, count: int, chief: str, hosts: str) -> None:
    (code.parent / "output/model").mkdir(parents=True)
    command = """read -r line </opt/ml/code/train.txt; echo w >/opt/ml/model/w; echo "$line"
      echo "$INDEX of $NODE_NUM, $GPU_NUM_PER_NODE of $GPU_NUM, $CHIEF_IP in ${NODE_LIST-none}" """
    platform = f"RANK={count - 1} WORLD_SIZE={count} MASTER_ADDR={chief} CUDA_VISIBLE_DEVICES=0"
    lines = run_in_container(code, f"export {platform}\n{unpacking(job(command=command, instance_count=count))}")
    assert lines == ["packed", f"{count - 1} of {count}, 1 of {count}, {chief} in {hosts}"]
    assert (code.parent / "output/model/w").read_text() == "w\n"


@pytest.mark.skipif(not allows(namespaces.PRIVATE), reason=NO_ML)
def test_archive_on_a_mount_is_kept_through_a_link(code: Path, tmp_path: Path) -> None:
    """The code is the mount `/ml` itself, reached by a link."""
    (code.parent / ARCHIVE).write_bytes((code / ARCHIVE).read_bytes())
    link = tmp_path / "link"
    link.symlink_to("/ml")
    first, place = run_in_container(code, f"cd {link}\n{unpacking(job(command=COMMAND))}")
    assert first == "packed"
    assert not place.startswith(("/ml", str(link)))
    assert sorted(path.name for path in code.parent.iterdir()) == [ARCHIVE, "usercode"]
