"""Tasks that engines follow: what users see of states, logs, events and failures."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.client.job import JobHandle
from jupyter_pai.jobs.state_dir import Home

from ...conftest import until
from ...fakes.tione import TiOne
from ...fakes.tione_client import Client
from .conftest import use_key
from .jobs import send
from .test_adoption import adopt


def waiting_for(*files: Path, between: str = ":") -> str:
    """Return commands that wait for each of these files."""
    return "\n".join(f"until [ -e {file} ]; do sleep 0.02; done; {between}" for file in files)


def events_of(engine: EmbeddedClient, job: JobHandle) -> list[str]:
    events = engine.call("events", job=job.id)["events"]
    return [str(one["data"]["text"]) for one in events if one["kind"] == "platform"]


def test_users_see_why_a_task_waits(engine: EmbeddedClient, tione: TiOne) -> None:
    tione.settings.room = False
    job = adopt(engine, Client(tione).submit("waits", "true"))
    with engine._context.service.watcher.watch(job.id):  # As a page does.
        until(lambda: any(text.startswith("FailedScheduling") for text in events_of(engine, job)))
        until(lambda: job.reason.startswith("FailedScheduling"))
    assert (job.status, job.info["platform_status"]) == ("queued", "PENDING")
    tione.settings.room = True
    assert job.wait().status == "succeeded"


def test_users_see_the_traceback_of_a_command_that_failed(engine: EmbeddedClient, tione: TiOne) -> None:
    job = adopt(engine, Client(tione).submit("fails", "python -c 'import nothing_of_this_name'"))
    job.wait()
    assert (job.status, job.exit_code) == ("failed", 1)
    assert "nothing_of_this_name" in job.reason


def test_submit_that_the_platform_gives_up_is_told(engine: EmbeddedClient, tione: TiOne) -> None:
    tione.fail_next("SUBMIT_FAILED", "insufficient quota in the cluster")
    job = adopt(engine, Client(tione).submit("fails", "true"))
    job.wait()
    assert (job.status, job.reason, job.info["platform_status"]) == (
        "failed", "insufficient quota in the cluster", "SUBMIT_FAILED"
    )  # fmt: skip
    assert job.logs() == ""


def test_log_goes_on_with_another_key_in_place_of_one_that_ends(
    engine: EmbeddedClient, tione: TiOne, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = tione.sts(3600)
    use_key(monkeypatch, tione, key)
    job = adopt(
        engine, Client(tione).submit("long", f"echo first; {waiting_for(tmp_path / 'go', between='echo last')}")
    )
    until(lambda: job.logs() == "first\n")
    tione.change_key(key.id, expires=0)
    until(lambda: "token" in job.reason)
    assert job.status == "running"
    (tmp_path / "go").touch()
    use_key(monkeypatch, tione)
    job.wait()
    assert (job.status, job.logs(), job.reason) == ("succeeded", "first\nlast\n", "")


def test_restarted_engine_continues_a_log(tione: TiOne, home: Home, tmp_path: Path) -> None:
    count = "for n in $(seq 700); do echo line $n; done"
    task = Client(tione).submit("long", f"{count}; {waiting_for(tmp_path / 'a', tmp_path / 'b', between=count)}")
    with closing(EmbeddedClient()) as first:
        job = adopt(first, task)
        until(lambda: job.logs().count("\n") == 700)
    (tmp_path / "a").touch()
    until(lambda: len(tione.task(task).run.lines) == 1400)
    with closing(EmbeddedClient()) as second:
        again = JobHandle(second.call("show", job=job.id), second)
        until(lambda: again.logs().count("\n") == 1400)
    (tmp_path / "b").touch()
    with closing(EmbeddedClient()) as third:
        again = JobHandle(third.call("show", job=job.id), third).wait()
        assert again.status == "succeeded"
        assert again.logs() == 3 * "".join(f"line {n}\n" for n in range(1, 701))


@pytest.mark.parametrize("server_settings", [{"calls_a_window": 1000, "log_lag": 1.5}])
def test_job_waits_for_lines_that_are_found_late(engine: EmbeddedClient, tione: TiOne) -> None:
    folder = "$(dirname $PAI_OUTPUT_MODEL)/output_parameters"
    steps = f"echo early; mkdir -p {folder}; printf 0.9 > {folder}/accuracy"
    job = send(engine, f"{steps}; sleep 0.5; echo late").wait()
    assert (job.status, job.info["output_parameters"]) == ("succeeded", {"accuracy": "0.9"})
    assert "early\nlate\n" in job.logs()
    adopted = adopt(engine, Client(tione).submit("theirs", "echo late")).wait()
    assert (adopted.status, adopted.logs()) == ("succeeded", "late\n")


def test_task_that_is_deleted_in_the_console_is_lost(engine: EmbeddedClient, tione: TiOne) -> None:
    (task,) = tione.add_tasks()
    tione.add_lines(task, "kept")
    job = adopt(engine, task)
    until(lambda: job.logs() == "kept\n")
    tione.remove_task(task)
    job.wait()
    assert (job.status, job.logs()) == ("lost", "kept\n")


def test_stopped_task_keeps_its_log(engine: EmbeddedClient, tione: TiOne) -> None:
    job = adopt(engine, Client(tione).submit("long", "trap 'echo ended; exit 1' TERM; echo up; sleep 1000 & wait"))
    until(lambda: job.logs() == "up\n")
    job.stop()
    job.wait()
    assert (job.status, job.logs()) == ("stopped", "up\nended\n")


def test_account_in_arrears_is_told(engine: EmbeddedClient, tione: TiOne) -> None:
    (task,) = tione.add_tasks()
    job = adopt(engine, task)
    tione.task(task).charge = "ARREARS_STOP"
    tione.set_task(task, "STOPPED")
    job.wait()
    assert (job.status, job.info["platform_status"]) == ("stopped", "STOPPED, ARREARS_STOP")
    assert "arrears" in job.reason
    assert "billing center" in job.info["fix"]


def test_terminal_is_a_page_for_users(engine: EmbeddedClient, tione: TiOne) -> None:
    (task,) = tione.add_tasks()
    job = adopt(engine, task)
    until(job.instances)
    assert engine.call("open_terminal", job=job.id)["url"].startswith(f"{tione.url}/webshell/")


def test_follows_lose_nothing_although_requests_fail(engine: EmbeddedClient, tione: TiOne) -> None:
    for kind in ("500", "503", "reset", "cut", "throttled", "lost"):
        tione.faults.add(kind, "tione:Describe*", probability=0.1 / 6, seconds=0)
    tasks = []
    for number in range(8):
        tasks.append(tione.add_tasks()[0])
        for n in range(0, 3000, 100):
            tione.add_lines(tasks[-1], *(f"{number} {k}" for k in range(n, n + 100)))
    jobs = [adopt(engine, task) for task in tasks]
    for task in tasks:
        tione.set_task(task, "SUCCEED")
    for number, job in enumerate(jobs):
        job.wait()
        assert (job.status, job.info["notes"]) == ("succeeded", [])
        assert job.logs() == "".join(f"{number} {n}\n" for n in range(3000))
    assert tione.faults.struck
