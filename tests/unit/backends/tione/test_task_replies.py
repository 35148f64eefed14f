"""State, instances and events of tasks, from replies in every form."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from jupyter_pai.backends.tione.follow.events import event_page, events_request
from jupyter_pai.backends.tione.follow.task_replies import instances_of, pods_of, report_of
from jupyter_pai.jobs.job import JobStatus

_RUN = "train-1-abc"


def task(status: str, **fields: Any) -> dict[str, Any]:
    times = {"CreateTime": "2025-05-28T18:00:00+08", "StartTime": "2025-05-28T18:18:33+08", "EndTime": ""}
    return {"Id": "train-1", "Status": status, "ChargeStatus": "NOT_BILLING", **times, **fields}


def pods(*names: str, role: str | None = "WORKER", status: str | None = "RUNNING") -> dict[str, Any]:
    config = {"Role": role} if role else None
    rows = [{"Name": f"{_RUN}-{name}", "IP": None, "Status": status, "ResourceConfigInfo": config} for name in names]
    return {"PodInfoList": rows}


@pytest.mark.parametrize(
    ("name", "status"),
    [
        ("SUBMITTING", JobStatus.QUEUED),
        ("PENDING", JobStatus.QUEUED),
        ("STARTING", JobStatus.STARTING),
        ("RUNNING", JobStatus.RUNNING),
        ("STOPPING", JobStatus.RUNNING),
        ("STOPPED", JobStatus.STOPPED),
        ("FAILED", JobStatus.FAILED),
        ("SUBMIT_FAILED", JobStatus.FAILED),
        ("SUCCEED", JobStatus.SUCCEEDED),
        ("A_LATER_WORD", JobStatus.RUNNING),
    ],
)
def test_each_state_is_known_and_an_unknown_one_is_no_end(name: str, status: JobStatus) -> None:
    report = report_of(task(name))
    assert (report.status, report.platform_status) == (status, name)


@pytest.mark.parametrize("row", [{}, {"Status": None, "StartTime": None, "FailureReason": None, "ChargeStatus": []}])
def test_reply_without_values_is_a_task_that_has_not_ended(row: dict[str, Any]) -> None:
    report = report_of(row)
    assert (report.status, report.reason, report.started_at, report.ended_at) == (JobStatus.RUNNING, "", None, None)
    assert instances_of(pods_of({"PodInfoList": None, "PodNames": None}, row), row) == []


def test_times_are_those_of_the_platform() -> None:
    report = report_of(task("SUCCEED", EndTime="2025-05-28T18:20:00+08"))
    assert report.started_at == datetime(2025, 5, 28, 10, 18, 33, tzinfo=UTC)
    assert report.ended_at == datetime(2025, 5, 28, 10, 20, tzinfo=UTC)
    assert report.exit_code == 0
    ended = report_of(task("STOPPED", StartTime=None, UpdateTime="2025-05-28T18:21:00+08"))
    assert (ended.started_at, ended.ended_at) == (None, datetime(2025, 5, 28, 10, 21, tzinfo=UTC))


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ("pod train-1-launcher failed, container exit code: 9", 9),
        ("Container exited with code 137", 137),
        ("exitCode=3", 3),
        ("exit status 2", 2),
        ("容器退出码为 4", 4),
    ],
)
def test_log_explains_a_command_that_failed(said: str, code: int) -> None:
    report = report_of(task("FAILED", FailureReason=said))
    assert (report.exit_code, report.reason) == (code, "")
    assert report.is_general


@pytest.mark.parametrize(
    ("said", "fix"),
    [
        ("Back-off pulling image ccr.example/x", "%pai images"),
        ("MountVolume.SetUp failed for volume: mount cfs-1 timed out", "subnet"),
        ("insufficient quota", "%pai instances"),
        ("OOMKilled, exit code: 137", "memory"),
        ("exit code 0 of a helper", "events"),
        ("code 9000", "events"),
    ],
)
def test_reason_of_the_platform_is_shown_with_a_fix(said: str, fix: str) -> None:
    for fields in ({"FailureReason": said}, {"FailureReason": "", "Message": said}):
        report = report_of(task("SUBMIT_FAILED", **fields))
        assert report.reason == said
        assert fix in report.fix


def test_failure_without_a_reason_says_so() -> None:
    report = report_of(task("FAILED"))
    assert report.reason == "The platform gives no reason."
    assert report.is_general


def test_instance_that_failed_first_is_named() -> None:
    detail = task("FAILED", FailureReason=f"pod {_RUN}-worker-10 failed, exit code: 7")
    found = pods_of(pods("master-0", *(f"worker-{n}" for n in range(12)), status="FAILED"), detail)
    report = report_of(detail, found)
    assert (report.instance, report.exit_code) == ("worker-11", 7)
    codes = {one.name: one.exit_code for one in instances_of(found, detail)}
    assert (codes["worker-11"], codes["worker-2"], codes["worker-0"]) == (7, None, None)


def test_account_in_arrears_is_the_reason_of_a_stop() -> None:
    for status in ("STOPPED", "RUNNING"):
        report = report_of(task(status, ChargeStatus="ARREARS_STOP"))
        assert report.platform_status == f"{status}, ARREARS_STOP"
        assert "arrears" in report.reason
        assert "Top up" in report.fix
    assert report_of(task("STOPPED")).reason == "Stopped on the platform."


def test_task_that_is_billed_after_its_end_says_so() -> None:
    assert "billed until" in report_of(task("STOPPING", ChargeStatus="BILLING")).reason
    for status in ("STOPPED", "SUCCEED", "FAILED"):
        (note,) = report_of(task(status, ChargeStatus="BILLING", BillingInfo="2.00元/小时")).notes
        assert "(2.00元/小时)" in note
        assert report_of(task(status)).notes == ()
    assert report_of(task("RUNNING", ChargeStatus="BILLING")).notes == ()


def test_reason_why_a_task_waits_is_shown() -> None:
    assert report_of(task("PENDING", Message="waiting for a node")).reason == "waiting for a node"
    assert report_of(task("RUNNING", Message="all is well")).reason == ""


@pytest.mark.parametrize("role", ["WORKER", None])
def test_pods_come_in_the_order_of_their_ranks(role: str | None) -> None:
    detail = task("RUNNING", ResourceConfigInfos=[{"Role": "WORKER", "InstanceNum": 12}])
    names = ["worker-10", "worker-2", "master-0", *(f"worker-{n}" for n in range(10) if n != 2)]
    found = pods_of(pods(*names, role=role), detail)
    assert [pod.name for pod in found] == [
        f"{_RUN}-{name}" for name in ["master-0", *(f"worker-{n}" for n in range(11))]
    ]
    assert [(pod.instance, pod.rank) for pod in found] == [(f"worker-{n}", n) for n in range(12)]


def test_pods_of_several_roles_have_their_names() -> None:
    detail = task("RUNNING", ResourceConfigInfos=[{"Role": "PS"}, {"Role": "WORKER"}])
    reply = {"PodInfoList": pods("worker-1", "worker-0")["PodInfoList"] + pods("ps-0", role="PS")["PodInfoList"]}
    found = instances_of(pods_of(reply, detail), detail)
    assert [(one.name, one.role, one.rank) for one in found] == [
        ("ps-0", "ps", 0),
        ("worker-0", "worker", 1),
        ("worker-1", "worker", 2),
    ]
    ray = task("RUNNING", ResourceConfigInfos=[{"Role": "WORKER"}, {"Role": "HEAD"}])
    named = {"PodNames": [f"{_RUN}-worker-0", f"{_RUN}-head-0"], "PodInfoList": None}
    assert [pod.instance for pod in pods_of(named, ray)] == ["head-0", "worker-0"]


def test_instances_of_an_ended_task_have_ended() -> None:
    for status, state in (("STOPPED", JobStatus.STOPPED), ("SUCCEED", JobStatus.SUCCEEDED)):
        detail = task(status, EndTime="2025-05-28T18:20:00+08")
        (instance,) = instances_of(pods_of(pods("launcher", status=None), detail), detail)
        assert (instance.status, instance.ended_at) == (state, datetime(2025, 5, 28, 10, 20, tzinfo=UTC))
    odd = task("RUNNING")
    (instance,) = instances_of(pods_of(pods("launcher", status="A_LATER_WORD"), odd), odd)
    assert (instance.status, instance.platform_status, instance.ended_at) == (None, "A_LATER_WORD", None)


def event(number: int, second: int, **fields: Any) -> dict[str, Any]:
    row = {"Id": f"e{number}", "Message": f"event {number}", "LastTimestamp": f"2025-05-28T18:00:{second:02}+08"}
    return {**row, "Count": "1", "Type": "Normal", "ResourceName": f"{_RUN}-master-0", **fields}


def test_events_go_on_after_those_that_are_known() -> None:
    rows = [event(0, 1), event(1, 2), event(2, 2)]
    page = event_page({"Events": rows}, "", {f"{_RUN}-master-0": "worker-0"})
    assert [(one.text, one.key, one.instance) for one in page.events] == [
        (f"event {n}", f"e{n}", "worker-0") for n in range(3)
    ]
    again = event_page({"Events": rows[1:], "TotalCount": 2}, page.cursor, {})
    assert (again.events, again.cursor, again.more) == ([], page.cursor, False)
    later = event_page({"Events": [*rows[1:], event(3, 2), event(0, 5, Count=4, Type="Warning")]}, page.cursor, {})
    assert [one.text for one in later.events] == ["event 3", "event 0 (4 times)"]
    assert [one.warning for one in later.events] == [False, True]
    since = datetime(2025, 5, 1, tzinfo=UTC)
    assert events_request(_RUN, since, "")["StartTime"] == "2025-05-01T00:00:00Z"
    assert events_request(_RUN, since, page.cursor)["StartTime"] == "2025-05-28T10:00:02Z"


@pytest.mark.parametrize("most", [40, 100])
@pytest.mark.parametrize("counts", [True, False])
def test_more_events_of_one_time_than_a_page_has(most: int, counts: bool) -> None:
    rows, cursor, seen = [event(n, 1) for n in range(250)], "", list[str]()
    more = True
    while more:
        request = events_request(_RUN, datetime(2025, 5, 1, tzinfo=UTC), cursor)
        reply = {"Events": rows[request["Offset"] : request["Offset"] + most]}
        page = event_page(reply | ({"TotalCount": 250} if counts else {}), cursor, {})
        seen, cursor, more = [*seen, *(one.key for one in page.events)], page.cursor, page.more
    assert seen == [f"e{n}" for n in range(250)]


@pytest.mark.parametrize("reply", [{}, {"Events": None}, {"Events": [{}]}])
def test_events_may_lack_everything(reply: dict[str, Any]) -> None:
    page = event_page(reply, "", {})
    assert all(one.text for one in page.events)
    assert event_page(reply, page.cursor, {}).events == []
