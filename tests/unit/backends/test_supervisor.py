"""The parts of the supervisor of local jobs: output, usage samples, result file, processes, arguments."""

from __future__ import annotations

import errno
import fcntl
import json
import math
import multiprocessing
import os
import select
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from struct import Struct
from typing import Any

import pytest

from jupyter_pai.backends.local.queue import Need, Slot
from jupyter_pai.backends.local.supervisor import main, output, process_tree
from jupyter_pai.backends.local.supervisor.arguments import Arguments
from jupyter_pai.backends.local.supervisor.result import ResultFile
from jupyter_pai.backends.local.supervisor.sampler import UsageSampler
from jupyter_pai.core.secret_filter import SecretFilter
from jupyter_pai.jobs.metrics.resource_samples import RECORD

from ...conftest import until

INDEX = Struct("<qd")
_F_GETPIPE_SZ = 1032


def arguments(folder: Path, **values: Any) -> Arguments:
    fields: dict[str, Any] = {
        "roles": [["worker", 1, ["/bin/true"], True]],
        "mode": "plain",
        "cwd": "/",
        "tty": False,
        "grace": 10,
        "limit": 0,
        "cleanup": "",
        "queue": "",
        "need": [0, 0, 0],
        "capacity": [2, 100, [0, 1]],
        "parameters": "",
        "secrets": [],
    }
    (folder / "arguments.json").write_text(json.dumps(fields | values))
    return Arguments(str(folder), 7)


def test_arguments_are_read(tmp_path: Path) -> None:
    roles = [["ps", 1, ["/bin/true"], False], ["worker", 2, ["/bin/echo", "é"], True]]
    read = arguments(tmp_path, roles=roles, need=[0.5, 9, 1], limit=60.5)
    assert (read.lock, read.limit, read.instances) == (7, 60.5, ["ps-0", "worker-0", "worker-1"])
    places = [(role.name, rank, role.command, role.has_gpus) for role, rank in read.places]
    worker = ["/bin/echo", "é"]
    assert places == [("ps", 0, ["/bin/true"], False), ("worker", 0, worker, True), ("worker", 1, worker, True)]
    assert (read.need.cpu, read.need.memory, read.need.gpu) == (0.5, 9, 1)
    assert (read.capacity.cpu, read.capacity.memory, read.capacity.gpus) == (2, 100, [0, 1])
    assert read.path("log/x") == f"{tmp_path}/log/x"
    assert arguments(tmp_path).limit == math.inf


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "worker-0"


def index(log: Path) -> list[int]:
    """Return the offsets in the index of times, whose times must be current."""
    entries = list(INDEX.iter_unpack(Path(f"{log}.index").read_bytes()))
    assert all(abs(moment - time.time()) < 60 for _offset, moment in entries)
    return [offset for offset, _moment in entries]


@pytest.mark.parametrize("masks", [False, True])
def test_output_is_moved_to_the_log(log: Path, masks: bool) -> None:
    reader, end = output.pipe()
    writer = output.LogWriter(str(log), reader, SecretFilter({"KEY": b"secret-value"}) if masks else None)
    assert writer.splices is not masks
    os.write(end, b"one\n")
    assert writer.copy()
    os.write(end, b"two\n")
    assert writer.copy()
    assert log.read_bytes() == b"one\ntwo\n"
    assert index(log) == [0]  # The second one follows at once.
    writer.indexed -= 1
    os.write(end, b"secret-value\n")
    assert writer.copy()
    assert index(log) == [0, 8]
    os.write(end, b"last")
    os.close(end)
    writer.drain()
    assert not writer.copy()
    assert log.read_bytes() == b"one\ntwo\n" + (b"[secret KEY]\n" if masks else b"secret-value\n") + b"last"
    assert {stat.S_IMODE(os.stat(path).st_mode) for path in (log, f"{log}.index")} == {0o600}


