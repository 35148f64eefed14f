"""The options and commands that messages about TI-ONE offer: each one is used as written."""

from __future__ import annotations

from pathlib import Path

import pytest

from ...conftest import script
from ...fakes.tione import TiOne
from ...support.offers import Cli, Offer, take
from .conftest import IMAGE, INSTANCE_TYPE, write_profile

SUBMIT = "submit --command true --source . --yes"
GROUP = f"{SUBMIT} --option resource_group_id=trsg-standin1"
PASSWORD = f"{SUBMIT} --image a/b:1 --option image_user=me --option image_password=KEY"

OFFERS = {
    "notebook": Offer("submit a.ipynb --yes", "add --as-script.", ["{line} --as-script"]),
    "image": Offer(SUBMIT, "with --image", ["images", f"{{line}} --image {IMAGE} --instance-type {INSTANCE_TYPE}"]),
    "instance type": Offer(f"{SUBMIT} --image {IMAGE}", "--instance-type", ["instances", "{line} --cpu 2"]),
    "sizes in a group": Offer(f"{GROUP} --cpu 1", "Set both --cpu and --memory", ["{line} --memory 1GiB"]),
    "type in a group": Offer(
        f"{GROUP} --instance-type TI.GN7.8XLARGE128.POST", "Omit --instance-type", [f"{GROUP} --cpu 1 --memory 1GiB"]
    ),
    "one instance": Offer(
        f"{SUBMIT} --image spark2.4.5-cpu --option training_mode=SPARK",
        "--instance-count 2",
        ["{line} --instance-count 2"],
    ),
    "network": Offer(
        f"{SUBMIT} --input train=cfs://cfs-1/data",
        "--option vpc_id=vpc-… --option subnet_id=subnet-…",
        ["{line} --option vpc_id=vpc-1 --option subnet_id=subnet-1"],
    ),
    "password": Offer(
        PASSWORD,
        "jupyter pai secret set NAME), and add --secret KEY=NAME",
        ["secret set HUB < VALUE", "{line} --secret KEY=HUB"],
    ),
}


@pytest.mark.slow("cases", first=2)
@pytest.mark.parametrize("offer", OFFERS.values(), ids=OFFERS)
def test_offered_option_works_as_written(cli: Cli, tione: TiOne, folder: Path, offer: Offer) -> None:
    script(folder, '{"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}', "a.ipynb")
    (folder / "VALUE").write_text("a password\n")
    if offer.text in ("with --image", "--instance-type"):
        write_profile(tione, default_image=None, default_instance_type=None)
    take(cli, offer, folder)
