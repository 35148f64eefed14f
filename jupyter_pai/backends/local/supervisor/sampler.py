"""Resource usage of a running job, sampled by its supervisor, so that no server is needed.

See `jobs.metrics.resource_samples` for the record's format.
"""

from __future__ import annotations

import contextlib
import os
import time

from jupyter_pai.backends.local.supervisor.nvml import Nvml
from jupyter_pai.jobs.metrics.resource_samples import RECORD

_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")
_UNKNOWN = (float("nan"), float("nan"))
# Seconds between samples by the age of the job: enough points for short jobs, not too many for long ones.
_INTERVALS = ((60, 1.0), (600, 5.0), (float("inf"), 15.0))


class UsageSampler:
    """Samples the descendants of this process."""

    def __init__(self, path: str, gpus: tuple[int, ...]) -> None:
        self.file = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
        self.gpus = gpus
        self.nvml: Nvml | None = None
        self.begun = self.last = time.monotonic()
        self.ticks = 0
        self.due = self.begun + _INTERVALS[0][1]

    def sample(self) -> None:
        """Take a sample and set the time of the next."""
        now = time.monotonic()
        ticks, memory = _sum_up(_below(os.getpid()))
        # The parent accounts for a process that ended between two samples, if it waited for it.
        cores = max(ticks - self.ticks, 0) / _TICKS / (now - self.last)
        record = RECORD.pack(time.time(), cores, memory, *self._gpu_use())
        with contextlib.suppress(OSError):  # A full disk: the log matters more.
            if (written := os.write(self.file, record)) < RECORD.size:
                os.ftruncate(self.file, os.fstat(self.file).st_size - written)  # Records stay whole.
        self.ticks, self.last = ticks, now
        self.due = now + next(pause for age, pause in _INTERVALS if now - self.begun < age)

    def _gpu_use(self) -> tuple[float, float]:
        try:
            self.nvml = self.nvml or (Nvml() if self.gpus else None)
        except OSError:
            self.gpus = ()
        return self.nvml.use(self.gpus) if self.nvml else _UNKNOWN


def _below(pid: int) -> list[int]:
    """Return all descendants, from the kernel's child lists, which are cheaper than a scan of all processes.

    A process that moves meanwhile may be missing, which is harmless here.
    """
    pids = [pid]
    for parent in pids:  # The list grows while it is read.
        with contextlib.suppress(OSError):  # It ended.
            for task in os.listdir(f"/proc/{parent}/task"):
                with open(f"/proc/{parent}/task/{task}/children", "rb") as file:
                    pids += map(int, file.read().split())
    return pids[1:]


def _sum_up(pids: list[int]) -> tuple[int, int]:
    """Return their clock ticks, those of their reaped children included, and their resident memory in bytes."""
    ticks = memory = 0
    for pid in pids:
        with contextlib.suppress(OSError), open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
            ticks += sum(map(int, fields[11:15]))
            memory += int(fields[21]) * _PAGE
    return ticks, memory
