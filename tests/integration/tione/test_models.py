"""Models: imports from tasks and folders, their versions, and what is deleted with them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.core.errors import Conflict, ImageError, NotFound, ReplyLost, SpecError

from ...conftest import until
from ...fakes.tione import TiOne
from ...fakes.tione_client import Client
from ...support.user_terminal import answering
from .jobs import ended, send

KEY, NAME, ID = "torch1.9.0-py38-cu111", "tf2.4.0-py38-cu111", "ti-infer-tf2.4.0-py38-cu111"
COMMAND = 'echo "loss=0.5"; echo weights > "$PAI_OUTPUT_MODEL/model.pt"'
LOSS = [{"name": "loss", "regex": r"loss=([\d.]+)"}]


@pytest.fixture
def folder_of_model(tione: TiOne) -> str:
    """A folder with the files of a model."""
    tione.objects.write("models/net/model.pt", b"weights")
    return f"cos://{tione.bucket}/models/net/"


def register(engine: EmbeddedClient, model: str = "net", **body: Any) -> dict[str, Any]:
    """Register a version and wait for the end of its import."""
    fields = {"model": model, "format": "PYTORCH", "image": KEY, **body}
    version: dict[str, Any] = engine.call("register_model", body=fields)["version"]

    def imported() -> dict[str, Any]:
        found = engine.call("model_version", model=version["model_id"], version=version["id"])
        return {} if found["status"] == "importing" else dict(found)

    return until(imported)


def test_output_of_a_task_is_registered_with_its_metrics(engine: EmbeddedClient, tione: TiOne) -> None:
    job = send(engine, COMMAND, metric_definitions=LOSS)
    ended(tione, job)
    job.wait()
    version = register(engine, job=job.id, labels={"team": "vision"}, metrics={"f1": 0.75})
    assert (version["model"], version["version"], version["status"]) == ("net", "v1", "ready")
    assert version["metrics"] == {"f1": 0.75, "loss": 0.5}
    assert (version["uri"], version["image"]) == (job.outputs["model"], "ti-infer-" + KEY)
    stored = Client(tione).call("DescribeTrainingModelVersion", TrainingModelVersionId=version["id"])
    row = stored["TrainingModelVersion"]
    assert (row["TrainingModelSource"], row["TrainingJobId"]) == ("JOB", job.info["remote_id"])
    assert row["TrainingModelIndex"] == "f1=0.75,loss=0.5"
    again = register(engine, job=job.id)
    assert (again["model_id"], again["version"]) == (version["model_id"], "v2")
    (newest, oldest) = job.output_models()
    assert (newest["version"], oldest["version"], oldest["channel"]) == ("v2", "v1", "model")


def test_folder_is_registered_and_found_without_a_list(
    engine: EmbeddedClient, tione: TiOne, folder_of_model: str, without_list: None
) -> None:
    version = register(engine, uri=folder_of_model)
    assert (version["version"], version["status"], version["uri"]) == ("v1", "ready", folder_of_model)
    (model,) = engine.call("models")["models"]
    assert (model["id"], model["name"]) == (version["model_id"], "net")
    assert register(engine, uri=folder_of_model, version="v7")["version"] == "v7"
    assert register(engine, model=version["model_id"], uri=folder_of_model)["version"] == "v8"
    found = engine.call("model_versions", model="net")["versions"]
    assert [one["version"] for one in found] == ["v8", "v7", "v1"]
    with pytest.raises(NotFound, match="no model `other`"):
        engine.call("model_versions", model="other")


@pytest.fixture
def without_list(tione: TiOne) -> None:
    """The platform no longer offers the actions that were cut from its public API."""
    tione.settings.extras = False


def test_models_of_others_are_listed_where_the_platform_does(
    engine: EmbeddedClient, tione: TiOne, folder_of_model: str
) -> None:
    mine = register(engine, uri=folder_of_model)
    theirs = Client(tione).call(
        "CreateTrainingModel",
        ImportMethod="MODEL",
        TrainingModelName="theirs",
        ReasoningEnvironmentSource="SYSTEM",
        TrainingModelSource="COS",
        TrainingModelCosPath={"Bucket": tione.bucket, "Region": tione.region, "Paths": ["models/net/"]},
    )
    assert {one["id"] for one in engine.call("models")["models"]} == {mine["model_id"], theirs["Id"]}
    assert register(engine, model="theirs", uri=folder_of_model)["version"] == "v2"


@pytest.mark.parametrize("image", [KEY, NAME, ID, "ccr.ccs.tencentyun.com/me/serve:1"])
def test_image_is_found_by_each_name(engine: EmbeddedClient, tione: TiOne, folder_of_model: str, image: str) -> None:
    version = register(engine, uri=folder_of_model, image=image)
    row = Client(tione).call("DescribeTrainingModelVersion", TrainingModelVersionId=version["id"])
    stored = row["TrainingModelVersion"]
    if "/" in image:
        assert stored["ReasoningEnvironmentSource"] == "CUSTOM"
        assert stored["ReasoningImageInfo"]["ImageUrl"] == version["image"] == image
    else:
        assert stored["ReasoningEnvironmentSource"] == "SYSTEM"
        assert (
            stored["ReasoningEnvironment"] == f"ccr.ccs.tencentyun.com/ti-platform/{image.removeprefix('ti-infer-')}:1"
        )
        assert stored["AlgorithmFramework"] == ("PYTORCH" if image == KEY else "TENSORFLOW")


def test_key_of_an_older_template_is_found(engine: EmbeddedClient, tione: TiOne, folder_of_model: str) -> None:
    tione.settings.templates["mmdet-old"] = "ccr.ccs.tencentyun.com/ti-platform/mmdet:1"
    version = register(engine, uri=folder_of_model, image="mmdet-old")
    assert version["image"] == "mmdet-old"


def test_failed_import_says_why(
    engine: EmbeddedClient, tione: TiOne, cli: Callable[..., Any], folder_of_model: str
) -> None:
    version = register(engine, uri=f"cos://{tione.bucket}/empty/")
    assert version["status"] == "failed"
    assert "no files in" in version["reason"]
    words = (
        "models",
        "register",
        "net",
        "--uri",
        f"cos://{tione.bucket}/empty/",
        "--format",
        "PYTORCH",
        "--image",
        KEY,
    )
    done = cli(*words)
    assert done.returncode != 0
    assert "could not import net v2: no files in" in done.stderr
    assert f"models delete {version['model_id']} --version v2" in done.stderr
    assert "failed: no files in" in cli("models", "versions", "net").stdout


@pytest.mark.slow("platform")
def test_import_is_followed_on_the_command_line(
    engine: EmbeddedClient, tione: TiOne, cli: Callable[..., Any], folder_of_model: str
) -> None:
    tione.settings.import_seconds = 1.5
    words = ("models", "register", "net", "--uri", folder_of_model, "--format", "PYTORCH", "--image", KEY)
    done = cli(*words)
    assert done.returncode == 0, done.stderr
    assert "net v1: importing 0%" in done.stdout
    assert f"Registered net v1: {folder_of_model}" in done.stdout
    assert json.loads(cli(*words, "--json").stdout)["version"] == "v2"


@pytest.mark.slow("platform")
def test_delete_says_whether_the_files_go_too(
    engine: EmbeddedClient, tione: TiOne, cli: Callable[..., Any], folder_of_model: str
) -> None:
    for _n in range(2):
        register(engine, uri=folder_of_model)
    with answering("n") as terminal:
        declined = cli("models", "delete", "net", "--with-files", stdin=terminal).stdout
    assert f"The files are deleted too: {folder_of_model}" in declined
    assert tione.objects.keys("models/net/") == ["models/net/model.pt"]
    with answering("y") as terminal:
        kept = cli("models", "delete", "net", "--version", "v1", stdin=terminal).stdout
    assert f"The files stay: {folder_of_model}" in kept
    assert "Deleted net v1" in kept
    assert [one["version"] for one in engine.call("model_versions", model="net")["versions"]] == ["v2"]
    assert tione.objects.keys("models/net/") == ["models/net/model.pt"]
    assert "Deleted net" in cli("models", "delete", "net", "--with-files", "--yes").stdout
    assert tione.objects.keys("models/net/") == []
    assert engine.call("models")["models"] == []


def test_invalid_registrations_are_rejected(engine: EmbeddedClient, tione: TiOne, folder_of_model: str) -> None:
    wrong: list[tuple[str, object, str]] = [
        ("format", "", "required by the platform"),
        ("format", "PICKLE", "unknown value"),
        ("image", "", "required by the platform"),
        ("version", "0.1.0", "not a version"),
        ("model", "a net", "not a valid name"),
        ("model", "n" * 61, "not a valid name"),
        ("uri", "oss://bucket/key/", "not a location in COS"),
        ("approval", "Approved", "does not support"),
        ("move", True, "requires `target`"),
        ("metrics", {f"metric-{n}": 1 for n in range(200)}, "more than the platform stores"),
    ]
    for field, value, text in wrong:
        fields: dict[str, Any] = {"uri": folder_of_model, field: value}
        with pytest.raises(SpecError, match=text) as caught:
            register(engine, **fields)
        assert field in str(caught.value.details["faults"])
    with pytest.raises(ImageError, match="no image `torch9`") as error:
        register(engine, uri=folder_of_model, image="torch9")
    assert KEY in error.value.fix
    assert tione.count("CreateTrainingModel") == 0


def test_name_of_an_unlisted_model_is_taken(
    engine: EmbeddedClient, tione: TiOne, folder_of_model: str, without_list: None
) -> None:
    place = {"Bucket": tione.bucket, "Region": tione.region, "Paths": ["models/net/"]}
    names = {"ImportMethod": "MODEL", "TrainingModelName": "net", "ReasoningEnvironmentSource": "SYSTEM"}
    theirs = Client(tione).call("CreateTrainingModel", TrainingModelSource="COS", TrainingModelCosPath=place, **names)
    with pytest.raises(Conflict, match="taken") as caught:
        register(engine, uri=folder_of_model)
    assert "id of the model" in caught.value.fix
    assert register(engine, model=theirs["Id"], uri=folder_of_model)["version"] == "v2"


def test_lost_reply_registers_nothing_twice(engine: EmbeddedClient, tione: TiOne, folder_of_model: str) -> None:
    tione.faults.add("lost", "tione:CreateTrainingModel", count=1)
    assert register(engine, uri=folder_of_model)["version"] == "v1"
    tione.faults.add("lost", "tione:CreateTrainingModel", count=1)
    assert register(engine, uri=folder_of_model)["version"] == "v2"
    assert len(engine.call("model_versions", model="net")["versions"]) == 2
    tione.settings.extras = False
    tione.faults.add("lost", "tione:CreateTrainingModel", count=1)
    with pytest.raises(ReplyLost):
        register(engine, model="other", uri=folder_of_model)


def test_files_of_a_deleted_task_are_registered_as_a_folder(engine: EmbeddedClient, tione: TiOne) -> None:
    job = send(engine, COMMAND)
    ended(tione, job)
    job.wait()
    tione.remove_task(job.info["remote_id"])
    version = register(engine, job=job.id)
    row = Client(tione).call("DescribeTrainingModelVersion", TrainingModelVersionId=version["id"])
    assert row["TrainingModelVersion"]["TrainingModelSource"] == "COS"
    assert version["status"] == "ready"


def test_files_are_moved_to_a_folder(engine: EmbeddedClient, tione: TiOne, folder_of_model: str) -> None:
    target = f"cos://{tione.bucket}/kept/net/"
    version = register(engine, uri=folder_of_model, target=target, move=True)
    assert (version["uri"], version["status"]) == (target, "ready")
    assert tione.objects.keys("models/") == []
    assert tione.objects.keys("kept/") == ["kept/net/model.pt"]


@pytest.mark.slow("platform")
def test_registered_version_is_the_input_of_a_task(engine: EmbeddedClient, tione: TiOne, folder_of_model: str) -> None:
    register(engine, uri=folder_of_model)
    job = send(engine, 'cat "$PAI_INPUT_BASE/model.pt"', inputs={"base": "model://net"})
    assert job.info["spec"]["inputs"] == {"base": "model://net?version=v1"}
    assert job.info["inputs"] == {"base": folder_of_model}
    ended(tione, job)
    assert "weights" in "".join(job.wait().logs())
