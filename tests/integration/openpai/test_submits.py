"""Submits to a cluster: the document of a job, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.core.errors import PaiError, SpecError, Unconfirmed

from ...conftest import SystemFile, script
from ...fakes.openpai import OpenPai
from .jobs import IMAGE, change_profile, ended, log, preview, send, there

EXCHANGE = """
import os, socket, sys
rank, address = int(os.environ["RANK"]), (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))
print("I am", os.environ["JUPYTER_PAI_ROLE"], os.environ["JUPYTER_PAI_ROLE_RANK"], "of", os.environ["WORLD_SIZE"])
if rank == 0:
    server = socket.create_server(address)
    for _n in range(2):
        print("got", server.accept()[0].makefile().readline(), flush=True)
else:
    while True:
        try:
            socket.create_connection(address, 1).sendall(f"hello from {rank}\\n".encode())
            break
        except OSError:
            pass
"""


def test_job_runs_with_its_code_in_the_document(engine: EmbeddedClient, server: OpenPai, folder: Path) -> None:
    script(folder, "import os; print('training with', os.environ['PAI_HPS_LR'], os.getcwd(), os.environ['RANK'])")
    job = send(engine, folder=folder, entry_point="train.py", hyperparameters={"lr": 0.1})
    assert ended(server, job).state == "SUCCEEDED", log(server, job)
    assert "training with 0.1 /ml/usercode 0" in log(server, job)
    assert job.info["remote_id"] == f"me~test_{job.id}"
    assert job.info["console_url"] == f"{server.url}/job-detail.html?username=me&jobName=test_{job.id}"
    assert "The code (" in " ".join(job.info["notes"])


def test_roles_exchange_data(engine: EmbeddedClient, server: OpenPai, folder: Path) -> None:
    """The cluster finds the roles by other names."""
    script(folder, EXCHANGE)
    roles = [
        {"name": "Parameter_Server", "command": "python train.py"},
        {"name": "parameter-server", "count": 2, "command": "python train.py # another", "image": "other/image"},
    ]
    job = send(engine, folder=folder, roles=roles, cpu=1, memory="1GiB")
    assert ended(server, job).state == "SUCCEEDED", log(server, job, "parameterserver")
    first = log(server, job, "parameterserver")
    assert "I am Parameter_Server 0 of 3" in first
    assert "got hello from 1" in first
    assert "got hello from 2" in first
    assert "I am parameter-server 1 of 3" in log(server, job, "parameterserver2", 1)
    document = there(server, job).document
    assert [role["resourcePerInstance"]["cpu"] for role in document["taskRoles"].values()] == [1, 1]
    assert len({item["uri"] for item in document["prerequisites"]}) == 2
    assert len(json.dumps(document["taskRoles"])) < 5000


def test_what_the_user_writes_reaches_the_job_unchanged(engine: EmbeddedClient, server: OpenPai, folder: Path) -> None:
    texts = {"template": "<% $parameters.x %> <%", "quotes": "'\"`$HOME \\ {{x}}", "lines": "a\nb\n", "zh": "学习率"}
    script(folder, "import json, os; print(json.dumps([os.environ['PAI_HPS'], os.environ['OWN']])) # <%= x %>")
    environment = {"OWN": texts["quotes"] + texts["template"]}
    job = send(
        engine, folder=folder, entry_point="train.py", name="训练 <% it's " + "x" * 100, hyperparameters=texts,
        environment=environment,
    )  # fmt: skip
    assert ended(server, job).state == "SUCCEEDED", log(server, job)
    line = next(line for line in log(server, job).splitlines() if line.startswith('["'))
    hyperparameters, own = json.loads(line)
    assert json.loads(hyperparameters) == texts
    assert own == environment["OWN"]
    assert there(server, job).name.endswith(f"_{job.id}")


def test_options_become_fields_of_the_document(engine: EmbeddedClient, server: OpenPai, share: Path) -> None:
    options = {
        "virtual_cluster": "vision", "storages": ["nfs"], "shared_memory": "1GiB", "ports": {"http2": 2},
        "job_retries": 3, "task_retries": 2, "ssh": True,
        "completion": {"worker": {"min_failed": 2, "min_succeeded": -1}},
    }  # fmt: skip
    job = send(engine, "ls -d /mnt/nfs", options=options, cpu=1.5, memory="1500MB", gpu=1, instance_count=2)
    assert ended(server, job).state == "SUCCEEDED", log(server, job)
    document = there(server, job).document
    role = document["taskRoles"]["worker"]
    assert document["defaults"] == {"virtualCluster": "vision"}
    assert document["jobRetryCount"] == 3
    assert role["taskRetryCount"] == 2
    assert role["completion"] == {"minFailedInstances": 2, "minSucceededInstances": -1}
    assert role["extraContainerOptions"] == {"shmMB": 1024}
    assert role["resourcePerInstance"] == {"cpu": 2, "memoryMB": 1431, "gpu": 1, "ports": {"http2": 2, "master": 1}}
    extras = document["extras"]
    assert extras["storages"] == [{"name": "nfs"}]
    assert extras["gangAllocation"] is False
    assert extras["com.microsoft.pai.runtimeplugin"] == [{"plugin": "ssh", "parameters": {"jobssh": False}}]
    assert "hivedScheduler" not in extras


@pytest.mark.parametrize(
    ("spec", "field", "text"),
    [
        ({"image": ""}, "image", "image: required"),
        ({"roles": [{"name": "a", "image": "x"}, {"name": "b"}], "image": ""}, "roles.1.image", "required"),
        ({"options": {"virtual_cluster": "other"}}, "options.virtual_cluster", "You may use: default, vision."),
        ({"options": {"storages": ["blob"]}}, "options.storages", "You may use: nfs."),
        ({"options": {"priority": "high"}}, "options.priority", "prod"),
        ({"options": {"ports": {"2x": 1}}}, "options.ports", "`2x`"),
        ({"options": {"ports": {"x": 0}}}, "options.ports", "at least one port"),
        ({"options": {"completion": {"ps": {}}}}, "options.completion", "Known: `worker`."),
        ({"options": {"colour": 1}}, "options.colour", "unknown"),
        ({"instance_type": "K80"}, "instance_type", "Set --cpu, --memory and --gpu."),
        ({"inputs": {"train": "oss://bucket/data/"}}, "inputs.train", "do not see oss://bucket/data/"),
        ({"output_path": "/tmp/elsewhere"}, "output_path", "`mounts`"),
        ({"outputs": {"model": "oss://bucket/x/"}}, "outputs.model", "HDFS"),
        ({"command": "", "entry_point": "a.ipynb"}, "entry_point", "--as-script"),
    ],
)
def test_what_no_cluster_runs_is_refused_beside_its_field(
    engine: EmbeddedClient, server: OpenPai, spec: dict[str, Any], field: str, text: str
) -> None:
    with pytest.raises(PaiError) as caught:
        send(engine, **({"command": "true"} | spec))
    faults = caught.value.details["faults"]
    assert isinstance(faults, dict)
    assert field in faults
    assert text in str(caught.value)
    assert caught.value.status == 400
    assert not server.count("rest:submit")
    assert engine.call("list_jobs") == {"jobs": [], "total": 0, "runs": {}}


def test_a_storage_that_is_not_granted_is_named(engine: EmbeddedClient, server: OpenPai, tmp_path: Path) -> None:
    change_profile(engine, server, mounts={"secret": str(tmp_path)})
    with pytest.raises(SpecError, match=r"you may not use `secret`. You may use: nfs"):
        send(engine, "true")


def test_outputs_without_a_place_are_asked_about(engine: EmbeddedClient, server: OpenPai) -> None:
    fields = {"name": "test", "source": {"files": {"a": ""}}, "command": "true", **IMAGE}
    with pytest.raises(Unconfirmed) as caught:
        engine.submit(fields)
    assert "The outputs end with the container" in str(caught.value)
    preview = engine.call("preview", body={"spec": fields})
    assert any("The code goes in the job document, which has room for" in note for note in preview["notes"])
    assert "Each instance gets 4 cores, 8 GiB." in preview["notes"]


def test_preview_shows_the_document_and_its_warnings(
    engine: EmbeddedClient, server: OpenPai, share: Path, tmp_path: Path
) -> None:
    change_profile(engine, server, mounts={"nfs": str(share)})
    (tmp_path / "data.csv").write_text("1")
    shown = preview(
        engine, command="echo <% it's mine", image="library/alpine:3", source={"files": {"a": ""}},
        inputs={"train": str(tmp_path / "data.csv")}, secrets={}, name="训练 x",
    )  # fmt: skip
    document = yaml.safe_load(shown["document"]["text"])
    assert document["name"] == "_x"
    assert {*document["parameters"].values()} == {"added at the submit"}
    assert "mine" not in shown["document"]["text"]
    assert document["extras"]["storages"] == [{"name": "nfs"}]
    (problem,) = shown["problems"]
    assert problem["path"] == "prerequisites[0].uri"
    assert "Images of Alpine have no bash" in problem["text"]
    assert shown["document"]["text"].splitlines()[problem["line"] - 1].strip() == "uri: library/alpine:3"
    assert not problem["is_error"]


# SKUs of HiveD.


class TestHived:
    """A cluster with HiveD."""

    @pytest.fixture
    def server_settings(self) -> dict[str, Any]:
        skus = {"CPU": {"cpu": 4, "memory": 8192, "gpu": 0}, "K80": {"cpu": 4, "memory": 8192, "gpu": 1}}
        return {"skus": skus, "submits_an_hour": 1000}

    @pytest.mark.parametrize(
        ("spec", "sku", "size"),
        [
            ({}, "CPU", (4, 8192, 0)),
            ({"gpu": 2}, "K80", (8, 16384, 2)),
            ({"cpu": 5}, "CPU", (8, 16384, 0)),
            ({"memory": "17GiB", "gpu": 1}, "K80", (12, 24576, 3)),
            ({"instance_type": "K80"}, "K80", (4, 8192, 1)),
            ({"instance_type": "K80", "cpu": 9}, "K80", (12, 24576, 3)),
        ],
    )
    def test_size_is_units_of_a_sku(
        self, engine: EmbeddedClient, server: OpenPai, spec: dict[str, Any], sku: str, size: tuple[int, int, int]
    ) -> None:
        job = send(engine, "true", options={"priority": "prod"}, **spec)
        document = there(server, job).document
        wanted = document["taskRoles"]["worker"]["resourcePerInstance"]
        assert (wanted["cpu"], wanted["memoryMB"], wanted["gpu"]) == size
        hived = document["extras"]["hivedScheduler"]
        assert hived == {"jobPriorityClass": "prod", "taskRoles": {"worker": {"skuType": sku}}}
        assert job.info["spec"]["instance_type"] == sku

    def test_profile_has_a_default(self, engine: EmbeddedClient, server: OpenPai) -> None:
        change_profile(engine, server, sku="K80")
        assert send(engine, "true", cpu=1).info["spec"]["instance_type"] == "K80"
        change_profile(engine, server, sku="K8O")
        with pytest.raises(SpecError, match="Did you mean `K80`"):
            send(engine, "true")

    def test_policy_limits_the_skus(self, engine: EmbeddedClient, server: OpenPai, system: SystemFile) -> None:
        system('[policy]\ninstance_types = ["K80"]\n')
        assert send(engine, "true", cpu=1).info["spec"]["instance_type"] == "K80"
        with pytest.raises(PaiError):
            send(engine, "true", instance_type="CPU")

    def test_unknown_and_unfit_skus_are_refused(self, engine: EmbeddedClient, server: OpenPai) -> None:
        with pytest.raises(SpecError, match=r"no SKU `K8O`. Did you mean `K80`"):
            send(engine, "true", instance_type="K8O")
        with pytest.raises(SpecError, match="the SKU CPU has 4 cores, 8 GiB only"):
            send(engine, "true", instance_type="CPU", gpu=1)
        with pytest.raises(SpecError) as caught:
            send(engine, "true", roles=[{"name": "a"}, {"name": "b", "instance_type": "CPU", "gpu": 1}])
        assert [*caught.value.details["faults"]] == ["roles.1.instance_type"]  # type: ignore[misc]
