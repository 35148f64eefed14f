"""The small process that stands by one local job, apart from everything else, until the job has ended.

    server ── spawns ──> supervisor ── forks ──> guard ── forks ──> the command
                             │                     │
                    copies the log, keeps     kills all that the command left,
                    time, writes `result`     and all of it if the supervisor dies

Neither server nor kernel is needed once it runs: stop them, kill them, and the job goes on. If the supervisor is
killed, the guard, which reads a pipe whose other end only the supervisor holds, ends the job and finishes its log; if
the guard is killed, the supervisor does. What a job starts cannot outlive it, also children that call `setsid` and
fork twice: the guard is the first process of a process tree of its own where the machine allows that, and elsewhere
the subreaper to which orphans fall.

It is started as ``python -I -S`` and imports next to nothing, since every job waits for it. In the job's folder:

``lock``      held (flock) while supervisor or guard live, from before the spawn: no other sign of life is needed
``started``   made with O_EXCL, so a command never runs twice: ``pid start-time boot-id host time``
``result``    written, synced, renamed: lines ``key=value``; without one, a job whose lock is free was cut short
``log/worker-0``        stdout and stderr, byte for byte, in the order in which they came
``log/worker-0.index``  16 bytes (int64 offset, float64 seconds since 1970) for when the bytes from there on came
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import time

from jupyter_pai.backends.local import namespaces, output, tree
from jupyter_pai.backends.local.guard import ALL_GONE, Guard
from jupyter_pai.backends.local.plan import INSTANCE, Plan

__all__ = ["main"]


def main() -> None:
    """Run the job that the command line names, to its end."""
    if sys.argv[1] == "--probe":
        print(*namespaces.probe(sys.argv[2]), sep="\n")
        return
    plan = Plan(sys.argv[1:])
    os.set_inheritable(plan.lock, False)
    wake = tree.wake_on(signal.SIGTERM)
    try:
        started = os.open(plan.path("started"), os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    except FileExistsError:
        os._exit(3)
    output.write_all(started, f"{_identity()} {time.time()}\n".encode())
    os.close(started)
    Supervisor(plan, wake).run()


class Supervisor:
    """Copies the command's output to the log, keeps time, passes stop on, and writes the result."""

    def __init__(self, plan: Plan, wake: int) -> None:
        self.plan = plan
        self.wake = wake
        self.deadline = time.monotonic() + plan.limit
        self.reason = ""
        self.report = b""
        self.oom_kills = _oom_kills()
        self.output, self.output_end = output.terminal() if plan.tty else output.pipe()
        self.log = output.Log(plan.path(f"log/{INSTANCE}"), self.output)
        self.life_end, self.life = os.pipe()
        self.reports, self.reports_end = os.pipe()

    def run(self) -> None:
        if self.plan.mode == namespaces.PRIVATE:
            try:
                namespaces.new_tree()
            except OSError as error:
                self.write_result(f"namespaces {error}")
                return
        namespaces.subreaper()
        guard = os.fork()
        if guard == 0:
            # Ends that must close when their owners do. The lock is kept: it is free only when both of us are gone.
            for end in (self.life, self.reports, self.wake):
                os.close(end)
            Guard(self.plan, self.log, self.life_end, self.reports_end, self.output_end).run()
        for end in (self.life_end, self.reports_end, self.output_end):
            os.close(end)
        if os.path.exists(self.plan.path("stop")):
            self.stop("stopped")
        self.follow()
        if not self.report.endswith(ALL_GONE):
            tree.kill_descendants()  # The guard was killed, and what it had to kill has fallen to us.
        self.log.drain()
        self.write_result(self.reason)
        os.close(self.life)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(guard, 0)

    def follow(self) -> None:
        """Copy until the guard has no more to say."""
        poll = select.poll()
        for end in (self.output, self.reports, self.wake):
            poll.register(end, select.POLLIN)
        while True:
            left = self.deadline - time.monotonic()
            ready = dict(poll.poll(min(left, 3600) * 1000 if left > 0 else 0))
            if self.wake in ready and os.read(self.wake, 64):
                self.stop("stopped")
            elif left <= 0:
                self.deadline = float("inf")
                self.stop("max_run_time")
            if self.output in ready and not self.log.copy():
                poll.unregister(self.output)
            if self.reports in ready:
                said = os.read(self.reports, 4096)
                self.report += said
                if not said:
                    return

    def stop(self, reason: str) -> None:
        """Ask the guard to end the command: SIGTERM now, SIGKILL after the grace time."""
        self.reason = self.reason or reason
        try:
            os.write(self.life, b"s")
        except BrokenPipeError:
            pass  # The guard is gone, and `follow` is about to see it.

    def write_result(self, reason: str) -> None:
        status, _, trouble = self.report.decode().removesuffix(ALL_GONE.decode()).partition(" ")
        if not self.report:
            reason = reason if reason.startswith("namespaces") else "guard"
        lines = [f"status={status}", f"reason={trouble or reason}", f"ended={time.time()}"]
        lines.append(f"oom_kills={_oom_kills() - self.oom_kills}")
        while True:
            try:
                self._write("\n".join(lines) + "\n")
                return
            except OSError as error:
                if error.errno not in output.FULL:
                    raise
                time.sleep(output.RETRY_EVERY)

    def _write(self, text: str) -> None:
        path = self.plan.path("result")
        file = os.open(path + ".new", os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600)
        try:
            output.write_all(file, text.encode("utf-8", "backslashreplace"))
            os.fsync(file)
        finally:
            os.close(file)
        os.rename(path + ".new", path)


def _identity() -> str:
    """Who we are, so that nobody takes another process with our number for us."""
    with open("/proc/self/stat", "rb") as file:
        start = file.read().rpartition(b")")[2].split()[19].decode()
    with open("/proc/sys/kernel/random/boot_id") as file:
        boot = file.read().strip()
    return f"{os.getpid()} {start} {boot} {os.uname().nodename}"


def _oom_kills() -> int:
    """How many processes the kernel has killed for want of memory since it booted."""
    try:
        with open("/proc/vmstat") as file:
            for line in file:
                if line.startswith("oom_kill "):
                    return int(line.split()[1])
    except OSError:
        pass
    return 0