def test_pipe_holds_a_mebibyte() -> None:
    reader, end = output.pipe()
    assert fcntl.fcntl(reader, _F_GETPIPE_SZ) == 1 << 20
    os.close(reader)
    os.close(end)


def test_text_that_begins_a_secret_is_shown_in_a_pause(log: Path) -> None:
    reader, end = output.pipe()
    writer = output.LogWriter(str(log), reader, SecretFilter({"KEY": b"secret-value"}))
    os.write(end, b"a s")
    writer.copy()
    assert log.read_bytes() == b"a s"
    # As much as is safe, while more is waiting to be read.
    os.write(end, b"ecret")
    writer.copy()
    assert log.read_bytes() == b"a sec"
    os.write(end, b"-value")
    writer.copy()
    os.close(end)
    writer.drain()
    assert b"secret-value" not in log.read_bytes()


def test_terminal_ends_without_a_writer(log: Path) -> None:
    master, slave = output.terminal()
    assert os.get_terminal_size(slave) == (120, 24)
    writer = output.LogWriter(str(log), master)
    assert not writer.splices
    os.write(slave, b"one\n")
    assert writer.copy()
    os.close(slave)
    assert not writer.copy()
    assert log.read_bytes() == b"one\r\n"


def test_other_errors_of_the_output_are_raised(log: Path) -> None:
    reader, end = output.pipe()
    os.close(end)
    writer = output.LogWriter(str(log), reader)
    os.close(writer.file)
    with pytest.raises(OSError) as caught:
        writer.copy()
    assert caught.value.errno == errno.EBADF


def test_full_disk_is_waited_for() -> None:
    results: Iterator[Any] = iter([OSError(errno.ENOSPC, "full"), OSError(errno.EDQUOT, "full"), 3])

    def write(text: str) -> object:
        if isinstance(result := next(results), OSError):
            raise result
        return f"{text} {result}"

    assert output.patiently(write, "written") == "written 3"
    results = iter([OSError(errno.EIO, "broken")])
    with pytest.raises(OSError, match="broken"):
        output.patiently(write, "")


@pytest.mark.parametrize(
    ("instances", "reports", "changes", "expected"),
    [
        (1, b"0 0\n.\n", {}, ("0", "", "")),
        (1, b"0 256\n.\n", {}, ("256", "", "")),
        (2, b"1 0\n0 0\n.\n", {}, ("0", "worker-1", "")),
        (2, b"1 9\n0 15\n.\n", {}, ("9", "worker-1", "")),
        (2, b"1 0\n0 15\n.\n", {}, ("15", "worker-0", "")),
        (2, b"1 9\n", {}, ("9", "worker-1", "guard")),
        (1, b"", {}, ("", "", "guard")),
        (1, b"", {"guarded": False}, ("", "", "stopped")),
        (1, b"0 15\n.\n", {"reason": "max_run_time"}, ("15", "", "max_run_time")),
        (1, b"! no room\n", {}, ("", "", "namespaces no room")),
        (1, b"0 0\n! no room\n.\n", {}, ("", "", "namespaces no room")),
        (1, b"", {"trouble": "not permitted", "guarded": False}, ("", "", "namespaces not permitted")),
    ],
)
def test_result_is_that_of_the_first_failed_instance(
    tmp_path: Path, instances: int, reports: bytes, changes: dict[str, Any], expected: tuple[str, str, str]
) -> None:
    result = ResultFile(
        arguments(tmp_path, roles=[["worker", instances, [], True]]), "" if changes.get("guarded", True) else "stopped"
    )
    result.guarded, result.reports = True, reports
    for name, value in changes.items():
        setattr(result, name, value)
    result.write()
    values = dict(line.split("=", 1) for line in (tmp_path / "result").read_text().splitlines())
    assert (values["status"], values["instance"], values["reason"]) == expected
    assert abs(float(values["ended"]) - time.time()) < 60
    assert values["oom_kills"] == "0"
    assert stat.S_IMODE((tmp_path / "result").stat().st_mode) == 0o600
    assert sorted(os.listdir(tmp_path)) == ["arguments.json", "result"]


