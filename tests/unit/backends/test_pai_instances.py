"""Instances in PaiStudio's replies, also with missing and unknown fields."""

from __future__ import annotations

from typing import Any

import pytest

from jupyter_pai.backends.pai.job_response import instances_of
from jupyter_pai.jobs.instances import Instance
from jupyter_pai.jobs.job import JobStatus


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ("Pending", JobStatus.QUEUED),
        ("Running", JobStatus.RUNNING),
        ("Succeeded", JobStatus.SUCCEEDED),
        ("Succeed", JobStatus.SUCCEEDED),
        ("Failed", JobStatus.FAILED),
        ("Stopped", JobStatus.STOPPED),
        ("Evicted", None),
        ("", None),
    ],
)
def test_status_of_an_instance(status: str, expected: JobStatus | None) -> None:
    (instance,) = instances_of({"Instances": [{"Name": "t-master-0", "Role": "Master", "Status": status}]})
    assert instance == Instance("t-master-0", "master", 0, expected, status)


@pytest.mark.parametrize("job", [{}, {"Instances": None}, {"Instances": []}, {"Instances": ["x", None, {"Role": "a"}]}])
def test_reply_without_instances(job: dict[str, Any]) -> None:
    assert instances_of(job) == []


def test_missing_fields_stay_empty() -> None:
    items: list[Any] = [{"Name": 7}, {}, {"Name": "b", "Role": None, "Status": None, "Pod": "x"}]
    assert instances_of({"Instances": items}) == [Instance("7", rank=0), Instance("b", rank=1)]
