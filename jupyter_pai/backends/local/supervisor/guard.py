"""The guard: runs the command of a job, once an instance, and sees to it that nothing of it outlives it.

It is the supervisor's child and shares the logs with it, so that either can go on where the other stopped. What it
says to the supervisor are lines: ``rank status`` when an instance has ended, ``! trouble``, and `ALL_GONE` at the end.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import time

from jupyter_pai.backends.local.supervisor import namespaces
from jupyter_pai.backends.local.supervisor import process_tree as tree
from jupyter_pai.backends.local.supervisor.arguments import Plan
from jupyter_pai.backends.local.supervisor.output import Log

__all__ = ["ALL_GONE", "Guard"]

ALL_GONE = b".\n"  # The guard's last word.


class Guard:
    """Runs the command and sees to it that nothing of it outlives it."""

    def __init__(self, plan: Plan, logs: list[Log], life: int, reports: int, ends: list[int]) -> None:
        self.plan = plan
        self.logs = logs
        self.life = life
        self.reports = reports
        self.ends = ends
        self.ranks: dict[int, int] = {}  # Of the instances that run, by the number of their process.
        self.kill_at = float("inf")

    def run(self) -> None:
        """Run the instances to their end, and end this process."""
        status = 1
        try:
            os.setsid()
            namespaces.subreaper()
            if self.plan.mode != namespaces.PLAIN:
                namespaces.private_root(self.plan.folder, self.plan.mode)
            wake = tree.wake_on(signal.SIGCHLD)
            # A stop that comes while the child is still ours would end in our handler, and be lost.
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
            for rank, end in enumerate(self.ends):
                if (pid := os.fork()) == 0:
                    _execute(self.plan, rank, end)
                self.ranks[pid] = rank
            for end in self.ends:
                os.close(end)
            self.watch(wake)
            self.kill_all()
            self.finish()
            status = 0
        except OSError as error:
            self.tell(f"! {error}\n".encode()[:4000])
        finally:
            os._exit(status)

    def watch(self, wake: int) -> None:
        """Until all instances have ended, or the supervisor. Passes the word to stop on; one that fails stops all."""
        poll = select.poll()
        poll.register(self.life, select.POLLIN)
        poll.register(wake, select.POLLIN)
        while self.ranks:
            left = self.kill_at - time.monotonic()
            ready = dict(poll.poll(max(left, 0) * 1000 if left < 1e9 else None))
            if wake in ready:
                os.read(wake, 4096)
            for rank, status in self.reap():
                self.tell(f"{rank} {status}\n".encode())
                if status != 0 and self.ranks:
                    self.end()
            if self.life in ready and not os.read(self.life, 64):
                return
            if self.life in ready:
                self.end()
            elif self.kill_at <= time.monotonic():
                self.signal_all(signal.SIGKILL)
                self.kill_at = time.monotonic() + 1

    def end(self) -> None:
        """SIGTERM now, SIGKILL after the grace time."""
        if self.kill_at == float("inf"):
            self.kill_at = time.monotonic() + self.plan.grace
            self.signal_all(signal.SIGTERM)

    def tell(self, word: bytes) -> None:
        with contextlib.suppress(BrokenPipeError):  # The supervisor was killed; all the more we go on.
            os.write(self.reports, word)

    def finish(self) -> None:
        """Stay until the supervisor has copied the logs to their end; copy them where that was killed."""
        self.tell(ALL_GONE)
        os.close(self.reports)
        while os.read(self.life, 64):
            pass
        for log in self.logs:
            log.take_over()

    def reap(self) -> list[tuple[int, int]]:
        """Bury children that ended, orphans too; rank and wait status of the instances among them."""
        found: list[tuple[int, int]] = []
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return found
            if pid == 0:
                return found
            if pid in self.ranks:
                found.append((self.ranks.pop(pid), status))

    def signal_all(self, number: signal.Signals) -> None:
        if self.plan.cleanup:
            # Its client passes the signal on; what else there is of a container engine would kill it at once.
            for pid in self.ranks:
                tree.kill(pid, number)
            return
        if self.plan.mode == namespaces.PRIVATE:
            tree.kill(-1, number)
            return
        for pid in tree.descendants(os.getpid()):
            tree.kill(pid, number)

    def kill_all(self) -> None:
        """Leave nothing alive but ourselves."""
        if self.plan.cleanup:
            self.signal_all(signal.SIGKILL)  # First the clients: one that lives might still be making a container.
            tree.run(self.plan.cleanup)
        if self.plan.mode != namespaces.PRIVATE:
            tree.kill_descendants()
            return
        tree.kill(-1, signal.SIGKILL)
        while True:
            try:
                os.wait()
            except ChildProcessError:
                return


def _execute(plan: Plan, rank: int, output: int) -> None:
    """Become the command of one instance."""
    try:
        os.environ["RANK"] = str(rank)
        os.setsid()
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(output, 1)
        os.dup2(output, 2)
        for number in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGINT, signal.SIGTERM, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)
        signal.set_wakeup_fd(-1)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
        os.chdir(plan.cwd)
        os.execv(plan.command[0], plan.command)
    except OSError as error:
        os.write(2, f"{plan.command[0]}: {os.strerror(error.errno or 0)}\n".encode())
    finally:
        os._exit(126)
