"""Submits to TI-ONE: tasks really run, and find the training contract."""

from __future__ import annotations

import base64
import json
import logging
import shlex
from pathlib import Path
from typing import Any

import pytest

from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.config.secret_store import NAME as SECRETS
from jupyter_pai.jobs.spec import parse_spec
from jupyter_pai.jobs.state_dir import Home

from ...conftest import PATIENCE, script
from ...fakes.tione import TiOne
from .conftest import write_profile
from .jobs import ended, log, scripts, send, there

EXCHANGE = """
import os, socket
rank, address = int(os.environ["RANK"]), (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))
role = os.environ["JUPYTER_PAI_ROLE"] + " " + os.environ["JUPYTER_PAI_ROLE_RANK"]
print("I am", role, "of", os.environ["WORLD_SIZE"], flush=True)
if rank == 0:
    server = socket.create_server(address)
    for _n in range(int(os.environ["WORLD_SIZE"]) - 1):
        print("got", server.accept()[0].makefile().readline(), flush=True)
else:
    while True:
        try:
            socket.create_connection(address, 1).sendall(f"hello from {role}\\n".encode())
            break
        except OSError:
            pass
"""
RUN_EXCHANGE = f"python -c {shlex.quote(EXCHANGE)}"
TENSORFLOW = "tf1.15-py3.7-cpu"
NETWORK = {"vpc_id": "vpc-1", "subnet_id": "subnet-1"}


def test_job_has_contract_outputs_and_page(engine: EmbeddedClient, tione: TiOne) -> None:
    command = (
        "pwd; echo $RANK of $WORLD_SIZE, $PAI_HPS_LR; echo m >${PAI_OUTPUT_MODEL}m; echo c >/ml/output/checkpoints/c"
    )
    command += "; mkdir -p /ml/output/output_parameters; echo 0.5 >/ml/output/output_parameters/acc; echo k >kept"
    job = send(engine, command, hyperparameters={"lr": "0.1"})
    task = ended(tione, job)
    assert task.status == "SUCCEED", log(tione, job)
    lines = log(tione, job).splitlines()
    assert "/ml/usercode" in lines
    assert "0 of 1, 0.1" in lines
    assert task.request["TuningParameters"] == '{"lr": 0.1}'
    assert task.name == f"test-{job.id}"
    job.wait()
    assert (job.status, job.info["exit_code"]) == ("succeeded", 0)
    assert job.info["output_parameters"] == {"acc": "0.5\n"}
    assert job.info["console_url"] == f"https://console.cloud.tencent.com/tione/v2/job/detail/{task.id}?regionId=1"
    folder = f"jupyter-pai/outputs/{task.id}/"
    assert {*tione.objects.keys()} == {
        f"{folder}{name}"
        for name in ("model/m", "output/checkpoints/c", "output/files/kept", "output/output_parameters/acc")
    }
    for channel, key in (("model", "model"), ("checkpoints", "output/checkpoints"), ("files", "output/files")):
        assert job.info["outputs"][channel] == f"cos://{tione.bucket}/{folder}{key}/"


def test_code_written_for_the_platform_runs(engine: EmbeddedClient, tione: TiOne) -> None:
    tione.objects.write("data/row", b"a row")
    command = "cd /opt/ml/code && cat /opt/ml/input/data/train/row && echo; echo $NODE_NUM $INDEX $GPU_NUM_PER_NODE"
    command += "; cat /opt/ml/input/config/hyperparameters.json; echo m >/opt/ml/model/m; echo r >/opt/ml/output/r"
    command += "; echo $CHIEF_IP; test $CHIEF_IP = $MASTER_ADDR"
    job = send(engine, command, inputs={"train": f"cos://{tione.bucket}/data/"}, hyperparameters={"lr": "1"})
    task = ended(tione, job)
    assert task.status == "SUCCEED", log(tione, job)
    lines = log(tione, job).splitlines()
    assert {"a row", "1 0 0", ' "lr": "1"'} <= {*lines}
    assert [key.partition(task.id)[2] for key in tione.objects.keys("jupyter-pai/outputs/")] == [
        "/model/m",
        "/output/r",
    ]


def test_nodes_exchange_data(engine: EmbeddedClient, tione: TiOne) -> None:
    job = send(engine, RUN_EXCHANGE, instance_count=2)
    assert ended(tione, job).status == "SUCCEED", log(tione, job)
    assert "I am worker 0 of 2" in log(tione, job)
    assert "got hello from worker 1" in log(tione, job)


