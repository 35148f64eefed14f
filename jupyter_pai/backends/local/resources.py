"""What this machine has, what of it jobs may use, and what one job takes."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

from ...core.i18n import _
from ...core.sizes import parse_size, show_memory
from ...jobs.spec import JobSpec
from ..resources import InstanceType
from .queue import Need, Room, Slot
from .supervisor import nvml

__all__ = ["NAMES", "has", "instance_types", "need_of", "room"]

# What instance types of this machine begin with; the first two are the PAI SDK's own names.
CPU, GPU = NAMES = "local", "local_gpu"


def room(max_cpu: float | None = None, max_memory: str = "", max_gpu: int | None = None) -> Room:
    """What jobs may use together: all that this machine, or the container that we are in, has; or less, if so set."""
    cpu, memory, gpus = _whole()
    return Room(
        cpu if max_cpu is None else max_cpu,
        parse_size(max_memory) if max_memory else memory,
        [gpu.index for gpu in gpus][:max_gpu],
    )


@cache
def _whole() -> tuple[float, int, tuple[nvml.Gpu, ...]]:
    """Cores, bytes of memory, GPUs. Asked once: machines seldom grow."""
    cpu = float(len(os.sched_getaffinity(0)))
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    quota = _control_group("cpu.max").split()
    if len(quota) == 2 and quota[0].isdigit():
        cpu = min(cpu, int(quota[0]) / int(quota[1]))
    limit = _control_group("memory.max").strip()
    if limit.isdigit():
        memory = min(memory, int(limit))
    return cpu, memory, tuple(nvml.gpus())


def _control_group(name: str) -> str:
    """A limit of the container that we are in; empty if there is none."""
    try:
        return Path("/sys/fs/cgroup", name).read_text("utf-8")
    except OSError:
        return ""


def instance_types(room: Room, taken: list[Slot]) -> list[InstanceType]:
    """This machine in portions. `available`: whether a job of that size would start at once."""
    _cpu, _memory, gpus = _whole()
    names = {gpu.index: gpu.name for gpu in gpus}
    found = []
    for name, need in _portions(room).items():
        gpu_name = names[room.gpus[0]] if need.gpu else ""
        free = room.holds(need, [slot.need for slot in taken])
        found.append(InstanceType(name, need.cpu, need.memory, need.gpu, gpu_name, free))
    return found


def _portions(room: Room) -> dict[str, Need]:
    """Instance types by name: one core, twice as many each time, all; likewise GPUs, with their share of the rest."""
    cores = [n for n in (1 << power for power in range(12)) if n < room.cpu]
    found: dict[str, Need] = {}
    for n in [*cores, room.cpu]:
        found[CPU if n == 1 or len(found) == 0 else f"{CPU}.{n:g}"] = Need(n, int(room.memory * n / room.cpu))
    count = len(room.gpus)
    for n in [n for n in (1, 2, 4, 8, 16) if n < count] + [count] * bool(count):
        need = Need(room.cpu * n / count, int(room.memory * n / count), n)
        found[GPU if n == 1 else f"{GPU}.{n}"] = need
    return found


def has(instance_type: str, room: Room) -> bool:
    """Whether this machine has an instance type of that name."""
    return not instance_type or instance_type in _portions(room)


def need_of(spec: JobSpec, room: Room) -> tuple[Need, list[str]]:
    """What a job takes of the room, over all its instances, and what is to be said of that.

    A job that says nothing takes one core. One that asks for more than there is takes all of it: the same spec is for
    larger machines too.
    """
    portion = _portions(room).get(spec.instance_type, Need(1))
    n = spec.instance_count
    asked = Need(
        (spec.cpu or portion.cpu) * n,
        (parse_size(spec.memory) if spec.memory else portion.memory) * n,
        (portion.gpu if spec.gpu is None else spec.gpu) * n,
    )
    notes = []
    if spec.cpu and asked.cpu > room.cpu:
        notes.append(
            _("Jobs have {n:g} cores here, fewer than the {asked:g} that are asked for.").format(
                n=room.cpu, asked=asked.cpu
            )
        )
    if asked.memory > room.memory:
        notes.append(
            _("Jobs have {size} of memory here, less than the {asked} that are asked for.").format(
                size=show_memory(room.memory), asked=show_memory(asked.memory)
            )
        )
    if asked.gpu > len(room.gpus):
        notes.append(
            _("Jobs have {n} GPUs here, fewer than the {asked} that are asked for.").format(
                n=len(room.gpus), asked=asked.gpu
            )
        )
    return Need(min(asked.cpu, room.cpu), min(asked.memory, room.memory), min(asked.gpu, len(room.gpus))), notes
