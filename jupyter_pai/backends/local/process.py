"""The supervisor's process as seen from outside: start it, see how it stands, stop it. All by files and the lock."""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

from ...errors import BackendError
from ...home import JobFolder
from ...i18n import _

__all__ = ["Result", "ask_to_stop", "is_alive", "machine_allows", "read_result", "spawn", "started_at"]

_ROOT = str(Path(__file__).parents[3])
_SUPERVISOR = (
    sys.executable,
    "-I",
    "-S",
    "-c",
    f"import sys; sys.path.insert(0, {_ROOT!r}); from jupyter_pai.backends.local.supervisor import main; main()",
)
# Supervisors that this process started: to bury them when they are dead.
_children: list[subprocess.Popen[bytes]] = []


@dataclass(frozen=True)
class Result:
    """What a supervisor wrote when its job had ended. `status` is the command's wait status, if it ever ran."""

    status: int | None
    reason: str
    ended_at: datetime
    oom_kills: int

    @property
    def exit_code(self) -> int | None:
        """As a shell gives it: 128 + n where signal n ended the command."""
        if self.status is None:
            return None
        code = os.waitstatus_to_exitcode(self.status)
        return code if code >= 0 else 128 - code


@cache
def machine_allows() -> tuple[str, str]:
    """What this machine allows a job, found by trying (see `namespaces`), and why not more. Once a process."""
    with tempfile.TemporaryDirectory() as folder:
        for name in ("ml", "root"):
            os.mkdir(os.path.join(folder, name))
        tried = subprocess.run([*_SUPERVISOR, "--probe", folder], check=False, capture_output=True, text=True)
    mode, _newline, reason = tried.stdout.strip().partition("\n")
    if tried.returncode != 0 or not mode:
        raise BackendError(_("The local backend cannot start a process: {error}").format(error=tried.stderr.strip()))
    return mode, reason


def spawn(
    folder: JobFolder,
    command: Sequence[str],
    environment: Mapping[str, str],
    *,
    mode: str,
    cwd: str,
    tty: bool,
    grace: float,
    limit: int,
) -> None:
    """Start the supervisor of a job. It holds the job's lock from before it exists."""
    _bury()
    words = {"mode": mode, "cwd": cwd, "tty": int(tty), "grace": grace, "limit": limit}
    lock = os.open(folder.path / "lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with open(folder.path / "supervisor.log", "wb") as trouble:
            process = subprocess.Popen(
                [*_SUPERVISOR, f"folder={folder.path}", f"lock={lock}"]
                + [f"{name}={value}" for name, value in words.items()]
                + ["--", *command],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=trouble,
                env=dict(environment),
                cwd=folder.path,
                pass_fds=[lock],
                start_new_session=True,
            )
    except OSError as error:
        raise BackendError(_("The job's process could not be started: {error}.").format(error=error)) from error
    finally:
        os.close(lock)
    _children.append(process)


def is_alive(folder: JobFolder) -> bool:
    """Whether supervisor or guard of the job live, wherever they were started from."""
    try:
        lock = os.open(folder.path / "lock", os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        # Shared, so that two who look at the same time do not take each other for the supervisor.
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(lock)
        _bury()
    return False


def started_at(folder: JobFolder) -> datetime | None:
    """When the command was started, if it was."""
    words = _started(folder)
    return _time(words[4]) if words else None


def read_result(folder: JobFolder) -> Result | None:
    """How the job ended; None for one that has not, and for one that was cut short."""
    try:
        text = (folder.path / "result").read_text("utf-8")
    except FileNotFoundError:
        return None
    values = dict(line.split("=", 1) for line in text.splitlines())
    status = int(values["status"]) if values["status"] else None
    reason = values["reason"]
    never_ran = (status is not None and status > 0xFFFF) or reason.startswith("namespaces")
    return Result(None if never_ran else status, reason, _time(values["ended"]), int(values["oom_kills"]))


def ask_to_stop(folder: JobFolder) -> None:
    """Tell the supervisor to end its job. The file is for one that is not ready to hear a signal yet."""
    (folder.path / "stop").touch()
    words = _started(folder)
    if not words:
        return
    pid, start, boot, host = int(words[0]), words[1], words[2], words[3]
    if (boot, host) != (_boot_id(), os.uname().nodename):
        return
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        # Looked at once it is held: the number cannot go to another process any more.
        if _start_time(pid) == start:
            signal.pidfd_send_signal(descriptor, signal.SIGTERM)
    except ProcessLookupError:
        pass
    finally:
        os.close(descriptor)


def _started(folder: JobFolder) -> list[str]:
    try:
        words = (folder.path / "started").read_text("utf-8").split()
    except FileNotFoundError:
        return []
    return words if len(words) == 5 else []


def _start_time(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[19].decode()
    except OSError:
        return ""


def _boot_id() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text("utf-8").strip()


def _time(seconds: str) -> datetime:
    return datetime.fromtimestamp(float(seconds), UTC)


def _bury() -> None:
    """Wait for supervisors of ours that have ended, so that no zombies stay."""
    for child in list(_children):
        if child.poll() is not None:
            with contextlib.suppress(ValueError):  # Another thread was here first.
                _children.remove(child)
