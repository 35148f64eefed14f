"""The kernel of a notebook job, started by `notebook_client`.

Output of cells goes to the job's log and to the notebook. `OutStream` watches the descriptors 1 and 2, and copies the
output of programs to the notebook and to the log. It sends the output of Python to the notebook only; here, it is also
written to the log at once, so that nothing is lost if the kernel dies.
"""

from __future__ import annotations

import atexit
import json
import logging
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

# The variable with `sys.argv` for the cells, as JSON.
ARGUMENTS = "JUPYTER_PAI_ARGUMENTS"
# Seconds until a closing kernel is killed.
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
        # The watching thread copies its data to the log itself.
        if threading.current_thread() is not getattr(self, "watch_fd_thread", None):
            data = string.encode("utf-8", "backslashreplace")
            while data:
                data = data[os.write(self.log, data) :]
        return written


def load_ipython_extension(shell: InteractiveShell) -> None:
    """Set up the kernel before the first cell."""
    if isinstance(sys.stdout, JobStream):
        report.log = sys.stdout.log
    sys.argv = json.loads(os.environ.pop(ARGUMENTS, "null")) or sys.argv
    signal.signal(signal.SIGTERM, _interrupt_once)
    os.register_at_fork(after_in_child=_end_on_stop)
    atexit.register(_close_in_time)
    job_magics.register(shell)


def _interrupt_once(*_: object) -> None:
    """Interrupt the cell on a stop. A second signal must not interrupt its clean-up."""
    __tracebackhide__ = True  # Hides this frame from IPython's traceback.
    signal.signal(signal.SIGTERM, lambda *_: None)
    signal.raise_signal(signal.SIGINT)


def _end_on_stop() -> None:
    """Let a forked process end on a signal, as the workers of a pool do."""
    if signal.getsignal(signal.SIGTERM) is _interrupt_once:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _close_in_time() -> None:
    """Limit the time of a closing kernel, whose control thread may wait for its ended publishing thread, or log that it
    cannot publish any more.

    Exit handlers of cells run before this one, without a limit.
    """
    logging.disable()
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(_CLOSING)
