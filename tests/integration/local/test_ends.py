"""The end of a local job reaches those who wait for it or read it, whichever engine watches it, without a poll."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.engine.watcher.timings import Timings

from ...conftest import PATIENCE, submit, until

# No engine polls again during a test, neither all jobs nor the watched ones.
PAUSED = Timings(watched=3600, unwatched=3600, unwatched_max=3600)


class Gated:
    """A job that has started and ends when `open` is called."""

    def __init__(self, engine: EmbeddedClient, place: Path) -> None:
        self.gate, started = place / "gate", place / "started"
        os.mkfifo(self.gate)
        self.handle = submit(engine, f"touch {started}; read line < {self.gate}", cpu=0.01)
        self.id = self.handle.id
        until(started.exists)

    def open(self) -> None:
        self.gate.write_text("\n")


@pytest.fixture
def owner(home: object, system_path: Path) -> Iterator[EmbeddedClient]:
    with closing(EmbeddedClient(PAUSED, system_file=system_path)) as engine:
        yield engine


@pytest.fixture
def other(owner: EmbeddedClient, system_path: Path) -> Iterator[EmbeddedClient]:
    """A second engine on the same state folder."""
    with closing(EmbeddedClient(PAUSED, system_file=system_path)) as engine:
        yield engine


def stored(engine: EmbeddedClient, job: str) -> str:
    return str(engine.call("show", job=job)["status"])


def waiting(engine: EmbeddedClient, job: str) -> Future[Any]:
    """Start to wait for a job in an engine."""
    service = engine._context.service
    return asyncio.run_coroutine_threadsafe(service.wait(service.store.jobs.get(job), PATIENCE), engine._loop)


def test_end_of_a_job_is_stored_without_a_poll_while_nobody_waits(owner: EmbeddedClient, tmp_path: Path) -> None:
    job = Gated(owner, tmp_path)
    job.open()
    until(lambda: stored(owner, job.id) == "succeeded")


def test_waiting_engines_are_woken_by_the_end(owner: EmbeddedClient, other: EmbeddedClient, tmp_path: Path) -> None:
    job = Gated(owner, tmp_path)
    waits = [waiting(engine, job.id) for engine in (owner, other)]
    job.open()
    for wait in waits:
        wait.result(PATIENCE / 2)
    assert [stored(engine, job.id) for engine in (owner, other)] == ["succeeded"] * 2


def test_next_engine_is_woken_by_the_end_of_a_job_of_an_earlier_one(
    home: object, system_path: Path, tmp_path: Path
) -> None:
    with closing(EmbeddedClient(PAUSED, system_file=system_path)) as first:
        job = Gated(first, tmp_path)
    with closing(EmbeddedClient(PAUSED, system_file=system_path)) as second:
        job.open()
        until(lambda: stored(second, job.id) == "succeeded")


def test_killed_supervisor_wakes_the_engine(owner: EmbeddedClient, tmp_path: Path) -> None:
    job = Gated(owner, tmp_path)
    started = owner._context.service.home.job(job.id).path / "started"
    os.kill(int(started.read_text().split()[0]), 9)
    until(lambda: stored(owner, job.id) == "failed")


def test_request_waits_for_the_end_at_most_as_long_as_it_says(owner: EmbeddedClient, tmp_path: Path) -> None:
    job = Gated(owner, tmp_path)
    assert owner.call("show", job=job.id, wait=1)["ended_at"] is None
    with ThreadPoolExecutor(1) as thread:
        reply = thread.submit(owner.call, "show", job=job.id, wait=30)
        job.open()
        assert reply.result()["status"] == "succeeded"
    assert owner.call("show", job=job.id, wait=30)["status"] == "succeeded"


def test_wait_for_a_job_has_a_timeout(owner: EmbeddedClient, tmp_path: Path) -> None:
    job = Gated(owner, tmp_path)
    with pytest.raises(TimeoutError, match=job.id):
        job.handle.wait(0.1)
    job.open()
    assert job.handle.wait(PATIENCE).status == "succeeded"


def test_closed_engine_ends_its_waits(home: object, system_path: Path, tmp_path: Path) -> None:
    engine = EmbeddedClient(PAUSED, system_file=system_path)
    job = Gated(engine, tmp_path)
    wait = waiting(engine, job.id)
    engine.close()
    with pytest.raises(CancelledError):
        wait.result(PATIENCE)


def test_ends_of_many_jobs_at_once_are_stored(owner: EmbeddedClient, tmp_path: Path) -> None:
    places = [tmp_path / str(number) for number in range(10)]
    for place in places:
        place.mkdir()
    jobs = [Gated(owner, place) for place in places]
    for job in jobs:
        job.open()
    until(lambda: all(stored(owner, job.id) == "succeeded" for job in jobs))
