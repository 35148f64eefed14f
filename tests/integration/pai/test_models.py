"""Models of jobs on PAI, and its registry."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.client.job import JobHandle
from jupyter_pai.core.errors import Conflict, NotFound, SpecError, Unsupported

from ...conftest import script, submit
from ...fakes.alibaba import StandIn
from ...support.user_terminal import answering

TRAIN = """
    import os, pathlib

    print("loss=0.25", flush=True)
    pathlib.Path(os.environ["PAI_OUTPUT_MODEL"], "model.txt").write_text("a model")
"""
LOSS = [{"name": "loss", "regex": r"loss=([\d.]+)"}]


@pytest.fixture
def job(engine: EmbeddedClient, pai: StandIn, folder: Path) -> JobHandle:
    """A job that has written a model."""
    script(folder, TRAIN)
    return submit(
        engine,
        folder=folder,
        entry_point="train.py",
        profile="pai",
        metric_definitions=LOSS,
        hyperparameters={"lr": "0.1"},
    ).wait()


def register(engine: EmbeddedClient, **body: Any) -> dict[str, Any]:
    return dict(engine.call("register_model", body=body)["version"])


def test_job_with_a_model_lists_it(job: JobHandle, cli: Callable[..., Any]) -> None:
    (model,) = job.output_models()
    assert (model["uri"], model["channel"]) == (job.outputs["model"], "model")
    assert model["labels"] == {"Algorithm": "custom"}
    assert model["metrics"] == {"loss": 0.25}
    assert (model["id"], model["version"]) == ("", "")
    shown = cli("models", "list", "--job", job.id).stdout
    assert job.outputs["model"] in shown
    assert "not registered" in shown
    assert json.loads(cli("models", "list", "--job", job.id, "--json").stdout) == [model]


def test_job_without_a_model_lists_none(engine: EmbeddedClient, pai: StandIn, cli: Callable[..., Any]) -> None:
    job = submit(engine, "true", profile="pai").wait()
    assert job.output_models() == []
    assert "no model" in cli("models", "list", "--job", job.id).stdout


def test_local_job_has_no_registry(engine: EmbeddedClient, pai: StandIn) -> None:
    job = submit(engine, "true", profile="local").wait()
    assert not job.info["registry"]
    with pytest.raises(Unsupported, match="`local` does not support: a registry of models") as caught:
        job.output_models()
    assert "jupyter pai outputs" in caught.value.fix
    with pytest.raises(Unsupported):
        register(engine, model="m", job=job.id)


def test_output_is_registered_with_its_training(engine: EmbeddedClient, pai: StandIn, job: JobHandle) -> None:
    assert job.info["registry"]
    first = register(engine, model="classifier", job=job.id, labels={"stage": "test"}, metrics={"accuracy": 0.5})
    assert (first["model"], first["version"], first["status"]) == ("classifier", "0.1.0", "ready")
    assert (first["channel"], first["approval"], first["labels"]) == ("model", "Pending", {"stage": "test"})
    assert first["metrics"] == {"accuracy": 0.5, "loss": 0.25}
    assert first["hyperparameters"] == {"lr": "0.1"}
    assert first["uri"].endswith(job.outputs["model"].split("/", 3)[3])
    assert job.output_models()[0]["id"] == "0.1.0"
    second = register(engine, model="classifier", job=job.id, format="ONNX", approval="Approved")
    assert (second["model_id"], second["version"]) == (first["model_id"], "0.2.0")
    third = register(engine, model=first["model_id"], job=job.id, version="2.0.0_beta")
    assert (third["model"], third["version"]) == ("classifier", "2.0.0_beta")
    assert register(engine, model="classifier", job=job.id)["version"] == "2.1.0"
    reply = engine.call("model_versions", model="classifier", backend="pai")
    assert [one["version"] for one in reply["versions"]] == ["2.1.0", "2.0.0_beta", "0.2.0", "0.1.0"]
    assert not reply["deletes_files"]


def test_name_is_searched_exactly(engine: EmbeddedClient, pai: StandIn) -> None:
    uri = f"oss://{pai.bucket}/m/"
    longer = register(engine, model="net-2", uri=uri, backend="pai")
    shorter = register(engine, model="net", uri=uri, backend="pai")
    assert longer["model_id"] != shorter["model_id"]
    assert [one["name"] for one in engine.call("models", backend="pai")["models"]] == ["net", "net-2"]
    with pytest.raises(NotFound, match="has no model `ne`"):
        engine.call("model_versions", model="ne", backend="pai")
    with pytest.raises(NotFound, match="has no version"):
        engine.call("model_version", model="net", version="9.9.9", backend="pai")


def test_invalid_registrations_are_rejected_before_any_request(
    engine: EmbeddedClient, pai: StandIn, job: JobHandle
) -> None:
    pai.forget_requests()
    wrong: list[tuple[str, object, str]] = [
        ("version", "v2", "not a version"),
        ("format", "PYTORCH", "unknown value"),
        ("approval", "Yes", "unknown value"),
        ("image", "some:image", "does not support"),
        ("metrics", {f"metric-{n}": 1.0 for n in range(1000)}, "more than the platform stores"),
        ("model", 'a "name"', "not a valid name"),
    ]
    for field, value, text in wrong:
        with pytest.raises(SpecError, match=text) as caught:
            register(engine, **{"model": "m", "job": job.id, field: value})
        assert field in str(caught.value.details["faults"])
    with pytest.raises(SpecError, match="either `job` or `uri`"):
        register(engine, model="m")
    with pytest.raises(NotFound, match="no output channel `mode`"):
        register(engine, model="m", job=job.id, channel="mode")
    assert pai.count("aiworkspace", "CreateModel") == 0


def test_metrics_that_do_not_fit_are_left_out_with_a_note(engine: EmbeddedClient, pai: StandIn, folder: Path) -> None:
    script(folder, "print(' '.join(f'loss_of_the_layer_{n:04}=0.25' for n in range(400)))")
    definitions = [
        {"name": f"loss_of_the_layer_{n:04}", "regex": rf"loss_of_the_layer_{n:04}=(\S+)"} for n in range(400)
    ]
    job = submit(engine, folder=folder, entry_point="train.py", profile="pai", metric_definitions=definitions).wait()
    reply = engine.call("register_model", body={"model": "deep", "job": job.id, "metrics": {"mine": 1}})
    assert reply["version"]["metrics"]["mine"] == 1
    assert len(json.dumps(reply["version"]["metrics"])) <= 8192
    (note,) = reply["notes"]
    assert "loss_of_the_layer_0399" in note


def test_output_of_a_running_job_is_not_registered(engine: EmbeddedClient, pai: StandIn) -> None:
    job = submit(engine, "sleep 1000", profile="pai")
    with pytest.raises(Conflict, match="has not ended"):
        register(engine, model="early", job=job.id)
    job.stop()


def test_lost_replies_register_nothing_twice(engine: EmbeddedClient, pai: StandIn) -> None:
    uri = f"oss://{pai.bucket}/m/"
    pai.faults.add("lost", "aiworkspace:CreateModel", count=1)
    pai.faults.add("lost", "aiworkspace:CreateModelVersion", count=1)
    assert register(engine, model="once", uri=uri, backend="pai")["version"] == "0.1.0"
    assert len(engine.call("models", backend="pai")["models"]) == 1
    assert len(engine.call("model_versions", model="once", backend="pai")["versions"]) == 1


def test_refused_version_leaves_no_empty_model(engine: EmbeddedClient, pai: StandIn) -> None:
    with pytest.raises(Exception, match="Uri must be"):
        register(engine, model="empty", uri="nas://somewhere/", backend="pai")
    assert engine.call("models", backend="pai")["models"] == []


@pytest.mark.slow("platform")
def test_models_are_managed_on_the_command_line(
    engine: EmbeddedClient, pai: StandIn, job: JobHandle, cli: Callable[..., Any]
) -> None:
    assert "has no models" in cli("models", "list", "--profile", "pai").stdout
    made = cli("models", "register", "net", "--job", job.id, "--label", "a=b", "--metric", "f1=0.75")
    assert "Registered net 0.1.0: oss://" in made.stdout
    cli("models", "register", "net", "--uri", f"oss://{pai.bucket}/m/", "--profile", "pai", "--approval", "Approved")
    assert "net" in cli("models", "list", "--profile", "pai").stdout
    shown = cli("models", "versions", "net", "--profile", "pai").stdout
    assert "0.2.0" in shown
    assert "f1=0.75, loss=0.25" in shown
    assert "Approved" in shown
    with answering("n") as terminal:
        declined = cli("models", "delete", "net", "--version", "0.2.0", "--profile", "pai", stdin=terminal).stdout
    assert f"The files stay: oss://{pai.bucket}" in declined
    assert len(json.loads(cli("models", "versions", "net", "--json", "--profile", "pai").stdout)) == 2
    assert (
        "Deleted net 0.2.0" in cli("models", "delete", "net", "--version", "0.2.0", "--yes", "--profile", "pai").stdout
    )
    assert [one["version"] for one in json.loads(cli("models", "versions", "net", "--json").stdout)] == ["0.1.0"]
    refused = cli("models", "delete", "net", "--with-files", "--yes", "--profile", "pai")
    assert refused.returncode != 0
    assert "cannot delete the files" in refused.stderr
    cli("models", "delete", "net", "--yes", "--profile", "pai")
    assert engine.call("models", backend="pai")["models"] == []
    assert [one["id"] for one in job.output_models()] == [""]


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["register"], "No model named"),
        (["register", "net"], "either --job or --uri"),
        (["register", "net", "--uri", "oss://b/m/", "--metric", "f1=high"], "not of the form NAME=VALUE"),
        (["versions"], "No model named"),
    ],
)
def test_invalid_command_lines_are_explained(
    pai: StandIn, cli: Callable[..., Any], words: list[str], text: str
) -> None:
    done = cli("models", *words)
    assert done.returncode == 2
    assert text in done.stderr
