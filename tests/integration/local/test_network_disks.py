"""File systems of the state folder: network disks are detected and used without WAL; missing locks are reported."""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.client.job import JobHandle
from jupyter_pai.core import filesystem
from jupyter_pai.core.errors import StateError
from jupyter_pai.jobs.state_dir import Home

from ...conftest import PATIENCE, submit, until
from ...support.confinement import no_locks, no_locks_at_all

pytestmark = pytest.mark.usefixtures("code")
CLI = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def code(folder: Path) -> None:
    """A file to pack."""
    (folder / "a.txt").touch()


def journal(home: Home) -> str:
    with contextlib.closing(sqlite3.connect(home.database)) as database:
        return str(database.execute("PRAGMA journal_mode").fetchone()[0])


def findings(cli: CLI, **options: Any) -> dict[str, dict[str, str]]:
    return {finding["what"]: finding for finding in json.loads(cli("doctor", "--json", **options).stdout)}


def test_network_disk_is_detected(tmp_path: Path) -> None:
    if os.getuid() != 0 or not os.path.exists("/dev/fuse"):
        pytest.skip("only root can mount a file system")
    place = tmp_path / "with a blank 盘"
    place.mkdir()
    command = ["unshare", "-m", sys.executable, str(Path(__file__).with_name("fuse.py")), str(place)]
    reply = subprocess.run(command, capture_output=True, text=True, check=True, timeout=PATIENCE).stdout
    assert reply == "fuse.sshfs fuse.sshfs \n"


@pytest.mark.parametrize(("reply", "result"), [("1", True), ("0", False), ("", False), ("maybe", False)])
def test_variable_overrides_network_disk_detection(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, reply: str, result: bool
) -> None:
    monkeypatch.setenv(filesystem.VARIABLE, reply)
    assert bool(filesystem.network_kind(tmp_path)) is result


def test_network_disk_disables_wal(home: Home, cli: CLI, monkeypatch: pytest.MonkeyPatch) -> None:
    """A database with WAL is converted, and stays so on a host where the disk is local."""
    assert cli("submit", "--command", "echo 1", "--wait").returncode == 0
    assert journal(home) == "wal"
    monkeypatch.setenv(filesystem.VARIABLE, "1")
    done = cli("submit", "--command", "echo 2", "--wait")
    assert (done.returncode, done.stdout[:2]) == (0, "2\n"), done.stderr
    assert journal(home) != "wal"
    assert "does not use WAL" in findings(cli)["network disk"]["text"]
    monkeypatch.delenv(filesystem.VARIABLE)
    assert cli("list").returncode == 0
    assert journal(home) != "wal"
    monkeypatch.setenv(filesystem.VARIABLE, "0")
    assert len(json.loads(cli("list", "--json").stdout)) == 2
    assert journal(home) == "wal"
    assert "network disk" not in findings(cli)


def test_two_engines_share_jobs_on_a_network_disk(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(filesystem.VARIABLE, "1")
    engines = [EmbeddedClient(), EmbeddedClient()]
    try:
        handles = [submit(engines[n % 2], f"echo {n}") for n in range(10)]
        for n, handle in enumerate(handles):
            other = JobHandle(handle.info, engines[1 - n % 2]).wait(timeout=PATIENCE)
            assert (other.status, other.logs()) == ("succeeded", f"{n}\n")
    finally:
        for engine in engines:
            engine.close()


@pytest.mark.slow("processes")
def test_disk_without_locks_is_reported_and_runs_jobs(home: Home, cli: CLI, tmp_path: Path) -> None:
    def confined(*words: str) -> str:
        done = cli(*words, preexec_fn=no_locks)
        assert done.returncode == 0, done.stderr
        return done.stdout

    result = findings(cli, preexec_fn=no_locks)["locks"]
    assert (result["state"], "No locks available" in result["text"]) == ("warn", True)
    assert confined("submit", "--command", "echo 1", "--wait").startswith("1\n")
    waiting = f"while [ ! -e {tmp_path}/go ]; do sleep 0.01; done; exit 3"
    job = json.loads(confined("submit", "--command", waiting, "--detach", "--json"))["id"]
    started = home.job(job).path / "started"
    until(lambda: started.exists() and len(started.read_text().split()) == 5)
    for _ in range(3):
        assert json.loads(confined("show", job, "--json"))["status"] == "running"
    (tmp_path / "go").touch()
    until((home.job(job).path / "result").exists)
    ended = json.loads(confined("show", job, "--json"))
    assert (ended["status"], ended["exit_code"]) == ("failed", 3)


def test_two_engines_without_locks_keep_their_jobs(home: Home, tmp_path: Path) -> None:
    """The second engine releases the lease that the first, live engine holds."""
    code = """
import sys
from jupyter_pai.core.lease import Lease
from pathlib import Path
lease = Lease(Path(sys.argv[1]))
print(lease.acquire(), flush=True)
sys.stdin.readline()
"""
    first, second = (
        subprocess.Popen(
            [sys.executable, "-c", code, str(tmp_path / "lease")],
            preexec_fn=no_locks,  # noqa: PLW1509  no threads here
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    )
    assert first.stdout
    assert second.stdout
    lines = [first.stdout.readline(), second.stdout.readline()]
    assert sorted(lines) == ["False\n", "True\n"]
    for process in (first, second):
        process.kill()
        process.communicate()
    third = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "lease")],
        preexec_fn=no_locks, input="", capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert third.stdout == "True\n"


def test_unlockable_database_is_reported(home: Home, cli: CLI) -> None:
    done = cli("list", preexec_fn=no_locks_at_all)
    assert done.returncode == 3
    assert "does not support file locks" in done.stderr
    assert "JUPYTER_PAI_HOME" in done.stderr
    assert "Traceback" not in done.stderr


def test_wal_in_use_by_an_engine_is_not_disabled(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = EmbeddedClient()
    try:
        submit(engine, "true").wait()
        monkeypatch.setenv(filesystem.VARIABLE, "1")
        with pytest.raises(StateError, match="locked"):
            EmbeddedClient()
        monkeypatch.delenv(filesystem.VARIABLE)
        assert submit(engine, "true").wait().status == "succeeded"
    finally:
        engine.close()
