"""The body of CreateTrainingTask, by the models of the official SDK."""

from __future__ import annotations

import base64
import json
import warnings
from typing import Any

import pytest
from tencentcloud.tione.v20211111.models import CreateTrainingTaskRequest

from jupyter_pai.backends.base import parse_options
from jupyter_pai.backends.tione.names import LONGEST, our_id, task_name
from jupyter_pai.backends.tione.options import TioneOptions
from jupyter_pai.backends.tione.submit.images import TaskImage
from jupyter_pai.backends.tione.submit.roles import with_role_names
from jupyter_pai.backends.tione.submit.task_body import Destination, task_body
from jupyter_pai.core.errors import SpecError
from jupyter_pai.core.secret import Secret

from ...jobs.test_store import job

ENVIRONMENT = TaskImage({"FrameworkName": "PYTORCH", "FrameworkEnvironment": "torch1.9"}, ("DDP", "MPI", "HOROVOD"))
WORKER = {"WorkerStartCmd"}
OWN = TaskImage({"ImageInfo": {"ImageType": "CCR", "ImageUrl": "ccr.ccs.tencentyun.com/a/b:1"}})
OPTIONS = {
    "training_mode": "DDP", "queues": ["q-1"], "rdma": True, "supply": {"supply_type": "SPOT", "cluster_type": "THIRD"},
    "vpc_id": "vpc-1", "subnet_id": "subnet-1", "code_repos": {"cr-1": "/opt/ml/repo"}, "log_logset_id": "set",
    "log_topic_id": "topic", "tags": {"team": "视觉"}, "remark": "a remark", "ssh_public_key": "ssh-ed25519 AAAA",
    "exposed_ports": {"vpc_id": "vpc-1", "clb_id": "lb-1"}, "callback_url": "https://example.com/x",
    "hang_monitor": {"log_hang_timeout": 30, "nodes": ["node-1"]},
}  # fmt: skip


def cos(key: str) -> dict[str, Any]:
    return {"COSSource": {"Bucket": "demo-1", "Region": "ap-guangzhou", "Paths": [key]}}


def goosefs(kind: str, **place: str) -> dict[str, Any]:
    return {"GooseFSSource": {"Id": "gfs-1", "Type": kind, **place}}


def filled(value: Any) -> Any:
    """Return a value without the fields that the client omits."""
    if isinstance(value, dict):
        return {name: filled(inner) for name, inner in value.items() if inner is not None}
    return [filled(inner) for inner in value] if isinstance(value, list) else value


def body_of(image: TaskImage = ENVIRONMENT, group: str = "", given: Any = None, **spec: Any) -> dict[str, Any]:
    """Return the body of a task, which has only fields that the official model knows."""
    one = job("train", "irg3sa36", image="torch1.9", **spec).model_copy(update={"source_files": 1})
    target = Destination("ap-guangzhou", group, "cos://demo-1/code/d/", "cos://demo-1/out/", 3600)
    body: dict[str, Any] = filled(task_body(one, image, target, given))
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # The model warns of unknown fields.
        model = CreateTrainingTaskRequest()
        model.from_json_string(json.dumps(body))
    assert filled(model._serialize(allow_none=True)) == body
    return body


def commands_of(body: dict[str, Any]) -> dict[str, str]:
    commands: dict[str, str] = json.loads(base64.b64decode(body["EncodedStartCmdInfo"]["StartCmdInfo"]))
    return commands


