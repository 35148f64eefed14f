"""Jobs of the stand-in of OpenPAI are real processes; their logs are files with ranges, rotation and tokens."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from .openpai import OpenPai, openpai
from .openpai_client import Client, eventually, role

pytestmark = pytest.mark.usefixtures("private_ml")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[OpenPai]:
    (tmp_path / "share").mkdir()
    with openpai(tmp_path / "openpai", submits_an_hour=1000, storages={"nfs": str(tmp_path / "share")}) as running:
        running.add_user("admin", "password", storages=["nfs"])
        yield running


@pytest.fixture
def admin(server: OpenPai) -> Iterator[Client]:
    with Client(server) as client:
        yield client


def locations(admin: Client, name: str, role: str = "main", index: int = 0) -> dict[str, str]:
    path = f"/jobs/admin~{name}/attempts/0/taskRoles/{role}/taskIndex/{index}/attempts/0/logs"
    reply = admin.http.get(path)
    assert reply.status_code == 200, reply.text
    return {row["name"]: row["uri"] for row in reply.json()["locations"]}


def read(server: OpenPai, uri: str, **headers: str) -> httpx.Response:
    return httpx.get(server.url + uri, headers=headers, trust_env=False)


def tasks(detail: dict[str, Any]) -> list[dict[str, Any]]:
    return [task for row in detail["taskRoles"].values() for task in row["taskStatuses"]]


def test_two_roles_run_as_processes_that_know_each_other(server: OpenPai, admin: Client, tmp_path: Path) -> None:
    say = (
        'echo "$PAI_JOB_NAME $PAI_CURRENT_TASK_ROLE_NAME $PAI_TASK_INDEX $PAI_TASKS_NUM $PAI_TASK_ROLE_INSTANCES"\n'
        'echo "$PAI_CURRENT_TASK_ROLE_NAME-$PAI_TASK_INDEX" > "/mnt/nfs/$PAI_CURRENT_TASK_ROLE_NAME-$PAI_TASK_INDEX"\n'
        "echo $PAI_ps_0_web_PORT; mkdir /ml/mine"
    )
    roles = {"ps": role(say, resources={"ports": {"web": 1}}), "worker": role(say, instances=2)}
    admin.submit("two", roles=roles, extras={"storages": [{"name": "nfs"}]})
    detail = admin.wait("two")
    assert [task["taskState"] for task in tasks(detail)] == ["SUCCEEDED"] * 3, detail
    port = tasks(detail)[0]["containerPorts"]["web"]
    found = read(server, locations(admin, "two", "worker", 1)["stdout"]).text
    assert found.splitlines() == ["admin~two worker 1 3 ps:0,worker:0,worker:1", port]
    assert sorted(path.name for path in (tmp_path / "share").iterdir()) == ["ps-0", "worker-0", "worker-1"]


@pytest.mark.parametrize("command", ["false\ntrue", "echo $UNSET_NAME", "false | true"])
def test_bash_ends_at_the_first_failure(admin: Client, command: str) -> None:
    admin.submit("fails", command)
    detail = admin.wait("fails")
    assert (detail["jobStatus"]["state"], detail["jobStatus"]["appExitCode"]) == ("FAILED", 220)


def test_role_that_the_runtime_does_not_find_fails(admin: Client) -> None:
    admin.submit("mine", roles={"My_Role": role("true")})
    detail = admin.wait("mine")
    assert [*detail["taskRoles"]] == ["myrole"] and detail["jobStatus"]["appExitCode"] == 255


def test_stop_ends_the_processes(server: OpenPai, admin: Client, tmp_path: Path) -> None:
    admin.submit("long", "sleep 1000 & wait")
    admin.wait("long", "RUNNING")
    assert admin.stop("long").status_code == 202
    status = admin.wait("long", "STOPPED")["jobStatus"]
    assert (status["appExitCode"], status["executionType"]) == (-210, "STOP")
    assert admin.stop("long").status_code == 202


def test_stop_before_the_start_shows_waiting(server: OpenPai, admin: Client) -> None:
    server.settings.room = False
    admin.submit("waits", "true")
    eventually(lambda: admin.http.get("/jobs/admin~waits/events").json()["totalCount"] > 0)
    event = admin.http.get("/jobs/admin~waits/events?type=Warning").json()["data"][0]
    assert event["reason"] == "FailedScheduling"
    server.settings.controller = False
    admin.stop("waits")
    assert admin.status("waits")["executionType"] == "STOP"
    server.settings.controller = True
    assert admin.wait("waits")["jobStatus"]["state"] == "STOPPED"


def test_failed_instance_ends_the_others(admin: Client) -> None:
    roles = {"good": role("sleep 1000"), "bad": role("echo reason >&2; exit 3")}
    admin.submit("gang", roles=roles)
    detail = admin.wait("gang")
    assert {task["taskState"] for task in tasks(detail)} == {"STOPPED", "FAILED"}
    assert detail["jobStatus"]["appExitTriggerTaskRoleName"] == "bad"
    assert detail["jobStatus"]["appExitMessages"]["runtime"]["errorLogs"]["user"] == "reason\n"


def test_lost_task_has_the_code_of_the_platform(server: OpenPai, admin: Client) -> None:
    admin.submit("lost", "echo up; sleep 1000")
    admin.wait("lost", "RUNNING")
    eventually(lambda: read(server, locations(admin, "lost")["stdout"]).text == "up\n")
    server.lose_task("admin~lost", "main", 0)
    assert admin.wait("lost")["jobStatus"]["appExitSpec"]["phrase"] == "NodeLost"


def test_failed_task_is_tried_again_with_a_log_of_its_own(server: OpenPai, admin: Client) -> None:
    command = "if [ -e /mnt/nfs/tried ]; then echo second; else touch /mnt/nfs/tried; echo first; exit 200; fi"
    storage = {"storages": [{"name": "nfs"}], "gangAllocation": False}
    admin.submit("again", roles={"main": role(command, taskRetryCount=1)}, extras=storage)
    (task,) = tasks(admin.wait("again"))
    assert (task["attemptId"], task["retries"], task["taskState"]) == (1, 1, "SUCCEEDED")
    base = "/jobs/admin~again/attempts/0/taskRoles/main/taskIndex/0/attempts"
    found = [admin.http.get(f"{base}/{n}/logs").json()["locations"] for n in (0, 1)]
    assert [read(server, next(row["uri"] for row in rows if row["name"] == "all")).text for rows in found] == [
        "first\n", "second\n"
    ]  # fmt: skip
    attempts = admin.http.get(base).json()["attempts"]
    assert [(one["attemptId"], one["containerExitCode"]) for one in attempts] == [(0, 200), (1, 0)]
    assert len({one["containerId"] for one in attempts}) == 2
    server.remove_logs("admin~again", "main", 0)
    assert admin.http.get(f"{base}/1/logs").json()["code"] == "NoTaskLogError"


@pytest.mark.parametrize(("code", "tries"), [(3, 1), (200, 3)])
def test_failed_job_is_tried_again_unless_its_command_failed(admin: Client, code: int, tries: int) -> None:
    admin.submit("again", f"exit {code}", jobRetryCount=2)
    status = admin.wait("again")["jobStatus"]
    assert (status["state"], status["attemptId"], status["retryDetails"]["user"]) == ("FAILED", tries - 1, tries - 1)
    codes = [admin.http.get(f"/jobs/admin~again/attempts/{n}").json() for n in range(tries)]
    assert [one["jobStatus"]["attemptId"] for one in codes] == [*range(tries)]
    assert all(one["jobStatus"]["appExitCode"] in (220, 200) for one in codes)
    assert admin.http.get(f"/jobs/admin~again/attempts/{tries}").json()["code"] == "NoJobError"


def test_state_that_no_client_knows(server: OpenPai, admin: Client) -> None:
    admin.submit("odd", "sleep 1000")
    admin.wait("odd", "RUNNING")
    server.job("admin~odd").sub_state = "AttemptOfALaterVersion"
    assert admin.status("odd")["state"] == "UNKNOWN"
    admin.stop("odd")
    assert admin.wait("odd")["jobStatus"]["state"] == "STOPPED"


def test_log_is_read_by_ranges_until_its_token_expires(server: OpenPai, admin: Client) -> None:
    admin.submit("logs", "printf 0123456789; printf bad >&2")
    admin.wait("logs")
    uri = locations(admin, "logs")["stdout"]
    assert (read(server, uri).status_code, read(server, uri).text) == (200, "0123456789")
    part = read(server, uri, Range="bytes=4-")
    assert (part.status_code, part.text, part.headers["Content-Range"]) == (206, "456789", "bytes 4-9/10")
    assert read(server, uri, Range="bytes=10-").status_code == 416
    tail = read(server, f"{uri}&tail-mode=true")
    assert (tail.status_code, tail.text) == (206, "0123456789")
    assert sorted(read(server, locations(admin, "logs")["all"]).text) == sorted("0123456789bad")
    server.move_clock(121)
    assert read(server, uri).status_code == 403
    assert read(server, locations(admin, "logs")["stdout"]).status_code == 200


def test_log_is_rotated_and_its_earlier_part_kept(server: OpenPai, admin: Client) -> None:
    server.settings.rotate_bytes = 4
    wait = "echo first; until test -e /mnt/nfs/go; do sleep 0.05; done; echo second"
    admin.submit("rotated", wait, extras={"storages": [{"name": "nfs"}]})
    admin.wait("rotated", "RUNNING")
    eventually(lambda: read(server, locations(admin, "rotated")["all"]).text == "first\n")
    Path(server.settings.storages["nfs"], "go").touch()
    admin.wait("rotated")
    found = locations(admin, "rotated")
    assert read(server, found["all.1"]).text == "first\n"
    assert read(server, found["all"]).text == "second\n"
