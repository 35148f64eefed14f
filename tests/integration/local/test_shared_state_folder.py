"""One state folder on several hosts: only its own host decides about a job, despite other locks and clocks.

Another host is a process with another JUPYTER_PAI_HOST, for which locks always succeed: those of its host only.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.client.job import JobHandle
from jupyter_pai.core.host import VARIABLE, Process, boot_id
from jupyter_pai.core.lease import SILENT
from jupyter_pai.jobs.state_dir import Home

from ...conftest import PATIENCE, processes_of, submit, until
from ...support.confinement import own_locks
from .supervised_job import power_off

OURS, OTHER = "host-a", "host-b"


@pytest.fixture
def shared(home: Home, monkeypatch: pytest.MonkeyPatch) -> Iterator[Home]:
    """A state folder on a network disk, on host `host-a`."""
    monkeypatch.setenv("JUPYTER_PAI_NETWORK_DISK", "1")
    monkeypatch.setenv(VARIABLE, OURS)
    yield home
    for job in home.jobs.iterdir() if home.jobs.exists() else ():
        power_off(job.name)


@pytest.fixture
def other(shared: Home, tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """The command line on another host: `other("show", "last")`."""

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "jupyter_pai", *words],
            env=os.environ | {VARIABLE: OTHER},
            cwd=tmp_path,
            preexec_fn=own_locks,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )

    return run


@pytest.fixture
def waiting(shared: Home, tmp_path: Path) -> dict[str, Any]:
    """A job of host `host-a` that runs until a file exists and has no engine."""
    engine = EmbeddedClient()
    try:
        handle = submit(engine, f"echo up; while [ ! -e {tmp_path}/go ]; do sleep 0.01; done; echo end")
        until(lambda: "up" in handle.logs() and handle.status == "running")
        return handle.info
    finally:
        engine.close()


def silence(path: Path) -> None:
    """Make a lease look expired."""
    then = time.time() - 2 * SILENT
    os.utime(path, (then, then))


def state_of(done: subprocess.CompletedProcess[str]) -> tuple[str, str]:
    """Return status and reason from the output of `show --json`, which logs no error."""
    assert done.stderr == ""
    job: dict[str, Any] = json.loads(done.stdout)
    return job["status"], job["reason"]


def test_job_of_another_host_is_shown_and_left_alone(
    other: Callable[..., subprocess.CompletedProcess[str]], waiting: dict[str, Any], tmp_path: Path
) -> None:
    job_id = waiting["id"]
    assert state_of(other("show", job_id, "--json")) == ("running", "Runs on host host-a.")
    refused = other("delete", job_id, "--force", "--yes")
    assert refused.returncode != 0
    assert "Stop it first" in refused.stderr
    engine = EmbeddedClient()
    try:
        handle = JobHandle(waiting, engine)
        until(lambda: handle.reason == "")
        (tmp_path / "go").touch()
        handle.wait()
        assert (handle.status, handle.logs()) == ("succeeded", "up\nend\n")
    finally:
        engine.close()


@pytest.mark.slow("processes")
def test_job_keeps_only_the_server_of_its_host(shared: Home, waiting: dict[str, Any]) -> None:
    """Two servers of one user with a shared home would otherwise keep each other from being culled."""
    code = "from jupyter_pai.engine.service import JobService; print(JobService().keeps_server())"
    kept = {
        name: subprocess.run(
            [sys.executable, "-c", code],
            env=os.environ | {VARIABLE: name},
            preexec_fn=own_locks if name == OTHER else None,
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for name in (OURS, OTHER)
    }
    assert kept == {OURS: "True", OTHER: "False"}


@pytest.mark.slow("processes")
def test_stop_reaches_a_job_of_another_host(
    other: Callable[..., subprocess.CompletedProcess[str]], waiting: dict[str, Any]
) -> None:
    job_id = waiting["id"]
    assert "stopped" in other("stop", job_id).stdout
    assert state_of(other("show", job_id, "--json")) == ("stopped", "Stopped by the user.")
    assert processes_of(job_id) == []


def test_end_of_a_job_is_seen_on_every_host(
    other: Callable[..., subprocess.CompletedProcess[str]], shared: Home, waiting: dict[str, Any], tmp_path: Path
) -> None:
    job_id = waiting["id"]
    (tmp_path / "go").touch()
    until((shared.job(job_id).path / "result").exists)
    assert state_of(other("show", job_id, "--json")) == ("succeeded", "")


def test_lease_of_a_live_engine_is_respected(
    other: Callable[..., subprocess.CompletedProcess[str]], shared: Home, tmp_path: Path
) -> None:
    """The live engine keeps the lease, even where the locks of the other engine succeed."""
    engine = EmbeddedClient()
    try:
        handle = submit(engine, f"while [ ! -e {tmp_path}/go ]; do sleep 0.01; done")
        until(lambda: handle.status == "running")
        assert state_of(other("show", handle.id, "--json")) == ("running", "")
        lease = shared.job(handle.id).path / "follower.lock"
        holder = Process.parse(lease.read_text())
        assert holder is not None
        assert (holder.host, holder.pid, holder.boot) == (OURS, os.getpid(), boot_id())
        (tmp_path / "go").touch()
        handle.wait()
        until(lambda: lease.read_text() == "")
    finally:
        engine.close()


@pytest.mark.slow("kills")
def test_killed_engine_is_replaced_after_its_lease_expires(
    other: Callable[..., subprocess.CompletedProcess[str]], shared: Home, tmp_path: Path
) -> None:
    code = f"""
