"""What is special about a kernel in which a notebook runs as a job. `notebook_runner` starts it.

What cells write goes straight to the job's log, once, and to the notebook. `OutStream` watches the descriptors 1 and 2,
so that the output of programs reaches the notebook as well, and copies what it reads there to where they led before:
the log. What Python writes it sends to the notebook alone; here it is written to the log on the spot, as a script's
output is, so that nothing is lost when the kernel dies.
"""

from __future__ import annotations

import atexit
import json
import os
import signal
import sys
import threading
from typing import TYPE_CHECKING, Any

from ipykernel.iostream import OutStream

from ... import report
from . import magics as job_magics

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

__all__ = ["ARGUMENTS", "JobStream", "load_ipython_extension"]

# The variable that has `sys.argv` for the cells, as JSON.
ARGUMENTS = "JUPYTER_PAI_ARGUMENTS"
# Seconds for a kernel to close.
_CLOSING = 2


class JobStream(OutStream):
    """``sys.stdout`` or ``sys.stderr``. `log` is the descriptor of the job's log."""

    def __init__(self, session: Any, pub_thread: Any, name: str, **options: Any) -> None:
        self.log = 1 if name == "stdout" else 2
        super().__init__(session, pub_thread, name, **options)  # type: ignore[no-untyped-call]
        if hasattr(self, "watch_fd_thread"):
            self.log = self.fileno()  # type: ignore[no-untyped-call]

    def write(self, string: str) -> int | None:  # type: ignore[override]  # as in the class above
        written = super().write(string)
        # What the watching thread hands on, it copies to the log itself.
        if threading.current_thread() is not getattr(self, "watch_fd_thread", None):
            _write_all(self.log, string.encode("utf-8", "backslashreplace"))
        return written


def _write_all(file: int, data: bytes) -> None:
    while data:
        data = data[os.write(file, data) :]


def load_ipython_extension(shell: InteractiveShell) -> None:
    """Called by the kernel, before any cell runs."""
    if isinstance(sys.stdout, JobStream):
        report.log = sys.stdout.log
    sys.argv = json.loads(os.environ.pop(ARGUMENTS, "null")) or sys.argv
    signal.signal(signal.SIGTERM, _interrupt_once)
    atexit.register(_close_in_time)
    job_magics.register(shell)


def _interrupt_once(*_: object) -> None:
    """A stop interrupts the cell, which may tidy up; being told twice must not interrupt that."""
    __tracebackhide__ = True  # In IPython's own words.
    signal.signal(signal.SIGTERM, lambda *_: None)
    signal.raise_signal(signal.SIGINT)


def _close_in_time() -> None:
    """When a kernel closes, its control thread may wait for ever for the one that publishes, which has gone already.
    What cells have registered runs before this, and so has all the time that it needs."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(_CLOSING)
