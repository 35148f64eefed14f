"""Engines that are killed while they submit: afterwards there is one task with its job, or none and none will be."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import pytest

from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.client.job import JobHandle
from jupyter_pai.jobs.state_dir import Home

from ...conftest import script, until
from ...fakes.tione import TiOne
from ...support.killed_submits import after_restart, no_writes, only_job, submitting
from ..server.real_server import RealServer


@contextmanager
def killed_submit(folder: Path, *words: str) -> Iterator[Callable[[Callable[[], object]], None]]:
    """Submit code in a process, which is killed at the end."""
    script(folder, "print('done')")
    with submitting(folder, "train.py", "--yes", *words) as when:
        yield when


def names(tione: TiOne) -> list[str]:
    """Return our ids of the jobs whose tasks the platform has."""
    return [task.name.rpartition("-")[2] for task in tione.tasks]


def check_found(tione: TiOne) -> None:
    """The only task is that of the only job, which succeeds with its whole log and its outputs."""

    def check(engine: EmbeddedClient) -> None:
        job = only_job(engine, "succeeded")
        assert names(tione) == [job["id"]]
        assert tione.tasks[0].id == job["remote_id"]
        assert "done" in JobHandle(job, engine).logs().splitlines()
        assert job["outputs"]["model"].endswith(f"{job['remote_id']}/model/")

    after_restart(check)


@pytest.mark.slow("cases", first=1)
@pytest.mark.parametrize("action", ["ListObjects", "HeadObject", "PutObject"])
def test_kill_during_an_upload_leaves_no_job(tione: TiOne, home: Home, folder: Path, action: str) -> None:
    (folder / "data").mkdir()
    (folder / "data/row").write_text("a row\n")
    tione.faults.add("delay", f"cos:{action}", seconds=2)
    with killed_submit(folder, "--input", f"train={folder / 'data'}") as when:
        when(lambda: tione.count(action))
    tione.faults.clear()
    assert after_restart(lambda engine: engine.call("list_jobs")["jobs"]) == []
    assert tione.count("CreateTrainingTask") == 0


@pytest.mark.slow("cases", first=1)
@pytest.mark.parametrize("kind", ["reset", "503"])
def test_job_that_the_platform_never_got_is_not_sent_again(tione: TiOne, home: Home, folder: Path, kind: str) -> None:
    tione.faults.add(kind, "tione:CreateTrainingTask")
    with killed_submit(folder) as when:
        when(lambda: tione.count("CreateTrainingTask"))
    tione.faults.clear()
    sent = tione.count("CreateTrainingTask")
    job = after_restart(lambda engine: only_job(engine, "lost"))
    assert "Unknown at the platform" in job["reason"]
    assert job["id"] in job["fix"]
    assert (names(tione), tione.count("CreateTrainingTask")) == ([], sent)


@pytest.mark.slow("kills")
def test_task_without_its_id_in_the_row_is_found(tione: TiOne, home: Home, folder: Path) -> None:
    with closing(EmbeddedClient()) as engine:  # It makes the database.
        engine.call("list_jobs")
    tione.faults.add("delay", "tione:CreateTrainingTask", seconds=2, count=1)  # In which the database is locked.
    with killed_submit(folder) as when:
        when(lambda: tione.count("CreateTrainingTask"))
        with no_writes(home) as database:
            when(lambda: [one for one in tione.requests if one["action"] == "CreateTrainingTask" and one["status"]])
            (row,) = database.execute("SELECT remote_id FROM job").fetchall()
    assert not row[0]
    check_found(tione)
    assert tione.count("CreateTrainingTask") == 1


@pytest.mark.slow("kills")
def test_task_whose_reply_was_lost_is_found(tione: TiOne, home: Home, folder: Path) -> None:
    tione.faults.add("lost", "tione:CreateTrainingTask", count=1)
    tione.faults.add("reset", "tione:CreateTrainingTask")
    with killed_submit(folder) as when:
        when(lambda: tione.count("CreateTrainingTask") == 2)
    tione.faults.clear()
    check_found(tione)


@pytest.mark.slow("cases")
@pytest.mark.parametrize("action", ["CreateTrainingTask", "DescribeTrainingTask"])
def test_task_of_a_killed_server_is_followed_by_the_next_one(
    tione: TiOne, home: Home, tmp_path: Path, action: str
) -> None:
    """The server is killed while it creates the task, or follows it."""
    root, go = tmp_path / "notebooks", tmp_path / "go"
    root.mkdir()
    code = f"until [ -e {go} ]; do sleep 0.05; done; echo done\n"
    source = {"files": {"train.sh": code}}
    spec = {"name": "cut short", "profile": "tione", "source": source, "command": "echo begun; sh train.sh"}
    server = RealServer(root)

    def submit() -> None:
        with suppress(OSError):  # The reply is lost with the server.
            server.rest("POST", "/pai/api/v1/jobs", {"spec": spec, "confirmed": True})

    try:
        if action == "CreateTrainingTask":
            tione.faults.add("lost", f"tione:{action}", count=1)
            tione.faults.add("reset", f"tione:{action}")
        asking = threading.Thread(target=submit)
        asking.start()
        until(lambda: tione.tasks and tione.count(action))
        server.kill()
        asking.join()
        tione.faults.clear()
        go.touch()
        server.start()
        (name,) = names(tione)
        until(lambda: server.job(name).get("ended_at"))
        assert server.job(name)["status"] == "succeeded"
    finally:
        server.stop()
    check_found(tione)
