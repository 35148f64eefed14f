"""Instances in the file of a job's folder: bounded texts, and damaged files."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from jupyter_pai.jobs.instances import Instance, instances_to_json, read_instances, write_instances
from jupyter_pai.jobs.job import JobStatus
from jupyter_pai.jobs.limits import MOST_INSTANCES
from jupyter_pai.jobs.state_dir import JobFolder

TIME = datetime(2026, 1, 2, tzinfo=UTC)
WHOLE = Instance(
    "ps-1", "ps", 1, JobStatus.FAILED, "Evicted", "node-7", "10.0.0.7", (22, 2222), 137, "out of memory", TIME, TIME, 2
)


def test_instances_are_read_as_written(tmp_path: Path) -> None:
    folder = JobFolder(tmp_path)
    assert read_instances(folder) == []
    write_instances(folder, [WHOLE, Instance("ps-2")])
    assert read_instances(folder) == [WHOLE, Instance("ps-2")]


def test_unknown_values_are_not_stored() -> None:
    assert instances_to_json([Instance("a", exit_code=0)]) == [{"name": "a", "exit_code": 0}]


def test_texts_of_a_platform_are_short_and_have_no_control_characters() -> None:
    evil = "\x1b]0;title\x07x\x00"
    one = Instance("a", role=evil, platform_status=evil * 300, node=evil, address=evil, reason=evil + "r" * 5000)
    assert (one.role, one.node, one.address) == ("x\ufffd",) * 3
    assert len(one.platform_status) == 200
    assert (len(one.reason), one.reason[:3]) == (1000, "x\ufffdr")
    assert Instance("a", ports=tuple(range(1000))).ports == tuple(range(20))


def test_stored_instances_are_limited(tmp_path: Path) -> None:
    write_instances(JobFolder(tmp_path), [Instance(str(n)) for n in range(MOST_INSTANCES + 5)])
    assert len(read_instances(JobFolder(tmp_path))) == MOST_INSTANCES


@pytest.mark.parametrize(
    "text", ["", "{", "{}", "[1]", '[{"role": "a"}]', '[{"name": "a", "status": "?"}]', "[" * 9999]
)
def test_damaged_file_has_no_instances(tmp_path: Path, text: str) -> None:
    (tmp_path / "instances.json").write_text(text)
    assert read_instances(JobFolder(tmp_path)) == []


def test_values_of_a_later_version_are_ignored(tmp_path: Path) -> None:
    (tmp_path / "instances.json").write_text('[{"name": "a", "rank": 3, "pod": "x"}]')
    assert read_instances(JobFolder(tmp_path)) == [Instance("a", rank=3)]
