"""Measured resource usage of a job's processes."""

from __future__ import annotations

import asyncio

import psutil

from .clock import Clock
from .jobs import Instance

__all__ = ["sample"]


async def sample(pid: int, instance: Instance, clock: Clock, every: float) -> None:
    """Measure a process and its children until this is cancelled or they are gone. CPU is in cores, memory in GiB."""
    seen: dict[int, psutil.Process] = {}
    while True:
        try:
            _measure(pid, seen, instance, clock.now())
        except psutil.Error:
            return
        await asyncio.sleep(every)


def _measure(pid: int, seen: dict[int, psutil.Process], instance: Instance, now: float) -> None:
    first = psutil.Process(pid)
    for process in [first, *first.children(recursive=True)]:
        seen.setdefault(process.pid, process)
    cores = memory = read = written = 0.0
    for process in list(seen.values()):
        try:
            with process.oneshot():
                cores += process.cpu_percent() / 100
                memory += process.memory_info().rss / 2**30
                counters = process.io_counters()
                read, written = read + counters.read_bytes, written + counters.write_bytes
        except psutil.Error:
            del seen[process.pid]
    values = {"CpuCoreUsage": cores, "MemoryUsage": memory, "DiskReadRate": read, "DiskWriteRate": written}
    idle = dict.fromkeys(("GpuCoreUsage", "GpuMemoryUsage", "NetworkInputRate", "NetworkOutputRate"), 0.0)
    instance.usage += [(now, name, value) for name, value in (values | idle).items()]
