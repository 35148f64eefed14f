"""The file `result`, in which the supervisor records the end of a job, and `ends` with those of several instances."""

from __future__ import annotations

import contextlib
import os
import time

from jupyter_pai.backends.local.supervisor import output
from jupyter_pai.backends.local.supervisor.arguments import Arguments

# Space for the file, reserved at the start.
_BYTES = 4096


class ResultFile:
    """The end of a job so far: the guard's `reports`, the `reason` of a stop, the `trouble` that prevented the start.

    `guarded` is set when the guard runs. `started` is the time when this object was made. The time of the end is
    computed from it, because the clock may be set meanwhile.
    """

    def __init__(self, arguments: Arguments, reason: str) -> None:
        self.arguments = arguments
        self.started = time.time()
        self.began = _uptime()
        self.reason = reason
        self.trouble = ""
        self.reports = b""
        self.guarded = False
        self.oom_kills = _oom_kills()
        self.file = arguments.path("result.new")
        # On a full disk, a job can end nevertheless.
        with contextlib.suppress(OSError):
            file = os.open(self.file, os.O_CREAT | os.O_WRONLY, 0o600)
            try:
                os.posix_fallocate(file, 0, _BYTES)
            finally:
                os.close(file)

    def add_reports(self, data: bytes) -> None:
        """Add reports of the guard. The ends of several instances are written to the file `ends`; on a full disk, they
        are omitted."""
        known = self.reports.rfind(b"\n") + 1
        self.reports += data
        new = self.reports[known : self.reports.rfind(b"\n") + 1].splitlines()
        ends = b"".join(b"%s %f\n" % (line, self.now()) for line in new if line[:1].isdigit())
        if ends and len(self.arguments.instances) > 1:
            with contextlib.suppress(OSError):
                file = os.open(self.arguments.path("ends"), os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
                try:
                    os.write(file, ends)
                finally:
                    os.close(file)

    def now(self) -> float:
        """Return the current time, by the clock as it was set at the start."""
        return self.started + _uptime() - self.began

    def lines(self) -> list[str]:
        """Return the file's lines. `status` is the wait status of the `instance` that failed first, else 0.

        It is empty if no instance ended.
        """
        reports = [line.partition(" ") for line in self.reports.decode("utf-8", "replace").splitlines()]
        ended = [(self.arguments.instances[int(rank)], status) for rank, _blank, status in reports if rank.isdigit()]
        instance, status = ([pair for pair in ended if pair[1] != "0"] or ended or [("", "")])[0]
        instance = instance if len(self.arguments.instances) > 1 else ""
        trouble = self.trouble or "".join(text for mark, _blank, text in reports if mark == "!")
        reason = self.reason
        if trouble:
            reason, status = f"namespaces {trouble}", ""
        elif self.guarded and len(ended) < len(self.arguments.instances):
            reason = "guard"
        return [
            f"status={status}",
            f"instance={instance}",
            f"reason={reason}",
            f"ended={self.now()}",
            f"oom_kills={_oom_kills() - self.oom_kills}",
        ]

    def write(self) -> None:
        """Write the file atomically; on a full disk, wait for space."""
        output.patiently(self._write)

    def _write(self) -> None:
        data = ("\n".join(self.lines()) + "\n").encode("utf-8", "backslashreplace")
        file = os.open(self.file, os.O_CREAT | os.O_WRONLY, 0o600)
        try:
            output.write_all(file, data)
            os.ftruncate(file, len(data))
            os.fsync(file)
        finally:
            os.close(file)
        os.rename(self.file, self.arguments.path("result"))


def _uptime() -> float:
    """Return the seconds since the machine booted, including those in which it was suspended."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def _oom_kills() -> int:
    """Return the number of processes that the kernel has killed for lack of memory since it booted."""
    with contextlib.suppress(OSError), open("/proc/vmstat") as file:
        return sum(int(line.split()[1]) for line in file if line.startswith("oom_kill "))
    return 0