import os, signal
from jupyter_pai.client.embedded import EmbeddedClient
command = "while [ ! -e {tmp_path}/go ]; do sleep 0.01; done"
spec = {{"name": "x", "command": command, "source": {{"files": {{"a": ""}}}}}}
print(EmbeddedClient().submit(spec)["job"]["id"], flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    job_id = done.stdout.strip()
    assert state_of(other("show", job_id, "--json"))[1] == ""
    silence(shared.job(job_id).path / "follower.lock")
    assert state_of(other("show", job_id, "--json")) == ("running", "Runs on host host-a.")
    (tmp_path / "go").touch()


@pytest.mark.slow("processes")
def test_unreachable_host_is_declared_lost_by_the_user(
    other: Callable[..., subprocess.CompletedProcess[str]], shared: Home, waiting: dict[str, Any]
) -> None:
    job_id = waiting["id"]
    folder = shared.job(job_id).path
    power_off(job_id)
    assert state_of(other("show", job_id, "--json"))[0] == "running"
    silence(folder / "lock")
    status, reason = state_of(other("show", job_id, "--json"))
    assert (status, reason) == ("running", "Host host-a, which runs the job, does not respond.")
    stopped = other("stop", job_id)
    assert stopped.returncode != 0
    assert f"delete --force {job_id}" in stopped.stderr
    assert (folder / "stop").exists()
    assert other("delete", job_id, "--yes").returncode != 0
    assert folder.exists()
    assert other("delete", job_id, "--yes", "--force").returncode == 0
    assert not folder.exists()
    assert json.loads(other("list", "--json").stdout) == []


def test_restarted_host_recognizes_its_own_jobs(shared: Home, waiting: dict[str, Any]) -> None:
    """Same name, another boot: the job is dead once its lease expires; until then it may be another host of this
    name."""
    job_id = waiting["id"]
    folder = shared.job(job_id).path
    power_off(job_id)
    starter = (folder / "lock").read_text().split()
    for name in ("lock", "started"):
        (folder / name).write_text((folder / name).read_text().replace(starter[1], "another-boot"))
    engine = EmbeddedClient()
    try:
        handle = JobHandle(waiting, engine)
        assert handle.status == "running"
        silence(folder / "lock")
        handle.wait(timeout=PATIENCE)
        assert handle.status == "failed"
        assert "the machine was restarted" in handle.reason
    finally:
        engine.close()
