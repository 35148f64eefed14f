"""The database: complete rows, two writers, and unique keys."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from jupyter_pai.client.summary import duration
from jupyter_pai.core.errors import BadInput, Conflict, NotFound, StateError, UsageError
from jupyter_pai.core.i18n import _, ngettext, use_language
from jupyter_pai.engine.data import disk
from jupyter_pai.jobs import limits
from jupyter_pai.jobs.events import PlatformEvent
from jupyter_pai.jobs.job import Job, JobStatus, now
from jupyter_pai.jobs.spec import parse_spec
from jupyter_pai.jobs.state_dir import ExcludedPath, Home, JobFolder, Packing
from jupyter_pai.jobs.store import names, rows, schema
from jupyter_pai.jobs.store.query import SORTS, JobFilter
from jupyter_pai.jobs.store.store import Store

from ...integration.local.supervised_job import fill
from ...support.fuzz import MANY


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = Store(tmp_path / "pai.sqlite3")
    yield opened
    opened.close()


def job(name: str = "x", job_id: str = "aaaa", **spec: Any) -> Job:
    request = parse_spec({"name": name, "command": "true"} | spec)
    return Job(
        id=job_id,
        spec=request,
        backend="local",
        profile="work",
        status=JobStatus.STARTING,
        submitted_at=now(),
        notes=("n",),
    )


def test_stored_job_is_read_back_whole(store: Store) -> None:
    added = job(
        hyperparameters={"lr": "0.1"}, labels={"team": "视觉"}, metric_definitions=[{"name": "a", "regex": "(b)"}]
    )
    store.jobs.insert(added, "key", "").result()
    assert store.jobs.get("aaaa") == added


def test_repeated_key_returns_the_first_job(store: Store) -> None:
    assert store.jobs.insert(job(), "key", "").result().id == "aaaa"
    assert store.jobs.insert(job(job_id="bbbb"), "key", "").result().id == "aaaa"
    assert store.jobs.page(JobFilter())[1] == 1


def test_ended_job_keeps_its_status(store: Store) -> None:
    store.jobs.insert(job(), "key", "").result()
    store.jobs.update("aaaa", status=JobStatus.FAILED, reason="why", ended_at=now()).result()
    later = store.jobs.update("aaaa", status=JobStatus.RUNNING).result()
    assert (later.status, later.reason) == (JobStatus.FAILED, "why")
    assert store.jobs.active() == []


def test_jobs_are_found_by_id_prefix_name_and_last(store: Store) -> None:
    store.jobs.insert(job("first", "abcd"), "1", "").result()
    store.jobs.insert(job("second", "abxy"), "2", "").result()
    store.jobs.insert(job("second", "zzzz"), "3", "").result()
    assert store.jobs.find("abcd").id == store.jobs.find("abc").id == store.jobs.find("first").id == "abcd"
    assert store.jobs.find("second").id == store.jobs.find("last").id == "zzzz"
    with pytest.raises(NotFound, match=r"abcd|abxy"):
        store.jobs.find("ab")
    for word in ("", "nothing", "%", "\x00"):
        with pytest.raises(NotFound):
            store.jobs.find(word)


def test_newest_job_is_the_one_submitted_last_although_the_clock_was_set_back(store: Store) -> None:
    for n, hours in enumerate((0, -8)):
        added = job("cell", f"job{n}").model_copy(update={"submitted_at": now() + timedelta(hours=hours)})
        store.jobs.insert(added, str(n), "attach").result()
    assert store.jobs.find("last").id == store.jobs.find("cell").id == "job1"
    newest = store.jobs.attachable("attach")
    assert newest and newest.id == "job1"


def test_pages_have_filters_and_totals(store: Store) -> None:
    for n in range(7):
        store.jobs.insert(job(f"job {n}", f"id{n}", labels={"even": str(n % 2 == 0)}), str(n), "").result()
    store.jobs.update("id3", status=JobStatus.STOPPED).result()
    page, total = store.jobs.page(JobFilter(limit=3, offset=2))
    assert ([result.id for result in page], total) == (["id4", "id3", "id2"], 7)
    assert [result.id for result in store.jobs.page(JobFilter([JobStatus.STOPPED]))[0]] == ["id3"]
    assert [result.id for result in store.jobs.page(JobFilter(name="b 5"))[0]] == ["id5"]
    assert store.jobs.page(JobFilter(labels={"even": "True"}, limit=1))[1] == 4
    assert store.jobs.page(JobFilter(name="%"))[1] == 0
    assert store.jobs.page(JobFilter(backends=["local", "other"], name="job"))[1] == 7
    assert store.jobs.page(JobFilter(backends=["other"]))[1] == 0
    store.jobs.insert(job("of a notebook", "nb").model_copy(update={"notebook": "/a/b.ipynb"}), "nb", "").result()
    page, total = store.jobs.page(JobFilter(notebook="/a/b.ipynb", sort="hp:lr"))
    assert ([result.notebook for result in page], total) == (["/a/b.ipynb"], 1)
    assert store.jobs.page(JobFilter(notebook="/a/b.ipyn"))[1] == 0


def test_filter_has_at_most_the_labels_of_a_job(store: Store) -> None:
    labels = {f"n{n}": "x" for n in range(limits.MOST_LABELS)}
    assert store.jobs.page(JobFilter(labels=labels)) == ([], 0)
    assert store.jobs.page(JobFilter([JobStatus.FAILED], labels=labels, folded=True)) == ([], 0)
    with pytest.raises(UsageError, match=r"101 labels are required, but a job has at most 100\."):
        JobFilter(labels={**labels, "one": "more"})


def test_short_queries_agree_with_the_jobs(store: Store) -> None:
    for job_id, status in (("run", JobStatus.RUNNING), ("done", JobStatus.SUCCEEDED), ("wait", JobStatus.QUEUED)):
        added = job(job_id=job_id, environment={"WHO": f"of {job_id}"}).model_copy(update={"backend": f"on {job_id}"})
        store.jobs.insert(added, f"key {job_id}", f"cell {job_id}").result()
        store.jobs.update(job_id, status=status, remote_id=f"remote {job_id}").result()
    assert store.jobs.ids() == {"run", "done", "wait"}
    assert {found.id for found in store.jobs.active()} == {"run", "wait"}
    assert store.jobs.active_backends() == {"run": "on run", "wait": "on wait"}
    assert store.jobs.active_statuses() == {"run": ("running", "remote run"), "wait": ("queued", "remote wait")}
    assert store.jobs.status("done") is JobStatus.SUCCEEDED
    with pytest.raises(NotFound):
        store.jobs.status("gone")
    assert [store.jobs.any_spec_contains(text) for text in ("of done", "of nothing")] == [True, False]
    found = store.jobs.by_remote_id("on run", "remote run")
    assert found and found.id == "run"
    assert store.jobs.by_remote_id("on run", "remote wait") is None
    keyed = store.jobs.by_key("key wait")
    assert keyed and keyed.id == "wait"
    assert (store.jobs.by_key(""), store.jobs.by_key("other")) == (None, None)
    attached = store.jobs.attachable("cell run")
    assert attached and attached.id == "run"


def test_disk_usage_is_kept_for_existing_jobs(store: Store) -> None:
    for job_id in ("one", "two", "run"):
        store.jobs.insert(job(job_id=job_id), job_id, "").result()
    for job_id in ("one", "two"):
        store.jobs.update(job_id, status=JobStatus.FAILED, ended_at=now()).result()
    usage = store.disk_usage
    usage.record({"jobs/one": 10, "jobs/gone": 20, "sources/x": 5, "sources/y": 1}).result()
    assert (usage.total(), usage.sizes("sources/"), usage.sizes("jobs/")) == (
        16,
        {"sources/x": 5, "sources/y": 1},
        {"jobs/one": 10},
    )
    assert {found.id: found.bytes for found in usage.finished_jobs()} == {"one": 10, "two": None}
    usage.forget("sources/x").result()
    assert usage.total() == 11
    assert usage.pending_removals() == []
    store.jobs.delete("one").result()
    assert (usage.pending_removals(), usage.total()) == (["one"], 1)
    usage.confirm_removal("one").result()
    assert usage.pending_removals() == []


def test_names_are_read_without_the_engine(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "pai.sqlite3"
    for number in range(60):
        added = job(f"n{number % 2}", f"id{number:02}", instance_type="gpu" if number == 3 else "")
        store.jobs.insert(added, str(number), "").result()
    store.jobs.update("id59", status=JobStatus.FAILED).result()
    assert names.used_profiles(path) == {"work": "local"}
    assert names.used_instance_types(path) == {"gpu": "local"}
    found = names.job_names(path, "id")
    assert len(found) == 52 and found["id59"] == "n1, failed"
    assert names.job_names(path, "n1")["n1"] == "id59, failed"
    assert {*names.job_names(path, "", ended=True)} == {"id59", "n1"}
    assert "id59" not in names.job_names(path, "id", ended=False)
    assert names.job_names(path, "x") == names.job_names(tmp_path / "none", "") == {}


def test_event_names_the_changed_fields(store: Store) -> None:
    store.jobs.insert(job(), "key", "").result()
    store.jobs.update("aaaa", notes=("n",), reason="".join(["a", "b"])).result()
    store.jobs.update("aaaa", reason="".join(["a", "b"]), pinned=True).result()
    details = [event.data for event in store.events.read() if event.kind == "detail"]
    assert details == [{"fields": ["reason"]}, {"fields": ["pinned"], "pinned": True}]


def platform_events(store: Store) -> list[dict[str, Any]]:
    return [event.data for event in store.events.read(limit=5000) if event.kind == "platform"]


def test_events_of_a_platform_have_times_and_a_cursor(store: Store) -> None:
    store.jobs.insert(job(), "key", "").result()
    assert store.events.cursor("aaaa") == ""
    time = datetime(2026, 1, 2, tzinfo=UTC)
    events = [PlatformEvent("one", time), PlatformEvent("two", warning=True, instance="worker-1")]
    store.events.add("aaaa", events, "c1").result()
    store.events.add("aaaa", [PlatformEvent("three")], "c2").result()
    assert (store.events.cursor("aaaa"), store.events.cursor("bbbb")) == ("c2", "")
    assert platform_events(store) == [
        {"text": "one"},
        {"text": "two", "warning": True, "instance": "worker-1"},
        {"text": "three"},
    ]
    first, second, _third = (event.time for event in store.events.read() if event.kind == "platform")
    assert first == time
    assert second > time
    assert store.events.last_id() == 4
    assert store.events.read(job_id="bbbb") == []


def test_counted_event_replaces_the_earlier_one(store: Store) -> None:
    store.jobs.insert(job(), "key", "").result()
    for n in range(3):
        store.events.add("aaaa", [PlatformEvent(f"pulled {n} times", key="pull")], str(n)).result()
        store.events.add("aaaa", [PlatformEvent(f"single {n}")], str(n)).result()
    assert [data["text"] for data in platform_events(store)] == ["single 0", "single 1", "pulled 2 times", "single 2"]
    twice = [PlatformEvent("pulled 3 times", key="pull"), PlatformEvent("pulled 4 times", key="pull")]
    store.events.add("aaaa", twice, "4").result()
    assert [data["text"] for data in platform_events(store)][3:] == ["pulled 4 times"]
    assert store.events.cursor("aaaa") == "4"


def test_keys_of_events_are_no_numbers_and_may_be_long(store: Store, tmp_path: Path) -> None:
    store.jobs.insert(job(), "key", "").result()
    store.events.add(
        "aaaa", [PlatformEvent("first"), PlatformEvent("second"), PlatformEvent("k", key="1")], "1"
    ).result()
    assert [data["text"] for data in platform_events(store)] == ["first", "second", "k"]
    with contextlib.closing(sqlite3.connect(tmp_path / "pai.sqlite3")) as database, database:
        database.execute("UPDATE event SET data = '{' WHERE data LIKE '%second%'")
    for n in range(2):
        store.events.add("aaaa", [PlatformEvent(f"long {n}", key="x" * 300)], "2").result()
    assert [data["text"] for data in platform_events(store)] == ["first", "k", "long 1"]


def test_events_without_a_cursor_are_replaced(store: Store, tmp_path: Path) -> None:
    """Earlier versions counted them. All are fetched again."""
    store.jobs.insert(job(), "key", "").result()
    with contextlib.closing(sqlite3.connect(tmp_path / "pai.sqlite3")) as database, database:
        row = ("aaaa", 1.0, "platform", '{"text": "old"}')
        database.execute("INSERT INTO event (job_id, time, kind, data) VALUES (?, ?, ?, ?)", row)
    assert [data["text"] for data in platform_events(store)] == ["old"]
    store.events.add("aaaa", [PlatformEvent("old"), PlatformEvent("new")], "2").result()
    assert [data["text"] for data in platform_events(store)] == ["old", "new"]


def test_events_of_a_platform_are_bounded(store: Store) -> None:
    store.jobs.insert(job(), "key", "").result()
    texts = [["x" * 10_000, *map(str, range(800))], [*map(str, range(800))], ["late"]]
    for n, some in enumerate(texts):
        store.events.add("aaaa", [PlatformEvent(text) for text in some], str(n)).result()
    stored = [data["text"] for data in platform_events(store)]
    assert len(stored) == limits.MOST_EVENTS == 1_000
    assert stored[0] == "x" * 3_999 + "…"
    assert stored[-2:] == ["197", "Further events were omitted."]
    assert store.events.cursor("aaaa") == "1"


def test_labels_of_a_job_are_bounded(store: Store) -> None:
    store.jobs.insert(job(), "key", "").result()
    store.jobs.label("aaaa", {f"n{n}": "x" for n in range(100)}).result()
    with pytest.raises(BadInput, match="at most 100 labels"):
        store.jobs.label("aaaa", {"more": "x"}).result()
    labels = store.jobs.label("aaaa", {"more": "x", "n0": None}).result().labels
    assert len(labels) == 100


VALUES = st.sampled_from(["1", "10", "9", "2.5", "-1e3", "1.0", "inf", "nan", "a", "B", "", "中", "0x10", " 7 "])
ROWS = st.lists(
    st.tuples(
        st.sampled_from(["a", "B", "b", "中"]),
        st.none() | VALUES,
        st.sampled_from(list(JobStatus)),
        st.integers(0, 3),
        st.none() | st.integers(0, 5),
    ),
    max_size=12,
)


def key_of(sort: str, result: Job) -> tuple[int, Any, str]:
    """Sort numbers as numbers, then texts, then missing values."""
    if sort == "hp:lr":
        value = result.spec.hyperparameters.get("lr")
        if value is None:
            return 2, 0, ""
        number = schema.number_of(value)
        return (0, number, value) if number is not None else (1, 0, value)
    if sort == "took":
        if result.started_at is None or result.ended_at is None:
            return 2, 0, ""
        return 0, (result.ended_at - result.started_at).total_seconds(), ""
    return 0, {"name": result.name.lower(), "status": result.status.value, "submitted": 0}[sort], ""


@settings(max_examples=MANY.max_examples // 10)
@given(rows=ROWS, sort=st.sampled_from([*SORTS, "hp:lr"]), descending=st.booleans(), size=st.integers(1, 5))
def test_pages_of_any_sort_order_contain_each_job_once(
    rows: list[tuple[str, str | None, JobStatus, int, int | None]], sort: str, descending: bool, size: int
) -> None:
    with TemporaryDirectory() as folder, contextlib.closing(Store(Path(folder, "pai.sqlite3"))) as store:
        begun = now()
        jobs = []
        for n, (name, value, status, second, took) in enumerate(rows):
            made = job(name, f"id{n}", hyperparameters={} if value is None else {"lr": value}, labels={"odd": n % 2})
            times: dict[str, Any] = {"submitted_at": begun + timedelta(seconds=second), "status": status}
            if took is not None:
                times |= {"started_at": begun, "ended_at": begun + timedelta(seconds=took)}
            jobs.append(made.model_copy(update=times))
            store.jobs.insert(jobs[-1], str(n), "").result()

        def page(offset: int, limit: int) -> list[Job]:
            wanted = JobFilter(labels={"odd": "1"}, limit=limit, offset=offset, sort=sort, descending=descending)
            result, total = store.jobs.page(wanted)
            assert total == len(jobs) // 2
            return result

        whole = page(0, 500)
        assert sorted(result.id for result in whole) == sorted(result.id for result in jobs[1::2])
        assert [result for offset in range(0, len(whole) + size, size) for result in page(offset, size)] == whole
        keys = [key_of(sort, result) for result in whole]
        assert [key[0] for key in keys] == sorted(key[0] for key in keys)
        for rank in range(3):
            ranked = [key for key in keys if key[0] == rank]
            assert ranked == sorted(ranked, reverse=descending)
        newest_first = descending if sort == "submitted" else not descending
        for one, other in itertools.pairwise(whole):
            if key_of(sort, one) == key_of(sort, other):
                assert (
                    (one.submitted_at >= other.submitted_at)
                    if newest_first
                    else (one.submitted_at <= other.submitted_at)
                )


def test_jobs_of_schema_version_1_can_be_sorted(tmp_path: Path) -> None:
    path = tmp_path / "pai.sqlite3"
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.executescript(FIRST)
        db.execute("PRAGMA user_version = 1")
        for n, value in enumerate(("10", "9", "x")):
            made = job(job_id=f"id{n}", hyperparameters={"lr": value})
            row = rows.row_of(made) | {"key": str(n), "attach_key": ""}
            del row["pinned"], row["notebook"], row["workflow"], row["form"]
            db.execute(f"INSERT INTO job ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})", list(row.values()))
            db.execute("INSERT INTO job_spec VALUES (?, ?)", (made.id, made.spec.model_dump_json()))
            db.execute("INSERT INTO job_detail VALUES (?, ?)", (made.id, rows.detail_of(made)))
            db.execute("INSERT INTO hyperparameter VALUES (?, 'lr', ?)", (made.id, value))
    with contextlib.closing(Store(path)) as store:
        page, _total = store.jobs.page(JobFilter(sort="hp:lr", descending=False))
    assert [result.spec.hyperparameters["lr"] for result in page] == ["9", "10", "x"]


def test_attachable_jobs_are_active_or_succeeded(store: Store) -> None:
    store.jobs.insert(job(job_id="a"), "1", "cell").result()
    assert store.jobs.attachable("cell").id == "a"  # type: ignore[union-attr]
    store.jobs.update("a", status=JobStatus.FAILED).result()
    assert store.jobs.attachable("cell") is None
    store.jobs.insert(job(job_id="b"), "2", "cell").result()
    store.jobs.update("b", status=JobStatus.SUCCEEDED).result()
    assert store.jobs.attachable("cell").id == "b"  # type: ignore[union-attr]
    assert store.jobs.attachable("") is None


def test_changed_labels_leave_the_spec_unchanged(store: Store) -> None:
    store.jobs.insert(job(labels={"team": "x", "old": "1"}), "key", "").result()
    assert store.jobs.get("aaaa").labels == {"team": "x", "old": "1"}
    changed = store.jobs.label("aaaa", {"old": None, "best": "yes"}).result()
    assert changed.labels == {"team": "x", "best": "yes"}
    assert changed.spec.labels == {"team": "x", "old": "1"}
    assert store.jobs.get("aaaa") == changed
    assert [store.jobs.page(JobFilter(labels={key: "yes"}))[1] for key in ("best", "old")] == [1, 0]
    assert store.jobs.page(JobFilter(labels={"old": "1"}))[1] == 0
    event = store.events.read()[-1]
    assert (event.kind, event.data) == ("detail", {"fields": ["labels"], "labels": {"best": "yes", "old": None}})
    with pytest.raises(NotFound, match=r"`tem`.*`team`"):
        store.jobs.label("aaaa", {"tem": None, "x": "y"}).result()
    assert store.jobs.label("aaaa", {"best": "yes"}).result() == changed
    assert store.events.read()[-1] == event


@pytest.mark.parametrize(("writer", "reader"), [("en", "zh-CN"), ("zh-CN", "en")])
def test_texts_are_read_in_the_language_of_the_reader(tmp_path: Path, writer: str, reader: str) -> None:
    """From the database, from one rebuilt from the files, and from events. Texts of a platform pass unchanged."""
    shown = {"en": ("Out of memory.", "w: 2 GPUs"), "zh-CN": ("内存不足。", "w: 2 块 GPU")}
    (tmp_path / "jobs" / "aaaa").mkdir(parents=True)
    (tmp_path / "jobs" / "aaaa" / "spec.json").write_text(job().spec.model_dump_json())
    with contextlib.closing(Store(tmp_path / "pai.sqlite3")) as store, use_language(writer):
        notes = ("running", "w: " + ngettext("{n} GPU", "{n} GPUs", 2).format(n=2))
        store.jobs.insert(job().model_copy(update={"notes": notes}), "key", "").result()
        store.jobs.update("aaaa", status=JobStatus.FAILED, reason=_("Out of memory."), fix="Out of memory.").result()
        assert store.events.read()[-1].data["reason"] == shown[writer][0]
    for _again in range(2):
        with contextlib.closing(Store(tmp_path / "pai.sqlite3")) as store:
            for language in (reader, writer):
                with use_language(language):
                    found = store.jobs.get("aaaa")
                    texts = (found.reason, found.notes[1])
                    assert texts == shown[language]
                    assert (found.fix, found.notes[0]) == ("Out of memory.", "running")
                    reasons = [event.data.get("reason") for event in store.events.read()]
                    assert reasons in ([None, texts[0]], [None])  # A rebuilt database has no earlier events.
            with use_language(reader):  # A job that was read for another reader.
                assert json.loads(found.model_dump_json())["reason"] == shown[reader][0]
        (tmp_path / "pai.sqlite3").unlink()


def test_reasons_of_excluded_paths_are_read_in_the_language_of_the_reader(tmp_path: Path) -> None:
    folder = JobFolder(tmp_path)
    with use_language("zh-CN"):
        Packing((ExcludedPath(".cache/", _("not needed by jobs")), ExcludedPath("a", "of a rule"))).write(folder)
    for language, why in (("en", "not needed by jobs"), ("zh-CN", "从不需要")):
        with use_language(language):
            assert [one.why for one in Packing.read(folder).excluded] == [why, "of a rule"]


def test_rebuilt_database_restores_labels(tmp_path: Path) -> None:
    for name, labels in (("aaaa", {"a": "1"}), ("bbbb", {"b": "2"})):
        folder = tmp_path / "jobs" / name
        folder.mkdir(parents=True)
        made = job(job_id=name, labels=labels)
        (folder / "spec.json").write_text(made.spec.model_dump_json())
        with contextlib.closing(Store(tmp_path / "pai.sqlite3")) as store:
            store.jobs.insert(made, name, "").result()
            store.jobs.label(name, {"new": "3"}).result()
    record = tmp_path / "jobs" / "bbbb" / "job.json"
    values = json.loads(record.read_text())
    assert values["job"].pop("labels") == {"b": "2", "new": "3"}
    record.write_text(json.dumps(values))  # As it was before labels were the job's own.
    (tmp_path / "pai.sqlite3").unlink()
    with contextlib.closing(Store(tmp_path / "pai.sqlite3")) as store:
        assert store.jobs.get("aaaa").labels == {"a": "1", "new": "3"}
        assert store.jobs.get("bbbb").labels == {"b": "2"}
        assert store.jobs.page(JobFilter(labels={"new": "3"}))[1] == 1
        store.jobs.update("aaaa", status=JobStatus.RUNNING).result()
        assert 1e12 < store.events.last_id() < 2**53  # Later than all before, and exact in JavaScript.


def test_events_are_recorded_in_order(store: Store) -> None:
    store.jobs.insert(job(), "key", "").result()
    store.jobs.update("aaaa", status=JobStatus.RUNNING).result()
    store.jobs.update("aaaa", status=JobStatus.RUNNING).result()
    store.jobs.update("aaaa", status=JobStatus.SUCCEEDED).result()
    reply = [(event.kind, event.data.get("status")) for event in store.events.read()]
    assert reply == [("status", "starting"), ("status", "running"), ("status", "succeeded")]
    last = store.events.last_id()
    store.jobs.delete("aaaa").result()
    assert [event.kind for event in store.events.read(last)] == ["deleted"]
    with pytest.raises(NotFound):
        store.jobs.get("aaaa")


def test_two_processes_write_concurrently(store: Store, tmp_path: Path) -> None:
    code = f"""
