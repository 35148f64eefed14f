"""A job of the supervisor alone, without an engine."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable
from itertools import repeat
from pathlib import Path
from typing import Any

import pytest

from jupyter_pai.backends.local import process
from jupyter_pai.backends.local.liveness import Liveness, liveness_of
from jupyter_pai.backends.local.supervisor import namespaces
from jupyter_pai.backends.local.supervisor.arguments import Role
from jupyter_pai.jobs.state_dir import JobFolder

from ...conftest import NO_ML, allows, processes_of, until

__all__ = ["DAEMONS", "MODES", "Started", "fill", "guard_of", "is_alive", "power_off", "supervisor_of"]

MODES = [namespaces.PRIVATE, namespaces.MOUNTS, namespaces.PLAIN]
# Children that leave the group, the session and their parent, and ignore what can be ignored.
DAEMONS = "trap '' TERM HUP; (setsid sh -c 'trap \"\" TERM; sleep 1000 & sleep 1000' &) ; (sleep 1000 &) ; "


def fill(disk: Path) -> None:
    """Leave no room at all on a disk, until `ballast` is removed."""
    with (disk / "ballast").open("wb", buffering=0) as ballast, pytest.raises(OSError, match="No space"):
        all(map(ballast.write, repeat(bytes(4096))))


def power_off(job_id: str) -> None:
    """Kill all processes of a job, as a power cut does."""
    for pid in processes_of(job_id):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    until(lambda: not processes_of(job_id))


def is_alive(folder: JobFolder) -> bool:
    """Return whether the supervisor or the guard of a job is alive."""
    return liveness_of(folder) is Liveness.ALIVE


class Started:
    """A job of the supervisor alone."""

    def __init__(
        self, folder: Path, command: str, mode: str, before: Callable[[], object] = int, **options: Any
    ) -> None:
        if not allows(mode):
            pytest.skip(NO_ML)
        for name in ("ml/usercode", "root", "log"):
            (folder / name).mkdir(parents=True)
        self.folder = JobFolder(folder)
        self.id = f"test-{folder.parent.name}-{os.getpid()}"
        cwd = f"{folder}/ml/usercode" if mode == namespaces.PLAIN else "/ml/usercode"
        environment = {"PATH": os.environ["PATH"], "JUPYTER_PAI_JOB_ID": self.id}
        settings: dict[str, Any] = {"tty": False, "grace": 10, "limit": 0, "mode": mode, "cwd": cwd} | options
        roles = [Role("worker", settings.pop("instances", 1), ["/bin/sh", "-c", command])]
        before()
        process.spawn(self.folder, roles, environment, **settings)

    @property
    def log(self) -> bytes:
        try:
            return (self.folder.log / "worker-0").read_bytes()
        except FileNotFoundError:
            return b""

    def end(self) -> process.Result | None:
        """Wait until supervisor and guard have ended, and return the result if there is one."""
        until(lambda: not is_alive(self.folder))
        return process.read_result(self.folder)

    def pid(self) -> int:
        """The pid of the supervisor."""
        return supervisor_of(self.folder)

    def guard(self) -> int:
        return guard_of(self.folder)


def supervisor_of(folder: JobFolder) -> int:
    """Return the pid of a job's supervisor."""
    started = folder.path / "started"
    # Made first, written then.
    return int(until(lambda: started.read_text().split() if started.exists() else [])[0])


def guard_of(folder: JobFolder) -> int:
    """Return the pid of a job's guard."""
    pid = supervisor_of(folder)
    return int(until(lambda: Path(f"/proc/{pid}/task/{pid}/children").read_text().split())[0])