def test_ends_of_several_instances_are_recorded(tmp_path: Path) -> None:
    result = ResultFile(arguments(tmp_path, roles=[["worker", 3, [], True]]), "")
    result.guarded = True
    for data in (b"2 0\n1 2", b"56\n", b"0 15\n.\n"):
        result.add_reports(data)
    rows = [line.split() for line in (tmp_path / "ends").read_text().splitlines()]
    assert [(rank, status) for rank, status, _time in rows] == [("2", "0"), ("1", "256"), ("0", "15")]
    assert all(abs(float(moment) - time.time()) < 60 for _rank, _status, moment in rows)
    assert stat.S_IMODE((tmp_path / "ends").stat().st_mode) == 0o600
    result.write()
    assert "status=256" in (tmp_path / "result").read_text()


def test_single_instance_has_only_a_result(tmp_path: Path) -> None:
    ResultFile(arguments(tmp_path), "").add_reports(b"0 0\n.\n")
    assert not (tmp_path / "ends").exists()


def test_run_time_is_right_although_the_clock_was_set_back(tmp_path: Path) -> None:
    result = ResultFile(arguments(tmp_path), "")
    result.started += 8 * 3600  # The clock showed this when the job started.
    result.write()
    values = dict(line.split("=", 1) for line in (tmp_path / "result").read_text().splitlines())
    assert 0 <= float(values["ended"]) - result.started < 60


@pytest.fixture
def tree() -> Iterator[subprocess.Popen[bytes]]:
    """A shell with two descendants, one of them in a session of its own."""
    command = "setsid sh -c 'sleep 1000 & wait' & wait"
    with subprocess.Popen(["sh", "-c", command], start_new_session=True) as process:
        until(lambda: len(process_tree.descendants(process.pid)) >= 2)
        yield process
        for pid in (*process_tree.descendants(process.pid), process.pid):
            process_tree.kill(pid, signal.SIGKILL)


def test_descendants_are_found_and_signalled(tree: subprocess.Popen[bytes]) -> None:
    pids = process_tree.descendants(tree.pid)
    assert tree.pid not in pids
    assert set(pids) <= set(process_tree.descendants(os.getpid()))
    assert all(str(pid) in os.listdir("/proc") for pid in pids)
    for pid in pids:
        process_tree.kill(pid, signal.SIGKILL)
    assert tree.wait() == 0
    process_tree.kill(pids[0], signal.SIGKILL)  # It has ended.


@pytest.mark.parametrize(("succeeds_at", "runs"), [(1, 1), (2, 2), (9, 3)])
def test_containers_are_removed_without_output_and_again_if_that_fails(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], succeeds_at: int, runs: int
) -> None:
    calls = tmp_path / "calls"
    command = f"cat; echo out; echo err >&2; echo >> '{calls}'; [ $(wc -l < '{calls}') -ge {succeeds_at} ]"
    process_tree.remove_containers(["/bin/sh", "-c", command])
    assert calls.read_text() == "\n" * runs
    assert capfd.readouterr() == ("", "")


def test_signal_makes_a_descriptor_readable() -> None:
    before = signal.getsignal(signal.SIGUSR1)
    reader = process_tree.wake_on(signal.SIGUSR1)
    try:
        assert select.select([reader], [], [], 0)[0] == []
        os.kill(os.getpid(), signal.SIGUSR1)
        until(lambda: select.select([reader], [], [], 0)[0])
        assert os.read(reader, 100) == bytes([signal.SIGUSR1])
    finally:
        writer = signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGUSR1, before)
        os.close(writer)
        os.close(reader)


BUSY = """
import sys, threading, subprocess
memory = bytearray(50_000_000)
if sys.argv[1:]:  # A child of another thread.
    other = threading.Thread(target=lambda: subprocess.run([sys.executable, "-c", sys.argv[1]]))
    other.start()
print("ready", flush=True)
while True: pass
"""


