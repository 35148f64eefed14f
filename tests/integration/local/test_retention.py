"""Disk usage and retention: pruned jobs and kept jobs."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.core.errors import Conflict
from jupyter_pai.engine.data import disk
from jupyter_pai.engine.profiles import Profiles
from jupyter_pai.engine.requests import Prune
from jupyter_pai.engine.retention import Retention
from jupyter_pai.jobs.job import Job, JobStatus, now
from jupyter_pai.jobs.spec import parse_spec
from jupyter_pai.jobs.state_dir import Home
from jupyter_pai.jobs.store.store import Store

from ...conftest import PATIENCE, script, submit, until

DAY = 86_400


def prune(engine: EmbeddedClient, **body: Any) -> dict[str, Any]:
    return dict(engine.call("prune", body=body))


def ids(result: dict[str, Any]) -> list[str]:
    return [job["id"] for job in result["jobs"]]


def there(engine: EmbeddedClient) -> set[str]:
    return {job["id"] for job in engine.call("list_jobs")["jobs"]}


def test_prune_removes_only_selected_jobs(engine: EmbeddedClient, home: Home, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    good = submit(engine, "echo w > $PAI_OUTPUT_MODEL/w", labels={"team": "x"}, output_path=str(outside)).wait()
    model = submit(engine, "head -c 300000 /dev/urandom > $PAI_OUTPUT_MODEL/w").wait()
    bad = submit(engine, "exit 3", labels={"team": "x"}).wait()
    running = submit(engine, "sleep 1000")
    assert ids(prune(engine)) == ids(prune(engine, older_than=60)) == []
    assert ids(prune(engine, larger_than=10**9)) == ids(prune(engine, keep=3)) == []
    assert ids(prune(engine, dry_run=True, larger_than=250_000)) == [model.id]
    assert ids(prune(engine, dry_run=True, status=["failed"])) == [bad.id]
    assert ids(prune(engine, dry_run=True, labels={"team": "x"})) == [bad.id, good.id]
    assert ids(prune(engine, dry_run=True, keep=1)) == [model.id, good.id]
    everything = prune(engine, dry_run=True, older_than=0)
    assert {job["id"]: job["has_model"] for job in everything["jobs"]} == {
        good.id: False, model.id: True, bad.id: False,
    }  # fmt: skip
    assert len(there(engine)) == 4
    before = disk.taken(home.jobs)
    done = prune(engine, keep=0, only_jobs=[good.id, model.id])
    assert ids(done) == [model.id, good.id]
    # File systems settle what is allocated some time after it was written.
    assert done["bytes"] == pytest.approx(before - disk.taken(home.jobs), rel=0.05)
    assert done["bytes"] > 300_000
    assert there(engine) == {bad.id, running.id} == {path.name for path in home.jobs.iterdir()}
    assert [path.read_text() for path in outside.glob("*/model/w")] == ["w\n"]
    running.stop().wait()


def test_pinned_and_used_jobs_are_kept(engine: EmbeddedClient, folder: Path) -> None:
    kept = submit(engine, "true").wait()
    engine.call("pin", job=kept.id)
    used = submit(engine, "echo 1 > $PAI_OUTPUT_CHECKPOINTS/step").wait()
    user = used.rerun(resume=True, command="sleep 1000")
    assert engine.call("show", job=kept.id)["pinned"]
    assert ids(prune(engine, keep=0)) == []
    with pytest.raises(Conflict, match=f"jupyter pai unpin {kept.id}"):
        kept.delete()
    user.stop().wait()
    engine.call("unpin", job=kept.id)
    assert set(ids(prune(engine, keep=0))) == {kept.id, used.id, user.id}
    assert there(engine) == set()


STATUSES = st.sampled_from(list(JobStatus))
JOBS = st.lists(
    st.tuples(STATUSES, st.booleans(), st.integers(0, 50), st.sampled_from("ab"), st.booleans()), max_size=12
)
CRITERIA = st.builds(
    Prune,
    older_than=st.none() | st.integers(0, 50 * DAY).map(float),
    larger_than=st.none() | st.integers(0, 10**6),
    keep=st.none() | st.integers(0, 12),
    status=st.lists(STATUSES, max_size=3).map(tuple),
    labels=st.dictionaries(st.just("team"), st.sampled_from("abc")),
    environments=st.booleans(),
)


@settings(max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(jobs=JOBS, criteria=CRITERIA)
def test_prune_never_selects_running_pinned_or_used_jobs(home: Home, jobs: list[Any], criteria: Prune) -> None:
    shutil.rmtree(home.path, ignore_errors=True)
    store = Store(home.create().database)
    try:
        kept = set()
        for n, (status, pinned, days, team, uses) in enumerate(jobs):
            job = a_job(f"job{n}", status, days, team, pinned)
            home.job(job.id).path.mkdir()
            used = [f"job{n - 1}"] if uses and n else []
            store.jobs.insert(job, job.id, "", used).result()
            if not status.ended or pinned:
                kept.add(job.id)
            if not status.ended:
                kept.update(used)
        done = asyncio.run(Retention(home, store, Profiles(home)).prune(criteria))
        gone = {job.id for job in done.jobs}
        assert gone & kept == set()
        assert done.kept == {}
        assert {path.name for path in home.jobs.iterdir()} == {f"job{n}" for n in range(len(jobs))} - gone
        assert criteria.names_jobs or not gone
        fitting = {
            f"job{n}"
            for n, (status, _pinned, days, team, _uses) in enumerate(jobs)
            if (not criteria.status or status in criteria.status)
            and criteria.labels.get("team", team) == team
            and (criteria.older_than is None or days * DAY >= criteria.older_than - 60)
        }
        assert gone <= fitting
        assert len(gone) <= max(len(fitting - kept) - (criteria.keep or 0), 0)
    finally:
        store.close()


def a_job(job_id: str, status: JobStatus, days: int = 0, team: str = "a", pinned: bool = False) -> Job:
    then = now() - timedelta(days=days)
    spec = parse_spec({"name": job_id, "command": "true", "labels": {"team": team}})
    return Job(
        id=job_id, spec=spec, backend="local", profile="local", status=status, submitted_at=then,
        ended_at=then if status.ended else None, pinned=pinned,
    )  # fmt: skip


def many_files(folder: Path) -> None:
    for n in range(20_000):
        (folder / f"file{n}").touch()


@pytest.mark.slow("kills")
def test_killed_delete_is_completed_later(home: Home) -> None:
    """Either all files exist, or the job is gone: from the list at once, from the disk when an engine starts."""
    engine = EmbeddedClient()
    job = submit(engine, "true").wait()
    engine.close()
    folder = home.job(job.id).path
    many_files(folder / "output")
    code = f"from jupyter_pai.client.connect import connect; connect().call('delete', job={job.id!r})"
    process = subprocess.Popen([sys.executable, "-c", code])
    until(lambda: len(os.listdir(folder / "output")) < 19_000)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert folder.exists()
    engine = EmbeddedClient()
    assert there(engine) == set()
    until(lambda: not folder.exists())
    store = Store(home.database)
    until(lambda: store.disk_usage.pending_removals() == [])
    store.close()
    engine.close()


@pytest.mark.slow("processes")
def test_two_engines_prune_concurrently(engine: EmbeddedClient, home: Home) -> None:
    first = submit(engine, "true").wait()
    jobs = [first.rerun().wait() for _ in range(8)]
    code = "from jupyter_pai.client.connect import connect; print(connect().call('prune', body={'keep': 0}))"
    both = [subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE, text=True) for _ in range(2)]
    for process in both:
        _out, err = process.communicate(timeout=PATIENCE)
        assert (process.returncode, err) == (0, "")
    assert there(engine) == set()
    assert list(home.jobs.iterdir()) == []
    assert len(jobs) == 8


def wheel(folder: Path) -> Path:
    """Build a package that is on no index."""
    path = folder / "tiny_pai_kept-1.5-py3-none-any.whl"
    info = "tiny_pai_kept-1.5.dist-info"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("tiny_pai_kept.py", "value = 7\n")
        archive.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: tiny-pai-kept\nVersion: 1.5\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
    return path


def test_environment_of_a_running_job_is_kept(engine: EmbeddedClient, home: Home, tmp_path: Path) -> None:
    command = "python -c 'import tiny_pai_kept; print(tiny_pai_kept.value, flush=True)'; exec sleep 1000"
    needs = [str(wheel(tmp_path))]
    job = submit(engine, command, requirements=needs)
    until(lambda: job.logs().endswith("7\n"))
    environment = next(path for path in home.environments.iterdir() if path.is_dir())
    # Also when it was not used for long, and when another job has begun and ended with it.
    assert submit(engine, "python -c 'import tiny_pai_kept'", requirements=needs).wait().status == "succeeded"
    os.utime(environment / "ready", (1, 1))
    assert prune(engine, environments=True)["environments"] == prune(engine)["environments"] == []
    assert (environment / "ready").exists()
    result = until(lambda: (reply := engine.call("provenance", job=job.id))["environment"] and reply)
    assert (result["environment"], result["packages"]["tiny-pai-kept"]) == (str(environment), "1.5")
    job.stop().wait()
    done = prune(engine)
    assert [one["id"] for one in done["environments"]] == [environment.name]
    assert done["bytes"] > 10_000
    assert not environment.exists()
    assert submit(engine, "python -c 'import tiny_pai_kept'", requirements=needs).wait().status == "succeeded"


@pytest.mark.slow("processes")
def test_jobs_start_while_environments_are_pruned(engine: EmbeddedClient, home: Home, tmp_path: Path) -> None:
    """A job never runs with a partly removed environment."""
    needs = [str(wheel(tmp_path))]
    jobs = []
    for _ in range(8):
        jobs.append(submit(engine, "python -c 'import tiny_pai_kept'", requirements=needs))
        prune(engine, environments=True)
    while not all(job.ended for job in jobs):
        prune(engine, environments=True)
    assert [job.logs() for job in jobs if job.status != "succeeded"] == []


@pytest.mark.slow("processes")
def test_submit_survives_concurrent_deletion_of_shared_code(engine: EmbeddedClient, folder: Path) -> None:
    script(folder, "print(1)")
    last = submit(engine, folder=folder, entry_point="train.py")
    for _ in range(25):
        job = submit(engine, folder=folder, entry_point="train.py")
        last.wait().delete()
        last = job
    assert last.wait().logs() == "1\n"


def test_leftovers_of_killed_submits_are_removed(home: Home) -> None:
    store = Store(home.create().database)
    old = time.time() - 2 * DAY
    for name in ("lost", "young", "held"):
        home.job(name).path.mkdir()
    held = subprocess.Popen(
        [sys.executable, "-c", f"import fcntl, sys; file = open('{home.job('held').path}/follower.lock', 'w'); "
         "fcntl.flock(file, fcntl.LOCK_EX); print(flush=True); sys.stdin.read()"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    assert held.stdout
    held.stdout.readline()
    for name in ("lost", "held"):
        os.utime(home.job(name).path, (old, old))
    (home.environments / "half").mkdir()
    (home.environments / "old").mkdir()
    (home.environments / "new").mkdir()
    for name, age in (("old", 31), ("new", 29)):
        (home.environments / name / "ready").touch()
        os.utime(home.environments / name / "ready", (time.time() - age * DAY,) * 2)

    async def keep_house() -> None:
        retention = Retention(home, store, Profiles(home))
        task = asyncio.create_task(retention.clean_up(first=0, interval=1000))
        while any((home.environments / name).exists() for name in ("half", "old")):
            await asyncio.sleep(0.01)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    asyncio.run(keep_house())
    assert {path.name for path in home.jobs.iterdir()} == {"young", "held"}
    assert {path.name for path in home.environments.iterdir() if path.is_dir()} == {"new"}
    held.communicate()
    store.close()


def test_exceeding_the_disk_limit_warns_and_deletes_nothing(engine: EmbeddedClient, home: Home, tmp_path: Path) -> None:
    job = submit(engine, "head -c 2000000 /dev/urandom > $PAI_OUTPUT_MODEL/w").wait()
    path = tmp_path / "jupyter-config" / "jupyter_pai.toml"
    path.parent.mkdir(exist_ok=True)
    path.write_text("[disk]\nlimit = '1MB'\n")
    assert engine.call("disk")["limit"] == 10**6
    reply = {finding["what"]: finding for finding in engine.call("doctor")["findings"]}["disk usage"]
    assert (reply["state"], "%pai prune" in reply["fix"]) == ("warn", True)
    note = submit(engine, "true").wait().info["notes"][0]
    assert "more than 1 MB" in note
    assert "%pai prune --older-than 30d" in note
    assert job.id in there(engine)
    path.write_text("[disk]\nlimit = '1GB'\n")
    assert submit(engine, "true").wait().info["notes"] == []


def test_disk_usage_is_reported_by_part(engine: EmbeddedClient, home: Home) -> None:
    large = submit(engine, "head -c 3000000 /dev/urandom > $PAI_OUTPUT_MODEL/w").wait()
    small = submit(engine, "true").wait()
    running = submit(engine, "sleep 1000")
    result = engine.call("disk")
    parts = {part["what"]: part for part in result["parts"]}
    assert [job["id"] for job in result["largest"]] == [large.id, small.id]
    assert 3_000_000 < result["largest"][0]["bytes"] < 3_400_000
    assert (parts["jobs"]["count"], parts["running"]["count"], parts["sources"]["count"]) == (2, 1, 1)
    assert result["bytes"] == sum(part["bytes"] for part in parts.values())
    assert 0.9 < result["bytes"] / disk.taken(home.path) < 1.1
    running.stop().wait()
