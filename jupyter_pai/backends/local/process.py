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

from ...core import filesystem
from ...core.errors import BackendError
from ...core.host import boot_id, start_time
from ...core.i18n import _
from ...core.secret import Secret
from ...jobs.state_dir import JobFolder
from .liveness import sign, starter_of
from .queue import Need, Room

__all__ = [
    "Result",
    "ask_to_stop",
    "bury",
    "machine_allows",
    "of_this_boot",
    "read_result",
    "run_aside",
    "spawn",
    "started_at",
]

_ROOT = str(Path(__file__).parents[3])
_SUPERVISOR = (
    sys.executable,
    "-I",
    "-S",
    "-c",
    f"import sys; sys.path.insert(0, {_ROOT!r}); from jupyter_pai.backends.local.supervisor.main import main; main()",
)
# What this process started and does not wait for: to be buried when it is dead.
_children: list[subprocess.Popen[bytes]] = []


@dataclass(frozen=True)
class Result:
    """What a supervisor wrote when its job had ended. `status` is the command's wait status, if it ever ran: of the
    `instance` that failed first, if one did."""

    status: int | None
    instance: str
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
    tty: bool = False,
    grace: float = 10,
    limit: int = 0,
    instances: int = 1,
    cleanup: str = "",
    slots: str = "",
    need: Need | None = None,
    room: Room | None = None,
    secrets: Mapping[str, Secret] | None = None,
) -> None:
    """Start the supervisor of a job. It holds the job's lock from before it exists.

    `grace` and `limit` are in seconds, 0 for no limit; what the words mean, `plan.Plan` says. `secrets` go into its
    environment, which nobody else can read; its command line, which everybody can, has their names.
    """
    bury()
    need, room, secrets = need or Need(), room or Room(0, 0, []), secrets or {}
    words = {"mode": mode, "cwd": cwd, "tty": int(tty), "grace": grace, "limit": limit}
    words |= {"instances": instances, "cleanup": cleanup, "slots": slots, "secrets": " ".join(secrets)}
    words["need"] = f"{need.cpu},{need.memory},{need.gpu}"
    words["room"] = f"{room.cpu},{room.memory},{':'.join(map(str, room.gpus))}"
    lock = os.open(folder.path / "lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        filesystem.lock(lock, fcntl.LOCK_EX)
        sign(lock)
        with open(folder.path / "supervisor.log", "wb") as trouble:
            process = subprocess.Popen(
                [*_SUPERVISOR, f"folder={folder.path}", f"lock={lock}"]
                + [f"{name}={value}" for name, value in words.items()]
                + ["--", *command],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=trouble,
                env={**environment, **{name: secret.open() for name, secret in secrets.items()}},
                cwd=folder.path,
                pass_fds=[lock],
                start_new_session=True,
            )
    except OSError as error:
        raise BackendError(_("The job's process could not be started: {error}.").format(error=error)) from error
    finally:
        os.close(lock)
    _children.append(process)


def run_aside(line: str) -> None:
    """Run a line by a shell and do not wait for it."""
    quiet = subprocess.DEVNULL
    _children.append(subprocess.Popen(["/bin/sh", "-c", line], stdin=quiet, stdout=quiet, stderr=quiet))


def started_at(folder: JobFolder) -> datetime | None:
    """When the command was started, if it was."""
    words = _started(folder)
    return _time(words[4]) if words else None


def of_this_boot(folder: JobFolder) -> bool:
    """Whether a job was started since this machine was."""
    words = _started(folder)
    return not words or words[2] == boot_id()


def read_result(folder: JobFolder) -> Result | None:
    """How the job ended; None for one that has not, and for one that was cut short."""
    try:
        text = (folder.path / "result").read_text("utf-8")
    except FileNotFoundError:
        return None
    values = dict(line.partition("=")[::2] for line in text.splitlines())
    try:
        status = int(values["status"]) if values["status"] else None
        return Result(status, values["instance"], values["reason"], _time(values["ended"]), int(values["oom_kills"]))
    except (KeyError, ValueError):
        return None  # Not whole: a power cut, on a disk that does not keep its promises.


def ask_to_stop(folder: JobFolder) -> None:
    """Tell the supervisor to end its job. The file is for one that cannot hear a signal: not yet, or on no account."""
    (folder.path / "stop").touch()
    words, starter = _started(folder), starter_of(folder)
    if not words or (starter and not starter.is_of_this_boot):
        return
    pid, start, boot, host = int(words[0]), words[1], words[2], words[3]
    if (boot, host) != (boot_id(), os.uname().nodename):
        return
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        # Looked at once it is held: the number cannot go to another process any more.
        if start_time(pid) == start:
            signal.pidfd_send_signal(descriptor, signal.SIGTERM)
    except ProcessLookupError:
        pass
    finally:
        os.close(descriptor)


def _started(folder: JobFolder) -> list[str]:
    try:
        words = (folder.path / "started").read_text("utf-8", "replace").split()
        _time(words[4])
        return words if words[0].isdigit() else []
    except (FileNotFoundError, IndexError, ValueError, OverflowError):
        return []  # Not there yet, or not whole.


def _time(seconds: str) -> datetime:
    return datetime.fromtimestamp(float(seconds), UTC)


def bury() -> None:
    """Wait for children of ours that have ended, so that no zombies stay."""
    for child in list(_children):
        if child.poll() is not None:
            with contextlib.suppress(ValueError):  # Another thread was here first.
                _children.remove(child)
