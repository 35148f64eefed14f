"""No token, password, key or credential of a storage is in a file, log, reply or address."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any
from urllib.parse import quote

import pytest

from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.config.toml_file import user_file
from jupyter_pai.core.errors import PaiError
from jupyter_pai.jobs.state_dir import Home

from ...fakes.openpai import OpenPai
from .conftest import PASSWORD, PROFILE, USER, log_in


@pytest.fixture
def server_settings(tmp_path: Path) -> dict[str, Any]:
    """A storage whose details have a password."""
    return {"storages": {"nfs": str(tmp_path / "share"), "smb": str(tmp_path / "share")}}


def secrets(server: OpenPai) -> list[str]:
    """Return what must not be anywhere: password, tokens, private key, and the password of a storage."""
    found = [PASSWORD, "wrong-password", f"private key of {USER}", "storage-secret", *server.tokens(USER)]
    return [*found, *map(quote, found)]


def replies(engine: EmbeddedClient) -> list[Any]:
    """Return what pages and kernels get about a profile."""
    found = [engine.call(verb) for verb in ("profiles", "backends", "list_jobs", "disk")]
    found += [engine.call(verb, profile=PROFILE) for verb in ("instances", "doctor", "try_jobs", "remote_jobs")]
    return found + [engine.call("choices", name=name, profile=PROFILE) for name in ("virtual_clusters", "storages")]


def test_secrets_are_in_no_file_log_reply_or_address(
    fresh_engine: EmbeddedClient,
    server: OpenPai,
    home: Home,
    cli: Callable[..., CompletedProcess[str]],
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    caplog.set_level(logging.DEBUG)
    shown: list[Any] = []
    with pytest.raises(PaiError) as caught:
        log_in(fresh_engine, username=USER, password="wrong-password")
    shown.append(caught.value.as_json())
    pasted = server.issue_token(USER)
    log_in(fresh_engine, token=pasted)
    log_in(fresh_engine)
    shown += replies(fresh_engine)
    for words in (["profile", "list"], ["doctor"], ["instances"], ["profile", "list", "--json"]):
        done = cli(*words)
        shown.append(done.stdout + done.stderr)
    tokens = secrets(server)
    server.revoke_tokens(USER)
    with pytest.raises(PaiError) as caught:
        fresh_engine.call("instances", profile=PROFILE)
    shown.append(caught.value.as_json())
    texts = {"reply": json.dumps(shown, ensure_ascii=False), "log": caplog.text, "output": str(capfd.readouterr())}
    texts |= {"settings": user_file().read_text(), "addresses": json.dumps(addresses(server))}
    files = [path for path in home.path.rglob("*") if path.is_file()]
    for secret in tokens:
        assert not [place for place, text in texts.items() if secret in text]
        assert not [path for path in files if secret.encode() in path.read_bytes()]


def addresses(server: OpenPai) -> list[tuple[str, dict[str, str]]]:
    """Return the addresses of all requests to the REST server, which gateways write into their logs."""
    return [(note["path"], note["query"]) for note in server.requests if note["action"].startswith("rest:")]
