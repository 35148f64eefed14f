"""Many submits at once, and submits whose answer is lost: one job each."""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from jupyter_pai.client.http import HttpClient
from jupyter_pai.client.job import JobHandle
from jupyter_pai.core.discovery import ServerInfo
from jupyter_pai.jobs.state_dir import Home

from ...conftest import until
from .cutting_proxy import CUTS, cutting_proxy
from .real_server import RealServer

MANY = 50


def client_of(server: RealServer) -> HttpClient:
    """Return a client like that of a kernel."""
    return HttpClient(ServerInfo(**json.loads(server.info_file.read_text())))


def spec(runs: Path, word: object) -> dict[str, Any]:
    """A job that leaves a word each time it runs."""
    return {"name": f"job {word}", "command": f"echo {word} >> {runs}", "source": {"files": {"a": ""}}}


def jobs(server: RealServer) -> list[dict[str, Any]]:
    return list(server.rest("GET", "/pai/api/v1/jobs?limit=500")["jobs"])


def check(server: RealServer, runs: Path, words: list[str]) -> None:
    """Assert that each word has a job, which ran once and succeeded."""
    until(lambda: all(job["ended_at"] for job in jobs(server)))
    result = jobs(server)
    assert sorted(job["name"] for job in result) == sorted(f"job {word}" for word in words)
    assert {job["status"] for job in result} == {"succeeded"}
    assert sorted(runs.read_text().split()) == sorted(words)


@pytest.mark.slow("counts")
def test_fifty_concurrent_submits_create_fifty_jobs(server: RealServer, tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    with ThreadPoolExecutor(MANY) as pool:
        results = list(pool.map(lambda n: client_of(server).submit(spec(runs, n))["job"]["id"], range(MANY)))
    assert len(set(results)) == MANY
    check(server, runs, [str(n) for n in range(MANY)])


@pytest.mark.slow("counts")
def test_concurrent_engines_create_fifty_jobs(home: Home, server: RealServer, tmp_path: Path) -> None:
    """Five processes, each with an engine and ten threads, over the state folder of a server."""
    runs = tmp_path / "runs"
    code = """
import json, sys
from concurrent.futures import ThreadPoolExecutor
from jupyter_pai.client.embedded import EmbeddedClient
engine, specs = EmbeddedClient(), json.loads(sys.argv[1])
with ThreadPoolExecutor(len(specs)) as pool:
    list(pool.map(engine.submit, specs))
engine.close()
"""
    shares = [json.dumps([spec(runs, f"{name}{n}") for n in range(10)]) for name in "abcde"]
    engines = [subprocess.Popen([sys.executable, "-c", code, share]) for share in shares]
    assert [engine.wait() for engine in engines] == [0] * 5
    check(server, runs, [f"{name}{n}" for name in "abcde" for n in range(10)])


def test_fifty_submits_with_the_same_key_create_one_job(server: RealServer, home: Home, tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    body = {"spec": spec(runs, "x"), "key": "the same"}
    with ThreadPoolExecutor(MANY) as pool:
        result = set(pool.map(lambda _: client_of(server).call("submit", body=body)["job"]["id"], range(MANY)))
    assert len(result) == 1
    check(server, runs, ["x"])
    assert [path.name for path in home.jobs.iterdir()] == list(result)


@pytest.mark.slow("cases")
@pytest.mark.parametrize("cut", CUTS)
def test_lost_reply_creates_no_second_job(server: RealServer, tmp_path: Path, cut: str) -> None:
    runs = tmp_path / "runs"
    with cutting_proxy(client_of(server).info, cut) as proxy, ThreadPoolExecutor(5) as pool:
        client = HttpClient(proxy)
        first = JobHandle(client.submit(spec(runs, "x"))["job"], client_of(server)).wait()
        again = JobHandle(client.rerun(first.id)["job"], client_of(server)).wait()
        assert again.id != first.id
        assert (runs.read_text().split(), len(jobs(server))) == (["x", "x"], 2)
        again.delete()
        runs.unlink()
        list(pool.map(lambda n: HttpClient(proxy).submit(spec(runs, n)), range(5)))
    first.delete()
    check(server, runs, [str(n) for n in range(5)])