def test_roles_exchange_data(engine: EmbeddedClient, tione: TiOne) -> None:
    """The parameter server has the rank 0; the task ends with its workers."""
    roles = [
        {"name": "ps", "command": f"{RUN_EXCHANGE} && echo served && exec sleep 600"},
        {"name": "worker", "count": 2, "instance_type": "TI.SA2.2XLARGE32.POST", "command": f"{RUN_EXCHANGE} # other"},
    ]
    job = send(engine, "false", roles=roles, image=TENSORFLOW)
    task = ended(tione, job)
    assert task.status == "SUCCEED", log(tione, job)
    assert task.request["TrainingMode"] == "PS_WORKER"
    assert [config["InstanceType"] for config in task.request["ResourceConfigInfos"]] == [
        "TI.S.MEDIUM.POST", "TI.SA2.2XLARGE32.POST"
    ]  # fmt: skip
    assert "I am ps 0 of 3" in log(tione, job)
    assert "got hello from worker 1" in log(tione, job)
    assert "I am worker 1 of 3" in log(tione, job, 2)


@pytest.mark.slow("cases", first=1)
@pytest.mark.parametrize(
    ("mode", "image", "count", "started"),
    [
        ("MPI", "torch1.9-py3.8-cuda11.1-gpu", 2, ["launcher"]),
        ("RAY", "ray2.9-py3.10-cpu", 2, ["head-0"]),
        ("SPARK", "spark2.4.5-cpu", 2, ["driver-0"]),
    ],
)
def test_modes_start_one_command(
    engine: EmbeddedClient, tione: TiOne, tmp_path: Path, mode: str, image: str, count: int, started: list[str]
) -> None:
    script(tmp_path / "programs", "#!/bin/sh\nexec cat >/dev/null\n", "ssh").chmod(0o755)
    tione.settings.programs = str(tmp_path / "programs")
    job = send(engine, "echo $RANK $WORLD_SIZE", options={"training_mode": mode}, image=image, instance_count=count)
    task = ended(tione, job)
    assert task.status == "SUCCEED", log(tione, job)
    assert "0 2" in log(tione, job).splitlines()
    assert [pod.name.removeprefix(f"{task.run.instance}-") for pod in task.run.pods if pod.command] == started
    # The instances have the names of the pods, so that the log of the job is that of the command.
    job.wait(timeout=PATIENCE)
    assert job.instances()[0]["name"] == parse_spec(job.info["spec"]).instance_names[0]
    assert "0 2" in job.logs().splitlines()


def test_what_the_user_writes_reaches_the_job_unchanged(engine: EmbeddedClient, tione: TiOne) -> None:
    texts = {"quotes": "'\"`$HOME \\ {{x}}", "lines": "a\nb\n", "zh": "学习率"}
    code = "import json, os; print(json.dumps([json.loads(os.environ['PAI_HPS']), os.environ['OWN']]))"
    job = send(
        engine, f"python -c {shlex.quote(code)} # 中", name="训练 it's " + "x" * 100, hyperparameters=texts,
        environment={"OWN": texts["quotes"]},
    )  # fmt: skip
    task = ended(tione, job)
    assert task.status == "SUCCEED", log(tione, job)
    line = next(line for line in log(tione, job).splitlines() if line.startswith("[{"))
    assert json.loads(line) == [texts, texts["quotes"]]
    assert task.name.startswith("训练_it_s_xxx")
    assert task.name.endswith(job.id)
    assert task.request["Envs"] == [{"Name": "OWN", "Value": texts["quotes"]}]


# Inputs and outputs.


@pytest.fixture
def file_systems(tione: TiOne, tmp_path: Path) -> Path:
    """The folder that is all file systems and data sets."""
    folder = tmp_path / "files"
    (folder / "sub").mkdir(parents=True)
    (folder / "sub/row").write_text("a row\n")
    (folder / "row").write_text("a row\n")
    tione.settings.file_systems = {name: str(folder) for name in ("cfs-1", "emr-1", "gfs-1", "ds-1")}
    return folder


