"""Large requests to every route that takes a body, several at a time: other requests are answered meanwhile."""

from __future__ import annotations

import http.client
import json
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple
from urllib.parse import quote

import pytest

from jupyter_pai.api.route import PREFIX, Route
from jupyter_pai.api.routes import ROUTES
from jupyter_pai.jobs import limits
from jupyter_pai.jobs.workflows.workflow import MOST_STEPS
from jupyter_pai.server.handlers import LARGEST_BODY

from ..conftest import PATIENCE, until
from ..integration.server.conftest import server  # noqa: F401  a fixture
from ..integration.server.real_server import RealServer
from .test_many_jobs import has_succeeded

pytestmark = pytest.mark.soak

AT_A_TIME = 8
# Seconds in which the server may compute while another request waits. The load of the machine does not change them.
LONGEST = 0.5
# Below the limit of a body, with some room for its other fields.
LARGE = LARGEST_BODY - 50_000
NAMES = {"job": "last", "profile": "probe", "secret": "PROBE", "copy": "none", "run": "last"}


class Case(NamedTuple):
    """A request: the verb, what is large in its body, and the body."""

    verb: str
    what: str
    body: bytes


def codes() -> dict[str, str]:
    """Return code that is costly to parse or to inspect, of the largest size that is inspected."""
    size = 29_000
    option = "p.add_argument('--a%d', required=True)\n"
    return {
        "names": "a\n" * (size // 2),
        "lists": "[" + "[]," * (size // 3 - 1) + "]\n",
        "imports": "".join(f"import a{n}\n" for n in range(size // 13)),
        "options": "import argparse\np = argparse.ArgumentParser()\n"
        + "".join(option % n for n in range(size // len(option) - 2))
        + "p.parse_args()\n",
    }


def commands() -> dict[str, str]:
    """Return commands at their limit."""
    size = 99_000
    units = {"word": "a", "words": "a.py ", "places": "cd a;", "quotes": "''", "dollars": "$", "open": "'a"}
    return {name: (unit * size)[:size] for name, unit in units.items()}


def specs() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield specs of the largest size that is taken, and some that are refused."""
    least = {"name": "x", "command": "true", "source": {"files": {"a": ""}}}
    for name, text in commands().items():
        yield f"command {name}", least | {"command": text}
    for name, text in codes().items():
        files = {f"f{n}.py": text for n in range(13)}
        files["f0.py"] = "".join(f"import f{n}\n" for n in range(1, 13)) + text[:20_000]
        yield f"code {name}", least | {"command": "", "entry_point": "f0.py", "source": {"files": files}}
        values = {f"b{n}": "1" for n in range(1_000)}
        yield f"hyperparameters of {name}", least | {
            "command": "", "entry_point": "f0.py", "hyperparameters": values, "source": {"files": {"f0.py": text}}
        }  # fmt: skip
    yield "one file", least | {"source": {"files": {"a": "a\n" * 480_000}}}
    yield "many files", least | {"source": {"files": {f"a{n}": "x" * 900 for n in range(1_000)}}}
    secret = "token=Ab3dEf6hIj9kLm2nOp5q postgres://u:Passw0rd1234@h\n"
    yield "possible secrets", least | {"source": {"files": {"a": secret * 17_000}}}
    yield (
        "patterns",
        least | {"metric_definitions": [{"name": f"n{n}", "regex": "(" + "a?" * 45 + ")"} for n in range(900)]},
    )
    yield "rules", least | {"source": {"files": {"a": ""}, "exclude": ["**/" + "a*" * 40 + f"{n}" for n in range(900)]}}
    for field, limit in limits._FIELDS.items():
        if field in ("hyperparameters", "environment", "inputs", "outputs", "labels", "options", "secrets"):
            size = limit.together // limit.most - 20
            yield f"{field} in all", least | {field: {f"n{n}": "x" * size for n in range(limit.most)}}
        elif field in ("args", "requirements"):
            size = limit.together // limit.most - 2
            yield f"{field} in all", least | {"command": "true $PAI_USER_ARGS", field: ["x" * size] * limit.most}
    yield "arguments as a text", least | {"args": "x" * 990_000}
    roles = [{"name": f"r{n}", "command": "true $PAI_USER_ARGS"} for n in range(40)]
    yield "arguments in roles", least | {"command": "", "roles": roles, "args": ["x" * 70] * 1_000}
    yield "wrong values", {f"n{n}": [] for n in range(19_000)}
    yield "arguments that are quoted", least | {"command": "true $PAI_USER_ARGS", "args": ["'" * 99] * 5_900}


def of_schema(schema: dict[str, Any], known: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield large values for a schema, each with a description."""
    if "$ref" in schema:
        yield from of_schema(known[schema["$ref"].rpartition("/")[2]], known)
        return
    for one in schema.get("anyOf", [schema]):
        match one.get("type"):
            case "string":
                yield "long text", "x" * LARGE
            case "array":
                yield "long list", ["x"] * (LARGE // 5)
                yield "list of tables", [{}] * (LARGE // 4)
            case "object":
                for name, inner in one.get("properties", {}).items():
                    for what, value in of_schema(inner, known) if name != "spec" else ():
                        yield f"{name}: {what}", {name: value}
                yield "many names", {f"n{n}": 1 for n in range(LARGE // 14)}
                yield "many texts", {f"n{n}": "x" * 300 for n in range(LARGE // 320)}
                yield "wrong values", {f"n{n}": [] for n in range(19_000)}
            case None if "$ref" in one:
                yield from of_schema(one, known)


def cases(openapi: dict[str, Any]) -> Iterator[Case]:
    """Yield the requests to all routes that take a body."""
    known = openapi["components"]["schemas"]
    for verb, route in ROUTES.items():
        if route.takes_bytes:
            yield Case(verb, "bytes", b"x" * (64 << 20))
        if not route.body:
            continue
        for what, value in of_schema(known[route.body], known):
            yield Case(verb, what, json.dumps(value).encode())
        yield Case(verb, "levels", b"[" * 900 + b"]" * 900)
        if route.body == "SubmitRequest":
            for what, spec in specs():
                yield Case(verb, what, json.dumps({"spec": spec}).encode())
        if route.body in ("WorkflowRequest", "ExportRequest"):
            # The first step fails: the jobs of the others are not what is asked about.
            spec = {"command": "false"}
            steps = [{"name": f"s{n}", "spec": spec, "needs": [f"s{n - 1}"][:n]} for n in range(MOST_STEPS)]
            yield Case(verb, "steps", json.dumps({"workflow": {"name": "w", "steps": steps}}).encode())
            spec = {"entry_point": "a.py", "hyperparameters": {"b": "1"}}
            for what, code in codes().items():
                steps = [{"name": f"s{n}", "spec": spec | {"source": {"files": {"a.py": code}}}} for n in range(40)]
                yield Case(verb, f"code {what}", json.dumps({"workflow": {"name": "w", "steps": steps}}).encode())


def send(server: RealServer, method: str, path: str, body: bytes = b"") -> int:  # noqa: F811
    """Send a request. Return the status of the reply."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE * AT_A_TIME)
    try:
        connection.request(method, path, body, {"Authorization": f"token {server.token}"})
        reply = connection.getresponse()
        reply.read()
        return reply.status
    finally:
        connection.close()


def path_of(route: Route) -> str:
    path = f"/{PREFIX}{route.path}"
    for name in route.names:
        path = path.replace(f"{{{name}}}", quote(NAMES.get(name, "none")))
    return path


class Waited(NamedTuple):
    """The longest times that another request took, in seconds and in seconds of the server's processor time, and the
    statuses of the large ones."""

    elapsed: float
    computed: float
    statuses: set[int]


def longest_wait(server: RealServer, case: Case) -> Waited:  # noqa: F811
    """Send a case several times at once, and other requests meanwhile."""
    route = ROUTES[case.verb]
    statuses: list[int] = []
    send_one = partial(send, server, route.method, path_of(route), case.body)
    threads = [threading.Thread(target=lambda: statuses.append(send_one())) for _ in range(AT_A_TIME)]
    for thread in threads:
        thread.start()
    elapsed = computed = 0.0
    # The clock of the processor time of a process, as `clock_getcpuclockid` returns it.
    clock = (~server.process.pid << 3) | 2
    while any(thread.is_alive() for thread in threads):
        begun, used = time.monotonic(), time.clock_gettime(clock)
        assert send(server, "GET", f"/{PREFIX}/jobs?limit=1") == 200
        elapsed, computed = max(elapsed, time.monotonic() - begun), max(computed, time.clock_gettime(clock) - used)
        time.sleep(0.02)
    return Waited(elapsed, computed, {*statuses})


def test_other_requests_are_answered(server: RealServer) -> None:  # noqa: F811
    job = server.rest("POST", f"/{PREFIX}/jobs", {"spec": {"name": "first", "command": "echo 1"}})["job"]
    until(partial(has_succeeded, server, job["id"]))
    late, count = [], 0
    for case in cases(server.rest("GET", f"/{PREFIX}/openapi.json")):
        waited = longest_wait(server, case)
        count += 1
        times = f"{waited.computed:.2f} s computed of {waited.elapsed:.2f} s"
        text = f"{case.verb}, {case.what}: {times}, {len(case.body)} bytes, {sorted(waited.statuses)}"
        print(text, flush=True)
        if waited.computed > LONGEST or max(waited.statuses, default=0) >= 500:
            late.append(text)
        with suppress(OSError):
            send(server, "DELETE", f"/{PREFIX}/profiles/probe")
            send(server, "DELETE", f"/{PREFIX}/secrets/PROBE")
    print(f"{count} large requests, {AT_A_TIME} at a time")
    assert not late, "\n".join(late)
