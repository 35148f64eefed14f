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

``lock``      held (flock) while supervisor or guard live, from before the spawn; who started it, and touched every
              second, for hosts that cannot see the lock (see `life`)
``stop``      made by whoever wants the job's end
``started``   made with O_EXCL, so a command never runs twice: ``pid start-time boot-id host time``. Missing while the
              job waits for its turn (see `slots`)
``result``    written, synced, renamed: lines ``key=value``; without one, a job whose lock is free was cut short
``usage``     what the job uses of the machine (see `usage`)
``log/worker-0``        stdout and stderr, byte for byte but for secrets, in order; one log an instance
``log/worker-0.index``  16 bytes (int64 offset, float64 seconds since 1970) for when the bytes from there on came
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import time

from jupyter_pai.backends.local.queue import Slot, Slots
from jupyter_pai.backends.local.supervisor import namespaces, output
from jupyter_pai.backends.local.supervisor import process_tree as tree
from jupyter_pai.backends.local.supervisor.arguments import Plan
from jupyter_pai.backends.local.supervisor.guard import Guard
from jupyter_pai.backends.local.supervisor.result import Ending
from jupyter_pai.backends.local.supervisor.sampler import Usage

__all__ = ["main"]

# Seconds between two signs of life, and between two looks whether somebody wants the job's end.
_LOOK_EVERY = 1.0
# Seconds between two looks at the line in which the job waits: for the first in it, and more for each one before us.
_LOOK, _LOOK_LATER, _LOOK_LATEST = 0.1, 0.01, 2.0
# Seconds after which somebody who was killed in the line is noticed, likewise.
_SWEEP, _SWEEP_LATER, _SWEEP_LATEST = 2.0, 1.0, 30.0


