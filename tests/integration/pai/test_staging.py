"""Staging of inputs before a submit: the engine keeps the plan, and drops it when it is out of date."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.core.errors import BadInput, NotAllowed
from jupyter_pai.engine.submit_plan import StagedPlans

from ...conftest import SystemFile, submit, until
from ...fakes.alibaba import StandIn
from .conftest import write_profile


@pytest.fixture
def spec(folder: Path, tmp_path: Path) -> dict[str, Any]:
    """A spec whose input must be copied to the platform."""
    (folder / "train.py").write_text("pass\n")
    (tmp_path / "data.csv").write_text("1\n")
    inputs = {"train": str(tmp_path / "data.csv")}
    return {
        "name": "x", "entry_point": "train.py", "profile": "pai", "source": {"folder": str(folder)}, "inputs": inputs,
    }  # fmt: skip


def stage(engine: EmbeddedClient, spec: dict[str, Any]) -> str:
    """Stage the inputs of a spec, and remove them here: only the staged plan can be submitted then."""
    transfer = engine.call("bring", body={"spec": spec})
    until(lambda: engine.call("copy", copy=transfer["id"])["status"] == "done")
    Path(spec["inputs"]["train"]).unlink()
    return str(transfer["id"])


def test_submit_uses_the_staged_plan_once(engine: EmbeddedClient, pai: StandIn, spec: dict[str, Any]) -> None:
    body = {"spec": spec, "staged": stage(engine, spec)}
    job = engine.call("submit", body=body)["job"]
    assert job["inputs"]["train"].startswith(f"oss://{pai.bucket}")
    with pytest.raises(BadInput, match="does not exist"):
        engine.call("submit", body=body)


def change_request(spec: dict[str, Any], _pai: StandIn, _system: SystemFile) -> None:
    spec["hyperparameters"] = {"epochs": 2}


def change_profile(_spec: dict[str, Any], pai: StandIn, _system: SystemFile) -> None:
    write_profile(pai, default_instance_type="ecs.c6.xlarge")


def change_policy(_spec: dict[str, Any], _pai: StandIn, system: SystemFile) -> None:
    system("[policy]\nimages = ['*']\n")


def change_code(spec: dict[str, Any], _pai: StandIn, _system: SystemFile) -> None:
    (Path(spec["source"]["folder"]) / "train.py").write_text("print()\n")


@pytest.mark.parametrize("change", [change_request, change_profile, change_policy, change_code])
def test_staged_plan_is_void_after_a_change(
    engine: EmbeddedClient,
    pai: StandIn,
    system: SystemFile,
    spec: dict[str, Any],
    change: Callable[[dict[str, Any], StandIn, SystemFile], None],
) -> None:
    staged = stage(engine, spec)
    change(spec, pai, system)
    with pytest.raises(BadInput, match="does not exist"):
        engine.call("submit", body={"spec": spec, "staged": staged})
    assert pai.count("paistudio", "CreateTrainingJob") == 0


def test_unknown_id_stages_again(engine: EmbeddedClient, pai: StandIn, spec: dict[str, Any]) -> None:
    job = engine.call("submit", body={"spec": spec, "staged": "made up"})["job"]
    assert job["inputs"]["train"].startswith(f"oss://{pai.bucket}")


def test_staged_plans_expire_and_are_limited() -> None:
    plan: Any = object()
    expired = StagedPlans(lifetime=0)
    expired.keep("a", plan)
    assert expired.take("a") is None
    plans = StagedPlans(lifetime=60)
    for n in range(100):
        plans.keep(str(n), plan)
    assert plans.take("0") is None
    assert plans.take("99") is plan


def test_forbidden_profile_causes_no_request(
    engine: EmbeddedClient, pai: StandIn, system: SystemFile, spec: dict[str, Any]
) -> None:
    job = submit(engine, "true", profile="pai").wait()
    pai.forget_requests()
    system("[policy]\nprofiles = ['local']\n")
    sized = spec | {"cpu": 3}
    for verb, arguments in (
        ("preview", {"body": {"spec": sized}}),
        ("bring", {"body": {"spec": sized}}),
        ("submit", {"body": {"spec": sized}}),
        ("rerun", {"job": job.id, "body": {"resume": True}}),
    ):
        with pytest.raises(NotAllowed, match="`pai` is not allowed here"):
            engine.call(verb, **arguments)
    assert not pai.requests


def test_forbidden_machine_selected_by_size_is_rejected(
    engine: EmbeddedClient, pai: StandIn, system: SystemFile, spec: dict[str, Any]
) -> None:
    system("[policy]\ninstance_types = ['ecs.none']\n")
    for verb in ("preview", "bring", "submit"):
        with pytest.raises(NotAllowed, match=r"`ecs\.c6\.xlarge` is not allowed here"):
            engine.call(verb, body={"spec": spec | {"cpu": 3}})
    assert pai.count("oss", "PutObject") == 0
    assert pai.count("paistudio", "CreateTrainingJob") == 0
