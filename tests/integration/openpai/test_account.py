"""Logins to a cluster: what is stored is a token of an application."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.config.toml_file import user_file
from jupyter_pai.core.errors import BackendError, CredentialsError, PaiError, SpecError, Throttled, Unreachable
from jupyter_pai.jobs.state_dir import Home

from ...fakes.openpai import OpenPai, openpai
from ...support.connections import run_and_close as ask
from .conftest import PASSWORD, PROFILE, USER, client_of, log_in


def secrets_file() -> Path:
    return Path(os.environ["JUPYTER_CONFIG_DIR"]) / "jupyter_pai_secrets.json"


def refused(engine: EmbeddedClient, **login: str) -> PaiError:
    """Return the error of a login, after which nothing is stored."""
    with pytest.raises(PaiError) as caught:
        log_in(engine, **login)
    assert not secrets_file().exists()
    assert "own_credentials" not in user_file().read_text()
    return caught.value


def faults(error: PaiError) -> dict[str, str]:
    found = error.details["faults"]
    assert isinstance(found, dict)
    return found


def claims(home: Home) -> Any:
    """Return what the cluster says about the stored token."""
    return ask(lambda: client_of(home).get("/tokens/check"))


def test_password_is_exchanged_for_a_token_of_an_application(
    engine: EmbeddedClient, server: OpenPai, home: Home
) -> None:
    found = claims(home)
    assert (found["username"], found["application"], "exp" in found) == (USER, True, False)
    (token,) = server.tokens(USER)  # That of the session has ended.
    text = secrets_file().read_text()
    assert token in text
    assert PASSWORD not in text
    assert stat.S_IMODE(secrets_file().stat().st_mode) == 0o600
    assert token not in user_file().read_text()


def test_command_line_asks_for_user_and_password(
    cli: Callable[..., CompletedProcess[str]], server: OpenPai, home: Home
) -> None:
    done = cli("profile", "login", PROFILE, stdin=None, input=f"{USER}\n{PASSWORD}\n")
    assert done.returncode == 0, done.stderr
    assert PASSWORD not in done.stdout + done.stderr
    assert server.tokens(USER)[0] not in done.stdout + done.stderr
    assert claims(home)["application"] is True


def test_wrong_password_is_told_beside_its_field(fresh_engine: EmbeddedClient, server: OpenPai) -> None:
    error = refused(fresh_engine, username=USER, password="wrong-password")
    assert isinstance(error, CredentialsError)
    assert error.status == 400
    assert faults(error) == {"password": "The password is wrong."}
    assert "wrong-password" not in json.dumps(error.as_json())
    assert server.count("rest:login") == 1


def test_unknown_user_is_told_beside_its_field(fresh_engine: EmbeddedClient, server: OpenPai) -> None:
    assert faults(refused(fresh_engine, username="nobody", password=PASSWORD)).keys() == {"username"}


@pytest.mark.parametrize(
    "login", [{"username": USER}, {"password": "x"}, {"username": USER, "token": "a", "password": "b"}]
)
def test_incomplete_login_sends_nothing(fresh_engine: EmbeddedClient, server: OpenPai, login: dict[str, str]) -> None:
    assert isinstance(refused(fresh_engine, **login), SpecError)
    assert server.requests == []


def test_pasted_token_of_a_session_is_exchanged(fresh_engine: EmbeddedClient, server: OpenPai, home: Home) -> None:
    token = server.issue_token(USER)
    log_in(fresh_engine, token=f" {token}\n")
    assert claims(home)["application"] is True
    assert token in server.tokens(USER), "the session in the browser goes on"
    assert token not in secrets_file().read_text()


def test_pasted_token_of_an_application_is_kept(fresh_engine: EmbeddedClient, server: OpenPai, home: Home) -> None:
    token = server.issue_token(USER, application=True)
    log_in(fresh_engine, token=token)
    assert claims(home)["username"] == USER
    assert server.tokens(USER) == [token]
    assert token in secrets_file().read_text()


@pytest.mark.parametrize("token", ["x.y.z", "two words", "a\nb", "é", "a" * 9000])
def test_pasted_token_that_is_not_valid_is_told_beside_its_field(
    fresh_engine: EmbeddedClient, server: OpenPai, token: str
) -> None:
    error = refused(fresh_engine, token=token)
    assert faults(error).keys() == {"token"}
    assert f"{server.url}/profile.html" in error.fix
    assert token not in json.dumps(error.as_json(), ensure_ascii=False)


def test_company_login_takes_tokens_only(fresh_engine: EmbeddedClient, server: OpenPai, home: Home) -> None:
    server.settings.authn = "OIDC"
    error = refused(fresh_engine, username=USER, password=PASSWORD)
    assert faults(error).keys() == {"password"}
    assert f"{server.url}/profile.html" in error.fix
    assert server.count("rest:login") == 0, "the password is not sent"
    log_in(fresh_engine, token=server.issue_token(USER))
    assert claims(home)["username"] == USER


def test_token_is_not_sent_to_another_cluster(
    engine: EmbeddedClient, server: OpenPai, home: Home, tmp_path: Path
) -> None:
    with openpai(tmp_path / "another") as another:
        engine.call("set_profile", profile=PROFILE, body={"values": {"endpoint": another.url}})
        with pytest.raises(CredentialsError, match="not sent") as caught:
            engine.call("instances", profile=PROFILE)
        assert "profile login" in caught.value.fix
        assert not [note for note in another.requests if "Authorization" in note["headers"]]


def test_revoked_token_is_told_with_how_to_log_in(engine: EmbeddedClient, server: OpenPai, home: Home) -> None:
    server.revoke_tokens(USER)
    with pytest.raises(CredentialsError) as caught:
        engine.call("instances", profile=PROFILE)
    assert "profile login" in caught.value.fix
    assert "Jobs continue" in caught.value.fix
    log_in(engine)
    assert engine.call("instances", profile=PROFILE)["quotas"]


def test_expired_token_is_told(fresh_engine: EmbeddedClient, server: OpenPai) -> None:
    # A server that gives no tokens of applications to others than administrators.
    server.faults.add("refused", "rest:make_token", code="ForbiddenUserError")
    log_in(fresh_engine, token=server.issue_token(USER, seconds=600))
    assert fresh_engine.call("instances", profile=PROFILE)["quotas"]
    (finding,) = [one for one in findings(fresh_engine) if one["what"] == "lab: login"]
    assert (finding["state"], "expires" in finding["text"]) == ("warn", True)
    server.move_clock(601)
    with pytest.raises(CredentialsError, match="expired"):
        fresh_engine.call("instances", profile=PROFILE)


def findings(engine: EmbeddedClient) -> list[dict[str, str]]:
    found: list[dict[str, str]] = engine.call("doctor", profile=PROFILE)["findings"]
    return found


def test_profile_without_a_login_says_how_to_log_in(fresh_engine: EmbeddedClient, server: OpenPai) -> None:
    with pytest.raises(CredentialsError) as caught:
        fresh_engine.call("instances", profile=PROFILE)
    assert "profile login" in caught.value.fix


def test_login_that_fails_at_the_server_stores_nothing(fresh_engine: EmbeddedClient, server: OpenPai) -> None:
    server.faults.add("refused", "rest:login", status=403, code="ForbiddenUserError")
    assert isinstance(refused(fresh_engine, username=USER, password=PASSWORD), CredentialsError)
    server.faults.clear()
    server.faults.add("throttled", "rest:login", seconds=120)
    error = refused(fresh_engine, username=USER, password=PASSWORD)
    assert isinstance(error, Throttled)
    assert "120" in error.fix
    server.faults.clear()
    server.faults.add("refused", "rest:make_token", code="ForbiddenUserError")
    refused(fresh_engine, username=USER, password=PASSWORD)
    assert server.tokens(USER) == [], "the session has ended"


@pytest.mark.parametrize("kind", ["500", "503", "reset", "cut", "lost"])
def test_login_outlasts_a_failure(fresh_engine: EmbeddedClient, server: OpenPai, home: Home, kind: str) -> None:
    for action in ("rest:login", "rest:make_token", "rest:logout"):
        server.faults.add(kind, action, count=1)
    log_in(fresh_engine)
    assert claims(home)["application"] is True


def test_reply_without_a_token_is_an_error(fresh_engine: EmbeddedClient, server: OpenPai) -> None:
    server.faults.add("cut", "rest:login")
    assert isinstance(refused(fresh_engine, username=USER, password=PASSWORD), BackendError | Unreachable)


def test_logout_removes_the_token_from_this_machine(engine: EmbeddedClient, server: OpenPai) -> None:
    engine.call("remove_credentials", profile=PROFILE)
    (token,) = server.tokens(USER)
    assert token not in secrets_file().read_text()