def sample_busy_processes(path: str) -> tuple[float, int]:
    """Write one sample of two busy processes. Return the cores that they used, and their resident bytes."""
    sampler = UsageSampler(path, ())
    code = "while True: pass"
    with subprocess.Popen([sys.executable, "-c", BUSY, code], stdout=subprocess.PIPE) as process:
        assert process.stdout
        process.stdout.readline()
        until(lambda: len(process_tree.descendants(process.pid)) == 1)
        pids = [process.pid, *process_tree.descendants(process.pid)]
        until(lambda: sum(map(ticks, pids)) >= 20)
        elapsed = time.monotonic() - sampler.last
        used, memory = sum(map(ticks, pids)), sum(map(resident, pids))
        sampler.sample()
        for pid in pids:
            process_tree.kill(pid, signal.SIGKILL)
    return used / os.sysconf("SC_CLK_TCK") / elapsed, memory


def test_usage_of_all_descendants_is_sampled(tmp_path: Path) -> None:
    # The process of the tests may have other descendants.
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        used, resident = pool.submit(sample_busy_processes, str(tmp_path / "usage")).result()
    (record,) = RECORD.iter_unpack((tmp_path / "usage").read_bytes())
    moment, cores, memory, *gpu = record
    assert abs(moment - time.time()) < 60
    assert cores == pytest.approx(used, rel=0.5)
    assert memory == pytest.approx(resident, rel=0.3)
    assert memory > 50_000_000
    assert all(map(math.isnan, gpu))


def test_usage_is_private(tmp_path: Path) -> None:
    os.close(UsageSampler(str(tmp_path / "usage"), ()).file)
    assert stat.S_IMODE((tmp_path / "usage").stat().st_mode) == 0o600


def resident(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def ticks(pid: int) -> int:
    return sum(map(int, Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:15]))


@pytest.mark.parametrize(("age", "pause"), [(0, 1), (59, 1), (61, 5), (599, 5), (601, 15), (1e6, 15)])
def test_older_jobs_are_sampled_less_often(tmp_path: Path, age: float, pause: float) -> None:
    sampler = UsageSampler(str(tmp_path / "usage"), ())
    assert sampler.due == sampler.begun + 1
    sampler.begun -= age
    sampler.sample()
    assert sampler.due == sampler.last + pause


def test_next_sample_counts_what_was_used_since_the_last(tmp_path: Path) -> None:
    sampler = UsageSampler(str(tmp_path / "usage"), ())
    sampler.ticks += 1_000_000
    sampler.sample()
    sampler.last -= 1000
    sampler.sample()
    samples = list(RECORD.iter_unpack((tmp_path / "usage").read_bytes()))
    # Never less than 0, and over the time since the last sample.
    assert samples[0][1] == 0
    assert 0 <= samples[1][1] < 1
    sampler.last -= 100
    sampler.ticks -= 300 * os.sysconf("SC_CLK_TCK")
    sampler.sample()
    (*_earlier, last) = RECORD.iter_unpack((tmp_path / "usage").read_bytes())
    assert last[1] == pytest.approx(3, abs=0.5)


def test_variables_of_the_start_are_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CUDA_VISIBLE_DEVICES", "MASTER_PORT"):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    need = Need(0, 0, 2)
    main._set_variables(arguments(tmp_path), Slot("job", Need(), assigned=()))
    assert "CUDA_VISIBLE_DEVICES" not in os.environ
    port = os.environ["MASTER_PORT"]
    with socket.socket() as free:
        free.bind(("127.0.0.1", int(port)))
    main._set_variables(arguments(tmp_path, need=[0, 0, 2]), Slot("job", need, assigned=(1, 3)))
    assert (os.environ["CUDA_VISIBLE_DEVICES"], os.environ["MASTER_PORT"]) == ("1,3", port)


def test_process_is_identified_with_its_start() -> None:
    pid, start, boot, host = main._identity().split()
    assert (pid, host) == (str(os.getpid()), os.uname().nodename)
    assert boot == Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    assert start == Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19]
