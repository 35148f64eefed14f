"""The queue of local jobs: waiting, overtaking, and the slots of killed jobs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from jupyter_pai.backends.local.queue import Capacity, Need, Queue
from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.client.job import JobHandle
from jupyter_pai.core.errors import Unconfirmed
from jupyter_pai.core.host import boot_id
from jupyter_pai.core.lease import Lease
from jupyter_pai.jobs.state_dir import Home

from ...conftest import processes_of, submit, until
from .supervised_job import power_off


@pytest.fixture
def two_cores(engine: EmbeddedClient) -> EmbeddedClient:
    """An engine whose jobs share two cores and 8 GiB."""
    values = {"backend": "local", "max_cpu": 2, "max_memory": "8GiB", "max_gpu": 0}
    engine.call("set_profile", profile="local", body={"values": values})
    return engine


class HeldJob:
    """A job that runs until it is released. It is in the queue before the next one is submitted."""

    def __init__(self, engine: EmbeddedClient, gate: Path, **spec: Any) -> None:
        self.gate = gate
        self.job = submit(engine, f"while [ ! -e {gate} ]; do sleep 0.01; done", name=gate.name, **spec)
        status(self.job, "queued", "running")

    def release(self) -> JobHandle:
        self.gate.touch()
        return self.job.wait()


def status(job: JobHandle, *wanted: str) -> str:
    """Wait until the job has one of these statuses, and return it."""
    until(lambda: job.status in wanted)
    return job.status


def test_job_waits_for_free_resources(
    two_cores: EmbeddedClient, tmp_path: Path, cli: Callable[..., CompletedProcess[str]]
) -> None:
    first, second = (HeldJob(two_cores, tmp_path / name, cpu=1.5) for name in "ab")
    assert status(first.job, "running") == "running"
    status(second.job, "queued")
    assert second.job.info["platform_status"] == "waiting for resources"
    assert second.job.info["reason"] == "It waits for 1.5 of 2 cores (0.5 free)."
    third = HeldJob(two_cores, tmp_path / "c", memory="1GiB", cpu=1)
    status(third.job, "queued")
    until(lambda: third.job.info["platform_status"] == "waiting for resources; 1 job ahead")
    assert third.job.info["reason"] == "It waits for 1 of 2 cores (0.5 free). 1 job is ahead."
    shown = [cli("list").stdout, cli("show", third.job.id).stdout]
    assert all("It waits for 1 of 2 cores (0.5 free). 1 job is ahead." in text for text in shown)
    first.release()
    assert status(second.job, "running") == "running"
    assert third.job.status == "queued"
    assert second.job.info["started_at"] >= first.job.info["ended_at"]
    assert second.job.info["reason"] == ""
    second.release()
    assert third.release().status == "succeeded"


def test_default_is_one_core_and_requests_are_capped(two_cores: EmbeddedClient, tmp_path: Path) -> None:
    plain = [HeldJob(two_cores, tmp_path / name) for name in "ab"]
    for held in plain:
        status(held.job, "running")
    big = HeldJob(two_cores, tmp_path / "big", cpu=64, memory="1TiB", gpu=2)
    status(big.job, "queued")
    for held in plain:
        held.release()
    assert big.release().status == "succeeded"
    notes = " ".join(big.job.info["notes"])
    for words in (
        "Only 2 of the requested 64 cores",
        "Only 8 GiB of the requested 1024 GiB of memory",
        "Only 0 of the requested",
    ):
        assert words in notes


def test_small_job_overtakes_without_delaying_the_large_one(two_cores: EmbeddedClient, tmp_path: Path) -> None:
    running = HeldJob(two_cores, tmp_path / "running", cpu=1, memory="6GiB")
    status(running.job, "running")
    large = HeldJob(two_cores, tmp_path / "large", cpu=0.5, memory="4GiB")
    status(large.job, "queued")
    passes = HeldJob(two_cores, tmp_path / "passes", cpu=0.5)
    assert status(passes.job, "running", "queued") == "running"
    stays = HeldJob(two_cores, tmp_path / "stays", cpu=0.5)
    assert status(stays.job, "running", "queued") == "queued"  # The half that is left is the large one's.
    for held in (running, large, passes, stays):
        assert held.release().status == "succeeded"


def test_queued_job_can_be_stopped(two_cores: EmbeddedClient, tmp_path: Path) -> None:
    running, waiting, last = (HeldJob(two_cores, tmp_path / name, cpu=2) for name in "abc")
    status(waiting.job, "queued")
    waiting.job.stop()
    assert waiting.job.wait().status == "stopped"
    assert waiting.job.info["started_at"] is None
    assert processes_of(waiting.job.id) == []
    running.release()
    assert last.release().status == "succeeded"


def test_folder_of_a_job_that_never_started_is_no_question(two_cores: EmbeddedClient, tmp_path: Path) -> None:
    running = HeldJob(two_cores, tmp_path / "a", cpu=2)
    named: dict[str, Any] = {"cpu": 2, "outputs": {"model": str(tmp_path / "out")}}
    waiting = HeldJob(two_cores, tmp_path / "b", **named)
    status(waiting.job, "queued")
    with pytest.raises(Unconfirmed, match=f"The outputs of {waiting.job.id} are in"):
        submit(two_cores, "true", **named)
    waiting.job.stop()
    waiting.job.wait()
    again = submit(two_cores, "true", **named)
    running.release()
    assert again.wait().status == "succeeded"


def test_killed_job_frees_its_slot(two_cores: EmbeddedClient, tmp_path: Path) -> None:
    running, waiting, last = (HeldJob(two_cores, tmp_path / name, cpu=2) for name in "abc")
    status(running.job, "running")
    until(lambda: [status(held.job, "queued") for held in (waiting, last)])
    for held in (waiting, running):
        power_off(held.job.id)
    assert status(last.job, "running") == "running"
    assert last.release().status == "succeeded"
    assert {held.job.wait().status for held in (running, waiting)} == {"failed"}


def free(engine: EmbeddedClient) -> tuple[float, int, int]:
    """Return the free cores, GiB of memory and GPUs of this machine, and check that no request lists types."""
    reply = engine.call("instances", profile="local", quotas_only=True)
    (machine,) = reply["quotas"]
    assert reply["instances"] == []
    assert (machine["cpu"], machine["memory"], machine["gpu"]) == (2, 8 << 30, 0)
    return machine["free_cpu"], machine["free_memory"] >> 30, machine["free_gpu"]


def test_machine_shows_what_running_jobs_leave_free(two_cores: EmbeddedClient, tmp_path: Path) -> None:
    assert free(two_cores) == (2, 8, 0)
    running = HeldJob(two_cores, tmp_path / "running", cpu=1.5, memory="6GiB")
    status(running.job, "running")
    waiting = HeldJob(two_cores, tmp_path / "waiting", cpu=2)
    status(waiting.job, "queued")
    assert free(two_cores) == (0.5, 2, 0)
    running.release()
    waiting.release()
    until(lambda: free(two_cores) == (2, 8, 0))


def test_killed_job_does_not_count_as_running(two_cores: EmbeddedClient, tmp_path: Path) -> None:
    killed = HeldJob(two_cores, tmp_path / "killed", cpu=2)
    status(killed.job, "running")
    assert free(two_cores)[0] == 0
    power_off(killed.job.id)
    until(lambda: free(two_cores)[0] == 2)


def test_queued_job_starts_without_an_engine(home: Home, tmp_path: Path) -> None:
    engine = EmbeddedClient()
    engine.call("set_profile", profile="local", body={"values": {"backend": "local", "max_cpu": 1}})
    first, second = (HeldJob(engine, tmp_path / name) for name in "ab")
    status(second.job, "queued")
    engine.close()
    for held in (first, second):
        held.gate.touch()
    until((home.job(second.job.id).path / "result").exists)  # Nobody but its supervisor can have started it.
    engine = EmbeddedClient()
    assert [JobHandle(engine.call("show", job=held.job.id), engine).wait().status for held in (first, second)] == [
        "succeeded"
    ] * 2
    engine.close()


def test_gpu_0_hides_all_gpus(engine: EmbeddedClient) -> None:
    job = submit(engine, 'echo "<${CUDA_VISIBLE_DEVICES-unset}>"', gpu=0).wait()
    assert job.logs() == "<>\n"


# The line itself.


@pytest.fixture
def line(tmp_path: Path) -> Iterator[tuple[Queue, list[Lease]]]:
    """A queue, and the locks of its jobs."""
    leases: list[Lease] = []
    yield Queue(str(tmp_path), str(tmp_path / "jobs")), leases
    for lease in leases:
        lease.release()


def enter(
    line: tuple[Queue, list[Lease]], job: str, need: Need, capacity: Capacity
) -> tuple[bool, tuple[int, ...], int]:
    slots, leases = line
    folder = Path(slots.jobs, job)
    if not folder.exists():
        folder.mkdir(parents=True)
        leases.append(Lease(folder / "lock"))
        assert leases[-1].acquire()
    slot, before = slots.request(job, need, capacity)
    return slot.running, slot.assigned, before


def test_gpus_are_assigned_to_one_job_each(line: tuple[Queue, list[Lease]]) -> None:
    capacity = Capacity(8, 1 << 30, [0, 2, 3])
    assert enter(line, "a", Need(1, 0, 1), capacity) == (True, (0,), 0)
    assert enter(line, "b", Need(1, 0, 2), capacity) == (True, (2, 3), 0)
    assert enter(line, "c", Need(1, 0, 1), capacity) == (False, (), 0)
    assert enter(line, "d", Need(1, 0, 0), capacity) == (True, (), 1)
    assert enter(line, "e", Need(1, 0, 1), capacity) == (False, (), 1)
    line[0].leave("a")
    assert enter(line, "e", Need(1, 0, 1), capacity) == (False, (), 1)
    assert enter(line, "c", Need(1, 0, 1), capacity) == (True, (0,), 0)
    line[0].leave("b")
    assert enter(line, "e", Need(1, 0, 1), capacity) == (True, (2,), 0)


def test_fractions_of_a_core_add_up(line: tuple[Queue, list[Lease]]) -> None:
    capacity = Capacity(1, 0, [])
    assert all(enter(line, f"job{n}", Need(0.1), capacity)[0] for n in range(10))
    assert not enter(line, "more", Need(0.1), capacity)[0]


def test_slot_of_a_dead_process_is_freed(line: tuple[Queue, list[Lease]]) -> None:
    capacity = Capacity(1, 0, [])
    assert enter(line, "a", Need(1), capacity)[0]
    assert not enter(line, "b", Need(1), capacity)[0]
    line[1][0].release()
    assert enter(line, "b", Need(1), capacity)[0]
    assert [slot.job for slot in line[0].read()] == ["b"]


def test_queue_folder_is_named_by_the_boot_id(engine: EmbeddedClient, home: Home) -> None:
    submit(engine, "true").wait()
    assert [path.name for path in (home.path / "queue").iterdir()] == [boot_id()]
