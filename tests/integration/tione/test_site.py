"""Instance types, resource groups, images, choices and links of TI-ONE, as users ask for them."""

from __future__ import annotations

import json
from collections.abc import Callable
from subprocess import CompletedProcess
from typing import Any

import pytest

from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.config.toml_file import user_file
from jupyter_pai.core.errors import BadInput, ImageError

from ...fakes.tione import TiOne
from .conftest import PROFILE, use_key, write_profile


def instances(engine: EmbeddedClient) -> dict[str, dict[str, Any]]:
    return {kind["name"]: kind for kind in engine.call("instances", profile=PROFILE)["instances"]}


def names_of_images(engine: EmbeddedClient, **query: str) -> list[str]:
    return [image["uri"] for image in engine.call("images", profile=PROFILE, **query)["images"]]


# Instance types and resource groups.


def test_instance_types_have_sizes_gpus_and_prices(tione: TiOne, engine: EmbeddedClient) -> None:
    kinds = instances(engine)
    assert next(iter(kinds)) == "TI.S.MEDIUM.POST", "small before large, without GPUs first"
    small, fast = kinds["TI.S.MEDIUM.POST"], kinds["TI.GN10.2XLARGE40.POST"]
    assert (small["cpu"], small["memory"], small["gpu"], small["available"]) == (2, 4 << 30, 0, True)
    assert small["price"] == {"amount": 0.91, "currency": "CNY"}
    assert (fast["cpu"], fast["memory"], fast["gpu"], fast["gpu_name"]) == (8, 40 << 30, 1, "V100")
    assert fast["price"] == {"amount": 13.28, "currency": "CNY"}


def test_sold_out_and_unpriced_types_are_listed(tione: TiOne, engine: EmbeddedClient) -> None:
    tione.settings.sold_out = {"TI.GN10.2XLARGE40.POST"}
    tione.settings.unpriced = {"TI.S.MEDIUM.POST"}
    kinds = instances(engine)
    assert [name for name, kind in kinds.items() if kind["available"] is False] == ["TI.GN10.2XLARGE40.POST"]
    assert [name for name, kind in kinds.items() if kind["price"] is None] == ["TI.S.MEDIUM.POST"]


def test_types_are_listed_without_the_permission_for_prices(
    tione: TiOne, engine: EmbeddedClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_key(monkeypatch, tione, tione.make_key(["tione:DescribeBillingSpecsPrice"]))
    kinds = instances(engine)
    assert len(kinds) == 5
    assert {kind["price"] for kind in kinds.values()} == {None}


def test_resource_groups_are_quotas_with_what_is_free(tione: TiOne, engine: EmbeddedClient) -> None:
    pool, empty = engine.call("instances", profile=PROFILE)["quotas"]
    assert (pool["id"], pool["name"], pool["gpu_name"]) == ("trsg-standin1", "pool", "V100")
    assert (pool["cpu"], pool["memory"], pool["gpu"]) == (32, 128 << 30, 4)
    assert (pool["free_cpu"], pool["free_memory"], pool["free_gpu"]) == (32, 128 << 30, 4)
    assert (empty["id"], empty["cpu"], empty["free_gpu"]) == ("trsg-empty000", 0, 0)
    role = {"Role": "WORKER", "Cpu": 4000, "Memory": 16384, "Gpu": 150, "GpuType": "V100", "InstanceNum": 1}
    tione.add_tasks(1, ChargeType="PREPAID", ResourceGroupId="trsg-standin1", ResourceConfigInfos=[role])
    pool, _empty = engine.call("instances", profile=PROFILE)["quotas"]
    # One and a half GPUs are in use; a whole one of the other half cannot be requested.
    assert (pool["free_cpu"], pool["free_memory"], pool["free_gpu"]) == (28, 112 << 30, 2)


def test_instances_command_shows_prices_and_sold_out_types(
    tione: TiOne, cli: Callable[..., CompletedProcess[str]]
) -> None:
    lines = {line.split()[0]: line for line in cli("instances").stdout.splitlines() if line.strip()}
    assert "1 × V100" in lines["TI.GN10.2XLARGE40.POST"]
    assert "13.28 CNY" in lines["TI.GN10.2XLARGE40.POST"]
    assert "none free" in lines["TI.GN8.6XLARGE56.POST"], "it is sold out"
    assert "none free" not in lines["TI.GN10.2XLARGE40.POST"]
    assert "32 of 32" in lines["trsg-standin1"]


# Images.


def test_images_for_training_have_framework_version_and_modes(tione: TiOne, engine: EmbeddedClient) -> None:
    images = {image["uri"]: image for image in engine.call("images", profile=PROFILE)["images"]}
    assert len(images) == 5
    torch = images["torch1.9-py3.8-cuda11.1-gpu"]
    assert (torch["framework"], torch["version"], torch["accelerator"]) == ("PYTORCH", "1.9", "GPU")
    assert (torch["python"], torch["cuda"], torch["modes"]) == ("3.8", "11.1", ["DDP", "MPI", "HOROVOD"])
    spark = images["spark2.4.5-cpu"]
    assert (spark["accelerator"], spark["python"], spark["modes"]) == ("CPU", "", ["SPARK"])


def test_images_are_filtered(tione: TiOne, engine: EmbeddedClient) -> None:
    assert names_of_images(engine, framework="pytorch", version="1.9") == ["torch1.9-py3.8-cuda11.1-gpu"]
    assert names_of_images(engine, framework="PYTORCH", version="latest", accelerator="GPU") == [
        "tilearn-llm0.9-torch2.3-py3.10-cuda12.4-gpu"
    ]
    assert names_of_images(engine, scope="inference") == ["tf2.4.0-py38-cu111", "torch1.9.0-py38-cu111"]


def test_unknown_image_names_those_that_exist(tione: TiOne, engine: EmbeddedClient) -> None:
    with pytest.raises(ImageError, match="`torsh`"):
        names_of_images(engine, framework="torsh")
    with pytest.raises(ImageError, match="PYTORCH 7") as caught:
        names_of_images(engine, framework="PYTORCH", version="7")
    assert "`1.9`" in caught.value.fix
    with pytest.raises(BadInput, match="scope of images: `own`") as scope:
        names_of_images(engine, scope="own")
    assert "training, develop, inference" in scope.value.fix


def test_images_command_shows_modes(tione: TiOne, cli: Callable[..., CompletedProcess[str]]) -> None:
    shown = cli("images", "tensorflow").stdout
    assert "training modes" in shown
    assert "PS_WORKER, MPI, HOROVOD" in shown
    (image,) = json.loads(cli("images", "tensorflow", "--json").stdout)
    assert image["modes"] == ["PS_WORKER", "MPI", "HOROVOD"]


# Choices.


def choices(engine: EmbeddedClient, name: str) -> dict[str, str]:
    reply = engine.call("choices", name=name, profile=PROFILE, refresh=True)
    return {choice["value"]: choice["label"] for choice in reply["choices"]}


def test_workspaces_and_resource_groups_are_choices(tione: TiOne, engine: EmbeddedClient) -> None:
    assert choices(engine, "workspaces") == {"0": "default", "1001": "team"}
    assert choices(engine, "resource_groups") == {
        "trsg-standin1": "pool, 4 of 4 GPUs free, 32 of 32 cores free",
        "trsg-empty000": "full, 0 of 0 cores free",
    }


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("vpcs", {"vpc-standin1": "net, 10.0.0.0/16"}),
        ("subnets", {"subnet-standin": "nodes, 10.0.1.0/24, vpc-standin1"}),
        ("logsets", {"logset-1": "training"}),
        ("topics", {"topic-1": "tasks, logset-1"}),
    ],
)
def test_networks_and_log_topics_are_choices(
    tione: TiOne, engine: EmbeddedClient, name: str, found: dict[str, str]
) -> None:
    assert choices(engine, name) == found


