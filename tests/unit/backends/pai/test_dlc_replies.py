"""Replies of PAI-DLC on a job: its state, the reason of its end, its pods and events."""

from __future__ import annotations

from typing import Any

import pytest

from jupyter_pai.backends.pai.dlc.adoption import _spec
from jupyter_pai.backends.pai.dlc.events import event_page
from jupyter_pai.backends.pai.dlc.job_response import report_of
from jupyter_pai.backends.pai.dlc.pods import instances_of, pods_of
from jupyter_pai.jobs.job import JobStatus

START = "2026-01-02T03:04:05Z"


def pod(name: str, kind: str = "Worker", status: str = "Running", **more: Any) -> dict[str, Any]:
    return {"PodId": name, "PodUid": f"uid-{name}", "Type": kind, "Status": status, "GmtCreateTime": START, **more}


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ("Creating", "starting"), ("Queuing", "queued"), ("Bidding", "queued"), ("EnvPreparing", "starting"),
        ("SanityChecking", "starting"), ("Running", "running"), ("Restarting", "running"), ("Stopping", "running"),
        ("SucceededReserving", "running"), ("FailedReserving", "running"), ("Dequeued", "queued"),
        ("Succeeded", "succeeded"), ("Failed", "failed"), ("Stopped", "stopped"), ("SomethingNew", "running"),
    ],
)  # fmt: skip
def test_states(status: str, expected: str) -> None:
    report = report_of({"Status": status, "GmtFinishTime": START})
    assert (report.status.value, report.platform_status) == (expected, status)
    assert (report.ended_at is not None) == report.status.ended


def test_reserving_job_tells_why_it_still_runs() -> None:
    assert "billed" in report_of({"Status": "SucceededReserving", "ReasonCode": "JobSucceeded"}).reason


@pytest.mark.parametrize(
    ("reason", "fix"),
    [
        ('exec: "sh": executable file not found in $PATH', "needs `sh`"),
        ("Failed to pull image example.com/x:1: not found", "%pai images"),
        ("Pod x was OOMKilled", "more memory"),
    ],
)
def test_reason_of_a_failure_has_a_fix(reason: str, fix: str) -> None:
    report = report_of({"Status": "Failed", "ReasonCode": "PodFailed", "ReasonMessage": reason})
    assert (reason in report.reason, fix in report.fix, report.is_general) == (True, True, False)


def test_exit_code_and_instance_are_in_the_reason() -> None:
    pods = [pod("d-worker-1", status="Failed"), pod("d-worker-10", status="Failed"), pod("d-worker-0")]
    reason = "Pod d-worker-10 failed: exit code 3."
    job = {"Status": "Failed", "ReasonMessage": reason, "Pods": pods}
    report = report_of(job, pods_of(job))
    assert (report.exit_code, report.instance, report.reason, report.is_general) == (3, "worker-2", "", True)
    codes = [one.exit_code for one in instances_of(pods_of(job), report.status, reason)]
    assert codes == [None, None, 3]


def test_pods_are_in_the_order_of_ranks() -> None:
    rows = [pod("d-worker-1"), pod("d-worker-0"), pod("d-master-0", "Master")]
    # The platform selects a master among the workers of this one.
    own = pods_of({"JobType": "PyTorchJob", "JobSpecs": [{"Type": "Worker"}], "Pods": rows})
    assert [(one.name, one.latest.pod_id) for one in own] == [
        ("worker-0", "d-master-0"), ("worker-1", "d-worker-0"), ("worker-2", "d-worker-1"),
    ]  # fmt: skip
    both = pods_of({"JobType": "PyTorchJob", "JobSpecs": [{"Type": "Worker"}, {"Type": "Master"}], "Pods": rows})
    assert [one.name for one in both] == ["master-0", "worker-0", "worker-1"]
    rows = [pod("d-worker-0"), pod("d-ps-0", "PS")]
    tensorflow = pods_of({"JobType": "TFJob", "JobSpecs": [{"Type": "PS"}, {"Type": "Worker"}], "Pods": rows})
    assert [(one.name, one.rank) for one in tensorflow] == [("ps-0", 0), ("worker-0", 1)]


def test_earlier_pods_are_attempts_of_an_instance() -> None:
    earlier = [
        {"PodId": "d-worker-0", "PodUid": "b", "Status": "Failed", "GmtCreateTime": "2026-01-02T03:02:05Z"},
        {"PodId": "d-worker-0", "PodUid": "a", "Status": "Failed", "GmtCreateTime": "2026-01-02T03:01:05Z"},
    ]
    (one,) = pods_of({"Pods": [pod("d-worker-0", SubStatus="Evicted", HistoryPods=earlier)]})
    assert [run.uid for run in one.runs] == ["a", "b", "uid-d-worker-0"]
    (instance,) = instances_of([one], JobStatus.RUNNING)
    assert (instance.attempt, instance.platform_status) == (3, "Running, Evicted")


@pytest.mark.parametrize(
    "job", [{}, {"Pods": [None, {}], "JobSpecs": None, "StatusHistory": [None, 1]}, {"Pods": [{"PodId": "x"}]}]
)
def test_incomplete_replies_are_accepted(job: dict[str, Any]) -> None:
    assert report_of(job, pods_of(job)).status is JobStatus.RUNNING
    assert _spec({"DisplayName": "a", **job}).name == "a"


def test_events_come_once_with_times_and_instances() -> None:
    texts = {"": [f"{START} [Queuing] waits"], "worker-0": ["2026-01-02T03:04:01Z Back-off pulling image"]}
    page = event_page(texts, "")
    assert [(one.text, one.warning, one.instance) for one in page.events] == [
        ("Back-off pulling image", True, "worker-0"), ("[Queuing] waits", False, ""),
    ]  # fmt: skip
    again = event_page({**texts, "": [*texts[""], "no time"]}, page.cursor)
    assert [(one.text, one.time) for one in again.events] == [("no time", None)]
    assert event_page(texts, again.cursor) == ((), again.cursor, False)


def test_spec_of_a_job_from_elsewhere() -> None:
    row = {
        "DisplayName": "theirs", "JobType": "TFJob", "UserCommand": "python a.py", "Envs": {"A": "1"},
        "ResourceId": "q1", "Priority": 3, "ThirdpartyLibs": ["numpy"],
        "JobSpecs": [
            {"Type": "Worker", "PodCount": 2, "Image": "i:1", "ResourceConfig": {"CPU": "2", "Memory": "8Gi"}},
            {"Type": "PS", "PodCount": 1, "Image": "i:1", "EcsSpec": "ecs.c6.large"},
        ],
        "DataSources": [
            {"Uri": "oss://b.e/x/", "MountPath": "/mnt/data"}, {"Uri": "oss://b.e/o/", "MountPath": "/ml/output"},
        ],
    }  # fmt: skip
    spec = _spec(row)
    assert (spec.command, spec.environment, spec.requirements) == ("python a.py", {"A": "1"}, ("numpy",))
    assert [(role.name, role.count, role.memory) for role in spec.roles] == [("worker", 2, "8GiB"), ("ps", 1, "")]
    assert spec.options == {"job_type": "TFJob", "resource_id": "q1", "priority": 3}
    assert spec.inputs == {"data": "oss://b.e/x/"}