def test_every_option_has_its_field() -> None:
    body = body_of(
        options=OPTIONS, instance_type="TI.S.MEDIUM.POST", instance_count=2, hyperparameters={"lr": "0.1", "n": "a b"},
        environment={"A": "1"}, secrets={"TOKEN": "stored"}, inputs={"train": "cos://demo-1/data/"},
        outputs={"best": "cos://other-2/best"},
    )  # fmt: skip
    assert body["Name"] == "train-irg3sa36"
    assert body["ChargeType"] == "POSTPAID_BY_HOUR"
    (config,) = body["ResourceConfigInfos"]
    assert config == {
        "Role": "WORKER", "InstanceType": "TI.S.MEDIUM.POST", "InstanceNum": 2, "RDMAConfig": {"Enable": True}
    }  # fmt: skip
    assert body["ResourceSupplyAttribute"] == {"SupplyType": "SPOT", "ClusterType": "THIRD"}
    assert (body["FrameworkName"], body["FrameworkEnvironment"], body["TrainingMode"]) == ("PYTORCH", "torch1.9", "DDP")
    assert body["CodePackagePath"] == {"Bucket": "demo-1", "Region": "ap-guangzhou", "Paths": ["code/d/"]}
    assert body["Output"]["Paths"] == ["out/"]
    assert body["DataSource"] == "COS"
    assert [one["MappingPath"] for one in body["DataConfigs"]] == ["/opt/ml/input/data/train", "/opt/ml/outputs/best"]
    assert body["DataConfigs"][1]["COSSource"]["Paths"] == ["best/"]
    assert json.loads(body["TuningParameters"]) == {"lr": 0.1, "n": "a b"}
    assert body["Tags"] == [{"TagKey": "team", "TagValue": "视觉"}]
    assert body["LogEnable"] is True
    assert body["ExposeNetworkConfig"]["ExposePortConfig"] == {"Enable": True, "VpcId": "vpc-1", "ClbId": "lb-1"}
    assert body["TrainToolConfig"]["LogHangTimeoutInMinute"] == 30
    assert {*commands_of(body)} == {"WorkerStartCmd"}


def test_job_without_options_has_few_fields() -> None:
    assert {*body_of()} == {
        "Name", "ChargeType", "ResourceConfigInfos", "FrameworkName", "FrameworkEnvironment", "TrainingMode",
        "CodePackagePath", "EncodedStartCmdInfo", "Output",
    }  # fmt: skip


def test_secrets_are_private_variables_only() -> None:
    options = {"image_user": "me", "image_password": "REGISTRY"}
    given = {"TOKEN": Secret("value-of-token"), "REGISTRY": Secret("value-of-registry")}
    body = body_of(OWN, given=given, environment={"A": "1"}, options=options)
    assert body["Envs"] == [
        {"Name": "A", "Value": "1"}, {"Name": "TOKEN", "Value": "value-of-token", "IsPrivate": True}
    ]  # fmt: skip
    del body["Envs"]
    assert "value-of" not in json.dumps(body) + json.dumps(commands_of(body))


def test_resource_group_gets_sizes() -> None:
    body = body_of(group="rsg-1", cpu=1.5, memory="3GiB", gpu=2, options={"gpu_type": "V100"})
    assert (body["ChargeType"], body["ResourceGroupId"]) == ("PREPAID", "rsg-1")
    (config,) = body["ResourceConfigInfos"]
    assert config == {
        "Role": "WORKER", "Cpu": 1500, "Memory": 3072, "Gpu": 200, "GpuType": "V100", "InstanceNum": 1
    }  # fmt: skip


@pytest.mark.parametrize(
    ("spec", "mode", "roles", "commands"),
    [
        ({"instance_count": 3}, "DDP", {"WORKER": 3}, WORKER),
        (
            {"roles": [{"name": "ps", "count": 2}, {"name": "worker"}]}, "PS_WORKER", {"PS": 2, "WORKER": 1},
            {"PsStartCmd", "WorkerStartCmd"},
        ),
        ({"roles": [{"name": "Head"}, {"name": "worker", "count": 2}]}, "RAY", {"HEAD": 1, "WORKER": 2}, WORKER),
        ({"options": {"training_mode": "RAY"}, "instance_count": 3}, "RAY", {"HEAD": 1, "WORKER": 2}, WORKER),
        ({"options": {"training_mode": "RAY"}}, "RAY", {"HEAD": 1}, WORKER),
        (
            {"options": {"training_mode": "SPARK"}, "instance_count": 2}, "SPARK", {"DRIVER": 1, "EXECUTOR": 1},
            {"StartCmd"},
        ),
        ({"options": {"training_mode": "MPI"}, "instance_count": 2}, "MPI", {"WORKER": 2}, WORKER),
    ],
)  # fmt: skip
def test_roles_are_those_of_the_mode(
    spec: dict[str, Any], mode: str, roles: dict[str, int], commands: set[str]
) -> None:
    body = body_of(OWN, **spec)
    assert body["TrainingMode"] == mode
    assert {config["Role"]: config["InstanceNum"] for config in body["ResourceConfigInfos"]} == roles
    assert {*commands_of(body)} == commands


