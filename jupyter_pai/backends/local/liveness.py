"""Liveness of a job's supervisor, on any host.

The lock decides where possible: it is free only when supervisor and guard have ended. On a shared disk, other hosts may
not see the lock, and some disks have no locks. Therefore, the ``lock`` file also names the starting process, and the
supervisor touches it every few seconds as a sign of life:

=============================================  ============================================================
lock held                                      alive
result written                                 dead
lock free; local disk, or started by this boot dead
no locks; started by this boot                 alive if its process is visible or gives signs of life
other host, signs of life                      elsewhere
this host's name, other boot, no signs of life dead: this machine was restarted
other host, no signs of life                   silent: only the user can decide that it is dead
=============================================  ============================================================
"""

from __future__ import annotations

import fcntl
import os
from enum import Enum, auto
from pathlib import Path

from ...core import filesystem, host
from ...core.host import Process
from ...core.lease import SILENT
from ...jobs.state_dir import JobFolder


class Liveness(Enum):
    """The state of a supervisor."""

    ALIVE = auto()
    DEAD = auto()
    ELSEWHERE = auto()
    SILENT = auto()


def sign(lock: int) -> None:
    """Write this process into a lock file, as the starter of the supervisor that will hold it."""
    os.pwrite(lock, str(Process.me()).encode("utf-8", "replace"), 0)


def read_text(path: Path) -> str:
    """Return the text of a small state file; empty if it cannot be read."""
    try:
        return path.read_text("utf-8", "replace")
    except OSError:
        return ""


def starter_of(folder: JobFolder) -> Process | None:
    """Return the process that started a job's supervisor, if known."""
    return Process.parse(read_text(folder.path / "lock"))


def liveness_of(folder: JobFolder) -> Liveness:
    """Return the state of a job's supervisor."""
    # Outside of `try`: a job is not dead because its network disk is not mounted.
    shared = bool(filesystem.network_kind(folder.path.parent))
    if shared:
        os.listdir(folder.path)  # Refreshes the cache of a network file system.
    try:
        lock = os.open(folder.path / "lock", os.O_RDWR)
    except FileNotFoundError:
        return Liveness.DEAD
    try:
        # A shared lock: concurrent checks do not take each other for the supervisor.
        free = filesystem.lock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        if free is None or (free and shared):
            return _by_signs(folder, lock, free)
        return Liveness.DEAD if free else Liveness.ALIVE
    finally:
        os.close(lock)


def _by_signs(folder: JobFolder, lock: int, free: bool | None) -> Liveness:
    if (folder.path / "result").exists():
        return Liveness.DEAD  # The result is written last.
    starter = starter_of(folder)
    silent = filesystem.age(lock) >= SILENT
    if starter and starter.is_of_this_boot:
        # Processes of other containers are not visible.
        words = read_text(folder.path / "started").split()
        is_seen = len(words) == 5 and words[0].isdigit() and host.start_time(int(words[0])) == words[1]
        return Liveness.ALIVE if free is None and (is_seen or not silent) else Liveness.DEAD
    if not silent:
        return Liveness.ELSEWHERE
    return Liveness.DEAD if starter and starter.host == host.name() else Liveness.SILENT
