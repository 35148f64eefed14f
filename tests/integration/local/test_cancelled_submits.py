"""Submits that are cancelled by their key, and submits of one cell at the same time."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.client.job import JobHandle
from jupyter_pai.core.errors import Conflict
from jupyter_pai.jobs.state_dir import Home

from ...conftest import SystemFile, script, until

# Bytes of a file without content, which takes seconds to pack.
LARGE = 2_000_000_000


@pytest.fixture
def spec(folder: Path) -> dict[str, Any]:
    script(folder, "print('trained')")
    return {"name": "x", "entry_point": "train.py", "source": {"folder": str(folder)}}


def jobs(engine: EmbeddedClient) -> list[str]:
    return [job["id"] for job in engine.call("list_jobs")["jobs"]]


def test_cancelled_submit_that_arrives_later_makes_no_job(
    engine: EmbeddedClient, home: Home, spec: dict[str, Any]
) -> None:
    assert engine.call("cancel_submit", key="k") == {"job": None}
    with pytest.raises(Conflict, match="cancelled"):
        engine.submit(spec, key="k")
    with pytest.raises(Conflict, match="cancelled"):
        engine.call("bring", body={"spec": spec, "key": "k"})
    assert (jobs(engine), list(home.jobs.iterdir())) == ([], [])
    assert engine.submit(spec, key="another")["job"]["id"] in jobs(engine)


def test_submit_is_cancelled_while_it_packs(
    engine: EmbeddedClient, home: Home, system: SystemFile, folder: Path, spec: dict[str, Any]
) -> None:
    system("[profiles.local]\nbackend = 'local'\nsource_limit = '4GB'\n")
    with (folder / "large.bin").open("wb") as file:
        file.truncate(LARGE)
    with ThreadPoolExecutor() as pool:
        submit = pool.submit(engine.submit, spec, key="k")
        until(lambda: any(home.sources.glob("*.new")))
        assert engine.call("cancel_submit", key="k") == {"job": None}
        # It has ended, and removed its files.
        assert (list(home.sources.iterdir()), list(home.jobs.iterdir())) == ([], [])
        with pytest.raises(Conflict, match="cancelled"):
            submit.result()
    assert jobs(engine) == []


def test_stored_job_is_returned_and_continues(engine: EmbeddedClient, spec: dict[str, Any]) -> None:
    job = engine.submit(spec, key="k")["job"]["id"]
    assert engine.call("cancel_submit", key="k")["job"]["id"] == job
    again = engine.call("rerun", job=job, body={"key": "again"})["job"]["id"]
    assert engine.call("cancel_submit", key="again")["job"]["id"] == again
    for one in (job, again):
        assert JobHandle(engine.call("show", job=one), engine).wait().status == "succeeded"


def test_requests_with_one_key_join(engine: EmbeddedClient, spec: dict[str, Any]) -> None:
    with ThreadPoolExecutor(8) as pool:
        replies = list(pool.map(lambda _n: engine.submit(spec, key="k"), range(8)))
    assert {reply["job"]["id"] for reply in replies} == set(jobs(engine))
    assert len(jobs(engine)) == 1


def test_concurrent_submits_of_one_cell_make_one_job(engine: EmbeddedClient, spec: dict[str, Any]) -> None:
    with ThreadPoolExecutor(8) as pool:
        replies = list(pool.map(lambda _n: engine.submit(spec, attach=True), range(8)))
    assert len(jobs(engine)) == 1
    assert sorted(reply["attached"] for reply in replies) == [False] + [True] * 7
