"""States, instances and events from recorded replies of a server, and from replies that it does not send."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from jupyter_pai.backends.openpai.follow.events import event_page
from jupyter_pai.backends.openpai.follow.exits import cause_of
from jupyter_pai.backends.openpai.follow.reporting import instances_of, report_of
from jupyter_pai.backends.openpai.site import Site
from jupyter_pai.backends.reports import Report
from jupyter_pai.jobs.job import JobStatus

_REPLIES: dict[str, Any] = json.loads(
    (Path(__file__).parents[3] / "data" / "openpai" / "responses.json").read_text("utf-8")
)
_SITE = Site("https://lab/rest-server", "https://lab", "1.8.1", "basic")


def reply(name: str) -> Any:
    return _REPLIES[name]["body"]


def report(name: str) -> Report:
    return report_of(reply(name), {"main": "main"})


@pytest.mark.parametrize(
    ("name", "status", "shown"),
    [
        ("job_waiting_unscheduled", JobStatus.QUEUED, "WAITING"),
        ("job_waiting_preparing", JobStatus.QUEUED, "WAITING"),
        ("job_running", JobStatus.RUNNING, "RUNNING"),
        ("job_stopping", JobStatus.RUNNING, "stopping"),
        ("job_succeeded", JobStatus.SUCCEEDED, "SUCCEEDED"),
        ("job_failed", JobStatus.FAILED, "FAILED"),
        ("job_stopped", JobStatus.STOPPED, "STOPPED"),
    ],
)
def test_recorded_details_are_read(name: str, status: JobStatus, shown: str) -> None:
    found = report(name)
    assert (found.status, found.platform_status) == (status, shown)
    assert (found.started_at is None) == (status is JobStatus.QUEUED)
    assert (found.ended_at is None) == (not status.ended)
    instances = instances_of(reply(name), {"main": "main"}, {})
    if name == "job_waiting_unscheduled":
        assert instances == []
        return
    (instance,) = instances
    assert (instance.name, instance.role, instance.rank, instance.attempt) == ("main-0", "main", 0, 1)
    assert (instance.node, instance.address, instance.ports) == ("node1", "127.0.0.1", (29029, 32093))
    assert instance.status is status


def test_recorded_end_of_a_job() -> None:
    assert report("job_succeeded").exit_code == 0
    failed = report("job_failed")
    assert (failed.exit_code, failed.reason, failed.fix, failed.is_general) == (1, "Traceback boom", "<text>", True)
    (instance,) = instances_of(reply("job_failed"), {}, {})
    assert (instance.exit_code, instance.reason) == (1, "PAIRuntimeExitAbnormally")
    stopped = report("job_stopped")
    assert (stopped.exit_code, stopped.reason) == (None, "Stopped by the user.")
    (instance,) = instances_of(reply("job_stopped"), {}, {})
    assert (instance.exit_code, instance.reason) == (None, "")


def test_recorded_rows_are_read() -> None:
    rows = reply("list") + reply("list_total")["data"]
    assert [report_of(row, {}).status for row in rows] == [JobStatus.FAILED, JobStatus.SUCCEEDED, JobStatus.FAILED]


def test_job_that_is_to_stop_before_its_start_is_stopping() -> None:
    detail = json.loads(json.dumps(reply("job_waiting_preparing")))
    detail["jobStatus"]["executionType"] = "STOP"
    found = report_of(detail, {})
    assert (found.status, found.platform_status) == (JobStatus.QUEUED, "stopping")


@pytest.mark.parametrize(
    ("state", "sub_state"),
    [("UNKNOWN", "AttemptOfALaterVersion"), ("SUCCEEDED", "AttemptCompleted"), ("PAUSED", "Completed"), ("", "")],
)
def test_no_other_state_is_an_end(state: str, sub_state: str) -> None:
    detail = json.loads(json.dumps(reply("job_succeeded")))
    detail["jobStatus"] |= {"state": state, "subState": sub_state}
    assert not report_of(detail, {}).status.ended


def test_reply_without_fields_is_read() -> None:
    replies: list[dict[str, Any]] = [
        {},
        {"jobStatus": None, "taskRoles": []},
        {"jobStatus": {}, "taskRoles": {"a": None}},
    ]
    for value in replies:
        assert report_of(value, {}).status is JobStatus.RUNNING
        assert instances_of(value, {}, {}) == []
    odd = {"jobStatus": {"state": "FAILED", "subState": "Completed", "appExitCode": "x", "appExitMessages": "y"}}
    assert report_of(odd, {}).status is JobStatus.FAILED


def test_ranks_follow_the_order_of_the_document() -> None:
    tasks = [{"taskIndex": 1, "taskState": "RUNNING"}, {"taskIndex": 0, "taskState": "RUNNING"}]
    roles = {"worker": {"taskStatuses": tasks}, "ps": {"taskStatuses": tasks[:1]}}
    detail = {**reply("job_running"), "taskRoles": roles}
    found = instances_of(detail, {"ps": "PS", "worker": "worker"}, {("ps", 1): 2})
    assert [(one.name, one.role, one.rank, one.attempt) for one in found] == [
        ("PS-1", "PS", 0, 3), ("worker-0", "worker", 1, 1), ("worker-1", "worker", 2, 1)
    ]  # fmt: skip


def test_failed_instance_is_the_one_that_ended_the_job() -> None:
    detail = json.loads(json.dumps(reply("job_failed")))
    tasks = detail["taskRoles"]["main"]["taskStatuses"]
    tasks.append({**tasks[0], "taskIndex": 1, "containerExitCode": -220, "taskState": "STOPPED"})
    detail["jobStatus"]["appExitTriggerTaskIndex"] = 1
    assert report_of(detail, {"main": "train"}).instance == "train-1"


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        (-1200, "more memory"), (-1001, "lost with its node"), (-1100, "could not create"), (254, "image"),
        (253, "port"), (251, "in time"), (249, "failed"), (-7777, "ended the job"), (None, "ended the job"),
    ],
)  # fmt: skip
def test_code_without_a_specification_has_a_general_text(code: int | None, reason: str) -> None:
    cause = cause_of({"appExitCode": code, "appExitSpec": None, "appExitMessages": None})
    assert reason in cause.reason
    assert cause.fix
    assert str(code) in cause.reason


def test_specification_and_messages_become_reason_and_fix() -> None:
    spec = {"code": -1200, "phrase": "ContainerOOMKilled", "reason": "Out of memory."}
    spec |= {"solution": ["Use less.", "Ask."]}
    cause = cause_of({"appExitCode": -1200, "appExitSpec": spec, "appExitMessages": {"runtime": None}})
    assert cause == ("Out of memory. (ContainerOOMKilled, -1200)", "Use less. Ask.", False)
    runtime = {"originUserExitCode": 3, "errorLogs": {"user": "Traceback …\nValueError: no data\n\n"}}
    user = cause_of({"appExitCode": 220, "appExitSpec": {**spec, "code": 220}, "appExitMessages": {"runtime": runtime}})
    assert user == ("ValueError: no data", "Use less. Ask.", True)


def event(uid: str, time: int | str, count: int = 1, **more: Any) -> dict[str, Any]:
    fields = {"uid": uid, "type": "Warning", "reason": "FailedScheduling", "message": f"no room for {uid}"}
    return {**fields, "taskroleName": "ps", "taskIndex": 2, "count": count, "lastTimestamp": time, **more}


def test_events_are_read_once_and_replaced_when_they_happen_again() -> None:
    waiting = reply("job_waiting_preparing")
    page = event_page(reply("events"), "", {}, waiting, _SITE)
    assert (list(page.events), page.cursor) == ([], "")
    rows = [event("b", 2000), event("a", 1000)]
    page = event_page({"data": rows}, "", {"ps": "PS"}, waiting, _SITE)
    assert [(one.key, one.text, one.instance, one.warning) for one in page.events] == [
        ("a", "FailedScheduling: no room for a", "PS-2", True), ("b", "FailedScheduling: no room for b", "PS-2", True)
    ]  # fmt: skip
    again = event_page({"data": rows}, page.cursor, {}, waiting, _SITE)
    assert (list(again.events), again.cursor) == ([], page.cursor)
    # One of the same time, and one that is counted up.
    rows = [event("a", 3000, 2), event("c", 2000), *rows[:1]]
    later = event_page({"data": rows}, page.cursor, {}, waiting, _SITE)
    assert [(one.key, one.text) for one in later.events] == [
        ("c", "FailedScheduling: no room for c"), ("a", "FailedScheduling: no room for a (2 times)")
    ]  # fmt: skip
    assert list(event_page({"data": rows}, later.cursor, {}, waiting, _SITE).events) == []


@pytest.mark.parametrize("odd", [None, [], {"data": None}, {"data": ["x", {}]}, {"data": [{"lastTimestamp": "x"}]}])
def test_odd_events_are_tolerated(odd: Any) -> None:
    assert event_page(odd, "", {}, reply("job_waiting_preparing"), _SITE).events is not None
    dated = event_page({"data": [event("a", "2026-01-02T03:04:05Z")]}, "", {}, {}, _SITE).events[0].time
    assert dated
    assert dated.isoformat().startswith("2026-01-02")


def test_charts_are_linked_for_a_running_job_and_again_at_its_end() -> None:
    page = event_page({}, "", {}, reply("job_running"), _SITE)
    (link,) = page.events
    assert "https://lab/grafana/dashboard/db/joblevelmetrics?var-job=admin~ok209888&from=" in link.text
    assert link.text.endswith("to=now")
    assert list(event_page({}, page.cursor, {}, reply("job_running"), _SITE).events) == []
    (last,) = event_page({}, page.cursor, {}, reply("job_succeeded"), _SITE).events
    assert last.key == link.key
    assert last.text.endswith("to=1795209889203")
    direct = Site("http://lab:9186", "", "1.8.1", "basic")
    assert list(event_page({}, "", {}, reply("job_running"), direct).events) == []
