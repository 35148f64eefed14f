"""Jobs that request sizes: the selected instance type, or the share of a quota."""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from jupyter_pai.backends.instance_choice import select
from jupyter_pai.backends.pai.catalog import InstanceCatalog
from jupyter_pai.backends.resources import InstanceType
from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.cloud import http as transport
from jupyter_pai.cloud.alibaba.account import AlibabaAccount, AliyunSettings
from jupyter_pai.core.errors import PermissionDenied, SpecError, Unconfirmed
from jupyter_pai.core.price import Price
from jupyter_pai.jobs.spec import JobSpec, parse_spec

from ...conftest import script, submit
from ...fakes.alibaba import StandIn
from .conftest import write_profile

GIB = 1 << 30


def compute_of_last_job(pai: StandIn) -> dict[str, Any]:
    """Return the compute resource of the newest job, as requested from the platform."""
    result: dict[str, Any] = pai.jobs[-1]["request"]["ComputeResource"]
    return result


def written(pai: StandIn) -> list[tuple[str, str, str]]:
    """Return the requests that write to the bucket or submit a job."""
    asked = [(request["service"], request["action"], request["path"]) for request in pai.requests]
    return [one for one in asked if one[0] == "paistudio" or one[:2] == ("oss", "PutObject")]


def sizes(**fields: Any) -> JobSpec:
    return parse_spec({"name": "x", "command": "true"} | fields)


@pytest.mark.parametrize(
    ("fields", "picked"),
    [
        ({"cpu": 3}, "ecs.c6.xlarge"),
        ({"cpu": 2, "memory": "6GiB"}, "ecs.c6.xlarge"),
        ({"memory": "16GiB"}, "ecs.g6.xlarge"),
        ({"cpu": 16, "gpu": 0}, "ecs.g6.4xlarge"),
    ],
)
def test_smallest_sufficient_type_is_selected(
    engine: EmbeddedClient, pai: StandIn, fields: dict[str, Any], picked: str
) -> None:
    job = submit(engine, "true", profile="pai", **fields)
    assert compute_of_last_job(pai) == {"EcsSpec": picked, "EcsCount": 1}
    assert job.info["spec"]["instance_type"] == picked
    (note,) = [note for note in job.info["notes"] if note.startswith(picked)]
    assert "ecs.c6.large" in note, "the profile's default one is not passed over without a word"


def test_selected_gpus_are_confirmed_once(engine: EmbeddedClient, pai: StandIn) -> None:
    spec = {"name": "x", "command": "true", "profile": "pai", "source": {"files": {"a": ""}}, "gpu": 1, "cpu": 8}
    with pytest.raises(Unconfirmed, match=r"ecs\.gn6v-c8g1\.2xlarge") as caught:
        engine.submit(spec)
    questions = caught.value.details["questions"]
    assert isinstance(questions, list) and len(questions) == 1
    assert written(pai) == []
    assert engine.call("list_jobs")["jobs"] == []
    engine.submit(spec, confirmed=True)
    assert compute_of_last_job(pai)["EcsSpec"] == "ecs.gn6v-c8g1.2xlarge"


def test_impossible_sizes_are_rejected(engine: EmbeddedClient, pai: StandIn) -> None:
    with pytest.raises(SpecError, match=r"200 cores.*ecs\.gn7e-c16g1\.16xlarge") as caught:
        submit(engine, "true", profile="pai", cpu=200)
    assert "--instance-count" in caught.value.fix
    with pytest.raises(SpecError, match=r"16 GPUs.*ml\.gu8xf"):
        submit(engine, "true", profile="pai", gpu=16)
    with pytest.raises(SpecError, match=r"no GPU.*ecs\.g6\.4xlarge"):
        submit(engine, "true", profile="pai", cpu=32, gpu=0)
    assert written(pai) == []


def test_named_type_overrides_sizes(engine: EmbeddedClient, pai: StandIn) -> None:
    job = submit(engine, "true", profile="pai", instance_type="ecs.c6.large", cpu=16)
    assert compute_of_last_job(pai)["EcsSpec"] == "ecs.c6.large"
    assert any("Sizes are ignored" in note for note in job.info["notes"])
    submit(engine, "true", profile="pai")
    submit(engine, "true", profile="pai", gpu=0)
    assert compute_of_last_job(pai)["EcsSpec"] == "ecs.c6.large"
    assert pai.count("dlc") == 0


def test_list_of_types_is_cached(engine: EmbeddedClient, pai: StandIn) -> None:
    submit(engine, "true", profile="pai", cpu=3)
    listed = pai.count("dlc", "ListEcsSpecs")
    assert listed
    submit(engine, "true", profile="pai", cpu=4)
    assert pai.count("dlc", "ListEcsSpecs") == listed
    engine.call("instances", profile="pai")
    assert pai.count("dlc", "ListEcsSpecs") == 2 * listed


def test_expired_list_of_types_is_fetched_again(pai: StandIn) -> None:
    account = AlibabaAccount(AliyunSettings.model_validate({"backend": "pai", **pai.settings()}))

    async def twice() -> None:
        catalogue = InstanceCatalog(account, cached=-1)
        await catalogue.instance_types()
        once = pai.count("dlc")
        await catalogue.instance_types()
        await transport.close()
        assert pai.count("dlc") == 2 * once

    asyncio.run(twice())


