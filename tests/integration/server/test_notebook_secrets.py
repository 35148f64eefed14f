"""Secrets in a notebook: prompted for like passwords, used by a job, and in no output, reply, log or file."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from binder.session import NotebookSession, _execute_request
from jupyter_pai.jobs.state_dir import Home

from .real_server import RealServer

VALUE = "tok-" + "3n/Zt+9q" * 3


class DebugServer(RealServer):
    """A server that logs all it can."""

    def arguments(self) -> list[str]:
        return [*super().arguments(), "--debug"]


@pytest.fixture
def debug_server(home: Home, tmp_path: Path) -> Iterator[DebugServer]:
    (tmp_path / "notebooks").mkdir()
    started = DebugServer(tmp_path / "notebooks")
    yield started
    started.stop()


def answer(notebook: NotebookSession, code: str, *values: str) -> dict[str, Any]:
    """Run a cell that prompts, answer the prompts as a front end does, and return the last prompt."""
    request = _execute_request(code)
    request["content"]["allow_stdin"] = True
    notebook.socket.send(json.dumps(request))
    query: dict[str, Any] = {}
    waiting = list(values)
    while True:
        message = json.loads(notebook.socket.recv())
        if message["msg_type"] == "input_request":
            query = message["content"]
            header = request["header"] | {"msg_id": uuid.uuid4().hex, "msg_type": "input_reply"}
            content = {"status": "ok", "value": waiting.pop(0)}
            reply = {"header": header, "parent_header": message["header"], "metadata": {}, "content": content}
            notebook.socket.send(json.dumps(reply | {"channel": "stdin"}))
        elif message["parent_header"].get("msg_id") == request["header"]["msg_id"]:
            assert not [value for value in values if value and value in json.dumps(message["content"])], message
            if message["msg_type"] == "execute_reply":
                assert message["content"]["status"] == "ok", message
                return query


def test_secret_from_the_prompt_reaches_only_the_job(debug_server: DebugServer, home: Home, tmp_path: Path) -> None:
    notebook = debug_server.notebook()
    request = answer(notebook, "%pai secret set HF_TOKEN", VALUE)
    assert request == {"prompt": "HF_TOKEN: ", "password": True}
    cell = """%%pai_train --secret HF_TOKEN --wait --as job
import os
print("token:", os.environ["HF_TOKEN"], len(os.environ["HF_TOKEN"]))
print(dict(os.environ))
"""
    outputs = [
        notebook.run(cell),
        notebook.run("job"),
        notebook.run("%pai show last"),
        notebook.run("%pai secret list"),
    ]
    shown = json.dumps([[one.text, one.data] for one in outputs], ensure_ascii=False)
    assert "token: [secret HF_TOKEN] 28" in shown
    answers = [debug_server.rest("GET", f"/pai/api/v1/{path}") for path in ("jobs", "jobs/last", "events", "secrets")]
    for text in (shown, json.dumps(answers), debug_server.log.read_text("utf-8", "replace")):
        assert VALUE not in text
    # All of it but the file in which it is kept: state, notebooks, Jupyter's own folders, the server's log.
    files = [path for path in tmp_path.rglob("*") if path.is_file() and VALUE.encode() in path.read_bytes()]
    assert [path.name for path in files] == ["jupyter_pai_secrets.json"]


@pytest.mark.slow("server")
def test_secret_without_a_prompt_is_rejected_with_a_fix(server: RealServer) -> None:
    notebook = server.notebook()
    message = notebook.run("%pai secret set HF_TOKEN", check=False).error
    assert "Cannot prompt for confirmation here." in message
    assert "jupyter pai secret set NAME" in message


@pytest.mark.slow("server")
def test_invalid_secret_names_are_errors_without_a_traceback(server: RealServer) -> None:
    notebook = server.notebook()
    message = notebook.run("%pai secret set HF_TOKEN " + VALUE, check=False).error
    assert message.startswith("UsageError: Invalid name of a secret.")
    assert VALUE not in message
    message = notebook.run("%%pai_train --secret HF_TOKEN\nprint(1)", check=False).error
    assert message == "BadInput: Unknown secret `HF_TOKEN`.\nStore it first: %pai secret set HF_TOKEN"
