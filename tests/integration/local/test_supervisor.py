"""Supervisor and guard: their guarantees after kills, with and without namespaces."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from jupyter_pai.backends.local import process
from jupyter_pai.backends.local.supervisor import namespaces
from jupyter_pai.backends.local.supervisor.arguments import Role
from jupyter_pai.core.errors import BackendError
from jupyter_pai.core.secret import Secret
from jupyter_pai.jobs.state_dir import JobFolder

from ...conftest import NO_ML, processes_of, until
from .supervised_job import DAEMONS, MODES, Started, fill, is_alive


@pytest.fixture
def job_folder(tmp_path: Path) -> Path:
    return tmp_path / "job"


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("command", "code"),
    [("exit 0", 0), ("exit 7", 7), ("kill -9 $$", 137), ("kill -SEGV $$", 139), ("nothing-here", 127)],
)
def test_exit_code_of_the_command_is_reported(job_folder: Path, mode: str, command: str, code: int) -> None:
    result = Started(job_folder, command, mode).end()
    assert result and (result.exit_code, result.reason) == (code, "")


@pytest.mark.parametrize("mode", MODES)
def test_stdout_and_stderr_share_a_log_byte_for_byte(job_folder: Path, mode: str) -> None:
    started = Started(
        job_folder, r"printf 'a\000\377\n'; printf b >&2; echo x > /dev/stderr; printf '\033[1mc\r'", mode
    )
    started.end()
    assert started.log == b"a\0\xff\nbx\n\x1b[1mc\r"


@pytest.mark.parametrize("mode", MODES)
def test_no_process_outlives_the_command(job_folder: Path, mode: str) -> None:
    started = Started(job_folder, DAEMONS + "echo done", mode)
    result = started.end()
    assert result and result.exit_code == 0
    assert processes_of(started.id) == []
    assert started.log == b"done\n"


@pytest.mark.parametrize("mode", MODES)
def test_stop_ends_everything(job_folder: Path, mode: str) -> None:
    command = "trap 'echo asked; exit 3' TERM; (setsid sleep 1000 &); echo ready; while :; do sleep 0.01; done"
    started = Started(job_folder, command, mode)
    until(lambda: b"ready" in started.log)
    process.request_stop(started.folder)
    result = started.end()
    assert result and (result.exit_code, result.reason) == (3, "stopped")
    assert started.log.endswith(b"asked\n")
    assert processes_of(started.id) == []


@pytest.mark.slow("cases", first=1)
@pytest.mark.parametrize("mode", MODES)
def test_stop_during_startup_is_not_lost(tmp_path: Path, mode: str) -> None:
    for n in range(30):
        started = Started(tmp_path / f"job{n}", "sleep 1000", mode, grace=1000)
        until((started.folder.path / "started").exists)
        time.sleep(n / 3000)  # Each time at another moment of its start.
        process.request_stop(started.folder)
        result = started.end()
        assert result and (result.exit_code, result.reason) == (143, "stopped")


@pytest.mark.parametrize("mode", MODES)
def test_process_ignoring_sigterm_is_killed(job_folder: Path, mode: str) -> None:
    started = Started(job_folder, DAEMONS + "echo ready; while :; do sleep 0.01; done", mode, grace=0.2)
    until(lambda: b"ready" in started.log)
    process.request_stop(started.folder)
    result = started.end()
    assert result and (result.exit_code, result.reason) == (137, "stopped")
    assert processes_of(started.id) == []


def test_stop_before_the_supervisor_starts_is_kept(job_folder: Path) -> None:
    job_folder.mkdir()
    (job_folder / "stop").touch()
    result = Started(job_folder, "sleep 1000", namespaces.PRIVATE).end()
    assert result and result.reason == "stopped"


def test_run_time_limit_stops_the_command(job_folder: Path) -> None:
    result = Started(job_folder, "sleep 1000", namespaces.PRIVATE, limit=0.2).end()
    assert result and (result.exit_code, result.reason) == (143, "max_run_time")


@pytest.mark.parametrize("mode", MODES)
def test_killed_supervisor_ends_the_job(job_folder: Path, mode: str) -> None:
    started = Started(job_folder, DAEMONS + "i=0; while :; do echo $i; i=$((i+1)); done", mode)
    until(lambda: len(started.log) > 10_000)
    os.kill(started.pid(), signal.SIGKILL)
    assert started.end() is None
    assert processes_of(started.id) == []
    lines = started.log.split(b"\n")
    assert lines[:-1] == [b"%d" % n for n in range(len(lines) - 1)]


@pytest.mark.parametrize("mode", [namespaces.MOUNTS, namespaces.PLAIN])
def test_supervisor_killed_at_the_end_leaves_a_complete_log(job_folder: Path, mode: str) -> None:
    """The guard, which cannot report, still ends all processes and completes the log."""
    command = DAEMONS + "read a b c supervisor d < /proc/$PPID/stat; echo end; kill -9 $supervisor"
    started = Started(job_folder, command, mode)
    assert started.end() is None
    assert processes_of(started.id) == []
    assert started.log == b"end\n"


@pytest.mark.parametrize("mode", MODES)
def test_killed_guard_ends_the_job(job_folder: Path, mode: str) -> None:
    started = Started(job_folder, DAEMONS + "i=0; while :; do echo $i; i=$((i+1)); done", mode)
    until(lambda: len(started.log) > 10_000)
    os.kill(started.guard(), signal.SIGKILL)
    result = started.end()
    assert result and (result.exit_code, result.reason) == (None, "guard")
    assert processes_of(started.id) == []
    lines = started.log.split(b"\n")
    assert lines[:-1] == [b"%d" % n for n in range(len(lines) - 1)]


def test_command_never_runs_twice(job_folder: Path) -> None:
    job_folder.mkdir()
    (job_folder / "started").touch()
    started = Started(job_folder, "echo again", namespaces.PRIVATE)
    assert started.end() is None
    assert started.log == b""


def test_best_mode_of_the_machine_is_found(tmp_path: Path) -> None:
    user = [] if os.getuid() == 0 else ["--user", "--map-current-user"]
    allowed = subprocess.run(["unshare", *user, "--pid", "--fork", "--mount-proc", "true"], check=False)
    if allowed.returncode:
        pytest.skip(NO_ML)
    for name in ("ml", "root"):
        (tmp_path / name).mkdir()
    assert namespaces.probe(str(tmp_path)) == (namespaces.PRIVATE, "")


@pytest.mark.parametrize("mode", [namespaces.PRIVATE, namespaces.MOUNTS])
def test_file_view_is_that_of_the_machine_with_its_own_ml(job_folder: Path, mode: str) -> None:
    command = (
        "mkdir /new 2>/dev/null && echo made; touch /ml/file; pwd; id -u; cat /proc/self/mountinfo > mounts; "
        "cat /proc/self/uid_map > users; "
        "ls /proc > processes; ls -lA / | awk 'NR > 1 {print $1, $9, $10, $11}' > top; readlink /proc/self/root"
    )
    started = Started(job_folder, command, mode)
    result = started.end()
    assert result and result.exit_code == 0, started.log
    assert started.log.decode().split() == ["/ml/usercode", str(os.getuid()), "/"]
    assert (job_folder / "ml/file").exists()
    code = job_folder / "ml/usercode"
    mounts = [line.split() for line in (code / "mounts").read_text().splitlines()]
    (root,) = [mount for mount in mounts if mount[4] == "/"]
    kind = root[root.index("-") + 1]
    assert (kind, {*root[5].split(",")} >= {"ro", "nosuid", "nodev"}) == ("tmpfs", True)
    assert "size=1024k" in root[-1]
    assert "unbindable" in root[6 : root.index("-")]
    effective = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("CapEff:"))
    if int(effective.split()[1], 16) & 1 << 21:  # With CAP_SYS_ADMIN, no user namespace is needed.
        assert (code / "users").read_text() == Path("/proc/self/uid_map").read_text()
    # Neither the old root nor the folder of the job is mounted a second time; later mounts do not spread to it.
    assert not [mount for mount in mounts if mount[4].startswith(str(job_folder / "root"))]
    assert not [mount for mount in mounts if any(word.startswith("shared:") for word in mount)]
    # Only the processes of the job, if its process tree is private.
    processes = [name for name in (code / "processes").read_text().split() if name.isdigit()]
    assert (str(os.getpid()) in processes) == (mode == namespaces.MOUNTS)
    top = dict(line.split(maxsplit=2)[1::-1] for line in (code / "top").read_text().splitlines())
    assert {*top} == {*os.listdir("/"), "ml"}
    for name in {*os.listdir("/")} - {"ml"}:
        assert (top[name][0] == "l") == os.path.islink(f"/{name}")


def test_failed_file_view_is_reported(job_folder: Path) -> None:
    job_folder.mkdir()
    (job_folder / "root").write_text("no folder")
    for name in ("ml/usercode", "log"):
        (job_folder / name).mkdir(parents=True)
    folder = JobFolder(job_folder)
    options: dict[str, Any] = {"cwd": "/ml/usercode", "tty": False, "grace": 1, "limit": 0}
    roles = [Role("worker", 1, ["/bin/sh", "-c", "echo never"])]
    process.spawn(folder, roles, {"PATH": "/bin"}, mode=namespaces.PRIVATE, **options)
    until(lambda: not is_alive(folder))
    result = process.read_result(folder)
    assert result and result.exit_code is None
    assert result.reason.startswith("namespaces ")
    assert (job_folder / "log/worker-0").read_bytes() == b""


def test_time_index_records_when_lines_arrived(job_folder: Path) -> None:
    from jupyter_pai.jobs.logs.file import LogFile

    begun = time.time()
    started = Started(job_folder, "echo one; sleep 0.4; echo two", namespaces.PRIVATE)
    started.end()
    log = LogFile(started.folder.log, "worker-0")
    first, second = log.time_at(0), log.time_at(4)
    assert first is not None
    assert second is not None
    assert begun <= first < second <= time.time()


def test_full_disk_pauses_the_job_and_loses_nothing(small_disk: Path) -> None:
    """The log is on a small file system, which is full until space is freed."""
    (small_disk / "ballast").write_bytes(b"x" * 1_700_000)
    started = Started(small_disk / "job", "seq 100000", namespaces.PRIVATE)
    until(lambda: len(started.log) > 100_000)
    (small_disk / "ballast").unlink()
    result = started.end()
    assert result and result.exit_code == 0
    assert started.log == b"".join(b"%d\n" % n for n in range(1, 100_001))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("secrets", [{}, {"KEY": Secret("a-secret-value")}])
def test_stopped_job_ends_on_a_full_disk(small_disk: Path, mode: str, secrets: dict[str, Secret]) -> None:
    """Nothing is freed for its last output and its result."""
    started = Started(small_disk / "job", "yes", mode, secrets=secrets)
    until(lambda: os.statvfs(small_disk).f_bavail == 0)
    process.request_stop(started.folder)
    result = started.end()
    assert result and result.reason == "stopped"
    assert processes_of(started.id) == []
    assert not started.log.replace(b"y\n", b"").strip(b"y")


def test_disk_full_at_start_is_reported_or_waited_for(small_disk: Path) -> None:
    with pytest.raises(BackendError, match="No space left"):
        Started(small_disk / "refused", "echo never", namespaces.PRIVATE, before=lambda: fill(small_disk))
    (small_disk / "ballast").unlink()

    def with_a_lock() -> None:
        (small_disk / "job/lock").write_text("room for the starter")
        (small_disk / "job/arguments.json").write_text("room for the arguments")
        fill(small_disk)

    started = Started(small_disk / "job", "echo 1", namespaces.PRIVATE, before=with_a_lock)
    until((started.folder.path / "started").exists)
    assert process.started_at(started.folder) is None
    assert is_alive(started.folder)
    (small_disk / "ballast").unlink()
    result = started.end()
    assert result and result.exit_code == 0
    assert started.log == b"1\n"


def test_process_with_a_reused_pid_is_not_killed(job_folder: Path) -> None:
    """After a restart of the machine, the pid belongs to another process."""
    import subprocess

    bystander = subprocess.Popen(["sleep", "1000"])
    try:
        job_folder.mkdir()
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        host = os.uname().nodename
        for identity in (f"{bystander.pid} 1 {boot} {host} 0", f"{bystander.pid} 1 other-boot {host} 0"):
            (job_folder / "started").write_text(identity)
            process.request_stop(JobFolder(job_folder))
        assert bystander.poll() is None
    finally:
        bystander.kill()
        bystander.wait()


def test_probe_detects_the_supported_mode() -> None:
    mode, reason = process.machine_allows()
    assert mode in MODES
    assert (mode == namespaces.PRIVATE) == (reason == "")
