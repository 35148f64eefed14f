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
import errno
import fcntl
import os
import select
import signal
import struct
import sys
import time

from jupyter_pai.backends.local import namespaces

__all__ = ["main"]

INSTANCE = "worker-0"
_PIPE_BYTES = 1 << 20
_SMALL_READ = 1 << 18
_NAP = 0.003  # After a small read: a pipe that fills up costs the job less than a supervisor that wakes for each line.
_INDEX_EVERY = 0.1
_RETRY_EVERY = 0.5
_F_SETPIPE_SZ = 1031
_ALL_GONE = b"."  # The guard's last word.
_FULL = (errno.ENOSPC, errno.EDQUOT)


class Plan:
    """What to do, from the command line: ``key=value …  --  command …``. The environment is the job's."""

    def __init__(self, argv: list[str]) -> None:
        split = argv.index("--")
        given = dict(word.split("=", 1) for word in argv[:split])
        self.command = argv[split + 1 :]
        self.folder = given["folder"]
        self.lock = int(given["lock"])
        self.mode = given["mode"]
        self.cwd = given["cwd"]
        self.tty = given["tty"] == "1"
        self.grace = float(given["grace"])
        self.limit = float(given["limit"]) or float("inf")

    def path(self, name: str) -> str:
        return f"{self.folder}/{name}"


