"""The verbs about a platform, over HTTP."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ...fakes.alibaba import StandIn, stand_in
from ..pai.conftest import write_profile
from .test_rest import ON_PLATFORMS, Document, ask, run


@pytest.fixture
def pai(tmp_path: Path, jp_serverapp: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[StandIn]:
    """The stand-in, with a profile of the server's."""
    with stand_in(tmp_path / "pai") as running:
        for name, value in running.environment().items():
            monkeypatch.setenv(name, value)
        write_profile(running)
        yield running


async def test_platform_replies_conform_to_the_openapi_document(jp_fetch: Any, pai: StandIn) -> None:
    document = Document(await ask(jp_fetch, "GET", "openapi.json"))
    check = document.check
    (image,) = check("images", await ask(jp_fetch, "GET", "images", framework="XGBoost", version="latest"))["images"]
    assert image["version"] == "1.6.0"
    machines = check("instances", await ask(jp_fetch, "GET", "instances", backend="pai"))
    assert (machines["profile"], machines["quotas"][0]["id"]) == ("pai", "quota1stand")
    quotas = check("choices", await ask(jp_fetch, "GET", "choices", name="quotas", profile="pai"))
    assert (quotas["choices"][0], quotas["problem"]) == ({"value": "quota1stand", "label": "stand"}, "")
    pai.faults.add("refused", "paistudio:ListQuotas", count=1, status=403)
    later = check("choices", await ask(jp_fetch, "GET", "choices", name="quotas", profile="pai", refresh="true"))
    assert later["choices"] == quotas["choices"]
    assert later["age"] > quotas["age"]
    assert "refused by the test" in later["problem"]
    result = check("doctor", await ask(jp_fetch, "GET", "doctor", backend="pai"))["findings"]
    assert {finding["state"] for finding in result} == {"ok"}
    assert check("try_jobs", await ask(jp_fetch, "POST", "trials", backend="pai"))["findings"] == []
    (remote_id,) = pai.add_jobs(1)
    (listed,) = check("remote_jobs", await ask(jp_fetch, "GET", "remote-jobs", backend="pai"))["jobs"]
    assert listed["remote_id"] == remote_id
    adopted = check("adopt", await ask(jp_fetch, "POST", "adopt", body={"remote_id": remote_id, "backend": "pai"}))
    terminal = check("open_terminal", await ask(jp_fetch, "POST", "jobs", adopted["id"], "terminal"))
    assert (terminal["kind"], terminal["url"]) == ("command", "")
    socket = check("open_terminal", await ask(jp_fetch, "POST", "jobs", adopted["id"], "terminal", attach="true"))
    assert (socket["kind"], socket["dialect"]) == ("socket", "pai")
    assert socket["url"].startswith("ws://127.0.0.1:")
    spec = {
        "name": "x",
        "command": "echo x > $PAI_OUTPUT_MODEL/x",
        "source": {"files": {"a.txt": ""}},
        "profile": "pai",
    }
    job = await run(jp_fetch, spec)
    (model,) = check("job_models", await ask(jp_fetch, "GET", "jobs", job["id"], "models"))["models"]
    assert model["uri"] == job["outputs"]["model"]
    body = {"model": "a model 模型", "job": job["id"]}
    version = check("register_model", await ask(jp_fetch, "POST", "models", body=body))["version"]
    (listed,) = check("models", await ask(jp_fetch, "GET", "models", backend="pai"))["models"]
    assert (listed["id"], listed["name"]) == (version["model_id"], body["model"])
    name = body["model"]
    reply = check("model_versions", await ask(jp_fetch, "GET", "models", name, "versions", backend="pai"))
    assert reply["versions"] == [version | {"channel": ""}]
    one = await ask(jp_fetch, "GET", "models", name, "versions", version["version"], backend="pai")
    assert check("model_version", one)["id"] == version["id"]
    gone = await ask(jp_fetch, "DELETE", "models", version["model_id"], backend="pai")
    assert check("delete_model", gone)["id"] == version["model_id"]
    path = "platform-tensorboards"
    board = check("open_platform_board", await ask(jp_fetch, "POST", path, body={"job": job["id"]}))
    (shown,) = check("platform_boards", await ask(jp_fetch, "GET", path, job=job["id"]))["boards"]
    assert shown["id"] == board["id"]
    gone = await ask(jp_fetch, "DELETE", path, board["id"], backend="pai", delete="true")
    assert check("stop_platform_board", gone)["boards"] == []
    assert document.checked >= ON_PLATFORMS


async def test_quotas_are_listed_without_the_instance_types(jp_fetch: Any, pai: StandIn) -> None:
    pai.forget_requests()
    reply = await ask(jp_fetch, "GET", "instances", profile="pai", quotas_only="true")
    assert ([one["id"] for one in reply["quotas"]], reply["instances"]) == (["quota1stand", "quota2empty"], [])
    assert pai.count() == pai.count("paistudio", "ListQuotas") == 1


async def test_profiles_have_links_to_their_platform(jp_fetch: Any, pai: StandIn) -> None:
    pai.forget_requests()
    reply = await ask(jp_fetch, "GET", "profiles")
    links = {profile["name"]: profile["links"] for profile in reply["profiles"]}
    (link,) = links["pai"]
    assert link["title"] == "PAI console"
    query = "regionId={region_id}&workspaceId={workspace_id}".format(**pai.settings())
    assert link["url"] == f"https://pai.console.aliyun.com/?{query}#/training/jobs"
    assert links["local"] == []
    assert pai.requests == []


async def test_profile_with_an_incomplete_platform_has_no_links(jp_fetch: Any, pai: StandIn) -> None:
    await ask(jp_fetch, "PUT", "profiles", "half", body={"values": {"backend": "pai"}})
    reply = await ask(jp_fetch, "GET", "profiles")
    assert {profile["name"]: bool(profile["links"]) for profile in reply["profiles"]} == {
        "local": False,
        "pai": True,
        "half": False,
    }


@pytest.mark.slow("tensorboard")
async def test_local_tensorboard_shows_a_platform_job(jp_fetch: Any, pai: StandIn) -> None:
    code = """
import os, sys
sys.path.insert(0, %r)
from tests.support.event_writers import event, opened, records, simple
import time
with open(os.environ["PAI_OUTPUT_TENSORBOARD"] + "events.out.tfevents.1.x", "wb") as file:
    file.write(records([opened(time.time()), event(1, simple("loss", 0.5))]))
""" % str(Path(__file__).parents[3])
    source = {"files": {"train.py": code}}
    job = await run(
        jp_fetch, {"name": "there", "command": f"{sys.executable} train.py", "source": source, "profile": "pai"}
    )
    assert job["status"] == "succeeded"
    board = await ask(jp_fetch, "POST", "tensorboards", body={"jobs": [job["id"]]})
    shown = await jp_fetch("pai", "tensorboard", board["id"], "data", "plugin", "scalars", "tags")
    assert list(json.loads(shown.body).values()) == [{"loss": {"displayName": "loss", "description": ""}}]
    assert pai.count("dlc") == 0
    await ask(jp_fetch, "DELETE", "tensorboards", board["id"])