@pytest.mark.parametrize(
    "uri",
    ["cfs://cfs-1/sub", "cfsturbo://cfs-1/sub/", "emr://emr-1/sub", "goosefs://gfs-1/space", "goosefsx://gfs-1/sub",
     "dataset://ds-1"],
)  # fmt: skip
def test_file_systems_are_inputs(engine: EmbeddedClient, tione: TiOne, file_systems: Path, uri: str) -> None:
    job = send(engine, "cat ${PAI_INPUT_TRAIN}row; pwd", inputs={"train": uri}, options=NETWORK)
    assert ended(tione, job).status == "SUCCEED", log(tione, job)
    assert "a row" in log(tione, job).splitlines()


@pytest.mark.parametrize(
    ("path", "variable"),
    [
        ("data/", "/ml/input/data/train/"), ("data", "/ml/input/data/train/"),
        ("data/sub/row", "/ml/input/data/train/row"),
    ],
)  # fmt: skip
def test_objects_are_inputs(engine: EmbeddedClient, tione: TiOne, path: str, variable: str) -> None:
    tione.objects.write("data/row", b"a row\n")
    tione.objects.write("data/sub/row", b"a row\n")
    tione.objects.write("database/row", b"of another\n")
    command = "echo $PAI_INPUT_TRAIN; cat /ml/input/data/train/row; ls /ml/input/data/train"
    job = send(engine, command, inputs={"train": f"cos://{tione.bucket}/{path}"})
    assert ended(tione, job).status == "SUCCEED", log(tione, job)
    lines = log(tione, job).splitlines()
    assert [variable, "a row"] == lines[1:3]
    assert "sub" in lines if variable.endswith("/") else "sub" not in lines


def test_outputs_have_places_of_their_own(engine: EmbeddedClient, tione: TiOne, file_systems: Path) -> None:
    outputs = {"best": f"cos://{tione.bucket}/best", "shared": "cfs://cfs-1/sub"}
    base = f"cos://{tione.bucket}/results"
    command = "echo b >${PAI_OUTPUT_BEST}b; echo s >${PAI_OUTPUT_SHARED}s; echo m >${PAI_OUTPUT_MODEL}m"
    job = send(engine, command, outputs=outputs, output_path=base, options=NETWORK)
    task = ended(tione, job)
    assert task.status == "SUCCEED", log(tione, job)
    assert tione.objects.keys() == ["best/b", f"results/{task.id}/model/m"]
    assert (file_systems / "sub/s").read_text() == "s\n"
    shown = job.wait().info["outputs"]
    assert (shown["best"], shown["model"]) == (outputs["best"], f"{base}/{task.id}/model/")


# Machines and images.


def test_sizes_select_an_instance_type(engine: EmbeddedClient, tione: TiOne) -> None:
    job = send(engine, "true", cpu=3, memory="5GiB")
    assert job.info["spec"]["instance_type"] == "TI.SA2.2XLARGE32.POST"
    assert "TI.SA2.2XLARGE32.POST is the smallest instance type with 3 cores, 5GiB" in " ".join(job.info["notes"])
    assert there(tione, job).request["ResourceConfigInfos"][0]["InstanceType"] == "TI.SA2.2XLARGE32.POST"


def test_resource_group_runs_the_job(engine: EmbeddedClient, tione: TiOne) -> None:
    write_profile(tione, resource_group="trsg-standin1")
    job = send(engine, "true", cpu=2, memory="2GiB", gpu=1, instance_count=2)
    task = ended(tione, job)
    assert task.status == "SUCCEED", log(tione, job)
    assert (task.request["ChargeType"], task.request["ResourceGroupId"]) == ("PREPAID", "trsg-standin1")
    assert task.request["ResourceConfigInfos"] == [
        {"Role": "WORKER", "Cpu": 2000, "Memory": 2048, "Gpu": 100, "GpuType": "V100", "InstanceNum": 2}
    ]
    assert not any("CNY" in note for note in job.info["notes"])
    job = send(engine, "true", instance_type="TI.SA2.2XLARGE32.POST")
    assert there(tione, job).request["ChargeType"] == "POSTPAID_BY_HOUR"


