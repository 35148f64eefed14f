"""The request that creates a job on PAI-DLC: its roles, machines, mounts and size."""

from __future__ import annotations

import json
import random
import subprocess
from pathlib import Path
from typing import Any

import pytest

from jupyter_pai.backends.pai.dlc.data_sources import place_of_uri
from jupyter_pai.backends.pai.dlc.request_body import (
    LARGEST,
    Destination,
    check_size,
    display_name,
    our_id,
    own_name,
    request_body,
)
from jupyter_pai.backends.pai.dlc.resolve import check
from jupyter_pai.backends.pai.dlc.roles import with_role_names
from jupyter_pai.backends.pai.site import PaiSettings
from jupyter_pai.core.errors import PaiError, SpecError
from jupyter_pai.jobs.spec import JobSpec, parse_spec

from ...jobs.test_store import job

HOST = "oss-cn-hangzhou.aliyuncs.com"
NODES = Path(__file__).parents[4] / "jupyter_pai/backends/pai/dlc/script/nodes.sh"
SETTINGS = PaiSettings(backend="dlc", region_id="cn-hangzhou")


def body_of(**fields: Any) -> dict[str, Any]:
    one = job(**{"image": "i", "instance_type": "ecs.c6.large", **fields})
    endpoint = lambda uri: uri.replace("oss://b/", f"oss://b.{HOST}/")  # noqa: E731
    target = Destination("1", "oss://b/code/", "oss://b/out/", "home", endpoint, 90)
    return request_body(one, target)


def checked(**fields: Any) -> JobSpec:
    spec = parse_spec({"name": "job", "command": "true", "image": "i", "instance_type": "ecs.c6.large", **fields})
    check(spec, SETTINGS)
    return spec


