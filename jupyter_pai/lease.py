"""A claim that one process at a time can hold, freed by the operating system when its holder dies."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

__all__ = ["Lease"]


class Lease:
    """A lock on a file. The file is never deleted: deleted and made again, it would have two holders.

    `flock`, not `lockf`: the latter is lost as soon as the same process opens and closes the file once more.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: int | None = None

    def take(self) -> bool:
        """Take the lease if nobody has it; whether we have it now."""
        if self._file is not None:
            return True
        file = os.open(self.path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(file)
            return False
        except OSError:
            os.close(file)
            raise
        self._file = file
        return True

    def give(self) -> None:
        """Let others have it."""
        if self._file is not None:
            os.close(self._file)
            self._file = None
