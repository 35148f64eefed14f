"""The administrator's policy for a paid platform."""

from __future__ import annotations

from typing import Any

import pytest

from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.core.errors import NotAllowed, Unconfirmed, Unsupported

from ...conftest import SystemFile, submit
from ...fakes.alibaba import StandIn
from .conftest import IMAGE


def test_lists_contain_allowed_entries_only(engine: EmbeddedClient, pai: StandIn, system: SystemFile) -> None:
    kinds = engine.call("instances", profile="pai")["instances"]
    images = engine.call("images", profile="pai")["images"]
    system("[policy]\ninstance_types = ['ecs.c6.*']\nimages = ['*-cpu-*']\n")
    result = engine.call("instances", profile="pai")
    names = [kind["name"] for kind in result["instances"]]
    assert names and all(name.startswith("ecs.c6.") for name in names)
    assert result["left_out"] == len(kinds) - len(names) > 0
    result = engine.call("images", profile="pai")
    assert result["left_out"] == len(images) - len(result["images"]) > 0
    assert all("-cpu-" in image["uri"] for image in result["images"])


def test_forbidden_machine_or_image_causes_no_request(engine: EmbeddedClient, pai: StandIn, system: SystemFile) -> None:
    system(f"[policy]\ninstance_types = ['ecs.c6.*']\nimages = ['{IMAGE}']\n")
    refused: list[dict[str, Any]] = [
        {"instance_type": "ecs.gn6v-c8g1.2xlarge"},
        {"image": "docker.io/python:3"},
        {"image": "docker.io/python:3", "cpu": 3},  # Nor is the platform asked which machine that would be.
    ]
    for fields in refused:
        with pytest.raises(NotAllowed, match="is not allowed here"):
            submit(engine, "true", profile="pai", **fields)
    assert not pai.requests
    submit(engine, "true", profile="pai")


def test_sizes_select_the_smallest_allowed_type(engine: EmbeddedClient, pai: StandIn, system: SystemFile) -> None:
    system("[policy]\ninstance_types = ['ecs.c6.large', 'ecs.g6.4xlarge']\n")
    assert submit(engine, "true", profile="pai", cpu=3).info["spec"]["instance_type"] == "ecs.g6.4xlarge"
    system("[policy]\ninstance_types = ['ecs.none']\n")
    with pytest.raises(NotAllowed, match=r"`ecs\.c6\.xlarge` is not allowed here"):
        submit(engine, "true", profile="pai", cpu=3)


def test_forbidden_profile_supports_no_verb(engine: EmbeddedClient, pai: StandIn, system: SystemFile) -> None:
    job = submit(engine, "true", profile="pai")
    pai.forget_requests()
    system("[policy]\nbackends = ['local']\n")
    for verb, arguments in (
        ("adopt", {"body": {"remote_id": "train1", "profile": "pai"}}),
        ("remote_jobs", {"profile": "pai"}),
        ("instances", {"profile": "pai"}),
        ("images", {"profile": "pai"}),
        ("open_platform_board", {"body": {"job": job.id}}),
        ("rerun", {"job": job.id, "body": {}}),
    ):
        with pytest.raises(NotAllowed):
            engine.call(verb, **arguments)
    with pytest.raises(Unsupported):  # No other profile has images.
        engine.call("images")
    assert pai.count("dlc") == 0


def test_price_limit_of_the_policy_applies(engine: EmbeddedClient, pai: StandIn, system: SystemFile) -> None:
    submit(engine, "true", profile="pai")
    system("[policy]\nprice_limit = 1\n")
    with pytest.raises(Unconfirmed, match="price limit cannot be checked"):
        submit(engine, "true", profile="pai")
