"""Kernels, terminals and tabs of one server: how they find it, and that they see the same truth."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from jupyter_pai.core.discovery import ServerInfo, info_path

from ...conftest import until
from .real_server import RealServer

HEAVY = ("pydantic", "httpx", "numpy", "pandas", "jupyter_server", "sqlite3")


def test_kernel_finds_its_server_without_heavy_imports(server: RealServer) -> None:
    notebook = server.notebook()
    notebook.run("import sys; before = set(sys.modules)")
    output = notebook.run("from jupyter_pai import connect; print(type(connect()).__name__)")
    assert output.text == "HttpClient\n"
    notebook.run("%pai submit --command 'echo hi' --as job --wait")
    loaded = notebook.run("print(sorted({name.split('.')[0] for name in set(sys.modules) - before}))").text
    assert not set(HEAVY[:-1]) & set(eval(loaded))


@pytest.mark.slow("server")
def test_kernel_secret_is_in_no_output_or_log(server: RealServer) -> None:
    secret = json.loads(server.info_file.read_text())["secret"]
    notebook = server.notebook()
    output = notebook.run("%env\nfrom jupyter_pai import connect; print(vars(connect()))")
    assert secret not in output.text + str(output.data)
    notebook.run("%pai submit --command env --as job --wait")
    log = notebook.run("print(job.logs())").text
    assert secret not in log
    assert server.token not in log
    assert secret not in server.log.read_text()


def test_kernels_share_jobs(server: RealServer) -> None:
    one, two = server.notebook("one.ipynb"), server.notebook("two.ipynb")
    one.run("%pai submit --command 'echo up; sleep 1000' --as job")
    job_id = one.run("print(job.id, end='')").text
    listed = two.run("%pai list").data[0]["text/plain"]
    assert job_id in listed
    two.run(f"%pai stop {job_id}")
    assert one.run("print(job.status)").text == "stopped\n"
    assert server.job(job_id)["status"] == "stopped"


@pytest.mark.slow("server")
def test_terminal_uses_its_server(server: RealServer, folder: Path) -> None:
    environment = {**os.environ, "JUPYTER_PAI_INFO": str(server.info_file)}
    tell = "import jupyter_pai, sys; print(type(jupyter_pai.connect()).__name__, 'pydantic' in sys.modules)"
    reply = subprocess.run([sys.executable, "-c", tell], env=environment, capture_output=True, text=True, check=True)
    assert reply.stdout == "HttpClient False\n"
    command = [sys.executable, "-m", "jupyter_pai", "submit", "--command", "echo hi", "--source", str(folder), "--wait"]
    (folder / "a").touch()
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("hi\n")


@pytest.mark.slow("server")
def test_server_is_found_by_the_parent_process(server: RealServer) -> None:
    """A kernel whose environment was cleaned: the file has the process id of the server."""
    environment = {**os.environ, "JPY_PARENT_PID": str(server.process.pid)}
    tell = "import jupyter_pai; c = jupyter_pai.connect(); print(type(c).__name__, c.call('about')['version'])"
    reply = subprocess.run([sys.executable, "-c", tell], env=environment, capture_output=True, text=True, check=True)
    assert reply.stdout == "HttpClient 0.1.0\n"


def test_missing_server_selects_an_embedded_engine(home: object, tmp_path: Path) -> None:
    stale = tmp_path / "gone.json"
    ServerInfo(url="http://127.0.0.1:1/", secret="x").write(stale)
    environment = {**os.environ, "JUPYTER_PAI_INFO": str(stale), "JPY_PARENT_PID": "999999"}
    tell = "import jupyter_pai; print(type(jupyter_pai.connect()).__name__)"
    reply = subprocess.run([sys.executable, "-c", tell], env=environment, capture_output=True, text=True, check=True)
    assert reply.stdout == "EmbeddedClient\n"


@pytest.mark.slow("server")
def test_kernel_connects_below_a_base_url(home: object, tmp_path: Path) -> None:
    root = tmp_path / "notebooks"
    root.mkdir()
    server = RealServer(root, base_url="/user/jo%20e/")
    try:
        notebook = server.notebook()
        assert notebook.run("%pai submit --command 'echo hi' --wait").text.endswith("\nhi\n")
    finally:
        server.stop()


@pytest.mark.slow("server")
def test_server_on_a_unix_socket_is_found(home: object, tmp_path: Path) -> None:
    path = tmp_path / "s"
    command = [sys.executable, "-m", "jupyter_server", "--allow-root", "--no-browser", f"--ServerApp.sock={path}"]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    info = info_path(process.pid)
    try:
        until(info.exists)
        environment = {**os.environ, "JUPYTER_PAI_INFO": str(info)}
        tell = "import jupyter_pai; print(type(jupyter_pai.connect()).__name__)"
        reply = subprocess.run(
            [sys.executable, "-c", tell], env=environment, capture_output=True, text=True, check=True
        )
        assert reply.stdout == "HttpClient\n"
    finally:
        process.terminate()
        process.wait()


@pytest.mark.slow("server")
def test_local_jobs_count_as_activity(server: RealServer) -> None:
    """JupyterHub stops servers by `last_activity`; a running job moves it."""
    before = server.rest("GET", "/api/status")["last_activity"]
    spec = {"name": "x", "command": "sleep 1000", "source": {"files": {"a": ""}}}
    job_id = server.rest("POST", "/pai/api/v1/jobs", {"spec": spec})["job"]["id"]
    until(lambda: server.rest("GET", "/api/status")["last_activity"] > before)
    server.rest("POST", f"/pai/api/v1/jobs/{job_id}/stop", {})
    until(lambda: server.job(job_id)["ended_at"])
