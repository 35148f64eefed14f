"""The server of the stand-in of OpenPAI: replies in the recorded forms, limits, tokens, faults."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from .openpai import OpenPai, openpai
from .openpai_client import Client, document, eventually

RECORDED: dict[str, Any] = json.loads((Path(__file__).parents[1] / "data/openpai/responses.json").read_text("utf-8"))
PLACE = "/jobs/admin~{}/attempts/0/taskRoles/main/taskIndex/0/attempts"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[OpenPai]:
    with openpai(tmp_path / "openpai", submits_an_hour=1000, storages={"confignfs": str(tmp_path)}) as running:
        running.add_user("admin", "password", storages=["confignfs"], admin=True)
        yield running


@pytest.fixture
def admin(server: OpenPai) -> Iterator[Client]:
    with Client(server) as client:
        yield client


def shape(value: Any) -> Any:
    """Return a value's types: of a list those of its first row, of a word nothing more than that it is one."""
    if isinstance(value, dict):
        return {key: shape(field) for key, field in value.items()}
    if isinstance(value, list):
        return [shape(value[0])] if value else []
    return type(value).__name__


def compare(name: str, reply: httpx.Response, *ignored: str) -> None:
    recorded = RECORDED[name]
    assert (reply.status_code, reply.headers["Content-Type"]) == (recorded["status"], recorded["content_type"]), name
    found, wanted = shape(reply.json()), shape(recorded["body"])
    for key in ignored:
        found, wanted = found | {key: None}, wanted | {key: None}
    assert found == wanted, name
    if "code" in recorded["body"]:
        assert reply.json()["code"] == recorded["body"]["code"]


def test_every_recorded_reply_is_compared() -> None:
    text = Path(__file__).read_text("utf-8")
    assert len(RECORDED) == 41
    assert not [name for name in RECORDED if f'"{name}"' not in text]


def test_replies_about_the_site_have_the_recorded_form(server: OpenPai, admin: Client) -> None:
    get = admin.http.get
    compare("login", admin.login)
    wrong = {"username": "admin", "password": "wrong-password"}
    compare("login_bad", admin.http.post("/authn/basic/login", data=wrong))
    for name in ("info", "authn_info", "vc_missing", "storages", "storage_detail", "storage_missing", "token_check"):
        compare(name, get(RECORDED[name]["request"].split()[1]))
    del server.settings.virtual_clusters["other"]
    compare("vcs", get("/virtual-clusters"))
    compare("sku_types_no_hived", get("/cluster/sku-types"))
    compare("user", get("/users/admin"), "extension")
    assert "key" in get("/users/admin").json()["extension"]["jobSSH"]
    compare("app_token", admin.http.post("/tokens/application"))
    compare("job_missing", get("/jobs/admin~nope"))
    compare("no_api", get("/zzz"))
    compare("bad_token", get("/jobs", headers={"Authorization": "Bearer x.y.z"}))
    compare("no_auth", httpx.get(f"{server.url}/rest-server/api/v2/jobs", trust_env=False))
    assert httpx.get(f"{server.url}/healthz", trust_env=False).status_code == 200


def test_replies_to_submits_have_the_recorded_form(admin: Client) -> None:
    compare("submit", admin.submit("one", "echo hi"))
    compare("submit_duplicate", admin.submit("one", "echo hi"))
    invalid = admin.send("protocolVersion: 2\n")
    compare("submit_invalid", invalid)
    assert len(json.loads(invalid.json()["message"])) == 3
    compare("submit_yaml_error", admin.send("a: [1\n"))
    compare("submit_wrong_content_type", admin.send(document("two", "x"), "application/json"))
    padding = document("big", "#")
    compare("submit_too_big", admin.send(padding + " " * (102_401 - len(padding))))
    assert admin.send(padding + " " * (102_400 - len(padding))).status_code == 202


