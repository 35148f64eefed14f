"""Engines that are killed while they submit: afterwards there is one job with its row, or none and none will be."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.jobs.state_dir import Home

from ...fakes.openpai import OpenPai
from ...support.killed_submits import after_restart, no_writes, only_job, submitting
from .conftest import log_in
from .jobs import IMAGE

pytestmark = pytest.mark.usefixtures("private_ml")


@pytest.fixture(autouse=True)
def login(server: OpenPai, home: Home) -> None:
    """A login, and a database, which a first engine has made."""
    with closing(EmbeddedClient()) as engine:
        log_in(engine)


@contextmanager
def killed_submit(folder: Path) -> Iterator[Callable[[Callable[[], object]], None]]:
    """Submit code in a process, which is killed at the end."""
    (folder / "code.txt").touch()
    with submitting(folder, "--command", "echo done", "--image", IMAGE["image"], "--yes") as when:
        yield when


def created(server: OpenPai) -> list[str]:
    """Return the jobs of the cluster."""
    return server.execute(lambda: [*server._site.jobs])


def test_document_without_a_row_leaves_nothing(server: OpenPai, home: Home, folder: Path) -> None:
    before = len(server.requests)
    server.faults.add("delay", "rest:*", seconds=2, count=1)  # In which the database is locked.
    with killed_submit(folder) as when:
        when(lambda: len(server.requests) > before)
        with no_writes(home):
            when(lambda: [*home.jobs.glob("*/document")])
    assert after_restart(lambda engine: engine.call("list_jobs")["jobs"]) == []
    assert (created(server), server.count("rest:submit")) == ([], 0)


def test_job_that_the_cluster_never_got_is_not_sent_again(server: OpenPai, home: Home, folder: Path) -> None:
    server.faults.add("reset", "rest:submit")
    with killed_submit(folder) as when:
        when(lambda: server.count("rest:submit"))
    server.faults.clear()
    sent = server.count("rest:submit")
    job = after_restart(lambda engine: only_job(engine, "lost"))
    assert "Unknown at the platform" in job["reason"]
    assert (created(server), server.count("rest:submit")) == ([], sent)


@pytest.mark.slow("kills")
def test_job_without_its_name_in_the_row_is_found(server: OpenPai, home: Home, folder: Path) -> None:
    server.faults.add("delay", "rest:submit", seconds=2, count=1)  # In which the database is locked.
    with killed_submit(folder) as when:
        when(lambda: server.count("rest:submit"))
        with no_writes(home) as database:
            when(lambda: [one for one in server.requests if one["action"] == "rest:submit" and one["status"]])
            (row,) = database.execute("SELECT remote_id FROM job").fetchall()
    assert not row[0]
    job = after_restart(lambda engine: only_job(engine, "succeeded"))
    assert created(server) == [job["remote_id"]]
    assert server.count("rest:submit") == 1


@pytest.mark.slow("kills")
def test_job_whose_reply_was_lost_is_found(server: OpenPai, home: Home, folder: Path) -> None:
    server.faults.add("lost", "rest:submit", count=1)
    server.faults.add("reset", "rest:submit")
    with killed_submit(folder) as when:
        when(lambda: server.count("rest:submit") == 2)
    server.faults.clear()
    job = after_restart(lambda engine: only_job(engine, "succeeded"))
    assert created(server) == [job["remote_id"]]
