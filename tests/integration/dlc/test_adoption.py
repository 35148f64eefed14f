"""Jobs from elsewhere, terminals, the account's key, and many jobs that are polled in lists."""

from __future__ import annotations

import json
import logging
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest

from jupyter_pai.backends.pai.dlc.backend import DlcBackend
from jupyter_pai.backends.pai.site import PaiSettings
from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.core.errors import Unsupported
from jupyter_pai.jobs.job import Job, JobStatus, now
from jupyter_pai.jobs.spec import parse_spec
from jupyter_pai.jobs.state_dir import Home
from jupyter_pai.jobs.store.store import Store

from ...conftest import submit, until
from ...fakes.alibaba import StandIn
from ...support.connections import run_and_close
from ..pai.test_terminals import typed

JOBS, PAGE = 1_000, 100


def test_own_job_is_known_elsewhere_with_its_outputs(engine: EmbeddedClient, pai: StandIn, home: Home) -> None:
    job = submit(
        engine, "echo here; echo x > $PAI_OUTPUT_MODEL/m", profile="dlc", name="my job", environment={"A": "1"}
    )
    job.wait()
    info = job.info
    listed = engine.call("remote_jobs", profile="dlc")["jobs"]
    assert [one["name"] for one in listed if one["job_id"] == job.id] == ["my_job"]
    # Another state folder knows only what the platform returns.
    backend = DlcBackend(PaiSettings(backend="dlc", **pai.settings()), home)
    found = run_and_close(lambda: backend.job(info["remote_id"]))
    assert (found.spec.name, found.spec.environment, found.report.status) == ("my_job", {"A": "1"}, "succeeded")
    assert found.outputs == info["outputs"]


def test_terminal_opens_in_a_running_job(engine: EmbeddedClient, pai: StandIn) -> None:
    job = submit(engine, "echo here; sleep 1000", profile="dlc")
    until(lambda: "here\n" in job.logs())
    url = job.terminal()
    assert "42\r\n" in typed(url, "echo $((6 * 7))")
    assert url not in json.dumps(pai.requests)
    job.stop()


def test_secrets_are_refused_and_the_key_is_nowhere(
    engine: EmbeddedClient, pai: StandIn, home: Home, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    with pytest.raises(Unsupported, match="secrets"):
        submit(engine, "true", profile="dlc", secrets={"KEY": "key"})
    job = submit(engine, "env; sleep 0", profile="dlc").wait()
    answers = [engine.call(verb, job=job.id) for verb in ("show", "events", "outputs", "provenance")]
    answers += [engine.call(verb, profile="dlc") for verb in ("instances", "images", "doctor")]
    secret = pai.key.secret
    assert secret not in json.dumps(answers) + caplog.text + job.logs() + json.dumps(pai.dlc.jobs)
    assert not [path for path in home.path.rglob("*") if path.is_file() and secret.encode() in path.read_bytes()]


def add_running(pai: StandIn, home: Home, count: int) -> dict[str, str]:
    """Add running jobs that were submitted from this state folder. Return our ids by remote ids."""
    home.create()
    ids = {remote_id: f"{number:08x}" for number, remote_id in enumerate(pai.dlc.add(count))}
    with closing(Store(home.database)) as store:
        stored = []
        for remote_id, job_id in ids.items():
            job = Job(
                id=job_id, spec=parse_spec({"name": "train", "command": "true"}), backend="dlc", profile="dlc",
                status=JobStatus.RUNNING, remote_id=remote_id, submitted_at=now(), started_at=now(),
            )  # fmt: skip
            home.job(job.id).path.mkdir(parents=True)
            home.job(job.id).spec.write_text(job.spec.model_dump_json(), "utf-8")
            stored.append(store.jobs.insert(job, job.id, ""))
        assert all(future.result() for future in stored)
    return ids


@pytest.mark.slow("counts")
def test_polling_a_thousand_jobs_takes_ten_requests(pai: StandIn, home: Home) -> None:
    there = add_running(pai, home, JOBS)
    with closing(EmbeddedClient()) as engine:

        def running() -> int:
            return int(engine.call("list_jobs", status=["running"])["total"])

        assert running() == JOBS
        actions = Counter(note["action"] for note in pai.requests if note["service"] == "dlc")
        # It has looked once, and may have begun once more.
        assert ({*actions}, actions["ListJobs"] <= 2 * JOBS // PAGE) == ({"ListJobs"}, True)
        ended = [*there][JOBS // 2]
        pai.dlc.set(ended, "Succeeded")
        until(lambda: running() == JOBS - 1)
        assert engine.call("show", job=there[ended])["status"] == "succeeded"
        # Only the ended job was polled singly.
        gets = [note for note in pai.requests if note["action"] == "GetJob"]
        assert 0 < len(gets) <= 4
    for remote_id in there:
        pai.dlc.remove(remote_id)


def test_doctor_and_lists(engine: EmbeddedClient, pai: StandIn, tmp_path: Path) -> None:
    findings = engine.call("doctor", profile="dlc")["findings"]
    assert [one for one in findings if one["state"] == "bad"] == []
    assert engine.call("instances", profile="dlc")["instances"]
    (profile,) = [one for one in engine.call("profiles")["profiles"] if one["name"] == "dlc"]
    assert [link["url"].partition("#")[2] for link in profile["links"]] == ["/job"]
