"""Whether the supervisor of a job lives, on whatever host it was started.

The lock tells, wherever it can: it is free only when supervisor and guard are dead. On a disk that several hosts share,
a lock may be seen by its own host only, and some disks have none. There the ``lock`` file also says by whom it was
started, and the supervisor touches it every few seconds:

=========================================  ==============================================================
the lock is held                           alive
it has left its result                     dead
free; the disk or the boot is ours         dead
no locks here; the boot is ours            as its process says, if it can be seen; else by its signs of life
another host, signs of life                elsewhere
our name, another boot, no signs of life   dead: this machine was restarted
another host, no signs of life             silent: nobody but the user can say that it is dead
=========================================  ==============================================================
"""

from __future__ import annotations

import fcntl
import os
from enum import Enum, auto

from ...core import filesystem, host
from ...core.host import Process
from ...core.lease import SILENT
from ...jobs.state_dir import JobFolder

__all__ = ["Life", "life_of", "sign", "starter_of"]


class Life(Enum):
    """What is known of a supervisor."""

    ALIVE = auto()
    DEAD = auto()
    ELSEWHERE = auto()
    SILENT = auto()


def sign(lock: int) -> None:
    """Write into a lock file who starts the supervisor that will hold it."""
    os.pwrite(lock, str(Process.me()).encode("utf-8", "replace"), 0)


def starter_of(folder: JobFolder) -> Process | None:
    """Who started a job's supervisor, if that is known."""
    try:
        return Process.parse((folder.path / "lock").read_text("utf-8", "replace"))
    except OSError:
        return None


def life_of(folder: JobFolder) -> Life:
    """What is known of the supervisor of a job."""
    shared = bool(filesystem.network_kind(folder.path.parent))  # One answer for all jobs.
    if shared:
        os.listdir(folder.path)  # So that files are seen which another host has made meanwhile.
    try:
        lock = os.open(folder.path / "lock", os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return Life.DEAD
    try:
        # Shared, so that two who look at the same time do not take each other for the supervisor.
        free = filesystem.lock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        if free is False:
            return Life.ALIVE
        if free and not shared:
            return Life.DEAD
        return _by_signs(folder, lock, free)
    finally:
        os.close(lock)


def _by_signs(folder: JobFolder, lock: int, free: bool | None) -> Life:
    if (folder.path / "result").exists():
        return Life.DEAD  # The last thing that it does.
    starter = starter_of(folder)
    silent = filesystem.age(lock) >= SILENT
    if starter and starter.is_of_this_boot:
        alive = free is None and (not silent or _is_seen(folder))
        return Life.ALIVE if alive else Life.DEAD
    if not silent:
        return Life.ELSEWHERE
    return Life.DEAD if starter and starter.host == host.name() else Life.SILENT


def _is_seen(folder: JobFolder) -> bool:
    """Whether the process that `started` names runs. Another container's processes cannot be seen."""
    try:
        words = (folder.path / "started").read_text("utf-8").split()
    except OSError:
        return False
    return len(words) == 5 and words[0].isdigit() and host.start_time(int(words[0])) == words[1]