import sys; sys.path.insert(0, {str(Path(__file__).parents[3])!r})
from pathlib import Path
from jupyter_pai.jobs.store.store import Store
from tests.unit.jobs.test_store import job
store = Store(Path({str(store.database.path)!r}))
for n in range(60):
    store.jobs.insert(job(job_id=f"{{sys.argv[1]}}{{n}}"), f"{{sys.argv[1]}}{{n}}", "").result()
    store.jobs.update(f"{{sys.argv[1]}}{{n}}", reason="r").result()
"""
    writers = [subprocess.Popen([sys.executable, "-c", code, name]) for name in "ab"]
    assert [writer.wait() for writer in writers] == [0, 0]
    assert store.jobs.page(JobFilter())[1] == 120


def test_ended_threads_leave_no_connection(store: Store) -> None:
    """A server starts many threads during its life."""
    store.jobs.insert(job(), "key", "").result()

    def read_in_threads(count: int) -> int:
        for _n in range(count):
            reader = threading.Thread(target=store.jobs.get, args=("aaaa",))
            reader.start()
            reader.join()
        return len(os.listdir("/proc/self/fd"))

    assert read_in_threads(50) == read_in_threads(1)


@pytest.mark.slow("random")
def test_closing_waits_for_readers(tmp_path: Path) -> None:
    """In its own process, since SQLite crashes if a connection is closed during a read of another thread."""
    code = """
