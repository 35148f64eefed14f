"""Any request, valid or not, gets a reply that the served OpenAPI document describes."""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import schemathesis
import websocket
from hypothesis import HealthCheck, Phase, given, settings, strategies as st
from schemathesis import Case, GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from jupyter_pai.api.routes import ROUTES

from ...conftest import end_jobs, keep_below, until
from .real_server import RealServer

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
# Each answer may take this many seconds, not more.
PATIENCE = 30
# Headers whose wrong values Tornado refuses by itself, without a body.
OF_HTTP = ("host", "content-length", "transfer-encoding", "expect")
# `make soak` sets it; here a few of each.
SETTINGS = settings(
    max_examples=int(os.environ.get("FUZZ_EXAMPLES", "1000")) // 50,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.explicit, Phase.generate],
)


@dataclass
class Served:
    """A server with jobs in it, and the document that it serves."""

    server: RealServer
    schema: Any
    place: Path
    jobs: dict[str, str]

    @property
    def ended(self) -> list[str]:
        return [self.jobs["succeeded"], self.jobs["failed"]]

    def ask(self, case: Case[Any], checks: list[Any] = CHECKS) -> None:
        """Send a request, confined to the test's folder."""
        for request in (case.body, case.query):
            if request and isinstance(request, dict):
                self._confine(request)
        headers = {"Authorization": f"token {self.server.token}"}
        case.call_and_validate(headers=headers, timeout=PATIENCE, checks=checks)

    def _confine(self, body: dict[str, Any]) -> None:
        if "://" in str(body.get("uri", "")):  # Anything else is rejected as invalid.
            body["uri"] = (self.place / "data/").as_uri()
        if "://" in str(body.get("to", "")):
            body["to"] = (self.place / "data/moved").as_uri()
        if isinstance(body.get("path"), str) and "uri" in body:
            body["path"] = str(self.place / "data/file")
        spec = body.get("spec")
        if isinstance(spec, dict):
            if isinstance(spec.get("command"), str) and spec["command"]:
                spec["command"] = f": {shlex.quote(spec['command'])}"
            if isinstance(spec.get("source"), dict) and spec["source"].get("folder"):
                spec["source"]["folder"] = str(self.place / "code")
            spec.pop("requirements", None)  # Nothing is looked up in an index of packages.
            spec.pop("output_path", None)
            spec.pop("outputs", None)
        if isinstance(body.get("folder"), str):
            body["folder"] = str(self.place / "down" / str(abs(hash(body["folder"]))))
        if isinstance(body.get("values"), dict):
            body["values"].pop("default_output", None)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    place = tmp_path_factory.mktemp("schema")
    with pytest.MonkeyPatch.context() as patch:
        home = keep_below(place, patch)
        for name in ("notebooks", "code", "down"):
            (place / name).mkdir()
        (place / "code" / "a.py").touch()
        server = RealServer(place / "notebooks", UV_OFFLINE="1", PIP_NO_INDEX="1")
        try:
            document = server.rest("GET", "/pai/api/v1/openapi.json")
            schema = schemathesis.openapi.from_dict(document)
            schema.config.update(base_url=f"{server.url}/pai/api/v1")
            commands = {
                "succeeded": "echo hi; echo 1 > $PAI_OUTPUT_MODEL/m; echo loss=nan",
                "failed": "exit 7",
                "victim": "echo gone soon",
                "running": "echo up; sleep 1000",
            }
            jobs = {name: _submit(server, name, command) for name, command in commands.items()}
            until(lambda: server.job(jobs["failed"])["ended_at"] and server.job(jobs["succeeded"])["ended_at"])
            yield Served(server, schema, place, jobs)
            # At the start of a line: a generated request may well ask for that word.
            assert not re.search(r"^\s*Traceback", server.log.read_text(), re.MULTILINE)
        finally:
            server.stop()
            end_jobs(home)


def _submit(server: RealServer, name: str, command: str) -> str:
    spec: dict[str, Any] = {
        "name": name,
        "command": command,
        "source": {"files": {"a": ""}},
        "labels": {"of": "the test"},
    }
    spec["metric_definitions"] = [{"name": "loss", "regex": r"loss=(\S+)"}]
    return str(server.rest("POST", "/pai/api/v1/jobs", {"spec": spec})["job"]["id"])


@pytest.mark.slow("cases", first=4)
@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE], ids=["right", "wrong"])
@pytest.mark.parametrize("verb", ROUTES)
def test_any_request_gets_a_documented_reply(served: Served, verb: str, mode: GenerationMode) -> None:
    route = ROUTES[verb]
    operation = served.schema[route.path or "/"][route.method]
    if mode is GenerationMode.NEGATIVE and not (route.names or route.parameters or route.body):
        return  # Nothing can be wrong.
    words = [*served.jobs.values(), "succeeded", "last", "local", "", None]
    if verb in ("delete", "stop"):
        words = [served.jobs["victim"], "victim", None]  # The others are asked for again.

    @SETTINGS
    @given(case=operation.as_strategy(generation_mode=mode), word=st.sampled_from(words))
    def asking(case: Case[Any], word: str | None) -> None:
        for name in route.names:
            if word:
                case.path_parameters[name] = word
        if case.query and case.path_parameters.get("job") not in served.ended:
            case.query.pop("follow", None)  # It would end with the job.
        for header in OF_HTTP:
            if case.headers:
                case.headers.pop(header, None)
        served.ask(case)

    asking()


JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
WORDS = st.sampled_from(["subscribe", "unsubscribe", "jobs", "job", "log", "metrics", "last", "succeeded", "worker-0"])
FIELDS = ["type", "id", "topic", "job", "instance", "offset", "tail", "counts", "after"]
MESSAGES = JSON | st.fixed_dictionaries(
    {"type": st.just("subscribe") | WORDS, "id": st.integers() | JSON, "topic": WORDS, "job": WORDS},
    optional={name: JSON | st.integers(0, 2**63) | WORDS for name in FIELDS[4:]} | {"else": JSON},
)


@SETTINGS
@given(texts=st.lists(MESSAGES.map(json.dumps) | st.text(max_size=20), max_size=10))
def test_any_websocket_message_is_answered(served: Served, texts: list[str]) -> None:
    """Each message gets an answer or ends what it names, and the tab is served on."""
    url = f"{served.server.url.replace('http', 'ws')}/pai/api/v1/stream?token={served.server.token}"
    socket = websocket.create_connection(url, timeout=PATIENCE)
    for text in texts:
        socket.send(text)
    request = {"type": "subscribe", "id": "the last", "topic": "job", "job": served.jobs["failed"]}
    socket.send(json.dumps(request))
    answered = 0
    while True:
        reply = json.loads(socket.recv(), parse_constant=pytest.fail)
        answered += reply["id"] != "the last"
        assert reply["type"] in ("job", "jobs", "log", "metrics", "end", "error"), reply
        if reply["id"] == "the last" and reply["type"] in ("end", "error"):
            # The requests of the other tests may have deleted it.
            assert reply["type"] == "end" or reply["code"] == "NotFound", reply
            break
    assert answered >= sum(_is_refused(text) for text in texts)
    socket.shutdown()


def _is_refused(text: str) -> bool:
    """Return whether a text is certainly not a subscription."""
    try:
        reply = json.loads(text)
    except ValueError:
        return True
    return not isinstance(reply, dict) or reply.get("type") not in ("subscribe", "unsubscribe")
