"""Options of a job: each one becomes the intended field of the request."""

from __future__ import annotations

from typing import Any

import pytest

from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.core import contract
from jupyter_pai.core.errors import SpecError

from ...conftest import submit
from ...fakes.alibaba import StandIn

WIRE = {
    "TrainingJobDescription": "words",
    "ComputeResource": {
        "EcsSpec": "ecs.c6.large",
        "EcsCount": 1,
        "SpotSpec": {"SpotStrategy": "SpotWithPriceLimit", "SpotDiscountLimit": 0.5},
    },
    "HyperParameters": [{"Name": "lr", "Value": "0.1"}],
    "Environments": {"A": "1"},
    "PythonRequirements": ["six==1.16.0"],
    "Scheduler": {"MaxRunningTimeInSeconds": 600},
    "UserVpc": {
        "VpcId": "vpc-1",
        "SwitchId": "vsw-1",
        "SecurityGroupId": "sg-1",
        "ExtendedCIDRs": ["10.0.0.0/8"],
        "DefaultRoute": "eth1",
    },
    "ExperimentConfig": {"ExperimentId": "exp-1"},
    "RoleArn": "acs:ram::1:role/job",
    "Settings": {"EnableRDMA": True},
    "CredentialConfig": {"EnableCredentialInject": True},
}


def body_of(engine: EmbeddedClient, pai: StandIn, **fields: Any) -> dict[str, Any]:
    """Return the request body, which the platform has checked with the models of its own client."""
    job = submit(engine, "true", profile="pai", **fields).wait()
    (request,) = [one["request"] for one in pai.jobs if one["id"] == job.info["remote_id"]]
    return dict(request)


def test_options_become_request_fields(engine: EmbeddedClient, pai: StandIn) -> None:
    pai.objects.write("data/x", b"1")
    body = body_of(
        engine,
        pai,
        inputs={"train": f"oss://{pai.bucket}/data/"},
        options={
            "spot": {"strategy": "SpotWithPriceLimit", "discount_limit": 0.5},
            "user_vpc": {
                "vpc_id": "vpc-1",
                "switch_id": "vsw-1",
                "security_group_id": "sg-1",
                "extended_cidrs": ["10.0.0.0/8"],
                "default_route": "eth1",
            },
            "experiment": {"experiment_id": "exp-1"},
            "job_type": "TFJob",
            "description": "words",
            "role_arn": "acs:ram::1:role/job",
            "input_roles": {"train": "acs:ram::1:role/read"},
            "output_roles": {"model": "acs:ram::1:role/write"},
            "input_options": {"train": '{"mountType":"ossfs"}'},
            "credential_config": {"EnableCredentialInject": True},
            "progress": {"overall_progress": "done=([0-9.]+)", "remaining_time": "left=([0-9]+)"},
            "settings": {"EnableRDMA": True},
        },
        labels={"team": "vision"},
        requirements=["six==1.16.0"],
        environment={"A": "1"},
        hyperparameters={"lr": 0.1},
        max_run_time=600,
    )
    assert {name: body[name] for name in WIRE} == WIRE
    algorithm = body["AlgorithmSpec"]
    assert algorithm["JobType"] == "TFJob"
    assert algorithm["ProgressDefinitions"] == {
        "OverallProgress": {"Regex": "done=([0-9.]+)"},
        "RemainingTime": {"Regex": "left=([0-9]+)"},
    }
    (train,) = body["InputChannels"]
    assert (train["Options"], train["RoleArn"]) == ('{"mountType":"ossfs"}', "acs:ram::1:role/read")
    roles = {channel["Name"]: channel.get("RoleArn") for channel in body["OutputChannels"]}
    assert roles == dict.fromkeys((*contract.CHANNELS, "files", "figures")) | {"model": "acs:ram::1:role/write"}
    assert {"Key": "team", "Value": "vision"} in body["Labels"]


def test_quota_options_become_request_fields(engine: EmbeddedClient, pai: StandIn) -> None:
    body = body_of(
        engine,
        pai,
        instance_count=2,
        options={
            "resource_id": "quota1stand",
            "instance_spec": {"cpu": 2, "memory": 4, "shared_memory": 1},
            "priority": 7,
            "assign_node": {"nodes": ["n1", "n2"], "avoid": ["n3"]},
            "use_spot_instance": True,
        },
    )
    assert body["ComputeResource"] == {
        "ResourceId": "quota1stand",
        "InstanceCount": 2,
        "InstanceSpec": {"CPU": "2", "Memory": "4", "GPU": "0", "SharedMemory": "1"},
        "UseSpotInstance": True,
    }
    assert body["Priority"] == 7
    assert body["AssignNodeSpec"] == {
        "EnableAssignNode": True,
        "NodeNames": "n1,n2",
        "AntiAffinityNodeNames": "n3",
    }


@pytest.mark.parametrize("field", ["input_roles", "output_roles", "input_options"])
def test_unknown_channel_in_options_is_named(engine: EmbeddedClient, pai: StandIn, field: str) -> None:
    with pytest.raises(SpecError, match=f"options.{field}: the job has no channel `modle`") as caught:
        submit(engine, "true", profile="pai", options={field: {"modle": "x"}})
    assert caught.value.fix
