"""Data sets of the workspace as inputs: by URI, with the SDK's class, and in imported jobs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.core.errors import NotFound, SpecError, Unsupported
from jupyter_pai.jobs.datasets import DataSet
from jupyter_pai.sdk.estimator import DatasetConfig, Estimator

from ...conftest import script, submit
from ...fakes.alibaba import StandIn
from ...fakes.official_clients import finished, submitted
from .conftest import IMAGE

READ = "cat /ml/input/data/train/*; echo in $PAI_INPUT_TRAIN"


@pytest.fixture
def dataset(pai: StandIn) -> str:
    """Two versions of some data; the second is the default."""
    pai.objects.write("data/old/a.csv", b"old data\n")
    pai.objects.write("data/new/a.csv", b"new data\n")
    return pai.add_dataset(v1=f"oss://{pai.bucket}/data/old/", v2=f"oss://{pai.bucket}/data/new/")


def test_job_reads_a_data_set(engine: EmbeddedClient, pai: StandIn, dataset: str) -> None:
    job = submit(engine, READ, profile="pai", inputs={"train": f"dataset://{dataset}"}).wait()
    assert "new data\n" in job.logs()
    assert "in /ml/input/data/train/\n" in job.logs()
    (request,) = [one["request"] for one in pai.jobs if one["id"] == job.info["remote_id"]]
    assert request["InputChannels"] == [{"Name": "train", "DatasetId": dataset}]


def test_job_reads_a_version_of_a_data_set(pai: StandIn, dataset: str, folder: Path, cli: Callable[..., Any]) -> None:
    script(folder, "print(1)")
    channel = f"train=dataset://{dataset}?version=v1"
    done = cli("submit", "--profile", "pai", "--input", channel, "--command", READ, "--wait")
    assert "old data\n" in done.stdout, done.stderr


def test_sdk_dataset_config_is_supported(engine: EmbeddedClient, pai: StandIn, dataset: str, folder: Path) -> None:
    script(folder, "print(1)")
    estimator = Estimator(IMAGE, READ, folder, instance_type="ecs.c6.large", profile="pai")
    job = estimator.fit({"train": DatasetConfig(dataset_id=dataset, version_name="v1")}, show_logs=False)
    assert job.spec["inputs"] == {"train": f"dataset://{dataset}?version=v1"}
    assert "old data\n" in job.logs()


def test_unknown_data_set_is_rejected(engine: EmbeddedClient, pai: StandIn, dataset: str) -> None:
    for uri, reply in (("dataset://d-nowhere", "d-nowhere"), (f"dataset://{dataset}?version=v9", "Version v9")):
        with pytest.raises(NotFound, match=reply) as caught:
            submit(engine, "true", profile="pai", inputs={"train": uri})
        assert "console lists the data sets" in caught.value.fix


def test_invalid_data_set_uris_cause_no_request(engine: EmbeddedClient, pai: StandIn) -> None:
    for uri in ("dataset://", "dataset://d-1/folder", "dataset://d-1?v=2", "dataset://d-1?version="):
        with pytest.raises(SpecError, match="dataset://"):
            submit(engine, "true", profile="pai", inputs={"train": uri})
    with pytest.raises(SpecError, match="can only be inputs"):
        submit(engine, "true", profile="pai", outputs={"model": "dataset://d-1"})
    for submitting in (
        lambda **how: submit(engine, "true", **how),
        lambda **how: engine.preview({"name": "x", "command": "x", **how}),
    ):
        with pytest.raises(Unsupported, match=r"`train`.*`local`.*dataset://d-1") as caught:
            submitting(profile="local", inputs={"train": "dataset://d-1"})
        assert "platform that keeps it" in caught.value.fix
    assert pai.requests == []


def test_imported_job_lists_its_data_sets(engine: EmbeddedClient, pai: StandIn, dataset: str) -> None:
    channels = [
        {"Name": "train", "DatasetId": dataset, "VersionName": "v1"},
        {"Name": "test", "InputUri": f"oss://{pai.bucket}/data/new/"},
    ]
    theirs = submitted(pai, READ, AlgorithmSpec={"Image": IMAGE}, InputChannels=channels)
    assert finished(pai, theirs)["Status"] == "Succeed"
    job = engine.call("adopt", body={"remote_id": theirs, "profile": "pai"})
    assert job["spec"]["inputs"] == {
        "train": f"dataset://{dataset}?version=v1",
        "test": f"oss://{pai.bucket}/data/new/",
    }


@pytest.mark.parametrize("result", [DataSet("d-1"), DataSet("d-1", "v 1&x=?/#"), DataSet("d-1", "版本")])
def test_data_set_uris_survive_a_round_trip(result: DataSet) -> None:
    assert DataSet.parse(result.uri) == result
