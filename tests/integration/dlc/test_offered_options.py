"""The options and commands that messages about PAI-DLC offer: each one is used as written."""

from __future__ import annotations

from pathlib import Path

import pytest

from ...conftest import script
from ...fakes.alibaba import StandIn
from ...support.offers import Cli, Offer, take
from .conftest import IMAGE, write_profile

SUBMIT = "submit --command true --source . --profile dlc --yes"
GROUP = f"{SUBMIT} --option resource_id=quota1stand"

OFFERS = {
    "notebook": Offer("submit a.ipynb --profile dlc --yes", "add --as-script.", ["{line} --as-script"]),
    "image": Offer(
        SUBMIT,
        "Name one with --image, or as the profile's default_image. To list images: jupyter pai images",
        ["images --profile dlc", f"{{line}} --image {IMAGE}"],
    ),
    "type of the job": Offer(
        f"{SUBMIT} --option success_policy=ChiefWorker",
        "Omit the option, or add --option job_type=TFJob",
        [SUBMIT, "{line} --option job_type=TFJob"],
    ),
    "sizes in a quota": Offer(f"{GROUP} --gpu 1", "Set both --cpu and --memory", ["{line} --cpu 1 --memory 1GiB"]),
    "large job in a quota": Offer(
        f"{GROUP} --cpu 10000 --memory 1GiB",
        "To list them: jupyter pai instances",
        ["instances --profile dlc", f"{GROUP} --cpu 1 --memory 1GiB"],
    ),
    "type in a quota": Offer(
        f"{GROUP} --instance-type ecs.g7.large",
        "Omit --instance-type or the option.",
        [f"{SUBMIT} --instance-type ecs.c6.large", f"{GROUP} --cpu 1 --memory 1GiB"],
    ),
}


@pytest.mark.slow("cases", first=1)
@pytest.mark.parametrize("offer", OFFERS.values(), ids=OFFERS)
def test_offered_option_works_as_written(cli: Cli, pai: StandIn, folder: Path, offer: Offer) -> None:
    script(folder, '{"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}', "a.ipynb")
    if offer.line == SUBMIT:
        write_profile(pai, default_image="")
    take(cli, offer, folder)
