"""Who has which part of this machine: the line in which local jobs wait, kept in one small file.

Each supervisor enters its job, waits for its turn and leaves at the end; no server is needed for that. A job starts
when there is room for it beside the jobs that run *and those that wait before it*: a small job may pass a large one,
but never takes what that one waits for.

``slots``       a line each job, first come first: ``job state cpu memory gpu assigned``
``slots.lock``  held (flock) while the file is read and replaced

Standard library only, and little of it: the supervisor imports it.
"""

from __future__ import annotations

import contextlib
import fcntl
import os

__all__ = ["Need", "Room", "Slot", "Slots"]

_SLACK = 1e-9  # Tenths of a core do not add up exactly.


class Need:
    """What a job takes: cores, bytes of memory, GPUs."""

    def __init__(self, cpu: float = 0, memory: int = 0, gpu: int = 0) -> None:
        self.cpu = cpu
        self.memory = memory
        self.gpu = gpu


class Room:
    """What jobs may take together: cores, bytes of memory, GPUs by their index."""

    def __init__(self, cpu: float, memory: int, gpus: list[int]) -> None:
        self.cpu = cpu
        self.memory = memory
        self.gpus = gpus

    def holds(self, need: Need, others: list[Need]) -> bool:
        """Whether there is place for `need` beside the others; of what it does not need they may want more than all."""
        return (
            (not need.cpu or sum(other.cpu for other in others) + need.cpu <= self.cpu + _SLACK)
            and (not need.memory or sum(other.memory for other in others) + need.memory <= self.memory)
            and (not need.gpu or sum(other.gpu for other in others) + need.gpu <= len(self.gpus))
        )


class Slot:
    """A job's place in the line. `assigned` are the GPUs that it has once it runs."""

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


class Slots:
    """The line of one machine. `jobs` is the folder in which each job has its own, with its lock."""

    def __init__(self, folder: str, jobs: str) -> None:
        self.folder = folder
        self.path = f"{folder}/slots"
        self.jobs = jobs

    def read(self) -> list[Slot]:
        """All who stand in line or run, first come first."""
        try:
            with open(self.path) as file:
                return [Slot.parse(line) for line in file]
        except FileNotFoundError:
            return []

    def stamp(self) -> tuple[int, int]:
        """Changes when the line does."""
        try:
            found = os.stat(self.path)
        except FileNotFoundError:
            return 0, 0
        return found.st_ino, found.st_mtime_ns

    def ask(self, job: str, need: Need, room: Room) -> tuple[Slot, int]:
        """A job's place, which runs if it is its turn, and how many wait before it. Who is new goes to the end."""
        lock = self._lock()
        try:
            before = self.read()
            slots = [slot for slot in before if slot.job == job or self._lives(slot.job)]
            mine = next((slot for slot in slots if slot.job == job), None)
            if mine is None:
                mine = Slot(job, need)
                slots.append(mine)
            waiting = [slot for slot in slots[: slots.index(mine)] if not slot.running]
            running = [slot for slot in slots if slot.running and slot is not mine]
            was = mine.running
            if not was and room.holds(mine.need, [slot.need for slot in (*running, *waiting)]):
                taken = {gpu for slot in running for gpu in slot.assigned}
                mine.assigned = tuple([gpu for gpu in room.gpus if gpu not in taken][: need.gpu])
                mine.running = len(mine.assigned) == need.gpu
            if len(slots) != len(before) or mine.running != was:
                self._replace(slots)
            return mine, len(waiting)
        finally:
            os.close(lock)

    def leave(self, job: str) -> None:
        """Give back what a job has, or its place in the line."""
        lock = self._lock()
        try:
            self._replace([slot for slot in self.read() if slot.job != job])
        finally:
            os.close(lock)

    def _lock(self) -> int:
        lock = os.open(self.path + ".lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        with contextlib.suppress(OSError):  # A disk without locks serves one server, which starts one job at a time.
            fcntl.flock(lock, fcntl.LOCK_EX)
        return lock

    def _lives(self, job: str) -> bool:
        """Whether a job's supervisor or guard lives: one that was killed could not leave by itself."""
        try:
            lock = os.open(f"{self.jobs}/{job}/lock", os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            return False
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            return True  # Held; or a disk without locks, on which nobody is taken for dead.
        finally:
            os.close(lock)
        return False

    def _replace(self, slots: list[Slot]) -> None:
        file = os.open(self.path + ".new", os.O_CREAT | os.O_WRONLY | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        try:
            os.write(file, "".join(map(str, slots)).encode())
        finally:
            os.close(file)
        os.rename(self.path + ".new", self.path)