def test_forbidden_list_of_types_is_reported(engine: EmbeddedClient, pai: StandIn) -> None:
    pai.faults.add("refused", "dlc:*", status=403, code="Forbidden.RAM", message="not allowed")
    with pytest.raises(PermissionDenied) as caught:
        submit(engine, "true", profile="pai", cpu=3)
    assert caught.value.fix
    assert not pai.count("oss", "PutObject")
    submit(engine, "true", profile="pai")


def test_dry_run_shows_the_selected_type(
    pai: StandIn, folder: Path, cli: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    script(folder, "")
    shown = cli("submit", "--backend", "pai", "--dry-run", "--cpu", "3", "--command", "true")
    assert shown.returncode == 0, shown.stderr
    assert '"instance_type": "ecs.c6.xlarge"' in shown.stdout
    assert "ecs.c6.xlarge is the smallest instance type with 3 cores: 4 cores, 8 GiB." in shown.stdout
    assert not pai.count("oss", "PutObject")


def test_rerun_keeps_the_type_unless_sizes_change(engine: EmbeddedClient, pai: StandIn) -> None:
    first = submit(engine, "true", profile="pai", cpu=3).wait()
    again = first.rerun()
    assert compute_of_last_job(pai)["EcsSpec"] == again.info["spec"]["instance_type"] == "ecs.c6.xlarge"
    larger = again.wait().rerun(memory="12GiB")
    assert compute_of_last_job(pai)["EcsSpec"] == larger.info["spec"]["instance_type"] == "ecs.g6.xlarge"
    named = larger.wait().rerun(cpu=2, instance_type="ecs.c6.large")
    assert compute_of_last_job(pai)["EcsSpec"] == named.info["spec"]["instance_type"] == "ecs.c6.large"


def test_sizes_become_the_share_of_a_quota(engine: EmbeddedClient, pai: StandIn) -> None:
    submit(engine, "true", profile="pai", options={"resource_id": "quota1stand"}, cpu=1.5, memory="3.5GiB", gpu=1)
    assert compute_of_last_job(pai) == {
        "ResourceId": "quota1stand",
        "InstanceCount": 1,
        "InstanceSpec": {"CPU": "2", "Memory": "4", "GPU": "1"},
    }
    share = {"cpu": 4, "memory": 8}
    job = submit(engine, "true", profile="pai", options={"resource_id": "quota1stand", "instance_spec": share}, cpu=1)
    assert compute_of_last_job(pai)["InstanceSpec"] == {"CPU": "4", "Memory": "8", "GPU": "0"}
    assert any("options.instance_spec is" in note for note in job.info["notes"])
    with pytest.raises(SpecError, match="the memory of each instance") as caught:
        submit(engine, "true", profile="pai", options={"resource_id": "quota1stand"}, gpu=1)
    assert "--memory" in caught.value.fix
    assert pai.count("dlc") == 0


def test_missing_type_and_size_is_rejected(pai: StandIn) -> None:
    write_profile(pai, default_instance_type="")
    engine = EmbeddedClient()
    try:
        with pytest.raises(SpecError, match="instance_type: required") as caught:
            submit(engine, "true", profile="pai")
        assert "--cpu" in caught.value.fix
        submit(engine, "true", profile="pai", cpu=1)
        assert compute_of_last_job(pai)["EcsSpec"] == "ecs.c6.large"
    finally:
        engine.close()


def kind(name: str, cpu: float = 4, gib: int = 16, gpu: int = 0, **more: Any) -> InstanceType:
    return InstanceType(name, cpu, gib * GIB, gpu, available=more.pop("available", True), **more)


@pytest.mark.parametrize(
    ("kinds", "fields", "picked"),
    [
        ([kind("a", 4), kind("b", 2)], {"cpu": 1}, "b"),
        ([kind("a", 2, 8), kind("b", 2, 4)], {"cpu": 1}, "b"),
        ([kind("b"), kind("a")], {"cpu": 1}, "a"),
        ([kind("a", gpu=1), kind("b", 64)], {"cpu": 1}, "b"),
        ([kind("a", price=Price(2, "CNY")), kind("b", 8, price=Price(1, "CNY"))], {"cpu": 1}, "b"),
        ([kind("a", available=False), kind("b", 64)], {"cpu": 1}, "b"),
        ([kind("a", available=None), kind("b", 64)], {"cpu": 1}, "a"),
        ([kind("a", available=False), kind("b", gpu=1)], {"cpu": 1, "gpu": 0}, "a"),
        ([kind("a", gib=15), kind("b", gib=16)], {"memory": "16GB"}, "a"),
        ([kind("a", gib=15), kind("b", gib=16)], {"memory": "16GiB"}, "b"),
        ([kind("a"), kind("b", 8, spot_discount=0.3)], {"cpu": 1, "options": {"spot": {}}}, "b"),
    ],
)
def test_cheapest_then_smallest_available_type_is_selected(
    kinds: list[InstanceType], fields: dict[str, Any], picked: str
) -> None:
    spec = sizes(**fields)
    assert select(kinds, spec, spot="spot" in spec.options).name == picked


def test_empty_or_unsuitable_list_is_rejected() -> None:
    with pytest.raises(SpecError, match="lists no instance type"):
        select([], sizes(cpu=1))
    with pytest.raises(SpecError, match="no GPU"):
        select([kind("a", gpu=1)], sizes(cpu=1, gpu=0))


def test_selected_type_is_stored(engine: EmbeddedClient, pai: StandIn) -> None:
    job = submit(engine, "true", profile="pai", cpu=3)
    stored = json.loads(json.dumps(engine.call("show", job=job.id)))
    assert stored["spec"]["instance_type"] == "ecs.c6.xlarge"
    assert stored["spec"]["cpu"] == 3
