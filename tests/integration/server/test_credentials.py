"""Credentials of a profile through a server: entered on a page or in a notebook, and in no output, reply, log or
file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from jupyter_pai.jobs.state_dir import Home

from ...support.waiting import PATIENCE
from .real_server import RealServer
from .test_notebook_secrets import DebugServer, answer, debug_server  # noqa: F401  debug_server is a fixture

ID, SECRET = "LTAI5tTheIdOfAKey9xyz", "sec-" + "3n/Zt+9q" * 3


def refused(server: RealServer, body: object) -> dict[str, Any]:
    """The answer to credentials that are refused."""
    headers = {"Authorization": f"token {server.token}", "Content-Type": "application/json"}
    url = f"{server.url}/pai/api/v1/profiles/mine/credentials"
    try:
        urlopen(Request(url, json.dumps(body).encode(), headers, method="PUT"), timeout=PATIENCE)
    except HTTPError as error:
        with error:
            assert error.code == 400
            return dict(json.loads(error.read()))
    raise AssertionError("they were taken")


def test_credentials_from_prompt_or_page_are_only_in_the_file(
    debug_server: DebugServer,  # noqa: F811  a fixture
    home: Home,
    tmp_path: Path,
) -> None:
    notebook = debug_server.notebook()
    notebook.run("%pai profile set mine backend=pai region_id=cn-hangzhou")
    output = answer(notebook, "%pai profile login mine", ID, SECRET, "")
    assert output == {"prompt": "Security token (Enter to skip): ", "password": True}
    profiles = debug_server.rest("GET", "/pai/api/v1/profiles")
    assert profiles["profiles"][-1]["credentials"] == {"place": "file", "hint": "LTAI…9xyz"}
    other = SECRET[::-1]
    reply = [
        profiles,
        refused(debug_server, {"access_key_id": ID, "access_key_secret": f"{SECRET} {other}"}),
        refused(debug_server, [SECRET]),
        debug_server.rest(
            "PUT", "/pai/api/v1/profiles/mine/credentials", {"access_key_id": ID, "access_key_secret": other}
        ),
        debug_server.rest("GET", "/pai/api/v1/backends"),
        debug_server.rest("GET", "/pai/api/v1/secrets"),
        notebook.run("%pai profile list").text,
    ]
    assert reply[1]["details"]["faults"].keys() == {"access_key_secret"}
    for word in (ID, SECRET, other):
        assert word not in json.dumps(reply)
        assert word not in debug_server.log.read_text("utf-8", "replace")
        files = [path.name for path in tmp_path.rglob("*") if path.is_file() and word.encode() in path.read_bytes()]
        assert files == (["jupyter_pai_secrets.json"] if word != SECRET else [])
    debug_server.rest("DELETE", "/pai/api/v1/profiles/mine/credentials")
    kept = tmp_path / "jupyter-config" / "jupyter_pai_secrets.json"
    assert json.loads(kept.read_text()) == {"keyring": [], "file": {}}


@pytest.mark.slow("server")
def test_login_without_a_prompt_is_rejected_with_a_fix(server: RealServer) -> None:
    notebook = server.notebook()
    notebook.run("%pai profile set mine backend=pai region_id=cn-hangzhou")
    message = notebook.run("%pai profile login mine", check=False).error
    assert "Cannot prompt for confirmation here." in message
    assert "jupyter pai profile login NAME" in message
