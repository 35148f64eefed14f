"""The guard: runs the command of a job and sees to it that nothing of it outlives it.

It is the supervisor's child and shares the log with it, so that either can go on where the other stopped.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import time

from jupyter_pai.backends.local import namespaces, tree
from jupyter_pai.backends.local.output import Log
from jupyter_pai.backends.local.plan import Plan

__all__ = ["ALL_GONE", "Guard"]

ALL_GONE = b"."  # The guard's last word.


class Guard:
    """Runs the command and sees to it that nothing of it outlives it."""

    def __init__(self, plan: Plan, log: Log, life: int, reports: int, output_end: int) -> None:
        self.plan = plan
        self.log = log
        self.life = life
        self.reports = reports
        self.output_end = output_end

    def run(self) -> None:
        """Run the command to its end, and end this process."""
        status = 1
        try:
            os.setsid()
            namespaces.subreaper()
            if self.plan.mode != namespaces.PLAIN:
                namespaces.private_root(self.plan.folder, self.plan.mode)
            wake = tree.wake_on(signal.SIGCHLD)
            # A stop that comes while the child is still ours would end in our handler, and be lost.
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
            self.command = os.fork()
            if self.command == 0:
                _execute(self.plan, self.output_end)
            os.close(self.output_end)
            self.watch(wake)
            self.kill_all()
            self.finish()
            status = 0
        except OSError as error:
            self.tell(f"256 namespaces {error}".encode()[:4000])
        finally:
            os._exit(status)

    def watch(self, wake: int) -> None:
        """Until the command has ended, or the supervisor. Passes the word to stop on."""
        poll = select.poll()
        poll.register(self.life, select.POLLIN)
        poll.register(wake, select.POLLIN)
        kill_at = float("inf")
        while True:
            left = kill_at - time.monotonic()
            ready = dict(poll.poll(max(left, 0) * 1000 if left < 1e9 else None))
            if wake in ready:
                os.read(wake, 4096)
            if (status := self.reap()) is not None:
                self.tell(str(status).encode())
                return
            if self.life in ready and not os.read(self.life, 64):
                return
            if self.life in ready and kill_at == float("inf"):
                self.signal_all(signal.SIGTERM)
                kill_at = time.monotonic() + self.plan.grace
            elif left <= 0:
                self.signal_all(signal.SIGKILL)
                kill_at = time.monotonic() + 1

    def tell(self, word: bytes) -> None:
        with contextlib.suppress(BrokenPipeError):  # The supervisor was killed; all the more we go on.
            os.write(self.reports, word)

    def finish(self) -> None:
        """Stay until the supervisor has copied the log to its end; copy it where that was killed."""
        self.tell(ALL_GONE)
        os.close(self.reports)
        while os.read(self.life, 64):
            pass
        self.log.drain()

    def reap(self) -> int | None:
        """Bury children that ended, orphans too; the command's wait status if it was among them."""
        found = None
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return found
            if pid == 0:
                return found
            if pid == self.command:
                found = status

    def signal_all(self, number: signal.Signals) -> None:
        if self.plan.mode == namespaces.PRIVATE:
            tree.kill(-1, number)
            return
        for pid in tree.descendants(os.getpid()):
            tree.kill(pid, number)

    def kill_all(self) -> None:
        """Leave nothing alive but ourselves."""
        if self.plan.mode != namespaces.PRIVATE:
            tree.kill_descendants()
            return
        tree.kill(-1, signal.SIGKILL)
        while True:
            try:
                os.wait()
            except ChildProcessError:
                return


def _execute(plan: Plan, output: int) -> None:
    """Become the command."""
    try:
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
