"""Descendants of a process, also in other sessions and groups, and signals to them."""

from __future__ import annotations

import contextlib
import os
import signal


def kill_descendants() -> None:
    """Kill all descendants. Orphans become our children, so each round finds those of the last one's victims."""
    while pids := descendants(os.getpid()):
        for pid in pids:
            kill(pid, signal.SIGKILL)
        try:
            os.wait()
        except ChildProcessError:
            return


def descendants(pid: int) -> list[int]:
    """Return all descendants of a process."""
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb") as file:
                    parent = int(file.read().rpartition(b")")[2].split()[1])
            except OSError:
                continue
            children.setdefault(parent, []).append(int(name))
    pids: list[int] = []
    waiting = [pid]
    while waiting:
        below = children.get(waiting.pop(), [])
        pids += below
        waiting += below
    return pids


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


def run(line: str) -> None:
    """Run a shell command without output, and wait for it."""
    pid = os.fork()
    if pid == 0:
        try:
            null = os.open(os.devnull, os.O_RDWR)
            for end in (0, 1, 2):
                os.dup2(null, end)
            os.execv("/bin/sh", ["/bin/sh", "-c", line])
        finally:
            os._exit(126)
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, 0)
