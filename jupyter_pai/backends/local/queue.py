"""The queue of local jobs on one machine, kept in a small file.

Each supervisor adds its job, waits, and removes it at the end, without a server. A job starts when it fits beside the
running jobs *and the jobs ahead of it*: a small job may overtake a large one, but never takes the resources that the
large one waits for.

``slots``       one line per job in order of arrival: ``job state cpu memory gpu assigned``
``slots.lock``  held (flock) while the file is read and replaced

The supervisor imports this module: standard library only, and little of it.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from io import FileIO

_SLACK = 1e-9  # Rounding errors of fractions of a core.


class Need:
    """The resources of a job: cores, bytes of memory, GPUs."""

    def __init__(self, cpu: float = 0, memory: int = 0, gpu: int = 0) -> None:
        self.cpu = cpu
        self.memory = memory
        self.gpu = gpu


class Capacity:
    """The resources of all jobs together: cores, bytes of memory, GPUs by index."""

    def __init__(self, cpu: float, memory: int, gpus: list[int]) -> None:
        self.cpu = cpu
        self.memory = memory
        self.gpus = gpus

    def holds(self, need: Need, others: list[Need]) -> bool:
        """Return whether `need` fits beside the others. Resources that it does not need may be exceeded by others."""
        return (
            (not need.cpu or sum(other.cpu for other in others) + need.cpu <= self.cpu + _SLACK)
            and (not need.memory or sum(other.memory for other in others) + need.memory <= self.memory)
            and (not need.gpu or sum(other.gpu for other in others) + need.gpu <= len(self.gpus))
        )


class Slot:
    """A job's entry in the queue. `assigned` are the GPUs of a running job."""

    def __init__(self, job: str, need: Need, *, running: bool = False, assigned: tuple[int, ...] = ()) -> None:
        self.job = job
        self.need = need
        self.running = running
        self.assigned = assigned

    def __str__(self) -> str:
        state = "running" if self.running else "waiting"
        assigned = ",".join(map(str, self.assigned)) or "-"
        return f"{self.job} {state} {self.need.cpu} {self.need.memory} {self.need.gpu} {assigned}\n"

    @staticmethod
    def parse(line: str) -> Slot:
        job, state, cpu, memory, gpu, assigned = line.split()
        gpus = () if assigned == "-" else tuple(map(int, assigned.split(",")))
        return Slot(job, Need(float(cpu), int(memory), int(gpu)), running=state == "running", assigned=gpus)


class Queue:
    """The queue of one machine. `jobs` is the folder of all job folders, which have their locks."""

    def __init__(self, folder: str, jobs: str) -> None:
        self.folder = folder
        self.path = f"{folder}/slots"
        self.jobs = jobs

    def read(self) -> list[Slot]:
        """Return waiting and running jobs in order of arrival."""
        with contextlib.suppress(FileNotFoundError), open(self.path) as file:
            return [Slot.parse(line) for line in file]
        return []

    def current(self) -> list[Slot]:
        """Return waiting and running jobs, without those whose processes were killed."""
        return [slot for slot in self.read() if self._is_alive(slot.job)]

    def version(self) -> tuple[int, int]:
        """Return a value that changes with the queue."""
        try:
            status = os.stat(self.path)
        except FileNotFoundError:
            return 0, 0
        return status.st_ino, status.st_mtime_ns

    def request(self, job: str, need: Need, capacity: Capacity) -> tuple[Slot, int]:
        """Return a job's slot, started if the job fits, and the number of jobs ahead. Adds a new job at the end."""
        with self._lock():
            stored = self.read()
            slots = [slot for slot in stored if slot.job == job or self._is_alive(slot.job)]
            mine = next((slot for slot in slots if slot.job == job), None)
            if mine is None:
                mine = Slot(job, need)
                slots.append(mine)
            waiting = [slot for slot in slots[: slots.index(mine)] if not slot.running]
            running = [slot for slot in slots if slot.running and slot is not mine]
            was = mine.running
            if not was and capacity.holds(mine.need, [slot.need for slot in (*running, *waiting)]):
                taken = {gpu for slot in running for gpu in slot.assigned}
                mine.assigned = tuple([gpu for gpu in capacity.gpus if gpu not in taken][: need.gpu])
                mine.running = len(mine.assigned) == need.gpu
            if len(slots) != len(stored) or mine.running != was:
                self._replace(slots)
            return mine, len(waiting)

    def leave(self, job: str) -> None:
        """Remove a job and free its resources."""
        with self._lock():
            self._replace([slot for slot in self.read() if slot.job != job])

    def _lock(self) -> FileIO:
        lock = FileIO(os.open(self.path + ".lock", os.O_CREAT | os.O_RDWR, 0o600))
        with contextlib.suppress(OSError):  # A disk without locks serves one server, which starts one job at a time.
            fcntl.flock(lock, fcntl.LOCK_EX)
        return lock

    def _is_alive(self, job: str) -> bool:
        """Return whether a job's supervisor or guard is alive. A killed one leaves its entry behind."""
        try:
            with FileIO(os.open(f"{self.jobs}/{job}/lock", os.O_RDWR)) as lock:
                fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except FileNotFoundError:
            return False
        except OSError:
            return True  # Held, or a disk without locks: assume that it is alive.
        return False

    def _replace(self, slots: list[Slot]) -> None:
        flags = os.O_CREAT | os.O_WRONLY | os.O_TRUNC
        with FileIO(os.open(self.path + ".new", flags, 0o600), "w") as file:
            file.write("".join(map(str, slots)).encode())
        os.rename(self.path + ".new", self.path)
