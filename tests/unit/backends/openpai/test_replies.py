"""Errors of the REST server."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from jupyter_pai.backends.openpai.replies import read_reply
from jupyter_pai.cloud.http import Refusal
from jupyter_pai.core.errors import (
    BackendError,
    Conflict,
    CredentialsError,
    NotFound,
    PaiError,
    PermissionDenied,
    QuotaExceeded,
    Refused,
    Throttled,
    Unreachable,
)

RECORDED: dict[str, Any] = json.loads((Path(__file__).parents[3] / "data/openpai/responses.json").read_text("utf-8"))


def meaning(status: int, body: object = None, text: str = "", **headers: str) -> Refusal | None:
    content = text if text else json.dumps(body)
    return read_reply(
        httpx.Response(
            status, content=content, headers=headers, request=httpx.Request("GET", "https://openpai.example.com/jobs")
        )
    )


def error(status: int, body: object = None, text: str = "", **headers: str) -> PaiError:
    refusal = meaning(status, body, text, **headers)
    assert refusal
    return refusal.error


@pytest.mark.parametrize("name", [name for name, reply in RECORDED.items() if reply["status"] < 300])
def test_recorded_answers_are_no_errors(name: str) -> None:
    assert meaning(RECORDED[name]["status"], RECORDED[name]["body"]) is None


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("login_bad", Refused), ("vc_missing", NotFound), ("storage_missing", NotFound),
        ("submit_duplicate", Conflict), ("submit_invalid", Refused), ("submit_yaml_error", BackendError),
        ("submit_too_big", Refused), ("job_missing", NotFound), ("no_api", NotFound), ("no_auth", CredentialsError),
        ("bad_token", CredentialsError), ("logs_missing_attempt", NotFound), ("stop_bad_value", Refused),
    ],
)  # fmt: skip
def test_recorded_errors_have_their_kind_and_their_text(name: str, kind: type[PaiError]) -> None:
    recorded = RECORDED[name]
    found = error(recorded["status"], recorded["body"])
    assert type(found) is kind
    assert found.details["status"] == recorded["status"]
    assert found.details["code"] == recorded["body"].get("code", "")
    if kind is not CredentialsError and not recorded["body"]["message"].startswith("["):
        assert recorded["body"]["message"].splitlines()[0] in found.message


def test_faults_of_a_document_are_a_text() -> None:
    recorded = RECORDED["submit_invalid"]
    found = error(400, recorded["body"]).message
    assert "should have required property 'name'" in found
    assert "schemaPath" not in found
    faults = [{"dataPath": ".taskRoles.main", "message": "should be object"}, "x"]
    assert ".taskRoles.main should be object" in error(400, {"message": json.dumps(faults)}).message


def test_limited_rate_is_waited_for() -> None:
    html = {"content-type": "text/html", "retry-after": "42"}
    refusal = meaning(429, text="Too many requests, please try again later.", **html)
    assert refusal
    assert isinstance(refusal.error, Throttled)
    assert (refusal.not_executed, refusal.wait) == (True, 42)
    assert "42" in refusal.error.fix
    refusal = meaning(429, text="Too many", **{"retry-after": "Wed, 21 Oct 2026 07:28:00 GMT"})
    assert refusal
    assert (refusal.not_executed, refusal.wait) == (True, None)


def test_forbidden_quota_and_redirect() -> None:
    assert isinstance(error(403, {"code": "ForbiddenUserError", "message": "no"}), PermissionDenied)
    assert isinstance(error(400, {"code": "NoEnoughQuotaError", "message": "no"}), QuotaExceeded)
    moved = error(302, text="moved", location="https://login.example.com/x?token=secret")
    assert isinstance(moved, Unreachable)
    assert "https://login.example.com" in str(moved)
    assert "secret" not in str(moved)


@pytest.mark.parametrize(
    ("status", "text"), [(500, "<html>"), (502, ""), (503, "[1]"), (500, '"text"'), (400, "null"), (404, "\ufffd")]
)
def test_bodies_of_other_servers(status: int, text: str) -> None:
    found = error(status, text=text or " ")
    assert str(status) in found.message
    assert found.status in (400, 404, 502)


def test_token_is_not_accepted_any_more() -> None:
    found = error(401, {"code": "UnauthorizedUserError", "message": "Your token is invalid."})
    assert "profile login" in found.fix
    assert "Jobs continue" in found.fix