@pytest.mark.parametrize(
    ("image", "options", "expected"),
    [
        ("ccr.ccs.tencentyun.com/a/b:1", {}, {"ImageType": "CCR"}),
        (
            "mine.tencentcloudcr.com/a/b:1", {"registry_id": "tcr-1"},
            {"ImageType": "TCR", "RegistryRegion": "ap-guangzhou", "RegistryId": "tcr-1"},
        ),
        ("pytorch/pytorch:2.3", {}, {"ImageType": "CUSTOM"}),
        ("python:3.11", {}, {"ImageType": "CUSTOM"}),
    ],
)  # fmt: skip
def test_own_images_have_the_type_of_their_registry(
    engine: EmbeddedClient, tione: TiOne, image: str, options: dict[str, Any], expected: dict[str, str]
) -> None:
    job = send(engine, "true", image=image, options=options)
    assert there(tione, job).request["ImageInfo"] == {**expected, "ImageUrl": image}
    assert ended(tione, job).status == "SUCCEED", log(tione, job)


# Run-time limit, secrets, lost replies.


def test_job_ends_at_its_limit(engine: EmbeddedClient, tione: TiOne) -> None:
    job = send(engine, "trap 'echo ended; exit 0' TERM; while :; do sleep 0.1; done", max_run_time=1)
    task = ended(tione, job)
    assert task.status == "FAILED"
    assert "ended" in log(tione, job).splitlines()
    assert "container exit code: 124" in task.run.reason
    job.wait()
    assert (job.status, job.info["exit_code"]) == ("failed", 124)
    assert job.info["reason"] == "Stopped: the maximum run time was reached."
    assert job.info["run_time_limit"] == 1


def test_secrets_are_private_variables_and_nowhere_else(
    engine: EmbeddedClient,
    tione: TiOne,
    home: Home,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    caplog.set_level(logging.DEBUG)
    values = {"TOKEN": "value of a token '\"", "REGISTRY": "password-of-a-registry"}
    for name, value in values.items():
        engine.call("set_secret", secret=name, body={"value": value})
    job = send(
        engine, 'echo "got $TOKEN"; echo "and ${REGISTRY-nothing}"', image="example.com/a/b:1",
        secrets={name: name for name in values}, options={"image_user": "me", "image_password": "REGISTRY"},
    )  # fmt: skip
    task = ended(tione, job)
    job.wait()
    assert {f"got {values['TOKEN']}", "and nothing"} <= {*log(tione, job).splitlines()}
    assert "got [secret TOKEN]" in job.logs().splitlines()
    assert task.request["Envs"] == [{"Name": "TOKEN", "Value": values["TOKEN"], "IsPrivate": True}]
    password = task.request["ImageInfo"]["ImageSecret"]
    assert password == {"Username": "me", "Password": base64.b64encode(values["REGISTRY"].encode()).decode()}
    rest = {name: value for name, value in task.request.items() if name not in ("Envs", "ImageInfo")}
    texts = [json.dumps(rest), *scripts(task), caplog.text, str(capfd.readouterr()), json.dumps(tione.requests)]
    texts += [job.logs(), *(json.dumps(engine.call(verb, job=job.id)) for verb in ("show", "provenance"))]
    files = [path for path in home.path.rglob("*") if path.is_file() and path.name != SECRETS]
    keys = tione.objects.keys()
    for secret in values.values():
        assert not [text for text in texts if secret in text or json.dumps(secret)[1:-1] in text]
        assert not [path for path in files if secret.encode() in path.read_bytes()]
        assert not [key for key in keys if secret.encode() in tione.objects.read(key)]


@pytest.mark.parametrize("kind", ["lost", "cut"])
def test_lost_reply_makes_one_task(engine: EmbeddedClient, tione: TiOne, kind: str) -> None:
    tione.faults.add(kind, "tione:CreateTrainingTask", count=1)
    job = send(engine, "true")
    assert ended(tione, job).status == "SUCCEED"
    assert tione.faults.struck == 1
    assert [task.name for task in tione.tasks] == [f"test-{job.id}"]
    assert job.info["outputs"]["model"].endswith(f"{tione.tasks[0].id}/model/")


def test_busy_platform_is_asked_again(engine: EmbeddedClient, tione: TiOne) -> None:
    """The first two refusals mean that nothing was done, or that this is unknown."""
    for code in ("RequestLimitExceeded", "InternalError"):
        tione.faults.add("refused", "tione:CreateTrainingTask", count=1, code=code)
    job = send(engine, "true")
    assert ended(tione, job).status == "SUCCEED"
    assert len(tione.tasks) == 1
