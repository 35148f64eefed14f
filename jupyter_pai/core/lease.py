"""A lock held by one process at a time and released by the operating system when the process dies."""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import os
import time
from collections.abc import Iterator
from pathlib import Path

from . import filesystem
from .host import Process

# Seconds between two heartbeats of a holder on a network disk, and until a holder without a heartbeat counts as dead.
BEAT, SILENT = 5.0, 60.0


class Lease:
    """A lock on a file. The file is never deleted, because a recreated file could be locked by a second holder.

    Uses `flock`, because `lockf` releases the lock when the process opens and closes the file again. If locks are
    unreliable, as on a network disk that keeps them per host or rejects them, the file also names its holder, and its
    modification time is the holder's last heartbeat.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: int | None = None
        self._me = ""
        self._beats = False
        self._beaten = 0.0

    def acquire(self) -> bool:
        """Acquire the lease if it is free. Returns whether it is held. Call repeatedly while holding it, which sends
        the heartbeat."""
        if self._file is not None:
            return self._beat()
        file = os.open(self.path, os.O_CREAT | os.O_RDWR, 0o600)
        with contextlib.ExitStack() as cleanup:
            cleanup.callback(os.close, file)
            locked = filesystem.lock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._beats = locked is None or bool(filesystem.network_kind(self.path.parent))
            if locked is False or (self._beats and not self._write_in(file, locked)):
                return False
            cleanup.pop_all()
        if self._beats:
            atexit.register(self.release)  # Otherwise other hosts wait until this process counts as dead.
        self._file, self._beaten = file, time.monotonic()
        return True

    def _write_in(self, file: int, locked: bool | None) -> bool:
        """Write this process into the file unless another process holds it. Only one process at a time checks and
        writes."""
        with (
            contextlib.nullcontext(True) if locked else _alone(self.path.with_name(f"{self.path.name}.taking")) as alone
        ):
            if not alone or _is_held(file, locked):
                return False
            self._me = str(Process.me())
            os.ftruncate(file, 0)
            os.pwrite(file, self._me.encode("utf-8", "replace"), 0)
            return True

    def release(self) -> None:
        """Release the lease."""
        atexit.unregister(self.release)
        if self._file is not None:
            if self._beats and _holder(self._file) == self._me:
                os.ftruncate(self._file, 0)
            os.close(self._file)
            self._file = None

    def _beat(self) -> bool:
        """Send a heartbeat if one is due. A process that was suspended may find that it lost the lease."""
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
    """Create a file exclusively; yield False if another process has it. A file left by a dead process expires."""
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError:
        with contextlib.suppress(FileNotFoundError), path.open() as file:
            if filesystem.age(file.fileno()) >= SILENT:
                path.unlink()
        yield False
        return
    try:
        yield True
    finally:
        path.unlink()


def _is_held(file: int, locked: bool | None) -> bool:
    """Return whether a holder exists that the lock does not reveal."""
    holder = Process.parse(_holder(file))
    if holder is None:
        return False
    if holder.is_of_this_boot:
        return locked is None and holder.lives()
    return filesystem.age(file) < SILENT


def _holder(file: int) -> str:
    return os.pread(file, 1000, 0).decode("utf-8", "replace")
