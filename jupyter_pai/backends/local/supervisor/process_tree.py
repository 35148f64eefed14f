"""Descendants of a process, also in other sessions and groups, and signals to them."""

from __future__ import annotations

import contextlib
import os
import signal

# The most runs of a command that fails.
_TRIES = 3


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


def remove_containers(command: list[str]) -> None:
    """Run the command that removes containers, again if it fails: podman fails if a container ends by itself while it
    is killed. The program is named by its path."""
    tries = 0
    while tries < _TRIES and _run(command):
        tries += 1


def _run(command: list[str]) -> int:
    """Run a command without output. Return its wait status."""
    pid = os.fork()
    if pid == 0:
        try:
            for end in (0, 1, 2):
                os.dup2(os.open(os.devnull, os.O_RDWR), end)
            os.execv(command[0], command)
        finally:
            os._exit(126)
    try:
        return os.waitpid(pid, 0)[1]
    except ChildProcessError:
        return 0