import threading
from pathlib import Path
from jupyter_pai.core.errors import StateError
from jupyter_pai.jobs.store.query import JobFilter
from jupyter_pai.jobs.store.store import Store
from tests.unit.jobs.test_store import job
def read(store, reads):
    try:
        while True:
            store.jobs.page(JobFilter())
            reads.set()
    except StateError:
        pass
for n in range(40):
    store = Store(Path(f"{n}.sqlite3"))
    store.jobs.insert(job(), "key", "").result()
    started = [threading.Event() for _ in range(3)]
    readers = [threading.Thread(target=read, args=(store, reads)) for reads in started]
    for reader, reads in zip(readers, started):
        reader.start()
        reads.wait()
    store.close()
    for reader in readers:
        reader.join()
"""
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[3])}
    run = [sys.executable, "-c", code]
    done = subprocess.run(run, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_database_of_schema_version_1_is_migrated(tmp_path: Path) -> None:
    path = tmp_path / "old.sqlite3"
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.executescript(FIRST)
        database.execute(
            "INSERT INTO job VALUES ('aaaa', 'k', '', 'x', 'local', 'local', '', 'failed', 1, 1.0, NULL, 2)"
        )
        database.execute(
            'INSERT INTO job_spec VALUES (\'aaaa\', \'{"name": "x", "command": "y", "labels": {"team": "x"}}\')'
        )
        database.execute("INSERT INTO job_detail VALUES ('aaaa', '{\"reason\": \"why\"}')")
        database.execute("PRAGMA user_version = 1")
    store = Store(path)
    result = store.jobs.get("aaaa")
    assert (result.reason, result.pinned, result.rerun_of, result.labels) == ("why", False, "", {"team": "x"})
    assert store.jobs.update("aaaa", pinned=True).result().pinned
    store.disk_usage.record({"jobs/aaaa": 5, "jobs/gone": 6, "environments/k": 7}).result()
    assert store.disk_usage.total() == 12
    store.close()
    again = Store(path)
    assert [(one.id, one.pinned, one.bytes) for one in again.disk_usage.finished_jobs()] == [("aaaa", True, 5)]
    again.close()


# As it was released.
FIRST = """
CREATE TABLE job (
    id TEXT PRIMARY KEY, key TEXT NOT NULL UNIQUE, attach_key TEXT NOT NULL, name TEXT NOT NULL,
    backend TEXT NOT NULL, profile TEXT NOT NULL, remote_id TEXT NOT NULL,
    status TEXT NOT NULL, ended INTEGER NOT NULL, submitted_at REAL NOT NULL, started_at REAL, ended_at REAL
);
CREATE INDEX job_by_time ON job (submitted_at DESC);
CREATE INDEX job_running ON job (ended) WHERE NOT ended;
CREATE INDEX job_by_attach_key ON job (attach_key);
CREATE TABLE job_spec (job_id TEXT PRIMARY KEY REFERENCES job ON DELETE CASCADE, spec TEXT NOT NULL);
CREATE TABLE job_detail (job_id TEXT PRIMARY KEY REFERENCES job ON DELETE CASCADE, detail TEXT NOT NULL);
CREATE TABLE label (
    job_id TEXT NOT NULL REFERENCES job ON DELETE CASCADE, key TEXT NOT NULL, value TEXT NOT NULL,
    PRIMARY KEY (job_id, key)
) WITHOUT ROWID;
CREATE INDEX label_by_value ON label (key, value);
CREATE TABLE hyperparameter (
    job_id TEXT NOT NULL REFERENCES job ON DELETE CASCADE, name TEXT NOT NULL, value TEXT NOT NULL,
    PRIMARY KEY (job_id, name)
) WITHOUT ROWID;
CREATE TABLE event (
    id INTEGER PRIMARY KEY AUTOINCREMENT, job_id TEXT NOT NULL, time REAL NOT NULL, kind TEXT NOT NULL,
    data TEXT NOT NULL
);
CREATE INDEX event_by_job ON event (job_id, id);
"""


def test_active_pinned_and_used_jobs_are_not_deleted(store: Store) -> None:
    store.jobs.insert(job(job_id="a"), "a", "").result()
    with pytest.raises(Conflict, match="still active"):
        store.jobs.delete("a").result()
    store.jobs.update("a", status=JobStatus.SUCCEEDED, pinned=True).result()
    with pytest.raises(Conflict, match="pinned"):
        store.jobs.delete("a").result()
    store.jobs.update("a", pinned=False).result()
    store.jobs.insert(job(job_id="b"), "b", "", ["a"]).result()
    with pytest.raises(Conflict, match="b is using files of a"):
        store.jobs.delete("a").result()
    assert store.disk_usage.finished_jobs()[0].used
    store.jobs.update("b", status=JobStatus.FAILED).result()
    store.jobs.delete("a").result()
    assert store.disk_usage.pending_removals() == ["a"]
    with pytest.raises(Conflict, match="deleted"):
        store.jobs.insert(job(job_id="c"), "c", "", ["a"]).result()
    with pytest.raises(NotFound):
        store.jobs.get("c")
    store.disk_usage.confirm_removal("a").result()
    assert store.disk_usage.pending_removals() == []


def test_database_of_a_newer_version_is_rejected_unchanged(tmp_path: Path) -> None:
    path = tmp_path / "new.sqlite3"
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("PRAGMA user_version = 999")
    with pytest.raises(StateError, match="newer version") as caught:
        Store(path)
    assert "Upgrade" in caught.value.fix


def test_path_without_a_database_is_named(tmp_path: Path) -> None:
    path = tmp_path / "pai.sqlite3"
    path.mkdir()
    with pytest.raises(StateError, match=r"pai\.sqlite3"):
        Store(path)


def test_full_disk_raises_and_stores_nothing_partial(small_disk: Path) -> None:
    store = Store(small_disk / "pai.sqlite3")
    try:
        store.jobs.insert(job(), "1", "").result()
        fill(small_disk)
        for n in range(3):
            with pytest.raises(StateError, match=r"disk.*(full|I/O)|full"):
                store.jobs.insert(job(command="true #" + "x" * 90_000, job_id="big"), "2", "").result()
            assert store.jobs.page(JobFilter())[1] == 1, n
        (small_disk / "ballast").unlink()
        store.jobs.insert(job(command="true #" + "x" * 90_000, job_id="big"), "2", "").result()
        assert store.jobs.page(JobFilter())[1] == 2
    finally:
        store.close()


def test_events_keep_their_order_after_a_clock_change(store: Store) -> None:
    """The clock was set back while the job ran."""
    at = now()
    store.jobs.insert(job(), "key", "").result()
    ended = store.jobs.update(
        "aaaa", status=JobStatus.SUCCEEDED, started_at=at, ended_at=at - timedelta(hours=9)
    ).result()
    assert [event.data["status"] for event in store.events.read()] == ["starting", "succeeded"]
    assert duration(ended.model_dump(mode="json")) == "0.0 s"


def test_rebuilt_database_restores_pins_origins_and_uses(tmp_path: Path) -> None:
    """Each of these may keep a job's files from being deleted. Deleted jobs are not restored."""
    home = Home(tmp_path).create()
    made = [job(job_id=name) for name in ("first", "gone")]
    origin = {"rerun_of": "first", "resumed_from": "first", "notebook": "/a.ipynb"}
    made.append(job(job_id="second").model_copy(update=origin))
    with contextlib.closing(Store(home.database)) as store:
        for one in made:
            home.job(one.id).path.mkdir()
            home.job(one.id).spec.write_text(one.spec.model_dump_json())
            store.jobs.insert(one, one.id, "", ["first"] if one.rerun_of else []).result()
        store.jobs.update("first", status=JobStatus.SUCCEEDED, pinned=True).result()
        store.jobs.update("gone", status=JobStatus.FAILED).result()
        store.jobs.delete("gone").result()
    home.database.unlink()
    with contextlib.closing(Store(home.database)) as store:
        assert store.jobs.ids() == {"first", "second"}
        assert (store.jobs.get("second").rerun_of, store.jobs.get("second").resumed_from) == ("first", "first")
        assert [one.id for one in store.jobs.page(JobFilter(notebook="/a.ipynb"))[0]] == ["second"]
        assert store.jobs.get("first").pinned
        store.jobs.update("first", pinned=False).result()
        with pytest.raises(Conflict, match="second is using files of first"):
            store.jobs.delete("first").result()
        old = time.time() - 10**6
        for name in ("second", "gone"):
            os.utime(home.job(name).path, (old, old))
        assert disk.leftovers(home, set) == ["gone"]


def test_job_is_found_by_a_folder_of_its_outputs(store: Store, tmp_path: Path) -> None:
    fields: list[dict[str, Any]] = [{}, {"workflow": "run1"}, {"outputs": {"model": "/out/model-2/"}}]
    for number, changes in enumerate(fields):
        made = job(job_id=f"job{number}").model_copy(update={"outputs": {"model": "/out/model/"}} | changes)
        store.jobs.insert(made, made.id, "").result()
    uris = ["/out/model", "/out/other"]
    found = [store.jobs.with_outputs(uris, workflow) for workflow in ("", "run1", "run2")]
    assert [one.id for one in found if one] == ["job1", "job0", "job1"]
    assert store.jobs.with_outputs(["/out"], "") is None
    with contextlib.closing(sqlite3.connect(tmp_path / "pai.sqlite3")) as database, database:
        database.execute("UPDATE job_detail SET detail = '{' WHERE job_id = 'job1'")
    other = store.jobs.with_outputs(uris, "")
    assert other is not None
    assert other.id == "job0"