def main() -> None:
    """Run the job that the command line names, to its end."""
    if sys.argv[1] == "--probe":
        print(*namespaces.probe(sys.argv[2]), sep="\n")
        return
    plan = Plan(sys.argv[1:])
    os.set_inheritable(plan.lock, False)
    wake = tree.wake_on(signal.SIGTERM)
    slots = Slots(plan.slots, os.path.dirname(plan.folder))
    job = os.path.basename(plan.folder)
    slot = _wait_for_turn(plan, slots, job, wake) if plan.slots else Slot(job, plan.need)
    if slot is None:
        Ending(plan, "stopped").write()
    else:
        try:
            started = os.open(plan.path("started"), os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        except FileExistsError:
            os._exit(3)
        output.write_all(started, f"{_identity()} {time.time()}\n".encode(), patient=True)
        os.close(started)
        _set_variables(plan, slot)
        Supervisor(plan, wake, slot.assigned).run()
    if plan.slots:
        with contextlib.suppress(OSError):  # On a full disk the next who asks finds that we have gone.
            slots.leave(job)


def _wait_for_turn(plan: Plan, slots: Slots, job: str, wake: int) -> Slot | None:
    """Stand in the line until there is room for the job; None if it is stopped there."""
    poll = select.poll()
    poll.register(wake, select.POLLIN)
    while True:
        try:
            slot, before = slots.ask(job, plan.need, plan.room)
        except OSError as error:
            if error.errno not in output.FULL:
                raise
            time.sleep(output.RETRY_EVERY)
            continue
        if slot.running:
            return slot
        seen = slots.stamp()
        sweep_at = time.monotonic() + min(_SWEEP + before * _SWEEP_LATER, _SWEEP_LATEST)
        while slots.stamp() == seen and time.monotonic() < sweep_at:
            with contextlib.suppress(OSError):
                os.utime(plan.lock)  # A sign of life.
            if poll.poll(min(_LOOK + before * _LOOK_LATER, _LOOK_LATEST) * 1000) or os.path.exists(plan.path("stop")):
                return None


def _set_variables(plan: Plan, slot: Slot) -> None:
    """What is known only now: the GPUs of the job, and a port at which its instances meet."""
    if plan.need.gpu:
        os.environ["CUDA_VISIBLE_DEVICES"] = ",".join(map(str, slot.assigned))
    if "MASTER_PORT" not in os.environ:
        from _socket import socket  # Without what the module around it imports.

        probe = socket()
        probe.bind(("127.0.0.1", 0))
        os.environ["MASTER_PORT"] = str(probe.getsockname()[1])
        probe.close()


class Supervisor:
    """Copies the output of the instances to their logs, keeps time, passes stop on, and writes the result."""

    def __init__(self, plan: Plan, wake: int, gpus: tuple[int, ...]) -> None:
        self.plan = plan
        self.wake = wake
        self.deadline = time.monotonic() + plan.limit
        self.look_at = 0.0
        self.ending = Ending(plan, "")
        self.usage = Usage(plan.path("usage"), gpus)
        self.ends: list[int] = []
        self.logs: list[output.Log] = []
        for name in plan.instances:
            source, end = output.terminal() if plan.tty else output.pipe()
            self.ends.append(end)
            self.logs.append(output.Log(plan.path(f"log/{name}"), source, output.mask_of(plan.secrets)))
        self.life_end, self.life = os.pipe()
        self.reports, self.reports_end = os.pipe()

    def run(self) -> None:
        if self.plan.mode == namespaces.PRIVATE:
            try:
                namespaces.new_tree()
            except OSError as error:
                self.ending.trouble = str(error)
                self.ending.write()
                return
        namespaces.subreaper()
        self.ending.guarded = True
        guard = os.fork()
        if guard == 0:
            # Ends that must close when their owners do. The lock is kept: it is free only when both of us are gone.
            for end in (self.life, self.reports, self.wake):
                os.close(end)
            Guard(self.plan, self.logs, self.life_end, self.reports_end, self.ends).run()
        for end in (self.life_end, self.reports_end, *self.ends):
            os.close(end)
        if os.path.exists(self.plan.path("stop")):
            self.stop("stopped")
        self.follow()
        if not self.ending.is_whole:  # The guard was killed, and what it had to kill has fallen to us.
            tree.kill_descendants()
            if self.plan.cleanup:
                tree.run(self.plan.cleanup)
                tree.kill_descendants()
        for log in self.logs:
            log.drain()
        self.ending.write()
        os.close(self.life)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(guard, 0)

    def follow(self) -> None:
        """Copy until the guard has no more to say."""
        poll = select.poll()
        logs = {log.source: log for log in self.logs}
        for end in (*logs, self.reports, self.wake):
            poll.register(end, select.POLLIN)
        while True:
            now = time.monotonic()
            ready = dict(poll.poll(max(min(self.deadline, self.usage.due, self.look_at) - now, 0) * 1000))
            self.look_around()
            if self.wake in ready and os.read(self.wake, 64):
                self.stop("stopped")
            elif self.deadline <= now:
                self.deadline = float("inf")
                self.stop("max_run_time")
            if self.usage.due <= now:
                self.usage.sample()
            for source in ready.keys() & logs.keys():
                if not logs[source].copy():
                    poll.unregister(source)
            if self.reports in ready:
                said = os.read(self.reports, 4096)
                self.ending.said += said
                if not said:
                    return

    def look_around(self) -> None:
        """Give a sign of life, and see whether a host whose signals do not reach us asked for a stop."""
        if time.monotonic() < self.look_at:
            return
        self.look_at = time.monotonic() + _LOOK_EVERY
        with contextlib.suppress(OSError):
            os.utime(self.plan.lock)
            # A listing, since a network disk remembers for a while that there was no such file.
            if "stop" in os.listdir(self.plan.folder) and not self.ending.reason:
                self.stop("stopped")

    def stop(self, reason: str) -> None:
        """Ask the guard to end the command: SIGTERM now, SIGKILL after the grace time."""
        self.ending.reason = self.ending.reason or reason
        try:
            os.write(self.life, b"s")
        except BrokenPipeError:
            pass  # The guard is gone, and `follow` is about to see it.


def _identity() -> str:
    """Who we are, so that nobody takes another process with our number for us."""
    with open("/proc/self/stat", "rb") as file:
        start = file.read().rpartition(b")")[2].split()[19].decode()
    with open("/proc/sys/kernel/random/boot_id") as file:
        boot = file.read().strip()
    return f"{os.getpid()} {start} {boot} {os.uname().nodename}"