def test_replies_about_jobs_have_the_recorded_form(server: OpenPai, admin: Client, tmp_path: Path) -> None:
    server.settings.controller = False
    admin.submit("ok209888", "echo hi", extras={"submitFrom": "jupyter-pai"})
    compare("job_waiting_unscheduled", admin.http.get("/jobs/admin~ok209888"))
    server.settings.room, server.settings.controller = False, True
    eventually(lambda: admin.status("ok209888")["subState"] == "AttemptPreparing")
    compare("job_waiting_preparing", admin.http.get("/jobs/admin~ok209888"))
    server.settings.room = True
    admin.wait("ok209888", "SUCCEEDED")
    compare("job_succeeded", admin.http.get("/jobs/admin~ok209888"))
    admin.submit("bad209888", "echo 'Traceback boom' >&2; exit 1")
    admin.wait("bad209888", "FAILED")
    compare("events", admin.http.get("/jobs/admin~bad209888/events"))
    compare("job_failed", admin.http.get("/jobs/admin~bad209888"))
    server.settings.grace = 600
    stubborn = f"trap '' TERM; touch {tmp_path}/up; until test -e {tmp_path}/end; do sleep 0.05; done; exit 1"
    admin.submit("stop209888", stubborn)
    eventually((tmp_path / "up").exists)
    compare("job_running", admin.http.get("/jobs/admin~stop209888"))
    compare("stop_bad_value", admin.stop("stop209888", "stop"))
    compare("stop", admin.stop("stop209888"))
    admin.wait("stop209888", "STOPPING")
    compare("job_stopping", admin.http.get("/jobs/admin~stop209888"))
    (tmp_path / "end").touch()
    admin.wait("stop209888", "STOPPED")
    compare("job_stopped", admin.http.get("/jobs/admin~stop209888"))
    for name in ("task_attempts", "logs", "logs_tail", "logs_missing_attempt", "list", "list_total", "config", "ssh"):
        compare(name, admin.http.get(RECORDED[name]["request"].split()[1]))


def test_secrets_of_a_document_are_hidden_and_reach_the_container(admin: Client) -> None:
    admin.submit("secret", "test '<% $secrets.word %>' = \"$(echo cn55 | tr a-z n-za-m)\"", secrets={"word": "pa55"})
    assert admin.wait("secret")["jobStatus"]["state"] == "SUCCEEDED"
    reply = admin.http.get("/jobs/admin~secret/config")
    assert reply.json()["secrets"] == "******" and "pa55" not in reply.text


def _admin(server: OpenPai) -> Client:
    server.add_user("admin", "password")
    return Client(server)


def test_submits_of_an_hour_are_limited(tmp_path: Path) -> None:
    with openpai(tmp_path / "openpai", controller=False) as server, _admin(server) as admin:
        replies = [admin.submit(f"job{number}", "true") for number in range(61)]
        assert [reply.status_code for reply in replies] == [202] * 60 + [429]
        assert replies[-1].headers["Content-Type"].startswith("text/html")
        assert 0 < int(replies[-1].headers["Retry-After"]) <= 3600
        assert replies[0].headers["X-RateLimit-Remaining"] == "59"
        server.move_clock(3601)
        assert admin.submit("later", "true").status_code == 202


def test_tokens_are_revoked_and_expire(server: OpenPai, admin: Client) -> None:
    token = admin.http.post("/tokens/application").json()["token"]
    with httpx.Client(base_url=admin.http.base_url, auth=("admin", token), trust_env=False) as application:
        assert application.get("/jobs").status_code == 200
        assert application.post("/tokens/application").status_code == 403
        server.move_clock(8 * 24 * 3600)
        assert admin.http.get("/jobs").status_code == 401
        assert application.get("/jobs").status_code == 200
        server.revoke_tokens("admin")
        assert application.get("/jobs").json()["code"] == "UnauthorizedUserError"


def test_virtual_cluster_and_storage_of_others_are_refused(server: OpenPai, admin: Client) -> None:
    other = admin.submit("vc", "true", defaults={"virtualCluster": "other"})
    assert (other.status_code, other.json()["code"]) == (403, "ForbiddenUserError")
    storage = admin.submit("storage", "true", extras={"storages": [{"name": "zz"}]})
    assert (storage.status_code, storage.json()["code"]) == (404, "NoStorageError")
    server.add_user("bob", "password")
    admin.submit("mine", "true")
    with Client(server, "bob") as bob:
        assert [row["name"] for row in bob.http.get("/jobs").json()] == ["mine"]
        forbidden = bob.http.put("/jobs/admin~mine/executionType", json={"value": "STOP"})
    assert forbidden.status_code == 403


def test_faults_strike_as_they_are_told(server: OpenPai, admin: Client) -> None:
    server.faults.add("503", "rest:list", count=1)
    assert admin.http.get("/jobs").status_code == 503
    server.faults.add("throttled", "rest:list", count=1)
    assert admin.http.get("/jobs").headers["Content-Type"].startswith("text/html")
    for kind in ("reset", "cut", "lost"):
        server.faults.add(kind, "rest:submit", count=1)
        with pytest.raises(httpx.TransportError):
            admin.submit(kind, "true")
    assert {row["name"] for row in admin.http.get("/jobs").json()} == {"cut", "lost"}
    assert server.faults.struck == 5 and server.count("rest:submit") == 3


def test_https_has_a_certificate_of_its_own(tmp_path: Path) -> None:
    with openpai(tmp_path / "openpai", tls=True) as server:
        with pytest.raises(httpx.ConnectError):
            httpx.get(f"{server.url}/healthz", trust_env=False)
