"""A locked, damaged or missing database: it is reported, and rebuilt from the files of the jobs."""

from __future__ import annotations

import contextlib
import json
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

from ...conftest import PATIENCE, end_jobs, keep_below, submit, until
from .damages import Rounds, known, make_ended_jobs


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


def renamed_column(path: Path) -> None:
    """A flipped bit in the statement of a table: the file is consistent, but a column has another name."""
    _replace(path, b"kind TEXT NOT NULL,", b"kine TEXT NOT NULL,")


def renamed_table(path: Path) -> None:
    _replace(path, b"CREATE TABLE job_use", b"CREATE TABLE job_usd")
    _replace(path, b"job_use", b"job_usd")


def changed_type(path: Path) -> None:
    _replace(path, b"submitted_at REAL NOT NULL", b"submitted_at RDAL NOT NULL")


def undecodable_statement(path: Path) -> None:
    """SQLite quotes the statement in an error message, which cannot be decoded."""
    _replace(path, b"CREATE TABLE job_use", b"CREATE TABL\xcc job_use")


def wrong_version(path: Path) -> None:
    """A flipped bit in `user_version`."""
    with path.open("r+b") as file:
        file.seek(61)
        file.write(b"\x40")


def earlier_version(path: Path) -> None:
    """Migrations are applied again."""
    with path.open("r+b") as file:
        file.seek(63)
        file.write(b"\x02")


def _replace(path: Path, old: bytes, new: bytes) -> None:
    data = path.read_bytes()
    assert old in data
    path.write_bytes(data.replace(old, new))


DAMAGES = [
    overwritten, cut_off, emptied, no_database, gone,
    renamed_column, renamed_table, changed_type, undecodable_statement, wrong_version, earlier_version,
]  # fmt: skip


def aside(home: Home) -> list[Path]:
    """Return the damaged files that were set aside."""
    return [path for path in home.path.glob("pai.sqlite3.damaged-*") if path.name.count("-") == 1]


@pytest.fixture(scope="module")
def ended_jobs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[dict[str, Any]]]:
    """A folder with copies of the state folder of 13 jobs that ended in several ways, and the jobs."""
    folder = tmp_path_factory.mktemp("ended")
    return folder, make_ended_jobs(folder)


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


@pytest.mark.slow("cases", first=5)
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


# A table that is used rarely is missed late: then the events until then are lost.
@pytest.mark.slow("cases", first=2)
@pytest.mark.parametrize("damage", [damage for damage in DAMAGES if damage is not renamed_table])
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
        handle.wait(timeout=PATIENCE)
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


@pytest.mark.slow("cases", first=7)
@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE job SET status = 'runnong' WHERE id = :id",
        "UPDATE job SET name = CAST(X'6a6fff2030' AS TEXT) WHERE id = :id",
        "UPDATE job SET notebook = CAST(X'ff' AS TEXT) WHERE id = :id",
        "UPDATE job SET submitted_at = 'yesterday' WHERE id = :id",
        "UPDATE job SET started_at = 1e300, ended_at = 'x' WHERE id = :id",
        "UPDATE job SET id = 'xxxxxxxx' WHERE id = :id",
        "UPDATE job SET id = CAST(X'ff' AS TEXT) WHERE id = :id",
        "UPDATE job_detail SET detail = substr(detail, 1, 9) WHERE job_id = :id",
        "UPDATE job_detail SET detail = '[]' WHERE job_id = :id",
        "UPDATE job_spec SET spec = CAST(substr(spec, 1, 20) || X'ff' AS TEXT) WHERE job_id = :id",
        "DELETE FROM job_detail WHERE job_id = :id",
        "DELETE FROM job_spec WHERE job_id = :id",
        "DELETE FROM job WHERE id = :id",
        "UPDATE event SET data = '{', time = 'x' WHERE job_id = :id",
    ],
)
def test_damaged_row_is_read_from_the_record_and_replaced(home: Home, jobs: list[dict[str, Any]], damage: str) -> None:
    job_id = jobs[0]["id"]
    with contextlib.closing(sqlite3.connect(home.database)) as database, database:
        database.execute(damage, {"id": job_id})
    engine = EmbeddedClient()
    try:
        assert known(engine) == jobs
        assert engine.call("show", job=job_id)["name"] == jobs[0]["name"]
        assert engine.call("events")["events"]
        status = "SELECT status, name FROM job WHERE id = ?"
        with contextlib.closing(sqlite3.connect(home.database)) as database:
            database.text_factory = bytes
            until(lambda: database.execute(status, (job_id,)).fetchall() == [(b"succeeded", b"cell")])
        assert engine.call("list_jobs", name="cell")["total"] == 1
        assert job_findings(engine) == ["the database agrees with the files of the jobs"]
        engine.call("delete", job=job_id)
        assert known(engine) == jobs[1:]
    finally:
        engine.close()


def test_job_with_a_wrong_letter_in_its_profile_is_deleted(home: Home, jobs: list[dict[str, Any]]) -> None:
    with contextlib.closing(sqlite3.connect(home.database)) as database, database:
        database.execute("UPDATE job SET profile = 'locxl' WHERE id = ?", (jobs[0]["id"],))
    engine = EmbeddedClient()
    try:
        engine.call("delete", job=jobs[0]["id"])
        assert known(engine) == jobs[1:]
    finally:
        engine.close()


