"""The output of a job's command: pipe or terminal, and the log file."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import select
import struct
import time
from collections.abc import Callable, Sequence

TYPE_CHECKING = False  # Importing `typing` would delay each job.
if TYPE_CHECKING:
    from typing import TypeVar

    from jupyter_pai.core.secret_filter import SecretFilter

    T = TypeVar("T")

# Errors of a full disk, and the seconds until the next attempt.
FULL = (errno.ENOSPC, errno.EDQUOT)
RETRY_EVERY = 0.5
_PIPE_BYTES = 1 << 20
_SMALL_READ = 1 << 18
_NAP = 0.003  # After a small read: waking up for each line would cost the job more than a filling pipe.
_INDEX_EVERY = 0.1
_PAUSE = 0.05  # Without output for this long, the secret filter releases text that is safe to show.
_F_SETPIPE_SZ = 1031


def pipe() -> tuple[int, int]:
    """Return a pipe for the output: the reading end and the writing end."""
    reader, writer = os.pipe()
    with contextlib.suppress(OSError):  # A user's quota of large pipes is used up; 64 KiB, the default, work too.
        fcntl.fcntl(reader, _F_SETPIPE_SZ, _PIPE_BYTES)
    return reader, writer


def terminal() -> tuple[int, int]:
    """Return a terminal for the output: the reading end and the writing end."""
    import termios

    master, slave = os.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 120, 0, 0))
    return master, slave


def filter_of(secrets: Sequence[str]) -> SecretFilter | None:
    """Return a new filter for the secrets in these environment variables; None if there are none."""
    if not secrets:
        return None
    # Most jobs have no secrets and skip these imports.
    from jupyter_pai.core.secret_filter import SecretFilter

    return SecretFilter({name: os.environb[os.fsencode(name)] for name in secrets})


class LogWriter:
    """Writes the log file and its time index.

    `splice` moves bytes atomically: a process killed between read and write would lose them. The file is not opened
    for appending: guard and supervisor share its offset, so either continues where the other stopped.

    With a secret filter, the supervisor reads, masks and writes. If it is killed in between, the guard must not
    continue, since bytes would be missing before its own: the log ends there.
    """

    def __init__(self, path: str, source: int, secret_filter: SecretFilter | None = None) -> None:
        self.source = source
        self.filter = secret_filter
        self.file = os.open(path, os.O_CREAT | os.O_WRONLY, 0o600)
        self.index = os.open(path + ".index", os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
        self.indexed = 0.0
        self.patient = True
        self.pending = b""  # Bytes that were read while the disk was full.
        self.splices = secret_filter is None and not os.isatty(source)

    def copy(self) -> bool:
        """Move the available bytes. Returns False at the end of the output."""
        try:
            moved = self._move()
        except OSError as error:
            if error.errno == errno.EIO and not self.splices:
                return False  # A terminal without a writer reads like this.
            if error.errno not in FULL:
                raise
            if not self.patient:
                return False
            time.sleep(RETRY_EVERY)  # Disk full: the job blocks on its full pipe, and no output is lost.
            return True
        if 0 < moved < _SMALL_READ:
            time.sleep(_NAP)
        return moved > 0

    def drain(self, *, patient: bool = True) -> None:
        """Move the remaining bytes without waiting for more. Unless `patient`, bytes are dropped if the disk is full:
        otherwise, a stopped job would not end."""
        os.set_blocking(self.source, False)
        self.patient = patient
        with contextlib.suppress(BlockingIOError):
            while self.copy():
                pass
            while not patient and os.read(self.source, _PIPE_BYTES):
                pass  # Otherwise, the guard would write it.
        if self.filter and patient:
            write_all(self.file, self.filter.finish())
        elif self.filter and not self.pending:
            with contextlib.suppress(OSError):
                os.write(self.file, self.filter.finish())

    def _move(self) -> int:
        offset = os.lseek(self.file, 0, os.SEEK_CUR)
        moved = self._splice() if self.splices else self._copy_text()
        if moved and time.time() - self.indexed >= _INDEX_EVERY:
            self.indexed = time.time()
            with contextlib.suppress(OSError):  # A full disk: the log matters more; times are interpolated.
                os.write(self.index, struct.pack("<qd", offset, self.indexed))
        return moved

    def _copy_text(self) -> int:
        moved = len(self.pending)
        if not moved:
            data = os.read(self.source, _PIPE_BYTES)
            moved = len(data)
            self.pending = self.filter.feed(data) if self.filter else data
            if self.filter and self.filter.held and not select.select([self.source], [], [], _PAUSE)[0]:
                self.pending += self.filter.flush()
        while self.pending:
            self.pending = self.pending[os.write(self.file, self.pending) :]
        return moved

    def _splice(self) -> int:
        try:
            return os.splice(self.source, self.file, _PIPE_BYTES)
        except OSError as error:
            if error.errno != errno.EINVAL:
                raise
            self.splices = False  # Terminals and some file systems do not support splice.
            return self._copy_text()


def write_all(file: int, data: bytes) -> None:
    """Write all bytes; on a full disk, wait for space."""
    while data:
        data = data[patiently(os.write, file, data) :]


def patiently(function: Callable[..., T], *arguments: object) -> T:
    """Call a function until the disk has space, and return its result."""
    while True:
        try:
            return function(*arguments)
        except OSError as error:
            if error.errno not in FULL:
                raise
        time.sleep(RETRY_EVERY)
