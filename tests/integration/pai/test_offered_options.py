"""The options and commands that messages about PAI offer: each one is used as written."""

from __future__ import annotations

from pathlib import Path

import pytest

from ...conftest import script
from ...fakes.alibaba import StandIn
from ...support.offers import Cli, Offer, take
from .conftest import IMAGE, write_profile

SUBMIT = "submit --command true --source . --profile pai --yes"
GROUP = f"{SUBMIT} --option resource_id=quota1stand"

OFFERS = {
    "notebook": Offer("submit a.ipynb --profile pai --yes", "add --as-script.", ["{line} --as-script"]),
    "too many cores": Offer(
        f"{SUBMIT} --cpu 200",
        "more instances: --instance-count. See: jupyter pai instances",
        ["instances --profile pai", f"{SUBMIT} --cpu 16 --instance-count 2"],
    ),
    "image": Offer(
        SUBMIT,
        "Name one with --image, or as the profile's default_image. To list images: jupyter pai images",
        ["images --profile pai", f"{{line}} --image {IMAGE} --cpu 1"],
    ),
    "instance type": Offer(
        f"{SUBMIT} --image {IMAGE}",
        "To list them: jupyter pai instances",
        ["instances --profile pai", "{line} --instance-type ecs.c6.large", "{line} --cpu 2 --memory 4GiB --gpu 0"],
    ),
    "no size in a quota": Offer(GROUP, "set --cpu and --memory", ["{line} --cpu 1 --memory 1GiB"]),
    "sizes in a quota": Offer(f"{GROUP} --gpu 1", "Set both --cpu and --memory", ["{line} --cpu 1 --memory 1GiB"]),
    "type in a quota": Offer(
        f"{GROUP} --cpu 1 --memory 1GiB --instance-type ecs.g7.large",
        "Omit --instance-type or the option.",
        [f"{SUBMIT} --instance-type ecs.c6.large", f"{GROUP} --cpu 1 --memory 1GiB"],
    ),
    "adoption without a platform": Offer("adopt train0nothing", "--profile", ["adopt --profile pai"]),
    "adoption of an unknown job": Offer(
        "adopt train0nothing --profile pai",
        "List the jobs of the platform: jupyter pai adopt --profile pai",
        ["adopt --profile pai"],
    ),
}


@pytest.mark.slow("cases", first=2)
@pytest.mark.parametrize("offer", OFFERS.values(), ids=OFFERS)
def test_offered_option_works_as_written(cli: Cli, pai: StandIn, folder: Path, offer: Offer) -> None:
    script(folder, '{"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}', "a.ipynb")
    if offer.line in (SUBMIT, f"{SUBMIT} --image {IMAGE}"):
        write_profile(pai, default_image="", default_instance_type="")
    take(cli, offer, folder)