def mounts(body: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {one.pop("MountPath"): one for one in body["DataSources"]}


def test_code_inputs_and_outputs_are_mounted_at_their_places() -> None:
    inputs = {
        "folder": "oss://b/data/",
        "file": f"oss://c.{HOST}/x/one.csv",
        "nas": "nas://fs1.cn-hangzhou/data",
        "set": "dataset://d-1?version=v2",
        "theirs": "oss://d/k/?endpoint=oss-cn-beijing.aliyuncs.com&role_arn=acs:ram::1:role/r",
    }
    body = body_of(inputs=inputs, outputs={"model": "oss://b/models/m"}, options={"input_roles": {"nas": "arn"}})
    assert mounts(body) == {
        "/ml/mount/code": {"Uri": f"oss://b.{HOST}/code/", "MountAccess": "RO"},
        "/ml/input/data/folder": {"Uri": f"oss://b.{HOST}/data/", "MountAccess": "RO"},
        "/ml/mount/input/file": {"Uri": f"oss://c.{HOST}/x/", "MountAccess": "RO"},
        "/ml/input/data/nas": {"Uri": "nas://fs1.cn-hangzhou/data", "MountAccess": "RO", "RoleArn": "arn"},
        "/ml/input/data/set": {"DataSourceId": "d-1", "DataSourceVersion": "v2", "MountAccess": "RO"},
        "/ml/input/data/theirs": {
            "Uri": "oss://d.oss-cn-beijing.aliyuncs.com/k/", "MountAccess": "RO", "RoleArn": "acs:ram::1:role/r",
        },
        "/ml/output": {"Uri": f"oss://b.{HOST}/out/", "MountAccess": "RW"},
        "/ml/output/model": {"Uri": f"oss://b.{HOST}/models/m/", "MountAccess": "RW"},
    }  # fmt: skip


def test_options_become_fields() -> None:
    options = {
        "spot": {"strategy": "SpotWithPriceLimit", "discount_limit": 0.3}, "restart_policy": "OnFailure",
        "user_vpc": {"vpc_id": "vpc-1", "security_group_id": "sg-1", "switch_id": "vsw-1"},
        "thirdparty_libs": ["numpy==1.26"], "accessibility": "PUBLIC", "settings": {"Tags": {"a": "b"}},
        "data_sources": [{"mount_path": "/mnt/x", "uri": "cpfs://f.r/p/e/", "mount_access": "RW"}],
        "role_fields": {"Worker": {"ExtraPodSpec": {"a": 1}}},
    }  # fmt: skip
    body = body_of(options=options, labels={"team": "x"}, environment={"A": "1"})
    (spec,) = body["JobSpecs"]
    assert spec["SpotSpec"] == {"SpotStrategy": "SpotWithPriceLimit", "SpotDiscountLimit": 0.3}
    assert (spec["RestartPolicy"], spec["ExtraPodSpec"], spec["EcsSpec"]) == ("OnFailure", {"a": 1}, "ecs.c6.large")
    assert body["UserVpc"] == {"VpcId": "vpc-1", "SecurityGroupId": "sg-1", "SwitchId": "vsw-1"}
    assert (body["ThirdpartyLibs"], body["Accessibility"], body["Envs"]) == (["numpy==1.26"], "PUBLIC", {"A": "1"})
    assert mounts(body)["/mnt/x"] == {"Uri": "cpfs://f.r/p/e/", "MountAccess": "RW"}
    tags = body["Settings"]["Tags"]
    assert tags.items() >= {"team": "x", "a": "b", "jupyter-pai-home": "home"}.items()
    assert body["DisplayName"].endswith(f"-{tags['jupyter-pai-job']}")
    # One minute more than the job script's own limit.
    assert body["JobMaxRunningTimeMinutes"] == 3


def test_sizes_in_a_quota_are_texts() -> None:
    options = {"resource_id": "quota1", "gpu_type": "A10", "shared_memory": 4, "priority": 7}
    body = body_of(instance_type="", cpu=4, memory="7.5GiB", gpu=1, options=options)
    sizes = {"CPU": "4", "Memory": "8Gi", "GPU": "1", "GPUType": "A10", "SharedMemory": "4Gi"}
    assert body["JobSpecs"][0]["ResourceConfig"] == sizes
    assert "EcsSpec" not in body["JobSpecs"][0]
    assert (body["ResourceId"], body["Priority"]) == ("quota1", 7)


@pytest.mark.parametrize(
    ("roles", "options", "expected"),
    [
        (["worker", "master"], {}, ("PyTorchJob", ["Master", "Worker"])),
        (["ps", "worker"], {}, ("TFJob", ["PS", "Worker"])),
        (["Chief", "Worker", "Evaluator", "GraphLearn"], {}, ("TFJob", ["Chief", "Worker", "Evaluator", "GraphLearn"])),
        (["worker", "head"], {}, ("RayJob", ["Head", "Worker"])),
        (["worker", "master"], {"job_type": "XGBoostJob"}, ("XGBoostJob", ["Master", "Worker"])),
        ([], {"job_type": "MPIJob"}, ("MPIJob", ["Worker"])),
        ([], {"job_type": "RayJob"}, ("RayJob", ["Head"])),
    ],
)
def test_roles_decide_on_the_type(roles: list[str], options: dict[str, Any], expected: tuple[str, list[str]]) -> None:
    body = body_of(roles=[{"name": role} for role in roles], options=options)
    assert (body["JobType"], [spec["Type"] for spec in body["JobSpecs"]]) == expected


@pytest.mark.parametrize(
    ("fields", "field", "text"),
    [
        ({"roles": [{"name": "ps"}, {"name": "worker"}], "options": {"job_type": "PyTorchJob"}}, "roles.0.name", "Mas"),
        ({"roles": [{"name": "master", "count": 2}]}, "roles.0.count", "one instance"),
        ({"roles": [{"name": "ps"}]}, "roles", "`worker`"),
        ({"roles": [{"name": "worker"}], "options": {"job_type": "RayJob"}}, "roles", "`head`"),
        ({"options": {"job_type": "PytorchJob"}}, "options.job_type", "PyTorchJob"),
        ({"image": ""}, "image", "required"),
        ({"instance_type": ""}, "instance_type", "required"),
        ({"options": {"resource_id": "q"}}, "options.resource_id", "either a quota or an instance type"),
        ({"instance_type": "", "cpu": 1, "options": {"resource_id": "q"}}, "options.resource_id", "memory"),
        ({"options": {"priority": 3}}, "options.priority", "resource_id"),
        ({"options": {"success_policy": "ChiefWorker"}}, "options.success_policy", "TFJob"),
        ({"options": {"role_fields": {"ps": {}}}}, "options.role_fields.ps", "no role"),
        ({"options": {"data_sources": [{"mount_path": "/mnt/x"}]}}, "options.data_sources.0.uri", "data_source_id"),
        (
            {"inputs": {"a": "oss://b/c/"}, "options": {"data_sources": [{"mount_path": "/ml/output", "uri": "oss://b/"}]}},
            "options.data_sources.0.mount_path",
            "already used",
        ),
        ({"inputs": {"a": "odps://p/tables/t"}}, "inputs.a", "odps"),
        ({"outputs": {"a": "dataset://d-1"}}, "outputs.a", "data sets"),
        ({"command": "", "entry_point": "a.ipynb"}, "entry_point", "--as-script"),
    ],
)  # fmt: skip
def test_refused_specs_name_field_and_fix(fields: dict[str, Any], field: str, text: str) -> None:
    with pytest.raises(PaiError) as raised:
        checked(**fields)
    error = raised.value
    assert error.status < 500
    assert field in error.as_json()["details"]["faults"]  # type: ignore[index]
    assert text in f"{error.message} {error.fix}"


def test_too_large_job_names_what_is_large() -> None:
    generator = random.Random(1)
    values = {f"v{n}": f"{generator.getrandbits(4000):x}" for n in range(90)}
    body = body_of(hyperparameters=values, environment={"SMALL": "x" * 200})
    assert len(json.dumps(body)) > LARGEST
    with pytest.raises(SpecError) as raised:
        check_size(body, job(hyperparameters=values, environment={"SMALL": "x" * 200}).spec)
    assert "65,536" in raised.value.message
    assert "hyperparameters (" in raised.value.message.partition("largest fields are: ")[2][:20]
    faults = raised.value.details["faults"]
    assert isinstance(faults, dict)
    assert [*faults] == ["hyperparameters"]
    check_size(body_of(), job().spec)


@pytest.mark.parametrize(("name", "shown"), [("My job é!", "My_job"), ("...", "job"), ("x" * 300, "x" * 247)])
def test_name_on_the_platform_ends_with_our_id(name: str, shown: str) -> None:
    display = display_name(name, "abcdefg2")
    assert (own_name(display), our_id(display), len(display) <= 256) == (shown, "abcdefg2", True)
    assert our_id("other-client") == ""


def test_uri_with_a_query_has_endpoint_and_role() -> None:
    assert place_of_uri("oss://b/k?host=h.example.com") == ("oss://b.h.example.com/k", "")
    assert place_of_uri("oss://b/k?x=1") == ("oss://b/k?x=1", "")


TF = '{"cluster": {"worker": ["w0.svc:22", "w1:22"], "ps": ["p0:22"]}, "task": {"type": "%s", "index": %d}}'


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"RANK": "2", "MASTER_ADDR": "m"}, "2 m"),
        ({"TF_CONFIG": TF % ("ps", 0)}, "2 w0.svc"),
        ({"TF_CONFIG": TF % ("worker", 1)}, "1 w0.svc"),
        ({"TF_CONFIG": (TF % ("worker", 1)).replace(": ", ":").replace('"index":1', '"index" : 1')}, "1 w0.svc"),
        ({"HOSTNAME": "dlc1-worker-1"}, "1 127.0.0.1"),
        ({"HOSTNAME": "dlc1-ps-0"}, "2 127.0.0.1"),
        ({"HOSTNAME": "host"}, "0 127.0.0.1"),
        ({}, "0 127.0.0.1"),
    ],
)
def test_rank_of_each_type_of_job(environment: dict[str, str], expected: str) -> None:
    script = f"set -u\npai_roles='worker=0 ps=2'\n{NODES.read_text('utf-8')}\necho $pai_rank $pai_master"
    environment = {"PATH": "/usr/bin:/bin", "HOSTNAME": "", **environment}
    done = subprocess.run(["sh", "-c", script], env=environment, capture_output=True, text=True, check=True)
    assert (done.stdout.strip(), done.stderr) == (expected, "")


def test_role_names_are_lower_case_and_in_order() -> None:
    spec = parse_spec({"name": "j", "command": "c", "roles": [{"name": "Worker", "count": 2}, {"name": "MASTER"}]})
    assert with_role_names(spec, "PyTorchJob").instance_names == ["master-0", "worker-0", "worker-1"]
