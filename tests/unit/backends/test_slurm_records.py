"""Records of Slurm in both spellings, and what commands are made of a job."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from jupyter_pai.backends.slurm.cluster import _parse, seconds_of
from jupyter_pai.backends.slurm.job_records import of_accounting, of_queue, our_id, why
from jupyter_pai.backends.slurm.reporting import report_of
from jupyter_pai.jobs.job import JobStatus

OLD: dict[str, Any] = {
    "job_id": 4711, "name": "train.abcdefgh", "comment": "jupyter-pai:abcdefgh", "job_state": "RUNNING",
    "state_reason": "None", "partition": "gpu", "user_name": "ada", "nodes": "n[1-2]", "exit_code": 0,
    "submit_time": 1_700_000_000, "start_time": 1_700_000_100, "end_time": 1_700_003_600,
    "standard_output": "/home/ada/out",
}  # fmt: skip
# As of data version 0.0.40: states are lists, and numbers are objects.
NEW = OLD | {
    "job_state": ["RUNNING"],
    "exit_code": {"status": ["SUCCESS"], "return_code": {"set": True, "infinite": False, "number": 0}},
    **{
        name: {"set": True, "infinite": False, "number": OLD[name]}
        for name in ("submit_time", "start_time", "end_time")
    },
}
KILLED = {
    "status": ["SIGNALED"],
    "return_code": {"set": False, "infinite": False, "number": 0},
    "signal": {"id": {"set": True, "infinite": False, "number": 9}, "name": "KILL"},
}


def test_both_spellings_give_the_same_job() -> None:
    (old,) = of_queue({"jobs": [OLD]})
    assert of_queue({"jobs": [NEW]}) == [old]
    assert (old.id, old.status, old.exit_code, old.ended_at) == ("4711", JobStatus.RUNNING, None, None)
    assert old.started_at == datetime.fromtimestamp(1_700_000_100, UTC)
    assert our_id(old) == "abcdefgh"


@pytest.mark.parametrize(
    ("state", "status"),
    [
        ("PENDING", JobStatus.QUEUED), ("REQUEUED", JobStatus.QUEUED), ("CONFIGURING", JobStatus.STARTING),
        ("COMPLETING", JobStatus.RUNNING), ("SUSPENDED", JobStatus.RUNNING), ("COMPLETED", JobStatus.SUCCEEDED),
        ("CANCELLED", JobStatus.STOPPED), ("FAILED", JobStatus.FAILED), ("TIMEOUT", JobStatus.FAILED),
        ("OUT_OF_MEMORY", JobStatus.FAILED), ("NODE_FAIL", JobStatus.FAILED), ("PREEMPTED", JobStatus.FAILED),
        ("BOOT_FAIL", JobStatus.FAILED), ("DEADLINE", JobStatus.FAILED), ("A_STATE_OF_TOMORROW", JobStatus.RUNNING),
    ],
)  # fmt: skip
def test_state_has_one_status_in_both_spellings(state: str, status: JobStatus) -> None:
    jobs = of_queue({"jobs": [OLD | {"job_state": state}, OLD | {"job_state": [state]}]})
    assert [job.status for job in jobs] == [status, status]


def test_flags_of_a_state_are_no_end() -> None:
    (job,) = of_queue({"jobs": [OLD | {"job_state": ["COMPLETING", "FAILED"]}]})
    assert (job.state, job.status) == ("FAILED", JobStatus.RUNNING)
    (job,) = of_queue({"jobs": [OLD | {"job_state": ["PENDING", "REQUEUED"]}]})
    assert job.status is JobStatus.QUEUED


@pytest.mark.parametrize(("value", "code"), [(9 << 8, 9), (9, 137), (KILLED, 137), (0, 0), ({}, None), (None, None)])
def test_exit_code_of_a_wait_status(value: object, code: int | None) -> None:
    (job,) = of_queue({"jobs": [OLD | {"job_state": "FAILED", "exit_code": value}]})
    assert job.exit_code == code


@pytest.mark.parametrize("state", ["TIMEOUT", "OUT_OF_MEMORY", "NODE_FAIL", "PREEMPTED", "BOOT_FAIL", "DEADLINE"])
def test_end_by_slurm_has_reason_and_fix(state: str) -> None:
    (job,) = of_queue({"jobs": [OLD | {"job_state": state, "comment": "", "name": "theirs"}]})
    report = report_of(job, None)
    assert report
    assert report.status is JobStatus.FAILED
    assert report.reason
    assert report.fix
    assert "{" not in report.reason + report.fix
    assert why("FAILED") == ("", "")


@pytest.mark.parametrize(
    ("comment", "name", "found"),
    [
        ("jupyter-pai:abcdefgh", "x", "abcdefgh"), ("", "train.abcdefgh", "abcdefgh"),
        ("", "my.train.abcdefgh", "abcdefgh"),
        ("", "train.py", ""), ("", "train", ""), ("by hand", "train.sh", ""),
    ],
)  # fmt: skip
def test_our_id_is_in_the_comment_or_in_the_name(comment: str, name: str, found: str) -> None:
    (job,) = of_queue({"jobs": [OLD | {"comment": comment, "name": name}]})
    assert our_id(job) == found


def test_waiting_job_tells_the_reason_and_the_expected_start() -> None:
    waiting = OLD | {"job_state": "PENDING", "state_reason": "Priority", "start_time": 0}
    (job,) = of_queue({"jobs": [waiting]})
    assert (job.waiting, job.is_stuck) == ("It waits: jobs of higher priority are first.", False)
    (job,) = of_queue({"jobs": [waiting | {"state_reason": "PartitionTimeLimit"}]})
    assert job.is_stuck
    (job,) = of_queue({"jobs": [waiting | {"state_reason": "AReasonOfTomorrow", "start_time": 1_700_000_100}]})
    assert job.waiting.startswith("It waits: AReasonOfTomorrow. Expected start: 2023-11-")


def test_accounting_is_read() -> None:
    lines = [
        "4711|4711|train.abcdefgh|CANCELLED by 1000|0:15|1700000000|1700000100|1700000200|gpu|ada||n1",
        "4712|4712|theirs|RUNNING|0:0|1700000000|1700000100|Unknown|gpu|ada||n1",
        "4713|4713|theirs|FAILED|3:0|1700000000|1700000100|1700000200|gpu|ada||n1",
        "4715|4713+1|theirs|FAILED|3:0|1700000000|1700000100|1700000200|gpu|ada||n1",
        "4716|4716+0|theirs|FAILED|4:0|1700000000|1700000100|1700000200|gpu|ada||n1",
        "4714.batch|4714.batch|batch|FAILED|3:0|1700000000|1700000100|1700000200|||",
        "not a line",
    ]
    cancelled, running, failed, first = of_accounting("\n".join(lines))
    assert (first.id, first.exit_code) == ("4716", 4), "further components of a heterogeneous job are omitted"
    assert (cancelled.status, cancelled.exit_code, our_id(cancelled)) == (JobStatus.STOPPED, 143, "abcdefgh")
    assert (running.status, running.exit_code, running.ended_at) == (JobStatus.RUNNING, None, None)
    assert (failed.status, failed.exit_code) == (JobStatus.FAILED, 3)


def test_heterogeneous_job_ends_with_its_last_component() -> None:
    def component(offset: int, state: str) -> dict[str, Any]:
        return {"job_id": 4711 + offset, "het_job_id": 4711, "het_job_offset": offset, "job_state": state}

    others = [{"job_id": 4000, "het_job_id": 0, "het_job_offset": 0, "job_state": "COMPLETED"}]
    ended, running = of_queue({"jobs": [*others, component(0, "CANCELLED"), component(1, "RUNNING")]})
    assert (ended.id, ended.status, running.id, running.status) == (
        "4000",
        JobStatus.SUCCEEDED,
        "4711",
        JobStatus.RUNNING,
    )
    (stopped,) = of_queue({"jobs": [component(1, "COMPLETED"), component(0, "CANCELLED")]})
    assert (stopped.id, stopped.status) == ("4711", JobStatus.STOPPED)


def row(*values: str) -> str:
    return "".join(f"{value:200}" for value in values)


def test_partition_with_several_shapes_has_an_instance_type_for_each() -> None:
    gpu = "gpu:a100:4(S:0-1)"
    (partition,) = _parse(
        "\n".join(
            [
                row("gpu*", "g1", "8/56/0/64", "512000", "64000", gpu, "gpu:a100:1(IDX:0)", "mixed", "2-0:00:00", "up"),
                row("gpu*", "g2", "0/64/0/64", "512000", "0", gpu, "gpu:a100:0(IDX:N/A)", "idle", "2-00:00:00", "up"),
                row("gpu*", "c1", "0/0/32/32", "128000", "0", "(null)", "gpu:0", "drained", "2-00:00:00", "up"),
            ]
        )
    )
    assert (partition.is_default, partition.limit) == (True, 172_800)
    types = {kind.name: (kind.cpu, kind.gpu, kind.gpu_name, kind.available) for kind in partition.types()}
    assert types == {"gpu/32c-125g": (32, 0, "", False), "gpu/64c-500g-4xa100": (64, 4, "a100", True)}
    quota = partition.quota()
    assert (quota.cpu, quota.free_cpu, quota.gpu, quota.free_gpu) == (160, 120, 8, 7)
    assert quota.free_memory == (512_000 - 64_000 + 512_000) << 20


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("infinite", 0), ("UNLIMITED", 0), ("n/a", 0), ("30", 1800), ("5:00", 300), ("1:00:00", 3600), ("2-12", 216_000),
     ("1-00:30", 88_200), ("1-01:01:01", 90_061)],
)  # fmt: skip
def test_time_limits_are_read(text: str, seconds: int) -> None:
    assert seconds_of(text) == seconds
