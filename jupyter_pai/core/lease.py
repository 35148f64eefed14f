"""A claim that one process at a time can hold, freed by the operating system when its holder dies."""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator
from pathlib import Path

from . import filesystem
from .host import Process

__all__ = ["BEAT", "SILENT", "Lease"]

# Seconds between two signs of life of who holds something on a network disk, and after which it has given none.
BEAT, SILENT = 5.0, 60.0


class Lease:
    """A lock on a file. The file is never deleted: deleted and made again, it would have two holders.

    `flock`, not `lockf`: the latter is lost as soon as the same process opens and closes the file once more. Where
    locks cannot be relied on, as on a network disk that keeps them for each host or refuses them, what is written in
    the file counts too: who holds it, and by the file's time, when that was last heard of.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: int | None = None
        self._me = ""
        self._beats = False
        self._beaten = 0.0

    def acquire(self) -> bool:
        """Take the lease if nobody has it; whether we have it now. To be called again and again while it is held."""
        if self._file is not None:
            return self._beat()
        file = os.open(self.path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        try:
            locked = filesystem.lock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._beats = locked is None or bool(filesystem.network_kind(self.path.parent))
            if locked is False or (self._beats and not self._write_in(file, locked)):
                os.close(file)
                return False
        except OSError:
            os.close(file)
            raise
        self._file, self._beaten = file, time.monotonic()
        return True

    def _write_in(self, file: int, locked: bool | None) -> bool:
        """Write down that we hold it, unless somebody does. One process at a time looks and writes."""
        with (
            contextlib.nullcontext(True) if locked else _alone(self.path.with_name(f"{self.path.name}.taking")) as alone
        ):
            if not alone or _is_held(file, locked):
                return False
            self._me = str(Process.me())
            _write(file, self._me)
            return True

    def release(self) -> None:
        """Let others have it."""
        if self._file is not None:
            if self._beats and _holder(self._file) == self._me:
                os.ftruncate(self._file, 0)
            os.close(self._file)
            self._file = None

    def _beat(self) -> bool:
        """Give a sign of life. A process that was stopped for long may find that its lease has gone to another."""
        if self._beats and time.monotonic() - self._beaten >= BEAT:
            assert self._file is not None
            if _holder(self._file) != self._me:
                self.release()
                return False
            os.utime(self._file)
            self._beaten = time.monotonic()
        return True


@contextlib.contextmanager
def _alone(path: Path) -> Iterator[bool]:
    """Whether nobody else is within, by a file that only one process can make. Who died within is outwaited."""
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    except FileExistsError:
        _clear(path)
        yield False
        return
    try:
        yield True
    finally:
        path.unlink()


def _clear(path: Path) -> None:
    with contextlib.suppress(FileNotFoundError), path.open() as file:
        if filesystem.age(file.fileno()) >= SILENT:
            path.unlink()


def _is_held(file: int, locked: bool | None) -> bool:
    """Whether somebody holds it whom the lock does not tell of."""
    holder = Process.parse(_holder(file))
    if holder is None:
        return False
    if holder.is_of_this_boot:
        return locked is None and holder.lives()
    return filesystem.age(file) < SILENT


def _holder(file: int) -> str:
    return os.pread(file, 1000, 0).decode("utf-8", "replace")


def _write(file: int, text: str) -> None:
    os.ftruncate(file, 0)
    os.pwrite(file, text.encode("utf-8", "replace"), 0)
