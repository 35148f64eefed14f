"""The output of a job's command: where it comes from, and the log that it goes to."""

from __future__ import annotations

import errno
import fcntl
import os
import select
import struct
import time
from collections.abc import Sequence

TYPE_CHECKING = False  # For the readers of types; `typing` itself would cost each job milliseconds.
if TYPE_CHECKING:
    from jupyter_pai.backends.local.supervisor.secret_filter import Mask

__all__ = ["FULL", "RETRY_EVERY", "Log", "mask_of", "pipe", "terminal", "write_all"]

# What a full disk answers, and the seconds after which it is tried again.
FULL = (errno.ENOSPC, errno.EDQUOT)
RETRY_EVERY = 0.5
_PIPE_BYTES = 1 << 20
_SMALL_READ = 1 << 18
_NAP = 0.003  # After a small read: a pipe that fills up costs the job less than a supervisor that wakes for each line.
_INDEX_EVERY = 0.1
_PAUSE = 0.05  # After so long without output, what a mask holds back is shown as far as it may be.
_F_SETPIPE_SZ = 1031


def pipe() -> tuple[int, int]:
    """A pipe for the output: the end to read, the end to write."""
    reader, writer = os.pipe()
    try:
        fcntl.fcntl(reader, _F_SETPIPE_SZ, _PIPE_BYTES)
    except OSError:
        pass  # A user's pipes may be that large up to a limit; the usual 64 KiB do as well.
    return reader, writer


def terminal() -> tuple[int, int]:
    """A terminal for the output: the end to read, the end to write."""
    import termios

    master, slave = os.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 120, 0, 0))
    return master, slave


def mask_of(secrets: Sequence[str]) -> Mask | None:
    """A mask for the secrets that these variables of ours hold; None for none. Each log has its own."""
    if not secrets:
        return None
    # Jobs without secrets, which are nearly all, do not wait for these imports.
    from jupyter_pai.backends.local.supervisor.secret_filter import Mask

    return Mask({name: os.environb[os.fsencode(name)] for name in secrets})


class Log:
    """The log file and its time index. `splice` moves bytes without a moment at which they are nowhere:
    killed between a read and a write, a copier would leave a hole. Not opened for appending, since the file offset,
    which guard and supervisor share, is what makes one go on where the other stopped.

    With a mask, bytes are read, masked and written, by the supervisor alone: were it killed in between, the guard's
    next bytes would stand where others are missing. So the guard takes nothing over, and the log ends there, without
    a hole.
    """

    def __init__(self, path: str, source: int, mask: Mask | None = None) -> None:
        self.source = source
        self.mask = mask
        self.file = os.open(path, os.O_CREAT | os.O_WRONLY, 0o600)
        self.index = os.open(path + ".index", os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
        self.indexed = 0.0
        self.splices = mask is None and not os.isatty(source)

    def copy(self) -> bool:
        """Move what there is; False at the end of the output."""
        try:
            moved = self._move()
        except OSError as error:
            if error.errno == errno.EIO and not self.splices:
                return False  # A terminal without a writer reads like this.
            if error.errno not in FULL:
                raise
            time.sleep(RETRY_EVERY)  # Disk full: the job waits at a full pipe, and nothing is lost.
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
        if self.mask:
            write_all(self.file, self.mask.finish(), patient=True)

    def take_over(self) -> None:
        """Go on where the other one was killed."""
        if not self.mask:
            self.drain()

    def _move(self) -> int:
        offset = os.lseek(self.file, 0, os.SEEK_CUR)
        moved = self._splice() if self.splices else -1
        if moved < 0:
            data = os.read(self.source, _PIPE_BYTES)
            moved = len(data)
            self._write(data)
        if moved and time.time() - self.indexed >= _INDEX_EVERY:
            self.indexed = time.time()
            try:
                os.write(self.index, struct.pack("<qd", offset, self.indexed))
            except OSError:
                pass  # A full disk: the log matters more, and times are found by the neighbours.
        return moved

    def _write(self, data: bytes) -> None:
        if not self.mask:
            write_all(self.file, data, patient=True)
            return
        write_all(self.file, self.mask.feed(data), patient=True)
        if self.mask.held and not select.select([self.source], [], [], _PAUSE)[0]:
            write_all(self.file, self.mask.settle(), patient=True)

    def _splice(self) -> int:
        try:
            return os.splice(self.source, self.file, _PIPE_BYTES)
        except OSError as error:
            if error.errno != errno.EINVAL:
                raise
            self.splices = False  # Neither a terminal nor every file system can be spliced.
            return -1


def write_all(file: int, data: bytes, *, patient: bool = False) -> None:
    """Write all of it; if patient, wait for room on a full disk."""
    while data:
        try:
            data = data[os.write(file, data) :]
        except OSError as error:
            if not patient or error.errno not in FULL:
                raise
            time.sleep(RETRY_EVERY)
