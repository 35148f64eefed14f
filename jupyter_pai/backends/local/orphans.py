"""Processes of a job whose supervisor and guard were killed, by the job itself or from outside.

In a private process tree, none are left. Elsewhere they continue as orphans. They are found by the job's id in their
environment, with their descendants. A process that clears its environment and leaves its parent is not found.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import time

from ...core.host import start_time
from ...jobs.state_dir import JobFolder
from .liveness import read_text

# Searches: each one finds the processes that were started since the one before.
_ROUNDS = 20
# Seconds to wait in all for the end of killed processes, which may be busy in the kernel.
_PATIENCE = 10.0
# A process: its id and its start time.
_Process = tuple[int, str]


def end(folder: JobFolder) -> tuple[int, int]:
    """Kill the orphans of a job. Return the number of orphans, and the number of those still alive, such as processes
    of another user. The result is kept for later calls.
    """
    path = folder.path / "orphans"
    if known := read_text(path).split():
        return int(known[0]), int(known[1])
    found: set[_Process] = set()
    deadline = time.monotonic() + _PATIENCE
    for _round in range(_ROUNDS):
        if not (left := _processes_of(folder.id)):
            break
        found |= left
        _kill(left, deadline)
    remaining = len(_processes_of(folder.id)) if found else 0
    with contextlib.suppress(OSError):  # On a full disk: they are counted again.
        path.write_text(f"{len(found)} {remaining}", "utf-8")
    return len(found), remaining


def _kill(processes: set[_Process], deadline: float) -> None:
    """Kill processes and wait for their end, at most until `deadline`."""
    with contextlib.ExitStack() as stack:
        ends, waiting = select.poll(), 0
        for pid, start in processes:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                descriptor = os.pidfd_open(pid)
                stack.callback(os.close, descriptor)
                # Checked while the descriptor is open: the id cannot be reused.
                if start_time(pid) == start:
                    signal.pidfd_send_signal(descriptor, signal.SIGKILL)
                    ends.register(descriptor, select.POLLIN)
                    waiting += 1
        while waiting and (left := deadline - time.monotonic()) > 0:
            for descriptor, _event in ends.poll(left * 1000):
                ends.unregister(descriptor)
                waiting -= 1


def _processes_of(job_id: str) -> set[_Process]:
    """Return the processes with a job's id in their environment, and all their descendants, except this process."""
    mark = f"JUPYTER_PAI_JOB_ID={job_id}".encode()
    children: dict[int, list[_Process]] = {}
    found: list[_Process] = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):  # It has ended.
            with open(f"/proc/{name}/stat", "rb") as file:
                words = file.read().rpartition(b")")[2].split()
            if words[0] == b"Z":
                continue
            process = int(name), words[19].decode()
            children.setdefault(int(words[1]), []).append(process)
            # Unreadable for processes of other users.
            with open(f"/proc/{name}/environ", "rb") as file:
                if mark in file.read().split(b"\0"):
                    found.append(process)
    for pid, _start in found:  # The list grows while it is read.
        found += [child for child in children.get(pid, []) if child not in found]
    return {process for process in found if process[0] != os.getpid()}
