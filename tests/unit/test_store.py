"""The database: rows that come back whole, two writers, and what must not happen twice."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from jupyter_pai.errors import NotFound, StateError
from jupyter_pai.job import Job, JobStatus, now, parse_spec
from jupyter_pai.store import JobFilter, Store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = Store(tmp_path / "pai.sqlite3")
    yield opened
    opened.close()


def job(name: str = "x", job_id: str = "aaaa", **spec: Any) -> Job:
    asked = parse_spec({"name": name, "command": "true"} | spec)
    return Job(
        id=job_id,
        spec=asked,
        backend="local",
        profile="work",
        status=JobStatus.STARTING,
        submitted_at=now(),
        notes=("n",),
    )


def test_a_job_comes_back_whole(store: Store) -> None:
    added = job(
        hyperparameters={"lr": "0.1"}, labels={"team": "视觉"}, metric_definitions=[{"name": "a", "regex": "(b)"}]
    )
    store.insert(added, "key", "").result()
    assert store.get("aaaa") == added


def test_a_repeated_key_makes_no_second_job(store: Store) -> None:
    assert store.insert(job(), "key", "").result().id == "aaaa"
    assert store.insert(job(job_id="bbbb"), "key", "").result().id == "aaaa"
    assert store.page(JobFilter())[1] == 1


def test_one_that_has_ended_keeps_its_status(store: Store) -> None:
    store.insert(job(), "key", "").result()
    store.update("aaaa", status=JobStatus.FAILED, reason="why", ended_at=now()).result()
    later = store.update("aaaa", status=JobStatus.RUNNING).result()
    assert (later.status, later.reason) == (JobStatus.FAILED, "why")
    assert store.running() == []


def test_finding_by_id_beginning_name_and_last(store: Store) -> None:
    store.insert(job("first", "abcd"), "1", "").result()
    store.insert(job("second", "abxy"), "2", "").result()
    store.insert(job("second", "zzzz"), "3", "").result()
    assert store.find("abcd").id == store.find("abc").id == store.find("first").id == "abcd"
    assert store.find("second").id == store.find("last").id == "zzzz"
    with pytest.raises(NotFound, match=r"abcd|abxy"):
        store.find("ab")
    for word in ("", "nothing", "%", "\x00"):
        with pytest.raises(NotFound):
            store.find(word)


def test_pages_filters_and_totals(store: Store) -> None:
    for n in range(7):
        store.insert(job(f"job {n}", f"id{n}", labels={"even": str(n % 2 == 0)}), str(n), "").result()
    store.update("id3", status=JobStatus.STOPPED).result()
    page, total = store.page(JobFilter(limit=3, offset=2))
    assert ([found.id for found in page], total) == (["id4", "id3", "id2"], 7)
    assert [found.id for found in store.page(JobFilter([JobStatus.STOPPED]))[0]] == ["id3"]
    assert [found.id for found in store.page(JobFilter(name="b 5"))[0]] == ["id5"]
    assert store.page(JobFilter(labels={"even": "True"}, limit=1))[1] == 4
    assert store.page(JobFilter(name="%"))[1] == 0


def test_attaching_finds_what_runs_or_succeeded(store: Store) -> None:
    store.insert(job(job_id="a"), "1", "cell").result()
    assert store.attachable("cell").id == "a"  # type: ignore[union-attr]
    store.update("a", status=JobStatus.FAILED).result()
    assert store.attachable("cell") is None
    store.insert(job(job_id="b"), "2", "cell").result()
    store.update("b", status=JobStatus.SUCCEEDED).result()
    assert store.attachable("cell").id == "b"  # type: ignore[union-attr]
    assert store.attachable("") is None


def test_events_tell_what_happened_in_order(store: Store) -> None:
    store.insert(job(), "key", "").result()
    store.update("aaaa", status=JobStatus.RUNNING).result()
    store.update("aaaa", status=JobStatus.RUNNING).result()
    store.update("aaaa", status=JobStatus.SUCCEEDED).result()
    told = [(event.kind, event.data.get("status")) for event in store.events()]
    assert told == [("status", "starting"), ("status", "running"), ("status", "succeeded")]
    last = store.last_event()
    store.delete("aaaa").result()
    assert [event.kind for event in store.events(last)] == ["deleted"]
    with pytest.raises(NotFound):
        store.get("aaaa")


def test_two_processes_write_at_once(store: Store, tmp_path: Path) -> None:
    code = f"""
import sys; sys.path.insert(0, {str(Path(__file__).parents[2])!r})
from pathlib import Path
from jupyter_pai.store import Store
from tests.unit.test_store import job
store = Store(Path({str(store.path)!r}))
for n in range(60):
    store.insert(job(job_id=f"{{sys.argv[1]}}{{n}}"), f"{{sys.argv[1]}}{{n}}", "").result()
    store.update(f"{{sys.argv[1]}}{{n}}", reason="r").result()
"""
    writers = [subprocess.Popen([sys.executable, "-c", code, name]) for name in "ab"]
    assert [writer.wait() for writer in writers] == [0, 0]
    assert store.page(JobFilter())[1] == 120


def test_a_database_of_a_newer_version_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "new.sqlite3"
    with sqlite3.connect(path) as database:
        database.execute("PRAGMA user_version = 999")
    with pytest.raises(StateError, match="newer version") as caught:
        Store(path)
    assert "Upgrade" in caught.value.fix


def test_what_is_no_database_is_named(tmp_path: Path) -> None:
    path = tmp_path / "pai.sqlite3"
    path.write_bytes(b"no database, just text" * 100)
    with pytest.raises(StateError, match=r"pai\.sqlite3"):
        Store(path)
