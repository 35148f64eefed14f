"""The manifest of PAI's own pipelines: what it has, and what is refused."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
import yaml

from jupyter_pai.backends.pai.dlc import paiflow
from jupyter_pai.cloud.alibaba.account import AlibabaAccount, AliyunSettings
from jupyter_pai.core.errors import PaiError
from jupyter_pai.jobs.workflows.workflow import parse_workflow


def manifest(*steps: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the documents for steps, on an account without a service for its id."""
    settings = {
        "backend": "dlc",
        "region_id": "cn-shanghai",
        "endpoint": "http://127.0.0.1:9",
        "oss_bucket_name": "bucket",
    }
    account = AlibabaAccount(AliyunSettings.model_validate(settings | {"oss_endpoint": "https://oss.example.com"}))
    workflow = parse_workflow({"name": "flow", "steps": steps})
    code = dict.fromkeys(("train", "train2"), "oss://bucket/code/digest/")
    return list(yaml.safe_load_all(asyncio.run(paiflow.manifest(account, workflow, code))))


def step(name: str = "train", **more: Any) -> dict[str, Any]:
    spec = {"entry_point": "train.py", "image": "image:1", "instance_type": "ecs.a"} | more.pop("spec", {})
    return {"name": name, "spec": spec} | more


def test_steps_with_the_same_code_and_inputs_are_one_component() -> None:
    spec = {"hyperparameters": {"rate": "0.10", "n": 3, "name": "007"}, "output_path": "oss://bucket/out/a/"}
    second = {
        "command": "go",
        "hyperparameters": {"n": "{{train.outputs.n}}"},
        "inputs": {"m": "{{train.channel.model}}"},
    }
    component, other, pipeline = manifest(
        step(spec=spec), step("train2", spec=spec, needs=["train"]), step("use", spec=second, when="train.n != 'x y'")
    )
    assert component["spec"]["inputs"]["parameters"][2:] == [
        {"name": "rate", "type": "String"}, {"name": "n", "type": "Int"}, {"name": "name", "type": "String"},
    ]  # fmt: skip
    assert component["spec"]["container"]["envs"]["CUSTOM_JOB_SOURCE_FILE"].endswith("/code/digest/source.tar.gz")
    assert other["spec"]["container"]["envs"]["CUSTOM_JOB_COMMAND"] == "go"
    nodes = {node["metadata"]["name"]: node for node in pipeline["spec"]["pipelines"]}
    assert nodes["train2"]["spec"]["dependencies"] == ["train"]
    assert nodes["use"]["spec"]["arguments"]["parameters"][1] == {
        "name": "n", "from": "{{pipelines.train.outputs.parameters.n}}",
    }  # fmt: skip
    assert '"key": "out/a/model/"' in nodes["use"]["spec"]["arguments"]["artifacts"][0]["value"]
    assert nodes["use"]["spec"]["when"] == "{{pipelines.train.outputs.parameters.n}} != x y"


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        ([step(spec={"environment": {"A": "b"}})], "Step `train`: PAI's pipelines do not support `environment`"),
        ([step(spec={"requirements": ["rich"]})], "Step `train`: PAI's pipelines do not support `requirements`"),
        ([step(spec={"options": {"spot": {}}})], r"Step `train`: PAI's pipelines do not support `options\.spot`"),
        ([step(spec={"command": "go $PAI_USER_ARGS"})], "Step `train`: PAI's pipelines do not support `command`"),
        ([step(spec={"entry_point": "a.ipynb"})], "Step `train`: PAI's pipelines do not support `entry_point`"),
        ([step(retries=1)], "Step `train`: PAI's pipelines do not support `retries`"),
        ([step(spec={"inputs": {"d": "/data"}})], "Step `train`: the input `d` is not in OSS: /data"),
        (
            [step(), step("b", when="train.acc > 0.9 and train.acc < 1")],
            "Step `b`: a condition of PAI's pipelines is one comparison",
        ),
        ([step(), step("b", when="train.metrics.loss < 1")], "Step `b`: PAI's pipelines have output parameters only"),
        (
            [step(), step("b", spec={"hyperparameters": {"n": "a-{{train.n}}"}})],
            "Step `b`: PAI's pipelines pass a result of a step as a whole value only: n=a-",
        ),
        (
            [step(), step("b", spec={"inputs": {"d": "{{train.channel.model}}"}})],
            "Step `b`: the input `d` is an output of `train`, which has no output path",
        ),
    ],
)
def test_what_the_manifest_cannot_have_is_refused(steps: list[dict[str, Any]], message: str) -> None:
    with pytest.raises(PaiError, match=message) as caught:
        manifest(*steps)
    faults = caught.value.details["faults"]
    assert isinstance(faults, dict) and next(iter(faults)).startswith("steps.")
