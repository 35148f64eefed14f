"""A locked, damaged or missing database: it is reported, and rebuilt from the files of the jobs."""

from __future__ import annotations

import contextlib
import logging
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.client.job import JobHandle
from jupyter_pai.core.errors import StateError
from jupyter_pai.jobs.state_dir import Home

from ...conftest import end_jobs, keep_below, submit, until


def overwritten(path: Path) -> None:
    """Overwrite all but the first page, which has the header."""
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xa5" * (size - 4096))


def cut_off(path: Path) -> None:
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size // 2 + 100)


def emptied(path: Path) -> None:
    path.write_bytes(b"")


def no_database(path: Path) -> None:
    path.write_bytes(b"no database, just text" * 1000)


def gone(path: Path) -> None:
    path.unlink()


DAMAGES = [overwritten, cut_off, emptied, no_database, gone]


def known(engine: EmbeddedClient) -> list[dict[str, Any]]:
    """Return all jobs as listed."""
    return list(engine.call("list_jobs", limit=500)["jobs"])


def aside(home: Home) -> list[Path]:
    """Return the damaged files that were set aside."""
    return [path for path in home.path.glob("pai.sqlite3.damaged-*") if path.name.count("-") == 1]


@pytest.fixture(scope="module")
def ended_jobs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[dict[str, Any]]]:
    """A folder whose `state` has 13 jobs that ended in several ways, and the jobs."""
    folder = tmp_path_factory.mktemp("ended")
    with pytest.MonkeyPatch.context() as patch:
        keep_below(folder, patch)
        engine = EmbeddedClient()
        for n in range(12):
            submit(engine, f"echo n={n}; exit {n % 2}", labels={"n": str(n)}, hyperparameters={"lr": n},
                   metric_definitions=[{"name": "n", "regex": r"n=(\d+)"}], name=f"job {n}").wait()  # fmt: skip
        engine.submit({"name": "cell", "command": "echo once", "source": {"files": {"a": ""}}}, attach=True)
        until(lambda: all(job["ended_at"] for job in known(engine)))
        jobs = known(engine)
        engine.close()
    shutil.copytree(folder / "state", folder / "saved", symlinks=True)
    return folder, jobs


@pytest.fixture
def home(ended_jobs: tuple[Path, list[dict[str, Any]]], monkeypatch: pytest.MonkeyPatch) -> Iterator[Home]:
    """The state folder of the ended jobs, restored for each test."""
    folder, _jobs = ended_jobs
    shutil.rmtree(folder / "state", ignore_errors=True)
    shutil.copytree(folder / "saved", folder / "state", symlinks=True)
    restored = keep_below(folder, monkeypatch)
    yield restored
    end_jobs(restored)


@pytest.fixture
def jobs(ended_jobs: tuple[Path, list[dict[str, Any]]], home: Home) -> list[dict[str, Any]]:
    """The ended jobs of the state folder; their engine is closed."""
    return ended_jobs[1]


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_database_is_rebuilt_from_job_files(
    home: Home, jobs: list[dict[str, Any]], damage: Callable[[Path], None], caplog: pytest.LogCaptureFixture
) -> None:
    before = home.database.read_bytes()
    damage(home.database)
    damaged = home.database.read_bytes() if home.database.exists() else b""
    assert damaged != before
    with caplog.at_level(logging.WARNING):
        engine = EmbeddedClient()
    try:
        assert known(engine) == jobs
        assert [job["name"] for job in engine.call("list_jobs", label=["n=7"])["jobs"]] == ["job 7"]
        assert "rebuilt from the files of 13 jobs" in caplog.text
        assert [path.read_bytes() for path in aside(home)] == ([damaged] if damaged else [])
        again = engine.submit({"name": "cell2", "command": "echo once", "source": {"files": {"a": ""}}}, attach=True)
        assert again["attached"] is True
        assert submit(engine, "echo new").wait().logs() == "new\n"
    finally:
        engine.close()


