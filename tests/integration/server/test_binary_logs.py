"""Logs with any bytes: they are stored unchanged, and every reader handles them."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest
import websocket

from binder.session import NotebookSession
from jupyter_pai.jobs.state_dir import Home

from ...conftest import PATIENCE, keep_below, until
from ...support.binary_logs import BINARY_LOGS, command_of, prepare
from .real_server import RealServer

CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
LONGEST_ROW = 2_000


@dataclass
class Ran:
    """A server, and the jobs that wrote the table's logs there, by its names."""

    server: RealServer
    home: Home
    jobs: dict[str, str]

    def get(self, name: str, query: str) -> tuple[bytes, int]:
        url = f"{self.server.url}/pai/api/v1/jobs/{self.jobs[name]}/log?{query}"
        with urlopen(Request(url, headers={"Authorization": f"token {self.server.token}"}), timeout=PATIENCE) as reply:
            return reply.read(), int(reply.headers.get("X-Offset", 0))


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ran]:
    place = tmp_path_factory.mktemp("nasty")
    with pytest.MonkeyPatch.context() as patch:
        home = keep_below(place, patch)
        (place / "code").mkdir()
        (place / "notebooks").mkdir()
        prepare(place / "code")
        server = RealServer(place / "notebooks")
        try:
            jobs = {name: submit(server, place / "code", name) for name in BINARY_LOGS}
            for job in jobs.values():
                until(lambda job=job: server.job(job)["ended_at"])  # type: ignore[misc]  # bound now
            yield Ran(server, home, jobs)
        finally:
            server.stop()


@pytest.fixture(scope="module")
def notebook(ran: Ran) -> NotebookSession:
    """A notebook, opened by the first test that uses it: an idle connection is closed by the server."""
    return ran.server.notebook()


def submit(server: RealServer, code: Path, name: str) -> str:
    metrics = [{"name": "any", "regex": r"loss=([0-9.]+)"}]
    spec = {"name": name, "command": command_of(name), "source": {"folder": str(code)}, "metric_definitions": metrics}
    return str(server.rest("POST", "/pai/api/v1/jobs", {"spec": spec})["job"]["id"])


def shown(name: str) -> bytes:
    """Return a log without the records of `report`, which people are not shown."""
    return re.sub(rb"(?m)^\[pai\] \{.*\}\n", b"", BINARY_LOGS[name])


def text_of(written: bytes) -> str:
    return written.decode("utf-8", "replace")


@pytest.mark.slow("cases", first=6)
@pytest.mark.parametrize("name", BINARY_LOGS)
def test_log_file_equals_the_output(ran: Ran, name: str) -> None:
    job = ran.server.job(ran.jobs[name])
    assert (job["status"], job["exit_code"]) == ("succeeded", 0)
    assert (ran.home.job(job["id"]).log / "worker-0").read_bytes() == BINARY_LOGS[name]


def test_server_log_has_no_errors(ran: Ran) -> None:
    log = ran.server.log.read_text()
    assert "Traceback" not in log
    assert [line for line in log.splitlines() if line.startswith("[E")] == []
    metrics = ran.server.rest("GET", f"/pai/api/v1/jobs/{ran.jobs['reports']}/metrics")["metrics"]
    expected = {"start": 0, "end": 1, "step": [7], "value": [1.0], "source": "report"}
    assert metrics["fine"] == expected | {"time": metrics["fine"]["time"]}
    assert ran.server.job(ran.jobs["reports"])["progress"] == 0.0
    assert ran.server.job(ran.jobs["beginnings of reports"])["progress"] == 0.5
    bars = ran.server.rest("GET", f"/pai/api/v1/jobs/{ran.jobs['bars']}/metrics")["metrics"]["any"]
    assert bars["value"] == [float(n) for n in range(1001)] * 3


