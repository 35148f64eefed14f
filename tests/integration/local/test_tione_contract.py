"""Scripts for TI-ONE in local jobs: its folders, its variables, and nodes that find each other."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from jupyter_pai.backends.local.supervisor import namespaces
from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.core.contract import NODE_VARIABLES

from ...conftest import script, submit
from ...support import containers, node_scripts
from .supervised_job import Started

VARIABLES = 'echo "$INDEX of $NODE_NUM, $GPU_NUM_PER_NODE of $GPU_NUM, $CHIEF_IP in $NODE_LIST"'


@pytest.fixture(scope="module")
def podman() -> Iterator[None]:
    with containers.storage():
        yield


@pytest.fixture(params=["none", "podman"])
def container(request: pytest.FixtureRequest) -> str:
    """Both ways to run a job with `/opt/ml`."""
    request.getfixturevalue("private_ml" if request.param == "none" else "podman")
    return str(request.param)


@pytest.mark.slow("cases", first=1)
def test_folders_are_those_of_the_job(engine: EmbeddedClient, folder: Path, container: str) -> None:
    (folder / "data").mkdir()
    (folder / "data/a.csv").write_text("rows\n")
    script(folder, 'print(open("/opt/ml/input/data/train/a.csv").read(), end="")')
    command = (
        "python3 /opt/ml/code/train.py; echo w >/opt/ml/model/weights; mkdir -p /opt/ml/output/data;"
        "echo r >/opt/ml/output/data/r; cat /opt/ml/input/config/hyperparameters.json"
    )
    options = {"container": container}
    spec = {"hyperparameters": {"lr": 1}, "inputs": {"train": f"{folder}/data/"}, "image": containers.IMAGE}
    job = submit(engine, command, folder, output_path=f"{folder}/out", options=options, **spec).wait()
    assert job.logs() == 'rows\n{\n "lr": "1"\n}'
    (out,) = (folder / "out").iterdir()
    assert (out / "model/weights").read_text() == "w\n"
    assert (out / "data/r").read_text() == "r\n"


@pytest.mark.slow("processes")
@pytest.mark.usefixtures("private_ml")
def test_job_of_a_job_gets_its_folders(engine: EmbeddedClient, folder: Path, tmp_path: Path) -> None:
    """A path that a job names to another one is a path of the first."""
    script(folder / "inner", "")
    inner = "submit inner --command 'cat /opt/ml/input/data/model/w' --input model=/opt/ml/model/ --wait"
    command = f"echo weights >/opt/ml/model/w; JUPYTER_PAI_HOME={tmp_path}/inner-state python -m jupyter_pai {inner}"
    job = submit(engine, command, folder).wait()
    assert "weights" in job.logs().splitlines()


def test_nodes_have_their_variables(engine: EmbeddedClient, container: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The variables of a task that submits the job are not passed on."""
    for name in NODE_VARIABLES:
        monkeypatch.setenv(name, "7")
    options = {"container": container}
    job = submit(engine, VARIABLES, instance_count=2, gpu=0, image=containers.IMAGE, options=options).wait()
    for rank in range(2):
        expected = f"{rank} of 2, 0 of 0, 127.0.0.1 in 127.0.0.1:0,127.0.0.1:0\n"
        assert job.logs(instance=f"worker-{rank}") == expected


def test_variables_of_the_user_stay(engine: EmbeddedClient) -> None:
    own = {"GPU_NUM_PER_NODE": "3", "INDEX": "5", "CHIEF_IP": "localhost"}
    job = submit(engine, VARIABLES, instance_count=2, environment=own).wait()
    assert job.logs(instance="worker-1") == "5 of 2, 3 of 6, localhost in localhost:3,localhost:3\n"


@pytest.mark.slow("cases", first=5)
@pytest.mark.parametrize(
    ("devices", "count"),
    [("", 0), ("-1", 0), ("NoDevFiles", 0), ("0", 1), ("3,1", 2), ("GPU-1f,GPU-2e,GPU-3d", 3), ("MIG-1", 1)],
)
def test_gpus_are_those_that_cuda_sees(engine: EmbeddedClient, devices: str, count: int) -> None:
    roles = [{"name": "ps", "gpu": 0}, {"name": "worker", "command": VARIABLES}]
    job = submit(engine, VARIABLES, roles=roles, environment={"CUDA_VISIBLE_DEVICES": devices}).wait()
    places = f"127.0.0.1 in 127.0.0.1:0,127.0.0.1:{count}"
    assert job.logs(instance="ps-0") == f"0 of 2, 0 of {count}, {places}\n"
    assert job.logs(instance="worker-0") == f"1 of 2, {count} of {count}, {places}\n"


def test_nodes_exchange_data(engine: EmbeddedClient, folder: Path) -> None:
    """The start script of a lesson in TI-ONE runs as printed. The code has a small launcher in place of PyTorch's."""
    (folder / "rows.csv").write_text("100")
    one_process = {"GPU_NUM_PER_NODE": "1"}
    job = submit(
        engine, "sh start_cloud.sh", source={"files": node_scripts.files()}, instance_count=2,
        inputs={"image_classify": f"{folder}/"}, environment=one_process,
    ).wait()  # fmt: skip
    assert job.status == "succeeded", job.logs()
    for rank in range(2):
        assert job.logs(instance=f"worker-{rank}") == f"process {rank} of 2, model resnet50: total 300\n"
    assert sorted(file["path"] for file in job.files("model")) == ["0", "1"]


@pytest.mark.parametrize("mode", [namespaces.PRIVATE, namespaces.MOUNTS])
def test_programs_of_the_machine_stay(tmp_path: Path, mode: str) -> None:
    """The rest of `/opt`, also of a folder `ml` of the machine, is there, and the machine's own `/opt` is unchanged."""
    before = sorted(os.listdir("/opt"))
    started = Started(tmp_path / "job", "ls -A /opt > names; mkdir /opt/new || : > refused; ls -A /opt/ml > ml", mode)
    result = started.end()
    assert result and result.exit_code == 0, started.log
    code = tmp_path / "job/ml/usercode"
    assert sorted((code / "names").read_text().split()) == sorted({*before, "ml"})
    assert {*(code / "ml").read_text().split()} >= {"code", "input", "model", "output"}
    assert (code / "refused").exists()
    assert sorted(os.listdir("/opt")) == before
