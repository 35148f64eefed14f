"""What a running job uses of the machine: sampled by its supervisor, so that nothing is missing when no server runs.

What a record holds, `samples` says.
"""

from __future__ import annotations

import os
import time

from jupyter_pai.backends.local.supervisor.nvml import Nvml
from jupyter_pai.jobs.metrics.resource_samples import RECORD

__all__ = ["Usage"]

_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")
_UNKNOWN = (float("nan"), float("nan"))
# Seconds from one sample to the next, for jobs of that age: short jobs get a curve, long ones no heap of points.
_PACE = ((60, 1.0), (600, 5.0), (float("inf"), 15.0))


class Usage:
    """The samples of one job: of the processes below this one."""

    def __init__(self, path: str, gpus: tuple[int, ...]) -> None:
        self.file = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC, 0o600)
        self.gpus = gpus
        self.nvml: Nvml | None = None
        self.begun = self.last = time.monotonic()
        self.ticks = 0
        self.due = self.begun + _PACE[0][1]

    def sample(self) -> None:
        """Take a sample, and set when the next is due."""
        now = time.monotonic()
        ticks, memory = _sum_up(_below(os.getpid()))
        # Who ends between two samples is counted by its parent from then on, unless nobody waited for it.
        cores = max(ticks - self.ticks, 0) / _TICKS / (now - self.last)
        percent, gpu_memory = self._gpu_use()
        record = RECORD.pack(time.time(), cores, memory, percent, gpu_memory)
        try:
            if (written := os.write(self.file, record)) < RECORD.size:
                os.ftruncate(self.file, os.fstat(self.file).st_size - written)  # Records stay whole.
        except OSError:
            pass  # A full disk: the log matters more.
        self.ticks, self.last = ticks, now
        self.due = now + next(pause for age, pause in _PACE if now - self.begun < age)

    def _gpu_use(self) -> tuple[float, float]:
        if not self.gpus:
            return _UNKNOWN
        try:
            self.nvml = self.nvml or Nvml()
        except OSError:
            self.gpus = ()
            return _UNKNOWN
        return self.nvml.use(self.gpus)


def _below(pid: int) -> list[int]:
    """Children, their children, and so on: from the kernel's own lists, which cost less than a look at all
    processes. It may miss one that is just moving, which does no harm here."""
    found: list[int] = []
    waiting = [pid]
    while waiting:
        folder = f"/proc/{waiting.pop()}/task"
        try:
            for task in os.listdir(folder):
                with open(f"{folder}/{task}/children", "rb") as file:
                    children = [int(word) for word in file.read().split()]
                found += children
                waiting += children
        except OSError:
            continue  # It ended.
    return found


def _sum_up(pids: list[int]) -> tuple[int, int]:
    """Clock ticks that they and the children they waited for have used, and the bytes of memory that they hold."""
    ticks = memory = 0
    for pid in pids:
        try:
            with open(f"/proc/{pid}/stat", "rb") as file:
                fields = file.read().rpartition(b")")[2].split()
        except OSError:
            continue
        ticks += sum(int(field) for field in fields[11:15])
        memory += int(fields[21]) * _PAGE
    return ticks, memory