def test_instance_types_and_images_are_choices_of_the_defaults(tione: TiOne, engine: EmbeddedClient) -> None:
    types = choices(engine, "instance_types")
    assert types["TI.GN10.2XLARGE40.POST"] == "8 cores, 40 GiB, 1 × V100, 13.28 CNY per hour"
    assert types["TI.GN8.6XLARGE56.POST"].endswith("12 CNY per hour, sold out")
    assert choices(engine, "environments")["torch1.9-py3.8-cuda11.1-gpu"] == "PYTORCH 1.9, DDP, MPI, HOROVOD"


def test_workspaces_are_choices_of_a_profile_with_a_wrong_one(tione: TiOne, engine: EmbeddedClient) -> None:
    write_profile(tione, project_id="999")
    assert choices(engine, "workspaces") == {"0": "default", "1001": "team"}


def test_all_pages_of_a_list_are_read(tione: TiOne, engine: EmbeddedClient) -> None:
    tione.settings.projects = {str(number): f"team {number}" for number in range(120)}
    assert choices(engine, "workspaces") == tione.settings.projects
    assert tione.count("DescribeWorkspaces") == 3


def test_refused_list_is_empty_with_the_reason(
    tione: TiOne, engine: EmbeddedClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_key(monkeypatch, tione, tione.make_key(["tione:DescribeWorkspaces"]))
    reply = engine.call("choices", name="workspaces", profile=PROFILE)
    assert reply["choices"] == []
    assert "lacks a permission" in reply["problem"]
    assert "tione:DescribeWorkspaces" in reply["fix"]


# Links and discovery.


def test_links_lead_to_the_console(tione: TiOne, engine: EmbeddedClient) -> None:
    (profile,) = [one for one in engine.call("profiles")["profiles"] if one["name"] == PROFILE]
    assert [link["url"] for link in profile["links"]] == [
        "https://console.cloud.tencent.com/tione/v2/job?regionId=1",
        "https://console.cloud.tencent.com/tione/v2/resource?regionId=1",
        f"https://console.cloud.tencent.com/cos/bucket?bucket={tione.bucket}&region=ap-guangzhou",
    ]
    assert tione.requests == [], "links need no request"


@pytest.mark.parametrize("region", ["ap-shanghai", ""])
def test_profile_is_found_by_the_variables_of_tencent_cloud(
    tione: TiOne, engine: EmbeddedClient, monkeypatch: pytest.MonkeyPatch, region: str
) -> None:
    user_file().unlink()
    monkeypatch.setenv("TENCENTCLOUD_REGION", region)
    found = {one["name"]: one for one in engine.call("profiles")["profiles"]}
    assert (PROFILE in found) == bool(region)
    if region:
        assert found[PROFILE]["settings"]["region"] == region
        assert tione.key.secret not in json.dumps(found)