@pytest.mark.parametrize("damage", DAMAGES)
def test_running_engine_replaces_a_damaged_database(home: Home, damage: Callable[[Path], None], tmp_path: Path) -> None:
    """Its job continues and is stored; so is a new one. Another engine finds both."""
    engine = EmbeddedClient()
    try:
        handle = submit(engine, f"echo up; while [ ! -e {tmp_path}/go ]; do sleep 0.01; done; exit 4")
        until(lambda: "up" in handle.logs() and handle.status == "running")
        with contextlib.closing(sqlite3.connect(home.database)) as database:
            database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        damage(home.database)
        events = engine.call("events")["events"]
        (tmp_path / "go").touch()
        handle.wait(timeout=60)
        assert (handle.status, handle.exit_code) == ("failed", 4)
        assert submit(engine, "echo new").wait().status == "succeeded"
        assert engine.call("list_jobs")["total"] == 15
        newest = engine.call("events", after=max((event["id"] for event in events), default=0))["events"]
        assert any(event["job_id"] == handle.id and event["data"].get("status") == "failed" for event in newest)
        other = EmbeddedClient()
        try:
            assert [job["id"] for job in known(other)] == [job["id"] for job in known(engine)]
        finally:
            other.close()
    finally:
        engine.close()


def test_two_engines_rebuild_the_database_once(home: Home, jobs: list[dict[str, Any]]) -> None:
    one, other = EmbeddedClient(), EmbeddedClient()
    try:
        no_database(home.database)
        assert submit(one, "echo 1").wait().status == "succeeded"
        assert submit(other, "echo 2").wait().status == "succeeded"
        assert [job["id"] for job in known(one)] == [job["id"] for job in known(other)]
        assert len(known(one)) == 15
        assert len(aside(home)) == 1
    finally:
        one.close()
        other.close()


def test_damaged_job_file_affects_no_other_job(
    home: Home, jobs: list[dict[str, Any]], caplog: pytest.LogCaptureFixture
) -> None:
    """A power cut leaves files empty, truncated or missing."""
    for job, name, text in [
        (jobs[0], "job.json", ""), (jobs[1], "job.json", '{"key": "k"}'), (jobs[2], "spec.json", '{"na'),
        (jobs[3], "job.json", "[]"),
    ]:  # fmt: skip
        (home.job(job["id"]).path / name).write_text(text)
    home.job(jobs[4]["id"]).record.unlink()
    home.database.unlink()
    engine = EmbeddedClient()
    try:
        assert known(engine) == jobs[5:]
        for job in jobs[:4]:
            assert job["id"] in caplog.text
    finally:
        engine.close()


@contextlib.contextmanager
def locked(home: Home) -> Any:
    """Hold the database locked by another process."""
    with contextlib.closing(sqlite3.connect(home.database, isolation_level=None)) as holder:
        holder.execute("BEGIN IMMEDIATE")
        yield
        holder.execute("ROLLBACK")


def test_locked_database_allows_reads_and_loses_nothing(home: Home, tmp_path: Path) -> None:
    engine = EmbeddedClient()
    try:
        handle = submit(engine, f"echo up; while [ ! -e {tmp_path}/go ]; do sleep 0.01; done; exit 4")
        until(lambda: "up" in handle.logs() and handle.status == "running")
        with locked(home):
            (tmp_path / "go").touch()
            until((home.job(handle.id).path / "result").exists)
            with pytest.raises(StateError, match=r"is locked.*Another process is using it") as caught:
                submit(engine, "true")
            assert caught.value.status == 503
            assert engine.call("show", job=handle.id)["status"] == "running"
            assert engine.call("list_jobs")["total"] == 14
            assert len(list(home.jobs.iterdir())) == 14
        handle.wait(timeout=60)
        assert (handle.status, handle.exit_code) == ("failed", 4)
        assert submit(engine, "true").wait().status == "succeeded"
    finally:
        engine.close()


def test_engine_start_on_a_locked_database_fails(home: Home, jobs: list[dict[str, Any]]) -> None:
    with locked(home), pytest.raises(StateError, match="locked"):
        EmbeddedClient()
    engine = EmbeddedClient()
    assert JobHandle(jobs[0], engine).logs() == "once\n"
    engine.close()
