"""Resources of this machine: the capacity for jobs and the needs of one job."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

from ...core.i18n import _, join, ngettext
from ...core.text import parse_size, show_memory
from ...jobs.spec import JobSpec
from ..resources import InstanceType, Quota
from .liveness import read_text
from .queue import Capacity, Need, Slot
from .supervisor import nvml

# Prefixes of this machine's instance types; the PAI SDK uses these two names.
CPU, GPU = NAMES = "local", "local_gpu"
_CONTROL_GROUP = Path("/sys/fs/cgroup")


def capacity(max_cpu: float | None = None, max_memory: str = "", max_gpu: int | None = None) -> Capacity:
    """Return the capacity for all jobs: that of this machine or container, or less if limited."""
    cpu, memory, gpus = _whole()
    return Capacity(
        cpu if max_cpu is None else max_cpu,
        parse_size(max_memory) if max_memory else memory,
        [gpu.index for gpu in gpus][:max_gpu],
    )


@cache
def _whole() -> tuple[float, int, tuple[nvml.Gpu, ...]]:
    """Return cores, bytes of memory and GPUs of this machine. Cached."""
    cpu = float(len(os.sched_getaffinity(0)))
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    quota = read_text(_CONTROL_GROUP / "cpu.max").split()  # Limits of the surrounding container.
    if len(quota) == 2 and quota[0].isdigit():
        cpu = min(cpu, int(quota[0]) / int(quota[1]))
    limit = read_text(_CONTROL_GROUP / "memory.max").strip()
    if limit.isdigit():
        memory = min(memory, int(limit))
    return cpu, memory, tuple(nvml.gpus())


def instance_types(capacity: Capacity, taken: list[Slot]) -> list[InstanceType]:
    """Return portions of this machine as instance types, with their current availability."""
    _cpu, _memory, gpus = _whole()
    names = {gpu.index: gpu.name for gpu in gpus}
    others = [slot.need for slot in taken]
    return [
        InstanceType(
            name,
            need.cpu,
            need.memory,
            need.gpu,
            gpu_name=names[capacity.gpus[0]] if need.gpu else "",
            available=capacity.holds(need, others),
        )
        for name, need in _portions(capacity).items()
    ]


def machine(capacity: Capacity, taken: list[Slot]) -> Quota:
    """Return this machine with the resources that running jobs leave free."""
    _cpu, _memory, gpus = _whole()
    running = [slot.need for slot in taken if slot.running]
    return Quota(
        CPU,
        socket.gethostname(),
        "",
        capacity.cpu,
        capacity.memory,
        len(capacity.gpus),
        max(capacity.cpu - sum(need.cpu for need in running), 0),
        max(capacity.memory - sum(need.memory for need in running), 0),
        max(len(capacity.gpus) - sum(need.gpu for need in running), 0),
        gpu_name=next((gpu.name for gpu in gpus if gpu.index in capacity.gpus), ""),
    )


def why_waiting(job: str, slots: list[Slot], capacity: Capacity) -> str:
    """Return the resources that a queued job waits for, and the number of jobs ahead. A job ahead may wait for
    the free ones."""
    place = next(n for n, slot in enumerate(slots) if slot.job == job)
    need, ahead = slots[place].need, [slot for slot in slots[:place] if not slot.running]
    running = [slot for slot in slots if slot.running]
    kinds: tuple[tuple[str, Callable[[Need | Capacity], float], Callable[[float], str]], ...] = (
        (_("{n} of {all} cores ({free} free)"), lambda one: one.cpu, "{:g}".format),
        (_("{n} of {all} of memory ({free} free)"), lambda one: one.memory, show_memory),
        (_("{n} of {all} GPUs ({free} free)"), _gpus, "{:g}".format),
    )
    missing = []
    for text, size, show in kinds:
        free = size(capacity) - sum(size(slot.need) for slot in running)
        if size(need) > free - sum(size(slot.need) for slot in ahead):
            missing.append(text.format(n=show(size(need)), free=show(max(free, 0)), all=show(size(capacity))))
    reason = _("It waits for {resources}.").format(resources=join(", ", missing or [_("resources")]))
    text = ngettext("{n} job is ahead.", "{n} jobs are ahead.", len(ahead)).format(n=len(ahead))
    return reason + " " + text if ahead else reason


def _gpus(one: Need | Capacity) -> int:
    return one.gpu if isinstance(one, Need) else len(one.gpus)


def _portions(capacity: Capacity) -> dict[str, Need]:
    """Return instance types by name: 1, 2, 4 … and all cores; the same for GPUs, with their share of the rest."""
    cores = [n for n in (1 << power for power in range(12)) if n < capacity.cpu]
    portions: dict[str, Need] = {}
    for n in [*cores, capacity.cpu]:
        portions[CPU if n == 1 or not portions else f"{CPU}.{n:g}"] = Need(n, int(capacity.memory * n / capacity.cpu))
    count = len(capacity.gpus)
    for n in [n for n in (1, 2, 4, 8, 16) if n < count] + [count] * bool(count):
        portions[GPU if n == 1 else f"{GPU}.{n}"] = Need(capacity.cpu * n / count, int(capacity.memory * n / count), n)
    return portions


def has(instance_type: str, capacity: Capacity) -> bool:
    """Return whether this machine has an instance type of that name."""
    return not instance_type or instance_type in _portions(capacity)


def _request(spec: JobSpec, portions: Mapping[str, Need]) -> Need:
    """Return the resources that the instances of a role request."""
    portion, n = portions.get(spec.instance_type, Need(1)), spec.instance_count
    return Need(
        (spec.cpu or portion.cpu) * n,
        (parse_size(spec.memory) if spec.memory else portion.memory) * n,
        (portion.gpu if spec.gpu is None else spec.gpu) * n,
    )


def need_of(spec: JobSpec, capacity: Capacity) -> tuple[Need, list[str]]:
    """Return the resources of a job, for all its instances, and notes for the user.

    The default is one core. A job that requests more than the capacity gets all of it, so that specs for larger
    machines run here too.
    """
    requests = [_request(one, _portions(capacity)) for one in spec.by_role.values()]
    request = Need(sum(r.cpu for r in requests), sum(r.memory for r in requests), sum(r.gpu for r in requests))
    notes = []
    if any(one.cpu for one in spec.by_role.values()) and request.cpu > capacity.cpu:
        notes.append(
            _("Only {n:g} of the requested {request:g} cores are available.").format(
                n=capacity.cpu, request=request.cpu
            )
        )
    if request.memory > capacity.memory:
        notes.append(
            _("Only {size} of the requested {request} of memory is available.").format(
                size=show_memory(capacity.memory), request=show_memory(request.memory)
            )
        )
    gpus = len(capacity.gpus)
    if request.gpu > gpus:
        notes.append(_("Only {n} of the requested {request} GPUs are available.").format(n=gpus, request=request.gpu))
    return Need(min(request.cpu, capacity.cpu), min(request.memory, capacity.memory), min(request.gpu, gpus)), notes
