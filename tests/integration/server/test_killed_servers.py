"""Jobs survive killed servers and kernels, and are complete afterwards."""

from __future__ import annotations

import os
import random
import signal
from pathlib import Path

import pytest

from jupyter_pai.jobs.state_dir import Home

from ...conftest import processes_of, until
from .kill_rounds import KINDS, KillRounds
from .real_server import RealServer

COUNT = 3000
CELL = """%%pai_train --metric 'n=^n (\\d+)' --as job
import os, time
for n in range({count}):
    print("n", n)
    if n % 10 == 0:
        time.sleep(0.01)
    while n == {count} - 10 and not os.path.exists("{go}"):
        time.sleep(0.01)
"""


def test_job_survives_killed_server_and_kernel(server: RealServer, home: Home, tmp_path: Path) -> None:
    notebook = server.notebook()
    notebook.run(CELL.format(count=COUNT, go=tmp_path / "go"))
    job_id = notebook.run("print(job.id, end='')").text
    kernel = int(notebook.run("import os; print(os.getpid())").text)
    until(lambda: "n" in server.job(job_id)["metrics"])
    os.kill(kernel, signal.SIGKILL)
    server.kill()
    assert len(processes_of(job_id)) >= 2
    assert (home.job(job_id).path / "result").exists() is False
    (tmp_path / "go").touch()
    server.start()
    job = until(lambda: (result := server.job(job_id))["ended_at"] and result)
    assert (job["status"], job["exit_code"]) == ("succeeded", 0)
    assert (home.job(job_id).log / "worker-0").read_bytes() == b"".join(b"n %d\n" % n for n in range(COUNT))
    points = server.rest("GET", f"/pai/api/v1/jobs/{job_id}/metrics")["metrics"]["n"]
    assert points["value"] == list(range(COUNT))
    assert points["step"] == list(range(COUNT))
    assert server.rest("GET", "/pai/api/v1/jobs")["total"] == 1
    assert processes_of(job_id) == []


@pytest.mark.slow("kills")
def test_writing_jobs_survive_kills_of_any_process(server: RealServer, home: Home, tmp_path: Path) -> None:
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")  # Of a round that failed, to play it again.
    kills = KillRounds(server, home, tmp_path, random.Random(seed), [kind for kind in KINDS if kind != "container"])
    for _ in range(10):
        kills.run_round()


def test_job_ending_without_a_server_is_recorded(server: RealServer, home: Home, tmp_path: Path) -> None:
    notebook = server.notebook()
    notebook.run(
        f"%pai submit --command 'while [ ! -e {tmp_path}/go ]; do sleep 0.01; done; echo end; exit 5' --as job"
    )
    job_id = notebook.run("print(job.id, end='')").text
    server.kill()
    (tmp_path / "go").touch()
    until((home.job(job_id).path / "result").exists)
    server.start()
    job = until(lambda: (result := server.job(job_id))["ended_at"] and result)
    assert (job["status"], job["exit_code"]) == ("failed", 5)


@pytest.mark.slow("kills")
def test_kernel_continues_without_its_server(server: RealServer, tmp_path: Path) -> None:
    """The handle in the kernel finds another engine, and follows on where it was."""
    import json

    from jupyter_pai.client.embedded import EmbeddedClient
    from jupyter_pai.client.http import HttpClient
    from jupyter_pai.client.job import JobHandle
    from jupyter_pai.core.discovery import VARIABLE, ServerInfo

    info = ServerInfo(**json.loads(server.info_file.read_text()))
    client = HttpClient(info)
    source = {"files": {"a": ""}}
    command = f"echo one; while [ ! -e {tmp_path}/go ]; do sleep 0.01; done; echo two"
    handle = JobHandle(client.submit({"name": "x", "command": command, "source": source})["job"], client)
    other = JobHandle(handle.info, client)
    pieces = handle.follow()
    assert next(pieces) == "one\n"
    server.kill()
    (tmp_path / "go").touch()
    assert "".join(pieces) == "two\n"
    assert handle.wait().status == "succeeded"
    assert other.logs() == "one\ntwo\n"
    assert isinstance(handle._client, EmbeddedClient)
    handle._client.close()
    assert VARIABLE not in os.environ


def test_stopped_server_removes_its_secret(server: RealServer) -> None:
    path = server.info_file
    assert path.stat().st_mode & 0o777 == 0o600
    server.stop()
    assert not path.exists()