@pytest.mark.slow("cases", first=14)
@pytest.mark.parametrize("name", BINARY_LOGS)
def test_log_is_read_over_http(ran: Ran, name: str) -> None:
    whole, size = BINARY_LOGS[name], len(BINARY_LOGS[name])
    assert ran.get(name, "") == (whole, 0)
    assert ran.get(name, "follow=true")[0] == whole
    for offset in {0, 1, size // 2, max(size - 1, 0), size, size + 10}:
        assert ran.get(name, f"offset={offset}") == (whole[offset:], offset)
        assert ran.get(name, f"offset={offset}&limit=777") == (whole[offset : offset + 777], offset)
        assert ran.get(name, f"offset={offset}&follow=true")[0] == whole[offset:]
    lines = re.findall(rb"[^\n]*\n|[^\n]+$", whole)
    for n in (1, 3, len(lines) + 1):
        last = b"".join(lines[-n:])
        assert ran.get(name, f"tail={n}") == (last, size - len(last))
        short, offset = ran.get(name, f"tail={n}&limit=1000")
        # Cut before a character, not in it.
        assert max(len(last[-1000:]) - 3, 0) <= len(short) <= 1000
        assert (last[-1000:].endswith(short), offset) == (True, size - len(short))


@pytest.mark.slow("cases", first=2)
@pytest.mark.parametrize("name", BINARY_LOGS)
def test_log_is_streamed_over_websocket(ran: Ran, name: str) -> None:
    def listen(**fields: Any) -> list[dict[str, Any]]:
        url = f"{ran.server.url.replace('http', 'ws')}/pai/api/v1/stream?token={ran.server.token}"
        socket = websocket.create_connection(url, timeout=PATIENCE)
        socket.send(json.dumps({"type": "subscribe", "id": 1, "topic": "log", "job": ran.jobs[name]} | fields))
        reply: list[dict[str, Any]] = []
        while not reply or reply[-1]["type"] == "log":
            reply.append(json.loads(socket.recv()))
        socket.close()
        assert reply.pop()["type"] == "end"
        return reply

    pieces = listen()
    assert "".join(piece["text"] for piece in pieces) == text_of(BINARY_LOGS[name])
    ends = [0] + [piece["end"] for piece in pieces]
    assert [piece["offset"] for piece in pieces] == ends[:-1]
    assert ends[-1] == len(BINARY_LOGS[name])
    last = "".join(piece["text"] for piece in listen(tail=100))
    assert text_of(BINARY_LOGS[name]).endswith(last)
    assert len(last) <= 1 << 18


@pytest.mark.slow("cases", first=4)
@pytest.mark.parametrize("name", BINARY_LOGS)
def test_log_is_printed_by_the_command_line(ran: Ran, name: str) -> None:
    environment = {**os.environ, "JUPYTER_PAI_INFO": str(ran.server.info_file)}

    def logs(*words: str) -> bytes:
        command = [sys.executable, "-m", "jupyter_pai", "logs", ran.jobs[name], *words]
        return subprocess.run(command, env=environment, capture_output=True, check=True).stdout

    assert logs("--raw") == BINARY_LOGS[name]
    assert logs() == logs("--follow") == shown(name)


@pytest.mark.slow("server")
def test_complete_log_is_read_in_a_kernel(ran: Ran, notebook: NotebookSession) -> None:
    notebook.run(
        "import hashlib, json, jupyter_pai\n"
        "def digest(text): return hashlib.sha256(text.encode()).hexdigest()\n"
        "def read(job):\n"
        "    job = jupyter_pai.get_job(job)\n"
        "    return digest(job.logs()), digest(''.join(job.follow()))\n"
    )
    reply = notebook.run(f"print(json.dumps([read(job) for job in {list(ran.jobs.values())!r}]))").text
    for name, result in zip(ran.jobs, json.loads(reply), strict=True):
        wanted = hashlib.sha256(text_of(BINARY_LOGS[name]).encode()).hexdigest()
        assert result == [wanted, wanted], name


@pytest.mark.slow("cases", first=4)
@pytest.mark.parametrize("name", BINARY_LOGS)
def test_notebook_shows_an_abridged_log(ran: Ran, notebook: NotebookSession, name: str) -> None:
    whole = text_of(shown(name))
    for words in ("", " --follow"):
        printed = notebook.run(f"%pai logs {ran.jobs[name]}{words}").text
        # Jupyter's own limit was never met, and the end is there.
        assert "rate exceeded" not in printed
        assert whole.endswith(printed[-5_000:])
        left_out = sum(int(n.replace(",", "")) for n in re.findall(r"\[… ([0-9,]+) characters", printed))
        assert len(re.sub(r"\n?\[… [^\]]*\]\n", "", printed)) + left_out == len(whole)
    bundle = notebook.run(f"%pai show {ran.jobs[name]}").data[0]
    assert bundle["text/plain"] == bundle["application/vnd.jupyter-pai.job+json"]["snapshot"]
    assert not CONTROL.search(bundle["text/plain"])
    assert max(map(len, bundle["text/plain"].split("\n"))) <= LONGEST_ROW + len("  | ")
    assert "<script" not in bundle["text/html"]
    assert "<img" not in bundle["text/html"]
    assert len(json.dumps(bundle)) < 400_000
