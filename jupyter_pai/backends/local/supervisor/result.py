"""How a local job ended, as its supervisor writes it to the file `result`."""

from __future__ import annotations

import os
import time

from jupyter_pai.backends.local.supervisor import output
from jupyter_pai.backends.local.supervisor.arguments import Plan
from jupyter_pai.backends.local.supervisor.guard import ALL_GONE

__all__ = ["Ending"]


class Ending:
    """What is known of it by now: `said` is what the guard told, `reason` why the job is to end, `trouble` why it never
    began; `guarded` once there is a guard."""

    def __init__(self, plan: Plan, reason: str) -> None:
        self.plan = plan
        self.reason = reason
        self.trouble = ""
        self.said = b""
        self.guarded = False
        self.oom_kills = _oom_kills()

    @property
    def is_whole(self) -> bool:
        """Whether the guard came to its end."""
        return self.said.endswith(ALL_GONE)

    def lines(self) -> list[str]:
        """The file's lines. `status` is the wait status of the `instance` that failed first, else 0; empty if there is
        none."""
        told = [line.partition(" ") for line in self.said.decode("utf-8", "replace").splitlines()]
        ended = [(self.plan.instances[int(rank)], status) for rank, _blank, status in told if rank.isdigit()]
        failed = [pair for pair in ended if pair[1] != "0"]
        instance, status = (failed or ended or [("", "")])[0]
        instance = instance if len(self.plan.instances) > 1 else ""
        trouble = self.trouble or "".join(text for mark, _blank, text in told if mark == "!")
        reason = self.reason
        if trouble:
            reason, status = f"namespaces {trouble}", ""
        elif self.guarded and len(ended) < len(self.plan.instances):
            reason = "guard"
        lines = [f"status={status}", f"instance={instance}", f"reason={reason}", f"ended={time.time()}"]
        return [*lines, f"oom_kills={_oom_kills() - self.oom_kills}"]

    def write(self) -> None:
        """Write the file as a whole; on a full disk, when there is room again."""
        while True:
            try:
                self._write("\n".join(self.lines()) + "\n")
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
