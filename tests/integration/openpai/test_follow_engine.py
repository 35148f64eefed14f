"""Jobs that engines follow: what users see of states, logs, events and failures."""

from __future__ import annotations

import shlex
from contextlib import closing
from pathlib import Path

import pytest

from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.client.job import JobHandle
from jupyter_pai.jobs.state_dir import Home

from ...conftest import until
from ...fakes.openpai import OpenPai
from .conftest import PROFILE, log_in
from .followed import Process, follow, waiting_for
from .jobs import send, there

pytestmark = pytest.mark.usefixtures("private_ml")


def printed(job: JobHandle) -> str:
    """Return the lines of a job's command."""
    lines = job.logs().splitlines(keepends=True)
    return "".join(line for line in lines if not line.startswith(("[pai]", "[jupyter-pai]")))


def events_of(engine: EmbeddedClient, job: JobHandle) -> list[str]:
    events = engine.call("events", job=job.id)["events"]
    return [str(one["data"]["text"]) for one in events if one["kind"] == "platform"]


def test_users_see_why_a_job_waits_and_that_it_stops(engine: EmbeddedClient, server: OpenPai) -> None:
    server.settings.room = False
    job = send(engine, "true")
    with engine._context.service.watcher.watch(job.id):  # As a page does.
        events = until(lambda: events_of(engine, job))
        assert events[0].startswith("FailedScheduling: 0/1 nodes are available")
        until(lambda: job.reason == events[0])
    assert job.status == "queued"
    server.settings.controller = False
    job.stop()
    until(lambda: job.info["platform_status"] == "stopping")
    assert job.status == "queued"
    server.settings.controller = True
    job.wait()
    assert (job.status, job.reason) == ("stopped", "Stopped by the user.")


def test_failure_is_explained_by_log_and_platform(engine: EmbeddedClient, server: OpenPai) -> None:
    job = send(engine, "python3 -c 'import no_such_module'").wait()
    assert (job.status, job.exit_code) == ("failed", 1)
    assert "No module named 'no_such_module'" in job.reason
    assert "no_such_module" in job.info["fix"], "the log tells more than the platform"
    other = send(engine, "exit 9").wait()
    assert (other.exit_code, other.info["fix"]) == (9, "the solution of UserCommandFailed")


def test_failed_command_runs_again_and_keeps_its_exit_code(engine: EmbeddedClient, server: OpenPai) -> None:
    job = send(engine, "echo run; exit 3", options={"task_retries": 1}).wait()
    assert (job.status, job.exit_code) == ("failed", 3)
    assert printed(job) == "run\nrun\n"
    assert [one["attempt"] for one in job.instances()] == [2]
    assert "Attempt 2 of worker-0 starts." in job.logs()


def test_metrics_and_output_parameters_come_from_the_log(engine: EmbeddedClient) -> None:
    folder = "/ml/output/output_parameters"
    steps = 'for n in 1 2 3; do echo "step $n loss=0.$n"; done'
    command = f"{steps}; mkdir -p {folder}; printf 0.9 > {folder}/accuracy"
    job = send(engine, command, metric_definitions=[{"name": "loss", "regex": r"loss=([0-9.]+)"}]).wait()
    assert job.status == "succeeded", job.reason
    assert job.output_parameters == {"accuracy": "0.9"}
    assert [point.value for point in job.metrics()] == [0.1, 0.2, 0.3]


def test_job_stands_while_the_token_is_revoked(
    engine: EmbeddedClient, server: OpenPai, home: Home, share: Path
) -> None:
    async def story(process: Process) -> str:
        return await process.submit("long", "echo first", waiting_for("go", between="echo last"))

    remote_id = follow(home, story)
    job = JobHandle(engine.call("adopt", body={"remote_id": remote_id, "profile": PROFILE}), engine)
    until(lambda: "first\n" in job.logs())
    server.revoke_tokens("me")
    until(lambda: "does not accept the token" in job.reason)
    assert job.status == "running"
    (share / "go").touch()
    until(lambda: server.job(remote_id).state == "SUCCEEDED")
    assert job.status == "running"
    log_in(engine)
    job.wait()
    assert (job.status, job.logs(), job.reason) == ("succeeded", "first\nlast\n", "")


def test_ended_job_waits_for_a_login_to_complete_its_log(
    engine: EmbeddedClient, server: OpenPai, home: Home, share: Path
) -> None:
    async def story(process: Process) -> str:
        return await process.submit("long", "echo first", waiting_for("go", between="echo last"))

    remote_id = follow(home, story)
    job = JobHandle(engine.call("adopt", body={"remote_id": remote_id, "profile": PROFILE}), engine)
    until(lambda: "first\n" in job.logs())
    # The token is revoked after the end was seen.
    server.faults.add("refused", "rest:logs", status=401, code="UnauthorizedUserError")
    server.move_clock(121)
    (share / "go").touch()
    until(lambda: "does not accept the token" in job.reason)
    assert job.status == "running"
    server.faults.clear()
    job.wait()
    assert (job.status, job.logs(), job.info["notes"]) == ("succeeded", "first\nlast\n", [])


def test_two_engines_follow_one_job(
    engine: EmbeddedClient, server: OpenPai, home: Home, tmp_path: Path, share: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story(process: Process) -> str:
        return await process.submit("shared", "for n in 1 2 3; do echo $n; done", waiting_for("go", between="echo end"))

    remote_id = follow(home, story)
    monkeypatch.setenv("JUPYTER_PAI_HOME", str(tmp_path / "other"))
    with closing(EmbeddedClient()) as second:
        body = {"remote_id": remote_id, "profile": PROFILE}
        jobs = [JobHandle(client.call("adopt", body=body), client) for client in (engine, second)]
        until(lambda: all(job.logs() == "1\n2\n3\n" for job in jobs))
        jobs[1].stop()
        for job in jobs:
            job.wait()
            assert (job.status, job.logs()) == ("stopped", "1\n2\n3\n")


def test_terminal_is_a_command_for_users(engine: EmbeddedClient, server: OpenPai) -> None:
    job = send(engine, "sleep 1000", options={"ssh": True})
    until(lambda: there(server, job).state == "RUNNING" and job.status == "running")
    words = shlex.split(engine.call("open_terminal", job=job.id)["command"])
    assert words == ["ssh", "-p", there(server, job).tasks[0].ports["ssh"], "root@127.0.0.1"]
    job.stop()
    job.wait()


@pytest.mark.parametrize("share_of_faults", [0.1])
def test_logs_are_complete_although_requests_fail(
    engine: EmbeddedClient, server: OpenPai, share_of_faults: float
) -> None:
    kinds = ("500", "503", "reset", "cut", "throttled", "lost")
    for kind in kinds:
        server.faults.add(kind, "*", probability=share_of_faults / len(kinds), seconds=0)
    jobs = [send(engine, f"for n in $(seq 0 99); do echo {number} $n; done") for number in range(4)]
    for number, job in enumerate(jobs):
        job.wait()
        assert job.status == "succeeded", job.reason
        assert printed(job) == "".join(f"{number} {n}\n" for n in range(100))
        assert not any("incomplete" in note for note in job.info["notes"])
    assert server.faults.struck
