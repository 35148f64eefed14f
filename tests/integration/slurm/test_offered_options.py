"""The options and commands that messages about Slurm offer: each one is used as written."""

from __future__ import annotations

from pathlib import Path

import pytest

from ...conftest import script
from ...support.offers import Cli, Offer, take
from ...support.slurm import SlurmCluster

SUBMIT = "submit --command true --source ."

OFFERS = {
    "notebook": Offer("submit a.ipynb", "add --as-script.", ["{line} --as-script"]),
    "input": Offer(
        f"{SUBMIT} --input train=https://example.com/row",
        "Download it first, and pass a path: jupyter pai get",
        ["get file:///etc/hostname row", f"{SUBMIT} --input train=row --wait"],
    ),
    "size": Offer(
        f"{SUBMIT} --cpu 9",
        "List all with: jupyter pai instances",
        ["instances", f"{SUBMIT} --cpu 8 --wait"],
    ),
    "number of nodes": Offer(
        f"{SUBMIT} --instance-count 3",
        "Request fewer instances, or another partition: jupyter pai instances",
        ["instances", f"{SUBMIT} --instance-count 2 --wait"],
    ),
    "time limit": Offer(
        f"{SUBMIT} --max-run-time 301 --option partition=short",
        "Set a shorter --max-run-time, or another partition.",
        [f"{SUBMIT} --max-run-time 300 --option partition=short", f"{SUBMIT} --max-run-time 301 --wait"],
    ),
    "default size": Offer(
        f"{SUBMIT} --dry-run",
        "Set --cpu, --memory and --gpu, or an instance type, for more.",
        [f"{SUBMIT} --cpu 1 --memory 100MiB --gpu 0 --wait"],
        code=0,
    ),
    "unknown job": Offer(
        "adopt 99999999", "List the jobs of the platform: jupyter pai adopt --profile lab", ["adopt --profile lab"]
    ),
}


@pytest.mark.slow("jobs", first=1)
@pytest.mark.parametrize("offer", OFFERS.values(), ids=OFFERS)
def test_offered_option_works_as_written(cli: Cli, lab: SlurmCluster, folder: Path, offer: Offer) -> None:
    script(folder, '{"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}', "a.ipynb")
    take(cli, offer, folder)