def test_instances_have_the_names_of_pods() -> None:
    spec = job(image="a", roles=[{"name": "PS"}, {"name": "Worker", "count": 2}]).spec
    assert with_role_names(spec, "PS_WORKER").instance_names == ["ps-0", "worker-0", "worker-1"]
    assert with_role_names(job(instance_count=3).spec, "RAY").instance_names == ["head-0", "worker-0", "worker-1"]
    assert with_role_names(job(instance_count=3).spec, "MPI").instance_names == ["worker-0", "worker-1", "worker-2"]


def test_mode_is_one_of_the_image() -> None:
    assert body_of(TaskImage({}, ("PS_WORKER", "MPI")))["TrainingMode"] == "PS_WORKER"
    with pytest.raises(SpecError, match=r"does not have the mode RAY. It has: DDP, MPI, HOROVOD"):
        body_of(options={"training_mode": "RAY"})


@pytest.mark.parametrize(
    ("uri", "kind", "source"),
    [
        ("cos://demo-1/data/a.csv", "COS", cos("data/a.csv")),
        ("cos://demo-1", "COS", cos("/")),
        ("cfs://cfs-1/a/b", "CFS", {"CFSSource": {"Id": "cfs-1", "Path": "/a/b"}}),
        ("cfs://cfs-1", "CFS", {"CFSSource": {"Id": "cfs-1", "Path": "/"}}),
        ("cfsturbo://cfs-1/a", "CFSTurbo", {"CFSTurboSource": {"Id": "cfs-1", "Path": "/a"}}),
        ("emr://emr-1/user/a", "HDFS", {"HDFSSource": {"Id": "emr-1", "Path": "/user/a"}}),
        ("goosefs://gfs-1/space", "GooseFS", goosefs("GooseFS", NameSpace="space")),
        ("goosefsx://gfs-1/a", "GooseFSx", goosefs("GooseFSx", Path="/a")),
        ("dataset://ds-1", "DATASET", {"DataSetSource": {"Id": "ds-1"}}),
    ],
)  # fmt: skip
def test_inputs_have_the_source_of_their_kind(uri: str, kind: str, source: dict[str, Any]) -> None:
    body = body_of(inputs={"train": uri})
    assert body["DataConfigs"] == [{"MappingPath": "/opt/ml/input/data/train", "DataSourceType": kind, **source}]
    assert body["DataSource"] == kind


def test_long_hyperparameters_are_not_sent_to_the_console() -> None:
    assert "TuningParameters" not in body_of(hyperparameters={"text": "x" * 2048})


@pytest.mark.parametrize("name", ["train", "训练 1", "-_x", "!", "x" * 100, "a/b:c"])
def test_names_of_tasks_are_valid_and_have_our_id(name: str) -> None:
    made = task_name(name, "irg3sa36")
    assert len(made) <= LONGEST
    assert made[0].isalnum()
    assert all(letter.isalnum() or letter in "_-" for letter in made)
    assert our_id(made) == "irg3sa36"


def test_name_of_another_client_has_no_id_of_ours() -> None:
    assert our_id("my-run-1") == ""
    assert our_id("training") == ""


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"vpc_id": "vpc-1"}, "options.subnet_id"),
        ({"log_topic_id": "x"}, "options.log_logset_id"),
        ({"image_user": "me"}, "options.image_password"),
        ({"callback_url": "example.com"}, "options.callback_url"),
        ({"remark": "x" * 1025}, "options.remark"),
        ({"hang_monitor": {"log_hang_timeout": 0}}, "options.hang_monitor.log_hang_timeout"),
        ({"vpc": "x"}, "options.vpc"),
    ],
)
def test_wrong_options_are_named(options: dict[str, Any], field: str) -> None:
    with pytest.raises(SpecError) as caught:
        parse_options(TioneOptions, options)
    faults = caught.value.details["faults"]
    assert isinstance(faults, dict)
    assert [*faults] == [field]
