"""The guard: runs the command of a job, once per instance, and kills all its processes at the end.

It is the supervisor's child and shares the log files with it, so either continues if the other is killed. It reports
to the supervisor in lines: ``rank status`` when an instance ends, ``! error``, and `ALL_GONE` last.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import time

from jupyter_pai.backends.local.supervisor import namespaces, process_tree
from jupyter_pai.backends.local.supervisor.arguments import Arguments
from jupyter_pai.backends.local.supervisor.output import LogWriter

ALL_GONE = b".\n"  # The guard's last report.


class Guard:
    """Runs the command; none of its processes outlives the guard."""

    def __init__(self, arguments: Arguments, logs: list[LogWriter], life: int, reports: int, ends: list[int]) -> None:
        self.arguments = arguments
        self.logs = logs
        self.life = life
        self.reports = reports
        self.ends = ends
        self.ranks: dict[int, int] = {}  # Ranks of the running instances by process id.
        self.kill_at = float("inf")

    def run(self) -> None:
        """Run the instances until they end, then exit this process."""
        status = 1
        try:
            os.setsid()
            namespaces.subreaper()
            if self.arguments.mode != namespaces.PLAIN:
                namespaces.private_root(self.arguments.folder, self.arguments.mode)
                namespaces.protect_inputs()
            wake = process_tree.wake_on(signal.SIGCHLD)
            # Between fork and exec, our own handler would swallow a SIGTERM.
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
            for rank, end in enumerate(self.ends):
                if (pid := os.fork()) == 0:
                    _execute(self.arguments, rank, end)
                self.ranks[pid] = rank
            for end in self.ends:
                os.close(end)
            self.watch(wake)
            self.kill_all()
            self.finish()
            status = 0
        except OSError as error:
            self.report(f"! {error}\n".encode()[:4000])
        finally:
            os._exit(status)

    def watch(self, wake: int) -> None:
        """Wait until all instances or the supervisor have ended. A stop request or a failed instance stops all."""
        while self.ranks:
            left = self.kill_at - time.monotonic()
            ready = select.select([self.life, wake], [], [], max(left, 0) if left < 1e9 else None)[0]
            if wake in ready:
                os.read(wake, 4096)
            for rank, status in self.reap():
                self.report(f"{rank} {status}\n".encode())
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
            self.kill_at = time.monotonic() + self.arguments.grace
            self.signal_all(signal.SIGTERM)

    def report(self, line: bytes) -> None:
        with contextlib.suppress(BrokenPipeError):  # The supervisor was killed: continue without it.
            os.write(self.reports, line)

    def finish(self) -> None:
        """Wait until the supervisor has copied the logs; copy them here if it was killed."""
        self.report(ALL_GONE)
        os.close(self.reports)
        while os.read(self.life, 64):
            pass
        for log in self.logs:
            if not log.filter:
                log.drain()

    def reap(self) -> list[tuple[int, int]]:
        """Reap ended children, including orphans; return rank and wait status of the ended instances."""
        ended: list[tuple[int, int]] = []
        with contextlib.suppress(ChildProcessError):
            while (child := os.waitpid(-1, os.WNOHANG)) != (0, 0):
                if child[0] in self.ranks:
                    ended.append((self.ranks.pop(child[0]), child[1]))
        return ended

    def signal_all(self, number: signal.Signals) -> None:
        if self.arguments.cleanup:
            # The client forwards the signal; other processes of the engine would kill the container at once.
            pids = [*self.ranks]
        else:
            pids = [-1] if self.arguments.mode == namespaces.PRIVATE else process_tree.descendants(os.getpid())
        for pid in pids:
            process_tree.kill(pid, number)

    def kill_all(self) -> None:
        """Kill every process of the job except this one."""
        if self.arguments.cleanup:
            # Kill container clients first; a live one may still be creating a container.
            self.signal_all(signal.SIGKILL)
            process_tree.remove_containers(self.arguments.cleanup)
        if self.arguments.mode != namespaces.PRIVATE:
            process_tree.kill_descendants()
        else:
            process_tree.kill(-1, signal.SIGKILL)
            with contextlib.suppress(ChildProcessError):
                while True:
                    os.wait()


def _node_variables(arguments: Arguments, rank: int) -> dict[str, str]:
    """Return the further variables of a node, as `node_variables.sh` of the job script sets them."""
    own, visible = os.environ.get("GPU_NUM_PER_NODE", ""), _visible_gpus()
    gpus = [visible if role.has_gpus else 0 for role, _role_rank in arguments.places]
    gpus = [int(own)] * len(gpus) if own.isdecimal() else gpus
    return {
        "INDEX": str(rank),
        "GPU_NUM_PER_NODE": str(gpus[rank]),
        "GPU_NUM": str(sum(gpus)),
        "NODE_LIST": ",".join(f"{os.environ.get('CHIEF_IP', '127.0.0.1')}:{number}" for number in gpus),
    }


def _visible_gpus() -> int:
    """Return the number of GPUs that programs for CUDA see."""
    chosen = os.environ.get("CUDA_VISIBLE_DEVICES")
    if chosen is None:
        return sum(name.startswith("nvidia") and name[6:].isdigit() for name in os.listdir("/dev"))
    return chosen.count(",") + 1 if chosen[:1].isdigit() or chosen.startswith(("GPU-", "MIG-")) else 0


def _execute(arguments: Arguments, rank: int, output: int) -> None:
    """Replace this process with the command of one instance."""
    try:
        role, role_rank = arguments.places[rank]
        os.environ |= {"RANK": str(rank), "JUPYTER_PAI_ROLE": role.name, "JUPYTER_PAI_ROLE_RANK": str(role_rank)}
        for name, value in _node_variables(arguments, rank).items():
            os.environ.setdefault(name, value)
        if not role.has_gpus:
            os.environ["CUDA_VISIBLE_DEVICES"] = ""
        os.setsid()
        for end, file in enumerate((os.open(os.devnull, os.O_RDONLY), output, output)):
            os.dup2(file, end)
        for number in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGINT, signal.SIGTERM, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)
        signal.set_wakeup_fd(-1)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
        os.chdir(arguments.cwd)
        os.execv(role.command[0], role.command)
    except OSError as error:
        os.write(2, f"{role.command[0]}: {os.strerror(error.errno or 0)}\n".encode())
    finally:
        os._exit(126)