def job_findings(engine: EmbeddedClient) -> list[str]:
    """Return the findings of `doctor` about the rows and records of the jobs."""
    return [finding["text"] for finding in engine.call("doctor")["findings"] if finding["what"] == "jobs"]


def test_older_record_is_replaced_by_the_row(home: Home, jobs: list[dict[str, Any]]) -> None:
    """The end of the job could not be written into its record, as on a full disk."""
    record = home.job(jobs[0]["id"]).record
    whole = json.loads(record.read_text())
    record.write_text(json.dumps(whole | {"job": whole["job"] | {"status": "running", "ended_at": None}}))
    engine = EmbeddedClient()
    try:
        assert job_findings(engine) == [f"repaired: {jobs[0]['id']}"]
        assert known(engine) == jobs
        assert json.loads(record.read_text()) == whole
        assert job_findings(engine) == ["the database agrees with the files of the jobs"]
    finally:
        engine.close()


def test_doctor_compares_rows_and_records(home: Home, jobs: list[dict[str, Any]]) -> None:
    """It replaces the damaged ones, and reports jobs without files and jobs that are damaged twice."""
    changed, unrecorded, gone, lost, vanished = (job["id"] for job in jobs[:5])
    with contextlib.closing(sqlite3.connect(home.database)) as database, database:
        database.execute("UPDATE job SET pinned = 1 WHERE id = ?", (changed,))
        database.execute("UPDATE job SET status = 'x' WHERE id IN (?, ?)", (lost, vanished))
    home.job(unrecorded).record.write_bytes(b"\0" * 100)
    home.job(lost).record.write_bytes(b"")
    for job_id in (gone, vanished):
        shutil.rmtree(home.job(job_id).path)
    engine = EmbeddedClient()
    try:
        assert {job["id"] for job in known(engine)} == {job["id"] for job in jobs} - {lost, vanished}
        repaired, missing, damaged = job_findings(engine)
        assert {*repaired.removeprefix("repaired: ").split(", ")} == {changed, unrecorded}
        assert (missing, damaged) == (f"files are missing: {gone}", f"damaged: {lost}")
        with pytest.raises(StateError, match=rf"{lost}.*job\.json.*doctor"):
            engine.call("show", job=lost)
        engine.call("delete", job=gone)
        shutil.rmtree(home.job(lost).path)
        assert job_findings(engine) == [f"repaired: {lost}"]
        assert job_findings(engine) == ["the database agrees with the files of the jobs"]
        assert known(engine) == [job for job in jobs if job["id"] not in (gone, lost, vanished)]
    finally:
        engine.close()


@pytest.mark.parametrize("damage", [b"", b"{", b"\0" * 50, b'{"counts": {"n": 3}, "files": {"m": 0}}', None])
def test_damaged_cursor_of_an_ended_job_is_read_anew(
    home: Home, jobs: list[dict[str, Any]], damage: bytes | None
) -> None:
    cursor = home.job(jobs[1]["id"]).series / "cursor.json"
    cursor.unlink()
    if damage is None:
        cursor.mkdir()
    else:
        cursor.write_bytes(damage)
    engine = EmbeddedClient()
    try:
        assert [job["id"] for job in known(engine)] == [job["id"] for job in jobs]
        until(lambda: known(engine) == jobs)
    finally:
        engine.close()


def test_engine_adds_jobs_of_a_restored_database_periodically(
    ended_jobs: tuple[Path, list[dict[str, Any]]], home: Home, jobs: list[dict[str, Any]]
) -> None:
    """Also in a running engine. Events stay in order."""
    engine = EmbeddedClient()
    service = engine._context.service
    try:
        last = service.store.events.last_id()
        with contextlib.closing(sqlite3.connect(home.database)) as database, database:
            database.execute("DELETE FROM job WHERE id <> ?", (jobs[0]["id"],))
        assert known(engine) == jobs[:1]
        service.store.mend()
        assert known(engine) == jobs
        assert service.store.events.last_id() > last
        shutil.copyfile(ended_jobs[0] / "older" / home.database.name, home.path / "restored")
        (home.path / "restored").rename(home.database)
        assert known(engine) == jobs
    finally:
        engine.close()


@pytest.mark.slow("cases")
@pytest.mark.parametrize("seed", [1, 2])
def test_random_damage_harms_no_whole_job(ended_jobs: tuple[Path, list[dict[str, Any]]], home: Home, seed: int) -> None:
    """`tests/soak` has many more rounds."""
    rounds = Rounds(ended_jobs[0], home, ended_jobs[1], seed)
    rounds.damage_databases(10)
    rounds.damage_records(10)


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


def test_damaged_pattern_of_a_metric_affects_no_job(home: Home, jobs: list[dict[str, Any]]) -> None:
    """Its metrics are read again, because its cursor is damaged too."""
    folder = home.job(jobs[1]["id"])
    spec = folder.path / "spec.json"
    damaged = spec.read_text().replace(r"(\\d+)", r"(\\d+f")
    assert damaged != spec.read_text()
    spec.write_text(damaged)
    (folder.series / "cursor.json").write_bytes(b"{")
    home.database.unlink()
    engine = EmbeddedClient()
    try:
        assert [job["id"] for job in known(engine)] == [job["id"] for job in jobs]
        assert engine.call("show", job=jobs[1]["id"])["status"] == jobs[1]["status"]
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
        handle.wait(timeout=PATIENCE)
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
