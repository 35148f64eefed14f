"""Space for the database on a full disk: files that are removed when it is needed."""

from __future__ import annotations

import contextlib
import os
import shutil
from pathlib import Path

# Enough for the journals and the shared memory of SQLite, in bytes and in files.
_FILES, _BYTES = 8, 1 << 16
# Kept only on disks with this many times as much free space.
_SHARE = 64


class Reserve:
    """The reserve of a state folder."""

    def __init__(self, home: Path) -> None:
        self.folder = home / "reserve"

    def keep_files(self) -> None:
        """Create the missing files, empty ones: a disk can run out of files before it runs out of space."""
        with contextlib.suppress(OSError):
            self.folder.mkdir(mode=0o700, exist_ok=True)
            there = os.listdir(self.folder)  # One request on a network disk, since each command calls this.
            for path in self._paths():
                if path.name not in there:
                    path.touch()

    def keep(self) -> None:
        """Create the missing files, and fill them if the disk has room for that."""
        self.keep_files()
        with contextlib.suppress(OSError):
            if shutil.disk_usage(self.folder.parent).free < _SHARE * _FILES * _BYTES:
                return
            for path in self._paths():
                if path.stat().st_size < _BYTES:
                    path.write_bytes(os.urandom(_BYTES))  # Some file systems store zeros without space.

    def give_up(self) -> bool:
        """Remove the files. Return whether there were any."""
        removed = False
        for path in self._paths():
            with contextlib.suppress(OSError):
                path.unlink()
                removed = True
        return removed

    def _paths(self) -> list[Path]:
        return [self.folder / str(number) for number in range(_FILES)]
