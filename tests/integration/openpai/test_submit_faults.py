"""Requests that fail at the submit, and limits of the run."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.client.job import JobHandle
from jupyter_pai.core.errors import PaiError, Throttled

from ...fakes.openpai import OpenPai
from .jobs import change_profile, ended, log, send, there


def test_requests_that_fail_make_one_job_each(engine: EmbeddedClient, server: OpenPai) -> None:
    for kind in ("500", "503", "reset", "cut", "throttled", "lost"):
        server.faults.add(kind, "rest:*", probability=0.017)
    jobs = _submit_many(engine, 20)
    assert server.faults.struck
    _check_one_each(server, jobs)


@pytest.mark.soak
def test_soak_requests_that_fail_make_one_job_each(engine: EmbeddedClient, server: OpenPai) -> None:
    for kind in ("500", "503", "reset", "cut", "throttled", "lost", "delay"):
        server.faults.add(kind, "rest:*", probability=0.014, seconds=30)
    _check_one_each(server, _submit_many(engine, 100))


def _submit_many(engine: EmbeddedClient, count: int) -> list[JobHandle]:
    with ThreadPoolExecutor(5) as threads:
        return [*threads.map(lambda n: send(engine, f"echo job {n}"), range(count))]


def _check_one_each(server: OpenPai, jobs: list[JobHandle]) -> None:
    server.faults.clear()
    ids = [job.info["remote_id"] for job in jobs]
    assert {*ids} == server.execute(lambda: {*server._site.jobs})
    assert len({*ids}) == len(jobs)
    for job in jobs:
        assert ended(server, job).state == "SUCCEEDED"


@pytest.mark.slow("cases", first=3)
@pytest.mark.parametrize("kind", ["lost", "500", "503", "reset", "cut"])
def test_submit_whose_reply_fails_is_repeated(engine: EmbeddedClient, server: OpenPai, kind: str) -> None:
    server.faults.add(kind, "rest:submit", count=2)
    job = send(engine, "true")
    assert server.count("rest:submit") >= 2
    assert ended(server, job).state == "SUCCEEDED"


@pytest.mark.slow("waits")
def test_server_that_always_fails_is_quoted(engine: EmbeddedClient, server: OpenPai) -> None:
    server.faults.add("500", "rest:submit", message="the disk of etcd is full")
    with pytest.raises(PaiError, match="the disk of etcd is full"):
        send(engine, "true")
    assert engine.call("list_jobs")["jobs"][0]["status"] == "failed"


class TestSubmitsOfAnHour:
    """A cluster with the default limit."""

    @pytest.fixture
    def server_settings(self) -> dict[str, Any]:
        return {"submits_an_hour": 60, "controller": False}

    @pytest.mark.slow("faults")
    def test_limit_is_explained(self, engine: EmbeddedClient, server: OpenPai) -> None:
        for _n in range(60):
            send(engine, "true")
        with pytest.raises(Throttled) as caught:
            send(engine, "true")
        assert "limits the submits of an hour. Try again in" in caught.value.fix
        assert server.count("rest:submit") == 61
        server.move_clock(3600)
        assert there(server, send(engine, "true"))


@pytest.mark.parametrize(
    ("change", "text"),
    [("virtual cluster", "You may use: default, vision."), ("storage", "You may use: nfs.")],
)
def test_grants_that_were_withdrawn_are_named(
    engine: EmbeddedClient, server: OpenPai, share: Path, change: str, text: str
) -> None:
    """The engine knows the grants of some seconds ago."""
    change_profile(engine, server, mounts={"nfs": str(share)})
    send(engine, "true")
    account = server._site.accounts.users["me"]
    (account.virtual_clusters if change == "virtual cluster" else account.storages).clear()
    with pytest.raises(PaiError) as caught:
        send(engine, "true")
    assert text in caught.value.fix
    assert caught.value.status in (400, 404)


def test_limit_ends_the_job_without_a_retry(engine: EmbeddedClient, server: OpenPai) -> None:
    job = send(engine, "trap 'echo asked; exit 3' TERM; while :; do sleep 0.1; done", max_run_time=1)
    assert ended(server, job).tasks[0].user_code == 124, log(server, job)
    assert "asked" in log(server, job)
    assert "Stopped: the maximum run time was reached." in log(server, job)
