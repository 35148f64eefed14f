"""Registered versions of models as inputs: `model://` on the platform itself and on this machine."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.client.job import JobHandle
from jupyter_pai.client.uri_completion import continuations
from jupyter_pai.config.toml_file import user_file
from jupyter_pai.core.errors import NotFound, SpecError, Unsupported

from ...conftest import submit
from ...fakes.alibaba import StandIn

SHOW = 'cat "$PAI_INPUT_BASE/model.txt"'


@pytest.fixture
def versions(engine: EmbeddedClient, pai: StandIn) -> list[str]:
    """The URIs of two versions of the model `net 1`, each with the file `model.txt`."""
    uris = []
    for number in (1, 2):
        pai.objects.write(f"m/{number}/model.txt", f"the model {number}\n".encode())
        uris.append(f"oss://{pai.bucket}/m/{number}/")
        engine.call("register_model", body={"model": "net 1", "uri": uris[-1], "backend": "pai"})
    return uris


def text_of(job: JobHandle) -> str:
    return "".join(job.wait().logs())


def registered(engine: EmbeddedClient) -> list[str]:
    """The URIs in the registry, oldest first."""
    return [one["uri"] for one in engine.call("model_versions", model="net 1", backend="pai")["versions"]][::-1]


def test_job_on_the_platform_reads_the_newest_version(
    engine: EmbeddedClient, pai: StandIn, versions: list[str]
) -> None:
    job = submit(engine, SHOW, profile="pai", inputs={"base": "model://net%201"})
    assert "the model 2" in text_of(job)
    uri = registered(engine)[1]
    *_, sent = pai.jobs
    assert sent["request"]["InputChannels"] == [{"Name": "base", "InputUri": uri}]
    assert job.info["spec"]["inputs"] == {"base": "model://net%201?version=0.2.0"}
    assert job.info["inputs"] == {"base": uri}
    assert f"The input `base` is version 0.2.0 of the model net 1: {uri}" in job.info["notes"]


def test_rerun_reads_the_version_of_the_first_job(engine: EmbeddedClient, pai: StandIn, versions: list[str]) -> None:
    job = submit(engine, SHOW, profile="pai", inputs={"base": "model://net%201?version=0.1.0"})
    assert "the model 1" in text_of(job)
    newest = submit(engine, SHOW, profile="pai", inputs={"base": "model://net%201"}).wait()
    engine.call("register_model", body={"model": "net 1", "uri": versions[0], "backend": "pai"})
    again = newest.rerun()
    assert again.info["inputs"] == newest.info["inputs"]
    assert "the model 2" in text_of(again)


def test_local_job_gets_the_files_from_the_registry_that_has_the_model(
    engine: EmbeddedClient, pai: StandIn, versions: list[str], home: Any
) -> None:
    job = submit(engine, SHOW, profile="local", inputs={"base": "model://net%201"})
    assert "the model 2" in text_of(job)
    assert job.info["spec"]["inputs"] == {"base": "model://net%201?version=0.2.0&profile=pai"}
    assert job.info["inputs"]["base"].startswith((home.path / "inputs").as_uri())
    engine.call("register_model", body={"model": "net 1", "uri": versions[0], "backend": "pai"})
    assert "the model 2" in text_of(job.rerun())
    staged = engine.call("preview", body={"spec": job.info["spec"]})
    assert staged["spec"]["inputs"] == job.info["spec"]["inputs"]


def test_staged_submit_has_the_version(engine: EmbeddedClient, pai: StandIn, versions: list[str]) -> None:
    spec = {"name": "x", "command": SHOW, "profile": "pai", "inputs": {"base": "model://net%201"}}
    transfer = engine.call("bring", body={"spec": spec})
    assert transfer["status"] == "done"
    job = engine.call("submit", body={"spec": spec, "staged": str(transfer["id"])})["job"]
    assert job["inputs"] == {"base": registered(engine)[1]}


@pytest.mark.slow("cases", first=13)
@pytest.mark.parametrize(
    ("uri", "error", "text"),
    [
        ("model://", SpecError, "Invalid URI of a model"),
        ("model://net%201?version=", SpecError, "Invalid URI of a model"),
        ("model://net%201?tag=new", SpecError, "Invalid URI of a model"),
        ("model://a/b", SpecError, "Invalid URI of a model"),
        ("model://other", NotFound, "no model|has a model `other`|has no model `other`"),
        ("model://net%201?version=9.9.9", NotFound, "has no version `9.9.9`"),
        ("model://net%201?profile=none", NotFound, "none"),
        ("model://net%201?profile=local", Unsupported, "`local` does not support: a registry of models"),
    ],
)
@pytest.mark.parametrize("profile", ["pai", "local"])
def test_invalid_uris_are_explained(
    engine: EmbeddedClient,
    pai: StandIn,
    versions: list[str],
    uri: str,
    error: type[Exception],
    text: str,
    profile: str,
) -> None:
    pai.forget_requests()
    with pytest.raises(error, match=text) as caught:
        submit(engine, SHOW, profile=profile, inputs={"base": uri})
    assert "The input `base`: " in str(caught.value)
    assert "inputs.base" in str(caught.value.details)  # type: ignore[attr-defined]
    assert caught.value.fix or error is NotFound  # type: ignore[attr-defined]
    assert pai.count("paistudio", "CreateTrainingJob") == 0


def test_registry_cannot_select_a_file_of_the_user(engine: EmbeddedClient, pai: StandIn, tmp_path: Path) -> None:
    engine.call("register_model", body={"model": "page", "uri": "https://example.com/model", "backend": "pai"})
    with pytest.raises(SpecError, match="PAI does not support https"):
        submit(engine, SHOW, profile="pai", inputs={"base": "model://page"})
    with pytest.raises(Unsupported, match="No storage supports `https"):
        submit(engine, SHOW, profile="local", inputs={"base": "model://page"})


def test_backend_without_a_registry_refuses_models(
    engine: EmbeddedClient, pai: StandIn, versions: list[str], tmp_path: Path
) -> None:
    with user_file().open("a") as file:
        file.write(f'\n[profiles.nodes]\nbackend = "slurm"\nfolder = "{tmp_path}"\n')
    with pytest.raises(Unsupported, match="`slurm` does not support: a registry of models") as caught:
        submit(engine, SHOW, profile="nodes", inputs={"base": "model://net%201"})
    assert "jupyter pai models versions" in caught.value.fix


def test_models_and_versions_are_completed(
    engine: EmbeddedClient, pai: StandIn, versions: list[str], cli: Callable[..., Any]
) -> None:
    assert continuations(engine, "model://") == ["model://net%201"]
    assert continuations(engine, "model://ne", profile="pai") == ["model://net%201"]
    assert continuations(engine, "model://x") == []
    both = ["model://net%201?version=0.2.0", "model://net%201?version=0.1.0"]
    assert continuations(engine, "model://net%201?") == both
    assert continuations(engine, "model://net%201?version=0.1") == both[1:]
    assert continuations(engine, "model://net%201", profile="local") == ["model://net%201"]
