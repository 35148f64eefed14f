"""The supervisor: a small process that runs one local job, independent of server and kernel.

    server ── spawns ──> supervisor ── forks ──> guard ── forks ──> the command
                             │                     │
                    copies the log, limits    kills all processes of the command,
                    time, writes `result`     also if the supervisor is killed

A job continues when server and kernel end. The guard reads a pipe that only the supervisor holds open: if the
supervisor is killed, the guard ends the job and completes its log; if the guard is killed, the supervisor does. No
process of a job outlives it, not even one that calls `setsid` and forks twice: the guard is the first process of a
PID namespace where the machine allows it, and a subreaper elsewhere.

It is started as ``python -I -S`` and imports very little, since every job waits for it. Files in the job's folder:

``arguments.json``      see `arguments`
``lock``      held (flock) while supervisor or guard live, taken before the spawn; names the starter and is touched
              every second, for hosts that cannot see the lock (see `liveness`)
``stop``      created to request the end of the job
``started``   created with O_EXCL, so a command never runs twice: ``pid start-time boot-id host time``. Missing while
              the job is queued (see `queue`)
``result``    written, synced, renamed: lines ``key=value``; if missing while the lock is free, the job was cut short
``ends``      for several instances, a line ``rank wait-status time`` when one has ended
``usage``     resource usage (see `sampler`)
``output_parameters.json``  see `output_parameters`
``log/worker-0``        stdout and stderr in order, unchanged except for secrets; one log per instance
``log/worker-0.index``  16 bytes (int64 offset, float64 Unix time) for each time at which bytes arrived
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import time

from jupyter_pai.backends.local.queue import Queue, Slot
from jupyter_pai.backends.local.supervisor import namespaces, output, process_tree
from jupyter_pai.backends.local.supervisor.arguments import Arguments
from jupyter_pai.backends.local.supervisor.guard import ALL_GONE, Guard
from jupyter_pai.backends.local.supervisor.result import ResultFile
from jupyter_pai.backends.local.supervisor.sampler import UsageSampler

# Seconds between two signs of life, and between two checks for a stop request.
_CHECK_EVERY = 1.0
# Seconds between two checks of the queue: for its first job, and more for each job ahead.
_CHECK, _CHECK_LATER, _CHECK_LATEST = 0.1, 0.01, 2.0
# Seconds after which a killed job in the queue is detected, likewise.
_SWEEP, _SWEEP_LATER, _SWEEP_LATEST = 2.0, 1.0, 30.0


def main() -> None:
    """Run the job of the command line until it ends."""
    if sys.argv[1] == "--probe":
        print(*namespaces.probe(sys.argv[2]), sep="\n")
        return
    arguments = Arguments(sys.argv[1], int(sys.argv[2]))
    os.set_inheritable(arguments.lock, False)
    wake = process_tree.wake_on(signal.SIGTERM)
    queue = Queue(arguments.queue, os.path.dirname(arguments.folder))
    job = os.path.basename(arguments.folder)
    slot = _wait_for_turn(arguments, queue, job, wake) if arguments.queue else Slot(job, arguments.need)
    if slot is None:
        ResultFile(arguments, "stopped").write()
    else:
        try:
            started = os.open(arguments.path("started"), os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        except FileExistsError:
            os._exit(3)
        result = ResultFile(arguments, "")
        output.write_all(started, f"{_identity()} {result.started}\n".encode())
        os.close(started)
        _set_variables(arguments, slot)
        Supervisor(arguments, wake, slot.assigned, result).run()
    if arguments.queue:
        with contextlib.suppress(OSError):  # On a full disk, the next job in the queue detects our end.
            queue.leave(job)
    os._exit(0)  # The interpreter would take some milliseconds for its end, with the lock of the job.


def _wait_for_turn(arguments: Arguments, queue: Queue, job: str, wake: int) -> Slot | None:
    """Wait in the queue until the job fits; return None if it is stopped there."""
    while True:
        slot, before = output.patiently(queue.request, job, arguments.need, arguments.capacity)
        if slot.running:
            return slot
        seen = queue.version()
        sweep_at = time.monotonic() + min(_SWEEP + before * _SWEEP_LATER, _SWEEP_LATEST)
        while queue.version() == seen and time.monotonic() < sweep_at:
            with contextlib.suppress(OSError):
                os.utime(arguments.lock)  # A sign of life.
            is_woken = select.select([wake], [], [], min(_CHECK + before * _CHECK_LATER, _CHECK_LATEST))[0]
            if is_woken or os.path.exists(arguments.path("stop")):
                return None


def _set_variables(arguments: Arguments, slot: Slot) -> None:
    """Set the variables known only at the start: the assigned GPUs and a free port for the instances."""
    if arguments.need.gpu:
        os.environ["CUDA_VISIBLE_DEVICES"] = ",".join(map(str, slot.assigned))
    if "MASTER_PORT" not in os.environ:
        from _socket import socket  # `socket` itself imports a lot.

        with contextlib.closing(socket()) as probe:
            probe.bind(("127.0.0.1", 0))
            os.environ["MASTER_PORT"] = str(probe.getsockname()[1])


class Supervisor:
    """Copies output to the logs, enforces the time limit, forwards a stop, and writes the result."""

    def __init__(self, arguments: Arguments, wake: int, gpus: tuple[int, ...], result: ResultFile) -> None:
        self.arguments = arguments
        self.wake = wake
        self.deadline = time.monotonic() + arguments.limit
        self.check_at = 0.0
        self.result = result
        self.sampler = UsageSampler(arguments.path("usage"), gpus)
        paths = [arguments.path(f"log/{name}") for name in arguments.instances]
        pairs = [output.terminal() if arguments.tty else output.pipe() for _path in paths]
        self.ends = [end for _source, end in pairs]
        self.logs = [
            output.LogWriter(path, source, output.filter_of(arguments.secrets))
            for path, (source, _end) in zip(paths, pairs, strict=True)
        ]
        self.life_end, self.life = os.pipe()
        self.reports, self.reports_end = os.pipe()

    def run(self) -> None:
        if self.arguments.mode == namespaces.PRIVATE:
            try:
                namespaces.new_tree()
            except OSError as error:
                self.result.trouble = str(error)
                self.result.write()
                return
        namespaces.subreaper()
        self.result.guarded = True
        guard = os.fork()
        if guard == 0:
            # Close ends with their owners. The lock stays open: it is free only when both processes are gone.
            for end in (self.life, self.reports, self.wake):
                os.close(end)
            Guard(self.arguments, self.logs, self.life_end, self.reports_end, self.ends).run()
        for end in (self.life_end, self.reports_end, *self.ends):
            os.close(end)
        if os.path.exists(self.arguments.path("stop")):
            self.stop("stopped")
        self.follow()
        if not self.result.reports.endswith(
            ALL_GONE
        ):  # The guard was killed: its processes are children of this one now.
            process_tree.kill_descendants()
            if self.arguments.cleanup:
                process_tree.remove_containers(self.arguments.cleanup)
                process_tree.kill_descendants()
        for log in self.logs:
            log.drain(patient=self.result.reason != "stopped")
        if os.path.isdir(self.arguments.parameters):
            from jupyter_pai.backends.local.supervisor import output_parameters  # Most jobs have none.

            output_parameters.store(self.arguments)
        self.result.write()
        os.close(self.life)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(guard, 0)

    def follow(self) -> None:
        """Copy output until the guard closes its reports."""
        poll = select.poll()
        logs = {log.source: log for log in self.logs}
        for end in (*logs, self.reports, self.wake):
            poll.register(end, select.POLLIN)
        while True:
            now = time.monotonic()
            ready = dict(poll.poll(max(min(self.deadline, self.sampler.due, self.check_at) - now, 0) * 1000))
            self.check_stop()
            if self.wake in ready and os.read(self.wake, 64):
                self.stop("stopped")
            elif self.deadline <= now:
                self.deadline = float("inf")
                self.stop("max_run_time")
            if self.sampler.due <= now:
                self.sampler.sample()
            for source in [source for source, log in logs.items() if source in ready or log.pending]:
                if not logs[source].copy():
                    poll.unregister(source)
            if self.reports in ready:
                if not (data := os.read(self.reports, 4096)):
                    return
                self.result.add_reports(data)

    def check_stop(self) -> None:
        """Give a sign of life, and check for a stop request of a host that cannot send signals here."""
        if time.monotonic() < self.check_at:
            return
        self.check_at = time.monotonic() + _CHECK_EVERY
        with contextlib.suppress(OSError):
            os.utime(self.arguments.lock)
            # A listing, since network file systems cache missing files.
            if "stop" in os.listdir(self.arguments.folder) and not self.result.reason:
                self.stop("stopped")

    def stop(self, reason: str) -> None:
        """Signal the guard to end the command: SIGTERM now, SIGKILL after the grace time."""
        self.result.reason = self.result.reason or reason
        with contextlib.suppress(BrokenPipeError):  # The guard is gone; `follow` notices it.
            os.write(self.life, b"s")


def _identity() -> str:
    """Return text that identifies this process, also after its id is reused."""
    with open("/proc/self/stat", "rb") as stat, open("/proc/sys/kernel/random/boot_id") as boot:
        start = stat.read().rpartition(b")")[2].split()[19].decode()
        return f"{os.getpid()} {start} {boot.read().strip()} {os.uname().nodename}"
