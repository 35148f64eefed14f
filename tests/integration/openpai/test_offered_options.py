"""The options and commands that messages about OpenPAI offer: each one is used as written."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from jupyter_pai.client.embedded import EmbeddedClient

from ...conftest import script
from ...fakes.openpai import OpenPai
from ...support.offers import Cli, Offer, take
from .conftest import log_in, write_profile

SUBMIT = "submit --command true --source . --yes"
DOCUMENT = """protocolVersion: 2
name: document
type: job
prerequisites: [{name: image, type: dockerimage, uri: 'a/b:1'}]
taskRoles:
  worker:
    dockerImage: image
    resourcePerInstance: {cpu: 1, memoryMB: 1024, gpu: 0}
    commands: ['test <% $secrets.key %> = value']
secrets: {key: '******'}
"""

OFFERS = {
    "notebook": Offer("submit a.ipynb --image a/b:1 --yes", "add --as-script.", ["{line} --as-script"]),
    "image": Offer(SUBMIT, "Set --image", ["{line} --image a/b:1"]),
    "instance type": Offer(
        f"{SUBMIT} --image a/b:1 --instance-type GPU",
        "Set --cpu, --memory and --gpu.",
        [f"{SUBMIT} --image a/b:1 --cpu 1 --memory 1GiB --gpu 0"],
    ),
    "input": Offer(
        f"{SUBMIT} --image a/b:1 --input train=oss://bucket/row",
        "Download it first, and pass a path: jupyter pai get",
        ["get file:///etc/hostname row", f"{SUBMIT} --image a/b:1 --input train=row"],
    ),
    "lost outputs": Offer(
        "submit --command true --source . --image a/b:1",
        "set `mounts.NAME` of the profile to a storage of the cluster that is mounted here",
        ["profile set lab mounts.nfs=SHARE", "{line}"],
    ),
    "secret in a document": Offer(
        "submit document.pai.yaml --yes",
        "or store it and pass it: jupyter pai secret set NAME, then --secret NAME.",
        ["secret set key < VALUE", "{line} --secret key"],
    ),
}


@pytest.mark.slow("cases", first=2)
@pytest.mark.parametrize("offer", OFFERS.values(), ids=OFFERS)
def test_offered_option_works_as_written(
    cli: Cli, engine: EmbeddedClient, server: OpenPai, folder: Path, share: Path, offer: Offer
) -> None:
    script(folder, '{"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}', "a.ipynb")
    (folder / "VALUE").write_text("value\n")
    (folder / "document.pai.yaml").write_text(DOCUMENT)
    if offer.then[0].startswith("get "):
        write_profile(server, mounts={"nfs": str(share)})
        log_in(engine)
    take(cli, replace(offer, then=[line.replace("SHARE", str(share)) for line in offer.then]), folder)
