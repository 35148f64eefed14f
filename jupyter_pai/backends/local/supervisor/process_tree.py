"""Descendants of a process, also in other sessions and groups, and signals to them."""

from __future__ import annotations

import contextlib
import os
import signal


def kill_descendants() -> None:
    """Kill all descendants. Orphans become our children, so each round finds those of the last one's victims."""
    with contextlib.suppress(ChildProcessError):
        while pids := descendants(os.getpid()):
            for pid in pids:
                kill(pid, signal.SIGKILL)
            os.wait()


def descendants(pid: int) -> list[int]:
    """Return all descendants of a process."""
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError), open(f"/proc/{name}/stat", "rb") as file:
                children.setdefault(int(file.read().rpartition(b")")[2].split()[1]), []).append(int(name))
    pids = [pid]
    for parent in pids:  # The list grows while it is read.
        pids += children.get(parent, [])
    return pids[1:]


def kill(pid: int, number: signal.Signals) -> None:
    """Send a signal; does nothing if the process has ended."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def wake_on(number: signal.Signals) -> int:
    """Return a descriptor that becomes readable when the signal arrives."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.signal(number, lambda *_: None)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    return reader


def run(command: list[str]) -> None:
    """Run a command without output, and wait for it. The program is named by its path."""
    pid = os.fork()
    if pid == 0:
        try:
            for end in (0, 1, 2):
                os.dup2(os.open(os.devnull, os.O_RDWR), end)
            os.execv(command[0], command)
        finally:
            os._exit(126)
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, 0)
