"""The processor time of a process and of all that it starts, also of servers and jobs that outlive it.

Linux counts it for a control group. Without the right to make one, the time is that of the process, its children that
have ended, and its descendants that run: detached processes are missing.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import psutil

__all__ = ["ProcessorTime"]

_ROOT = Path("/sys/fs/cgroup")


class ProcessorTime:
    """Counts from now on. This process enters a control group of its own, below that of its parent."""

    def __init__(self) -> None:
        self._group = _own_group()

    def seconds(self) -> float:
        """Return the time since the start of this process, or of its group."""
        if self._group is None:
            return _of_tree()
        with suppress(OSError):  # Version 1 of control groups, then version 2.
            return int((self._group / "cpuacct.usage").read_text()) / 1e9
        return int((self._group / "cpu.stat").read_text().split()[1]) / 1e6

    def close(self) -> None:
        """Return to the group of the parent, and remove the own group, unless something runs in it."""
        if self._group is not None:
            with suppress(OSError):
                (self._group.parent / "cgroup.procs").write_text(str(os.getpid()))
                for folder, _folders, _files in os.walk(self._group, topdown=False):
                    os.rmdir(folder)


def _own_group() -> Path | None:
    groups = [line.split(":", 2) for line in Path("/proc/self/cgroup").read_text().splitlines()]
    for controllers, root in (("cpuacct", _ROOT / "cpuacct"), ("cpu,cpuacct", _ROOT / "cpu,cpuacct"), ("", _ROOT)):
        for parent in (root / path.lstrip("/") for _number, names, path in groups if names == controllers):
            group = parent / f"tests-{os.getpid()}"
            with suppress(OSError):  # Not mounted, or not permitted.
                group.mkdir()
                (group / "cgroup.procs").write_text(str(os.getpid()))
                return group
    return None


def _of_tree() -> float:
    total = sum(os.times()[:4])
    for child in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):  # It ended meanwhile.
            times = child.cpu_times()
            total += times.user + times.system + times.children_user + times.children_system
    return total
