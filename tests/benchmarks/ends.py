"""The end of a local job: from its result on disk until each of those who wait for it or read it has been told."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any

import websocket

from jupyter_pai.client.base import Client
from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.client.http import HttpClient
from jupyter_pai.client.job import JobHandle
from jupyter_pai.core.discovery import ServerInfo
from jupyter_pai.jobs.state_dir import Home

from ..conftest import until
from ..integration.server.real_server import RealServer
from .measure import Row, ms
from .rows import server
from .scale import Caller

__all__ = ["ALL"]

# Jobs for each reader.
_TIMES = 9
_ENDED = ("succeeded", "failed", "stopped", "lost")


def ends() -> Iterator[Row]:
    """From the result of a local job on disk to each reader, with 1 and with 20 running jobs."""
    with server() as running, closing(EmbeddedClient()) as engine:
        client = HttpClient(ServerInfo(**json.loads(running.info_file.read_text())))
        readers: dict[str, tuple[Client, Callable[[str], object]]] = {
            "`wait()`": (client, lambda job: JobHandle(client.call("show", job=job), client).wait()),
            "a REST reader": (client, lambda job: read(running, job)),
            "the view of a job": (client, lambda job: view(running, {"topic": "job", "job": job}, job)),
            "the list of jobs": (client, lambda job: view(running, {"topic": "jobs"}, job)),
            "an embedded engine": (engine, lambda job: JobHandle(engine.call("show", job=job), engine).wait()),
            "an embedded engine, of the server's job": (
                client, lambda job: JobHandle(engine.call("show", job=job), engine).wait()
            ),
            "the list, of an embedded engine's job": (engine, lambda job: view(running, {"topic": "jobs"}, job)),
        }  # fmt: skip
        for count in (1, 20):
            others = [submit(client, "exec sleep 1000") for _ in range(count - 1)]
            until(lambda count=count: len(client.call("list_jobs", status=["running"])["jobs"]) == count - 1)  # type: ignore[misc]
            took = {name: [told(owner, wait) for _ in range(_TIMES)] for name, (owner, wait) in readers.items()}
            plain = [bare() for _ in range(_TIMES)]
            slowest = max(took.values(), key=statistics.median)
            jobs = f"{count} running job{'s'[: count - 1]}"
            title = f"a local job's end, result on disk to told, {jobs}: the slowest reader, against a bare process"
            shown = ", ".join(f"{name} {ms(values)}" for name, values in took.items())
            yield Row(title, shown, ms(plain), ms(slowest), "median under 50 ms", statistics.median(slowest) < 0.05)
            for job in others:
                client.call("stop", job=job)
            until(lambda: not client.call("list_jobs", status=["running"])["jobs"])


def submit(client: Client, command: str) -> str:
    # So little that all find room at once, on any machine.
    spec = {"name": "bench", "command": command, "source": {"files": {"a": ""}}, "cpu": 0.01}
    return str(client.submit(spec)["job"]["id"])


def told(owner: Client, wait: Callable[[str], object]) -> float:
    """Seconds from the result of a job until `wait` returns, which has waited before the end."""
    go = Home().path.parent / "go"
    go.unlink(missing_ok=True)
    os.mkfifo(go)
    job = submit(owner, f"read line < {go}")
    until(lambda: owner.call("show", job=job)["status"] == "running")
    with ThreadPoolExecutor(1) as thread:
        at = thread.submit(lambda: (wait(job), time.time())[1])
        time.sleep(0.3)  # It waits.
        go.write_text("\n")
    # The result is renamed when it is complete: the time of its change.
    return at.result() - (Home().job(job).path / "result").stat().st_ctime


def bare() -> float:
    """Seconds from the last file of a process until its parent knows that it has ended."""
    result = Home().path.parent / "result"
    result.unlink(missing_ok=True)
    subprocess.run(["/bin/sh", "-c", f": > {result}"], check=True)
    return time.time() - result.stat().st_ctime


def read(running: RealServer, job: str) -> None:
    """Read a job, once it has ended."""
    caller = Caller(running)
    assert json.loads(caller.get(f"jobs/{job}?wait=30")[1])["status"] in _ENDED
    caller.connection.close()


def view(running: RealServer, subscription: dict[str, Any], job: str) -> None:
    """Subscribe as a page does, until the end of a job is shown."""
    url = f"{running.url.replace('http', 'ws')}/pai/api/v1/stream?token={running.token}"
    with closing(websocket.create_connection(url)) as socket:
        socket.send(json.dumps({"type": "subscribe", "id": 1} | subscription))
        shown: dict[str, str] = {}
        while shown.get(job) not in _ENDED:
            reply = json.loads(socket.recv())
            jobs = [reply["job"]] if reply["type"] == "job" else reply["jobs"]
            shown |= {one["id"]: one["status"] for one in jobs}


ALL: list[Callable[[], Iterator[Row]]] = [ends]
