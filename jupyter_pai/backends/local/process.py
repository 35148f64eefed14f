"""Starts, inspects and stops supervisors, by the lock and the files in the job's folder."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

from ...core import filesystem
from ...core.errors import DAMAGED, BackendError, BadInput
from ...core.host import boot_id, start_time
from ...core.i18n import _
from ...core.secret import Secret
from ...jobs.instances import Instance
from ...jobs.job import JobStatus
from ...jobs.logs import file as logs
from ...jobs.state_dir import FULL, JobFolder
from ..reports import Report
from .liveness import sign, starter_of
from .queue import Capacity, Need
from .supervisor.arguments import Role

_ROOT = str(Path(__file__).parents[3])


def command(module: str) -> list[str]:
    """Return the command that runs a module of the supervisor."""
    name = f"jupyter_pai.backends.local.supervisor.{module}"
    return [
        *(sys.executable, "-I", "-S", "-c"),
        f"import sys; sys.path.insert(0, {_ROOT!r}); from {name} import main; main()",
    ]


# Child processes to reap.
_children: list[subprocess.Popen[bytes]] = []


@dataclass(frozen=True)
class Result:
    """The file `result` of an ended job. `status` is the wait status of the command: of the first failed `instance`
    if any; None if the command never ran."""

    status: int | None
    instance: str
    reason: str
    ended_at: datetime
    oom_kills: int

    @property
    def exit_code(self) -> int | None:
        """The exit code as a shell reports it: 128 + n if signal n ended the command."""
        return None if self.status is None else _exit_code(self.status)


def _exit_code(status: int) -> int:
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


@cache
def machine_allows() -> tuple[str, str]:
    """Return the best isolation mode of this machine (see `namespaces`), and why no better one. Cached.

    Raises:
        BackendError: if no process can be started.
    """
    with tempfile.TemporaryDirectory() as folder:
        for name in ("ml", "root"):
            os.mkdir(os.path.join(folder, name))
        probe = subprocess.run([*command("main"), "--probe", folder], check=False, capture_output=True, text=True)
    mode, _newline, reason = probe.stdout.strip().partition("\n")
    if probe.returncode != 0 or not mode:
        raise BackendError(_("The local backend cannot start a process: {error}").format(error=probe.stderr.strip()))
    return mode, reason


def spawn(
    folder: JobFolder,
    roles: Sequence[Role],
    environment: Mapping[str, str],
    *,
    mode: str,
    cwd: str,
    tty: bool = False,
    grace: float = 10,
    limit: int = 0,
    cleanup: Sequence[str] = (),
    queue: str = "",
    need: Need | None = None,
    capacity: Capacity | None = None,
    parameters: str = "",
    secrets: Mapping[str, Secret] | None = None,
) -> None:
    """Start the supervisor of a job. It holds the job's lock before its process exists.

    `roles`: in the order of their ranks. `grace` and `limit` are in seconds; limit 0 means none. See `Arguments` for
    the other parameters. `secrets` are passed in the environment, which other users cannot read; the file has only
    their names.
    """
    reap_children()
    need, capacity, secrets = need or Need(), capacity or Capacity(0, 0, []), secrets or {}
    arguments = {
        "roles": [[one.name, one.count, one.command, one.has_gpus] for one in roles],
        "mode": mode, "cwd": cwd, "tty": tty, "grace": grace, "limit": limit,
        "cleanup": [*cleanup], "queue": queue, "need": [need.cpu, need.memory, need.gpu],
        "capacity": [capacity.cpu, capacity.memory, capacity.gpus], "parameters": parameters, "secrets": [*secrets],
    }  # fmt: skip
    lock = os.open(folder.path / "lock", os.O_CREAT | os.O_RDWR, 0o600)
    try:
        filesystem.lock(lock, fcntl.LOCK_EX)
        sign(lock)
        (folder.path / "arguments.json").write_text(json.dumps(arguments), "utf-8")
        with open(folder.path / "supervisor.log", "wb") as trouble:
            process = subprocess.Popen(
                [*command("main"), str(folder.path), str(lock)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=trouble,
                env={**environment, **{name: secret.open() for name, secret in secrets.items()}},
                cwd=folder.path,
                pass_fds=[lock],
                start_new_session=True,
            )
    except OSError as error:
        if error.errno == errno.E2BIG:
            text = _("The hyperparameters, arguments and variables are larger than this system passes to a program.")
            fix = _("Pass large values in a file: an input, or a file of the code.")
            raise BadInput(text, fix=fix) from error
        raise BackendError(_("The job's process could not be started: {error}.").format(error=error)) from error
    finally:
        os.close(lock)
    _children.append(process)


def run_aside(command: Sequence[str]) -> None:
    """Start a command without waiting for it."""
    quiet = subprocess.DEVNULL
    _children.append(subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=quiet))


def started_at(folder: JobFolder) -> datetime | None:
    """Return the start time of the command; None before the start."""
    words = _started(folder)
    return _time(words[4]) if words else None


def of_this_boot(folder: JobFolder) -> bool:
    """Return whether a job was started since this machine booted."""
    return _started(folder)[2:3] in ([], [boot_id()])


def read_result(folder: JobFolder) -> Result | None:
    """Return the end of a job; None for an active job and for one that was cut short."""
    # Missing, or incomplete after a power failure on a disk that ignores fsync.
    with contextlib.suppress(*DAMAGED):
        lines = (folder.path / "result").read_text("utf-8").splitlines()
        values = dict(line.partition("=")[::2] for line in lines)
        status = int(values["status"]) if values["status"] else None
        ended, kills = _time(values["ended"]), int(values["oom_kills"])
        _exit_code(status or 0)  # Raises if the number is not a wait status.
        return Result(status, values["instance"], values["reason"], ended, kills)
    return None


def instances_of(folder: JobFolder, report: Report) -> list[Instance]:
    """Return the instances of a job with this state, in the order of their ranks; none before the start."""
    roles = _roles(folder)
    names, ends = logs.instances(folder.log, list(roles)), _read_ends(folder)
    if len(names) == 1 and report.exit_code is not None and report.ended_at:
        ends = {0: (report.exit_code, report.ended_at)}
    is_stopped = report.status is JobStatus.STOPPED or (folder.path / "stop").exists()
    failed = next((rank for rank, (code, _end) in ends.items() if code and not is_stopped), None)
    node = "".join(_started(folder)[3:4])

    def instance(rank: int, name: str) -> Instance:
        code, ended_at = ends.get(rank, (None, report.ended_at))
        status, reason = report.status, report.reason if report.status.ended else ""
        if code == 0:
            status, reason = JobStatus.SUCCEEDED, ""
        elif code and rank == failed:
            status = JobStatus.FAILED
        elif code:
            status = JobStatus.STOPPED
            if failed is not None:  # Then the others are stopped.
                reason = _("Stopped, because {name} failed.").format(name=names[failed])
        known = Instance(name, roles.get(name, "worker"), rank, status, node=node, exit_code=code, reason=reason)
        return replace(known, started_at=report.started_at, ended_at=ended_at)

    return [instance(rank, name) for rank, name in enumerate(names)]


def _roles(folder: JobFolder) -> dict[str, str]:
    """Return the role of each instance by its name, in the order of the ranks; none for a job of an earlier version."""
    with contextlib.suppress(*DAMAGED):
        roles = json.loads((folder.path / "arguments.json").read_bytes())["roles"]
        return {f"{role}-{rank}": role for role, count, *_rest in roles for rank in range(count)}
    return {}


def _read_ends(folder: JobFolder) -> dict[int, tuple[int, datetime]]:
    """Return exit code and end of each ended instance, by rank, in the order of the ends. A job of one instance has
    only a result."""
    ends: dict[int, tuple[int, datetime]] = {}
    with contextlib.suppress(*DAMAGED):  # Only the last line may be incomplete.
        for line in (folder.path / "ends").read_text("utf-8", "replace").splitlines():
            rank, status, time = line.split(" ")
            ends[int(rank)] = _exit_code(int(status)), _time(time)
    return ends


def request_stop(folder: JobFolder) -> None:
    """Request the end of a job: by a file, and by a signal if its supervisor is reachable."""
    unmarked: OSError | None = None
    try:
        (folder.path / "stop").touch()
    except OSError as error:
        if error.errno not in FULL:
            raise
        unmarked = error
    words, starter = _started(folder), starter_of(folder)
    is_here = words[2:4] == [boot_id(), os.uname().nodename]
    if not is_here or (starter and not starter.is_of_this_boot):
        if unmarked:
            raise unmarked
        return
    if (descriptor := _supervisor(folder)) is not None:
        try:
            signal.pidfd_send_signal(descriptor, signal.SIGTERM)
        except ProcessLookupError:
            pass  # It has ended.
        finally:
            os.close(descriptor)


def exit_of(folder: JobFolder) -> int | None:
    """Return a descriptor that becomes readable when the supervisor of a job ends; None if it has ended, or is not
    known on this machine. The caller closes it."""
    children = [*_children]  # Other threads change it.
    for child in children:
        if child.returncode is None and str(folder.path) in child.args:  # type: ignore[operator]
            with contextlib.suppress(ProcessLookupError):
                return os.pidfd_open(child.pid)
    return _supervisor(folder)


def _supervisor(folder: JobFolder) -> int | None:
    """Return a descriptor of the supervisor of a started job on this machine; None if it has ended."""
    words = _started(folder)
    if words[2:4] != [boot_id(), os.uname().nodename]:
        return None
    try:
        descriptor = os.pidfd_open(int(words[0]))
    except ProcessLookupError:
        return None
    # Checked while the descriptor is open: the id cannot be reused.
    if start_time(int(words[0])) != words[1]:
        os.close(descriptor)
        return None
    return descriptor


def _started(folder: JobFolder) -> list[str]:
    try:
        words = (folder.path / "started").read_text("utf-8", "replace").split()
        _time(words[4])
        return words if words[0].isdigit() else []
    except (FileNotFoundError, IndexError, ValueError, OverflowError):
        return []  # Missing or incomplete.


def _time(seconds: str) -> datetime:
    return datetime.fromtimestamp(float(seconds), UTC)


def reap_children() -> None:
    """Reap ended child processes."""
    for child in list(_children):
        if child.poll() is not None:
            with contextlib.suppress(ValueError):  # Another thread removed it.
                _children.remove(child)