def main() -> None:
    """Run the job that the command line names, to its end."""
    if sys.argv[1] == "--probe":
        print(*namespaces.probe(sys.argv[2]), sep="\n")
        return
    plan = Plan(sys.argv[1:])
    os.set_inheritable(plan.lock, False)
    wake = _wake_on(signal.SIGTERM)
    try:
        started = os.open(plan.path("started"), os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    except FileExistsError:
        os._exit(3)
    _write_all(started, f"{_identity()} {time.time()}\n".encode())
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
        self.output, self.output_end = _terminal() if plan.tty else _pipe()
        self.log = Log(plan.path(f"log/{INSTANCE}"), self.output)
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
            Guard(self).run()
        for end in (self.life_end, self.reports_end, self.output_end):
            os.close(end)
        if os.path.exists(self.plan.path("stop")):
            self.stop("stopped")
        self.follow()
        if not self.report.endswith(_ALL_GONE):
            _kill_descendants()  # The guard was killed, and what it had to kill has fallen to us.
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
        status, _, trouble = self.report.decode().removesuffix(_ALL_GONE.decode()).partition(" ")
        if not self.report:
            reason = reason if reason.startswith("namespaces") else "guard"
        lines = [f"status={status}", f"reason={trouble or reason}", f"ended={time.time()}"]
        lines.append(f"oom_kills={_oom_kills() - self.oom_kills}")
        while True:
            try:
                self._write("\n".join(lines) + "\n")
                return
            except OSError as error:
                if error.errno not in _FULL:
                    raise
                time.sleep(_RETRY_EVERY)

    def _write(self, text: str) -> None:
        path = self.plan.path("result")
        file = os.open(path + ".new", os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600)
        try:
            _write_all(file, text.encode("utf-8", "backslashreplace"))
            os.fsync(file)
        finally:
            os.close(file)
        os.rename(path + ".new", path)


class Guard:
    """Runs the command and sees to it that nothing of it outlives it."""

    def __init__(self, supervisor: Supervisor) -> None:
        self.plan = supervisor.plan
        self.log = supervisor.log
        self.life = supervisor.life_end
        self.reports = supervisor.reports_end
        self.output_end = supervisor.output_end
        # Ends that must close when their owners do. The lock is kept: it is free only when both of us are gone.
        for end in (supervisor.life, supervisor.reports, supervisor.wake):
            os.close(end)

    def run(self) -> None:
        status = 1
        try:
            os.setsid()
            namespaces.subreaper()
            if self.plan.mode != namespaces.PLAIN:
                namespaces.private_root(self.plan.folder, self.plan.mode)
            wake = _wake_on(signal.SIGCHLD)
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
        self.tell(_ALL_GONE)
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
            _kill(-1, number)
            return
        for pid in _descendants(os.getpid()):
            _kill(pid, number)

    def kill_all(self) -> None:
        """Leave nothing alive but ourselves."""
        if self.plan.mode != namespaces.PRIVATE:
            _kill_descendants()
            return
        _kill(-1, signal.SIGKILL)
        while True:
            try:
                os.wait()
            except ChildProcessError:
                return


class Log:
    """The log file and its time index. `splice` moves bytes without a moment at which they are nowhere:
    killed between a read and a write, a copier would leave a hole. Not opened for appending, since the file offset,
    which guard and supervisor share, is what makes one go on where the other stopped."""

    def __init__(self, path: str, source: int) -> None:
        self.source = source
        self.file = os.open(path, os.O_CREAT | os.O_WRONLY, 0o600)
        self.index = os.open(path + ".index", os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
        self.indexed = 0.0
        self.splices = not os.isatty(source)

    def copy(self) -> bool:
        """Move what there is; False at the end of the output."""
        try:
            moved = self._move()
        except OSError as error:
            if error.errno == errno.EIO and not self.splices:
                return False  # A terminal without a writer reads like this.
            if error.errno not in _FULL:
                raise
            time.sleep(_RETRY_EVERY)  # Disk full: the job waits at a full pipe, and nothing is lost.
            return True
        if 0 < moved < _SMALL_READ:
            time.sleep(_NAP)
        return moved > 0

    def drain(self) -> None:
        """Move what is left, without waiting for more."""
        os.set_blocking(self.source, False)
        try:
            while self.copy():
                pass
        except BlockingIOError:
            pass

    def _move(self) -> int:
        offset = os.lseek(self.file, 0, os.SEEK_CUR)
        moved = self._splice() if self.splices else -1
        if moved < 0:
            data = os.read(self.source, _PIPE_BYTES)
            _write_all(self.file, data, patient=True)
            moved = len(data)
        if moved and time.time() - self.indexed >= _INDEX_EVERY:
            self.indexed = time.time()
            try:
                os.write(self.index, struct.pack("<qd", offset, self.indexed))
            except OSError:
                pass  # A full disk: the log matters more, and times are found by the neighbours.
        return moved

    def _splice(self) -> int:
        try:
            return os.splice(self.source, self.file, _PIPE_BYTES)
        except OSError as error:
            if error.errno != errno.EINVAL:
                raise
            self.splices = False  # Neither a terminal nor every file system can be spliced.
            return -1


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


def _pipe() -> tuple[int, int]:
    reader, writer = os.pipe()
    try:
        fcntl.fcntl(reader, _F_SETPIPE_SZ, _PIPE_BYTES)
    except OSError:
        pass  # A user's pipes may be that large up to a limit; the usual 64 KiB do as well.
    return reader, writer


def _terminal() -> tuple[int, int]:
    import termios

    master, slave = os.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 120, 0, 0))
    return master, slave


def _wake_on(number: signal.Signals) -> int:
    """A descriptor that becomes readable when the signal arrives."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.signal(number, lambda *_: None)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    return reader


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


def _kill_descendants() -> None:
    """Kill until none is left. Orphans fall to us, so each round finds what the last one's dead left behind."""
    while pids := _descendants(os.getpid()):
        for pid in pids:
            _kill(pid, signal.SIGKILL)
        try:
            os.wait()
        except ChildProcessError:
            return


def _descendants(pid: int) -> list[int]:
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb") as file:
                    parent = int(file.read().rpartition(b")")[2].split()[1])
            except OSError:
                continue
            children.setdefault(parent, []).append(int(name))
    found: list[int] = []
    waiting = [pid]
    while waiting:
        below = children.get(waiting.pop(), [])
        found += below
        waiting += below
    return found


def _kill(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def _write_all(file: int, data: bytes, *, patient: bool = False) -> None:
    while data:
        try:
            data = data[os.write(file, data) :]
        except OSError as error:
            if not patient or error.errno not in _FULL:
                raise
            time.sleep(_RETRY_EVERY)
