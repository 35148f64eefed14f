"""Virtual clusters, SKUs, storages and links of a cluster, and the findings of `doctor`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from jupyter_pai.client.embedded import EmbeddedClient

from ...fakes.openpai import OpenPai, openpai
from ...fakes.webhdfs import WebHdfsServer
from .conftest import PASSWORD, PROFILE, USER, log_in, write_profile

UNIT = {"V100": {"cpu": 4, "memory": 16384, "gpu": 1}, "CPU": {"cpu": 2, "memory": 4096, "gpu": 0}}


def change(engine: EmbeddedClient, **values: object) -> None:
    engine.call("set_profile", profile=PROFILE, body={"values": values})


def findings(engine: EmbeddedClient) -> dict[str, tuple[str, str, str]]:
    """Return state, text and fix of each finding about the profile."""
    found = engine.call("doctor", profile=PROFILE)["findings"]
    return {one["what"].removeprefix(f"{PROFILE}: "): (one["state"], one["text"], one["fix"]) for one in found}


def picked(engine: EmbeddedClient, name: str) -> dict[str, str]:
    choices = engine.call("choices", name=name, profile=PROFILE)["choices"]
    return {choice["value"]: choice["label"] for choice in choices}


# What is listed.


def test_virtual_clusters_of_the_user_are_quotas(engine: EmbeddedClient, server: OpenPai) -> None:
    reply = engine.call("instances", profile=PROFILE)
    assert reply["instances"] == []
    first, second = reply["quotas"]
    assert (first["id"], second["id"]) == ("default", "vision")
    assert (first["cpu"], first["memory"], first["gpu"]) == (16, 64 << 30, 4)
    assert (first["free_cpu"], first["free_memory"], first["free_gpu"]) == (16, 64 << 30, 4)
    assert picked(engine, "virtual_clusters") == {"default": "4 of 4 GPUs free", "vision": "2 of 2 GPUs free"}


def test_running_jobs_take_from_what_is_free(engine: EmbeddedClient, server: OpenPai) -> None:
    server.settings.used["default"] = (3, 1024, 1)
    (quota, _other) = engine.call("instances", profile=PROFILE)["quotas"]
    assert (quota["free_cpu"], quota["free_memory"], quota["free_gpu"]) == (13, 63 << 30, 3)
    server.settings.used["default"] = (99, 0, 99)
    (quota, _other) = engine.call("instances", profile=PROFILE)["quotas"]
    assert (quota["free_cpu"], quota["free_gpu"]) == (0, 0)


def test_skus_are_instance_types_of_one_unit(engine: EmbeddedClient, server: OpenPai) -> None:
    server.settings.skus = UNIT
    small, large = engine.call("instances", profile=PROFILE)["instances"]
    assert (small["name"], small["cpu"], small["memory"], small["gpu"]) == ("CPU", 2, 4 << 30, 0)
    assert (large["name"], large["cpu"], large["memory"], large["gpu"]) == ("V100", 4, 16 << 30, 1)
    assert picked(engine, "instance_types").keys() == {"CPU", "V100"}


def test_storages_of_the_user_are_choices(engine: EmbeddedClient, server: OpenPai) -> None:
    assert picked(engine, "storages") == {"nfs": "default"}
    assert server.count("rest:storage") == 0, "its details have credentials"


def test_links_lead_to_the_portal_without_a_request(fresh_engine: EmbeddedClient, server: OpenPai) -> None:
    write_profile(server, endpoint="openpai.example.com", username="me", allow_http=False)
    (profile,) = [one for one in fresh_engine.call("profiles")["profiles"] if one["name"] == PROFILE]
    assert [link["url"] for link in profile["links"]] == [
        "https://openpai.example.com/", "https://openpai.example.com/job-list.html?username=me"
    ]  # fmt: skip
    assert server.requests == []


def test_command_line_lists_virtual_clusters(
    engine: EmbeddedClient, cli: Callable[..., CompletedProcess[str]], server: OpenPai
) -> None:
    done = cli("instances")
    assert done.returncode == 0, done.stderr
    assert "vision" in done.stdout
    assert "other" not in done.stdout


# The findings.


def test_doctor_finds_nothing_wrong(engine: EmbeddedClient, server: OpenPai, share: Path) -> None:
    change(engine, storage="nfs", **{"mounts.nfs": str(share)})
    found = findings(engine)
    assert [what for what, (state, _text, _fix) in found.items() if state == "bad"] == []
    assert found["address"] == ("ok", f"{server.url}, OpenPAI 1.8.1", "")
    assert found["encryption"][0] == "warn"
    assert found["clock"][0] == "ok"
    assert found["login"][:2] == ("ok", "me, with a token that does not expire")
    assert found["virtual cluster"][:2] == ("ok", "default: 4 of 4 GPUs free")
    assert found["storage nfs"][0] in ("ok", "warn")
    assert [*share.rglob(".doctor*")] == []


@pytest.fixture
def encrypted(tmp_path: Path) -> Iterator[OpenPai]:
    with openpai(tmp_path / "encrypted", tls=True) as running:
        running.add_user(USER, PASSWORD)
        yield running


def test_doctor_by_https(encrypted: OpenPai, server: OpenPai, fresh_engine: EmbeddedClient) -> None:
    write_profile(encrypted, endpoint=encrypted.url, ca_file=str(encrypted.ca_file), allow_http=False)
    log_in(fresh_engine)
    assert findings(fresh_engine)["encryption"][0] == "ok"
    change(fresh_engine, ca_file=None)
    (finding,) = findings(fresh_engine).values()
    assert finding[0] == "bad"
    assert "ca_file" in finding[2]


def test_doctor_without_agreement_to_http_sends_no_token(engine: EmbeddedClient, server: OpenPai) -> None:
    change(engine, allow_http=None)
    before = server.requests
    found = findings(engine)
    assert found["encryption"][0] == "bad"
    assert "allow_http" in found["encryption"][2]
    assert "login" not in found
    assert not [one for one in server.requests[len(before) :] if "Authorization" in one["headers"]]


def test_doctor_without_a_cluster(engine: EmbeddedClient, server: OpenPai) -> None:
    change(engine, endpoint="http://127.0.0.1:9")
    ((what, (state, text, fix)),) = findings(engine).items()
    assert (what, state) == ("address", "bad")
    assert "127.0.0.1:9" in text
    assert "endpoint" in fix


def test_doctor_with_the_rest_server_alone(engine: EmbeddedClient, server: OpenPai) -> None:
    server.settings.gateway = False
    state, text, fix = findings(engine)["address"]
    assert (state, "REST server" in text, "endpoint" in fix) == ("warn", True, True)


@pytest.mark.parametrize("revoked", [True, False])
def test_doctor_without_a_valid_login(fresh_engine: EmbeddedClient, server: OpenPai, revoked: bool) -> None:
    if revoked:
        log_in(fresh_engine)
        server.revoke_tokens(USER)
    state, _text, fix = findings(fresh_engine)["login"]
    assert state == "bad"
    assert "profile login" in fix


def test_doctor_measures_the_clock(engine: EmbeddedClient, server: OpenPai) -> None:
    server.move_clock(-90)
    state, text, _fix = findings(engine)["clock"]
    assert state == "warn"
    assert "90 seconds" in text or "91 seconds" in text


@pytest.mark.parametrize("name", ["other", "none-such"])
def test_doctor_checks_the_virtual_cluster(engine: EmbeddedClient, server: OpenPai, name: str) -> None:
    change(engine, virtual_cluster=name)
    state, text, fix = findings(engine)["virtual cluster"]
    assert (state, name in text) == ("bad", True)
    assert fix.endswith("default, vision")


def test_doctor_checks_the_sku(engine: EmbeddedClient, server: OpenPai) -> None:
    server.settings.skus = UNIT
    assert findings(engine)["SKU"][:2] == ("ok", "CPU, V100")
    change(engine, sku="A100")
    state, text, fix = findings(engine)["SKU"]
    assert (state, "A100" in text, fix.endswith("CPU, V100")) == ("bad", True, True)


def test_doctor_checks_the_storage_and_its_folder(engine: EmbeddedClient, server: OpenPai, tmp_path: Path) -> None:
    change(engine, storage="nfs")
    state, _text, fix = findings(engine)["storage nfs"]
    assert (state, "mounts.nfs" in fix) == ("bad", True)
    change(engine, **{"mounts.nfs": str(tmp_path / "gone")})
    state, text, fix = findings(engine)["storage nfs"]
    assert (state, "cannot be written" in text, "mounts.nfs" in fix) == ("bad", True, True)
    change(engine, storage="secret", **{"mounts.nfs": None})
    assert findings(engine)["storage secret"][0] == "bad"


def test_doctor_warns_of_a_mount_that_jobs_do_not_need(engine: EmbeddedClient, server: OpenPai, tmp_path: Path) -> None:
    change(engine, **{"mounts.mine": str(tmp_path / "gone")})
    assert findings(engine)["storage mine"][0] == "warn"


def test_doctor_lists_the_folder_of_hdfs(engine: EmbeddedClient, server: OpenPai, hdfs: WebHdfsServer) -> None:
    change(engine, hdfs=hdfs.uri)
    found = [one for one in engine.call("doctor", profile=PROFILE)["findings"] if "hdfs" in one["text"]]
    assert [one["state"] for one in found] == ["ok"]
    change(engine, hdfs="http://127.0.0.1:9/webhdfs/v1")
    assert findings(engine)["storage"][0] in ("warn", "bad")


def test_doctor_of_the_command_line_fails_with_a_fix(
    engine: EmbeddedClient, cli: Callable[..., CompletedProcess[str]], server: OpenPai
) -> None:
    assert cli("doctor", "--profile", PROFILE).returncode == 0
    server.revoke_tokens(USER)
    done = cli("doctor", "--profile", PROFILE)
    assert done.returncode != 0
    assert "profile login" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr


# Jobs on each virtual cluster.


def live(engine: EmbeddedClient) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = engine.call("try_jobs", profile=PROFILE)["findings"]
    return found


def test_live_doctor_runs_a_job_on_each_virtual_cluster(engine: EmbeddedClient, server: OpenPai) -> None:
    assert {(one["what"], one["state"], one["text"]) for one in live(engine)} == {
        ("virtual cluster default", "ok", "a job ran"), ("virtual cluster vision", "ok", "a job ran")
    }  # fmt: skip
    assert server.count("rest:submit") == 2


def test_live_doctor_on_a_cluster_with_hived(engine: EmbeddedClient, server: OpenPai) -> None:
    server.settings.skus = UNIT
    change(engine, sku="V100")
    assert {one["state"] for one in live(engine)} == {"ok"}


def test_live_doctor_tells_why_a_job_failed(engine: EmbeddedClient, server: OpenPai) -> None:
    server.settings.path = "/no-programs"
    for one in live(engine):
        assert (one["state"], "FAILED" in one["text"]) == ("bad", True)
        assert "exit code 220" in one["text"]
        assert "jupyter-pai-doctor" in one["fix"]


def test_live_doctor_tells_why_a_job_cannot_run(engine: EmbeddedClient, server: OpenPai) -> None:
    server.faults.add("refused", "rest:submit", code="ForbiddenUserError", message="not allowed to access VC")
    for one in live(engine):
        assert (one["state"], "not allowed" in one["text"]) == ("bad", True)
