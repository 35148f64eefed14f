"""Staging of downloads: files appear in the target folder together when all are complete, or not at all."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from io import FileIO
from mmap import ACCESS_READ, mmap
from pathlib import Path
from types import TracebackType
from typing import Self

from ..core import filesystem
from ..core.errors import BackendError, Conflict, EngineError, Refused
from ..core.i18n import _

_PREFIX = ".jupyter-pai-copy-"
_PART = ".jupyter-pai-part-"
# Seconds for which a partial file is kept.
_KEPT = 7 * 86_400.0
# A younger folder may be about to be locked.
_GRACE = 60.0


def check_targets(folder: Path, paths: Sequence[str], *, overwrite: bool = False) -> None:
    """Check that files with these paths can be created below a folder.

    Raises:
        Conflict: if they exist and must not be replaced, or if folders or links are in the way.
    """
    there = [path for path in paths if os.path.lexists(folder / path)]
    if there and not overwrite:
        raise Conflict(
            _("Files with these names already exist in {folder}: {names}.").format(
                folder=folder, names=", ".join(there[:5])
            ),
            fix=_("Choose another folder, or overwrite them with --overwrite."),
            files=there[:100],
        )
    for path in there:
        if (folder / path).is_dir() and not (folder / path).is_symlink():
            raise Conflict(
                _("{file} is a folder, but a file of that name is to be written.").format(file=folder / path),
                fix=_("Choose another folder."),
            )
    top = Path(os.path.realpath(folder))
    for parent in {(folder / path).parent for path in paths}:
        if not Path(os.path.realpath(parent)).is_relative_to(top):
            raise Conflict(
                _("{file} is a link that leads out of {folder}.").format(file=parent, folder=folder),
                fix=_("Choose another folder."),
            )


class Staging:
    """A hidden folder inside the target folder, from which files are renamed atomically.

    It is locked while in use. The next copy removes the folders of killed processes.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.paths: list[str] = []

    def __enter__(self) -> Self:
        self._made = [path for path in (self.folder, *self.folder.parents) if not path.exists()]
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            _clear(self.folder)
            self._place = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=self.folder))
            self._lock = os.open(self._place, os.O_RDONLY | os.O_DIRECTORY)
        except OSError as error:
            self._unmake()
            raise write_error(self.folder, error) from error
        with contextlib.suppress(OSError):  # The disk does not support locks.
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        shutil.rmtree(self._place, ignore_errors=True)
        os.close(self._lock)
        if error:
            self._unmake()

    def _unmake(self) -> None:
        """Remove the folders created for a failed copy."""
        with contextlib.suppress(OSError):
            for path in self._made:
                path.rmdir()

    def write(self, path: str, pieces: Iterable[bytes], modified: float, mode: int | None) -> Iterator[int]:
        """Write a file. Yields the size of each chunk.

        Raises:
            EngineError: if it cannot be written.
        """
        target = self._place / path
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            with target.open("xb", buffering=0) as file:
                for data in pieces:
                    rest = memoryview(data)
                    while rest:
                        rest = rest[file.write(rest) :]
                    yield len(data)
                if mode is not None:
                    os.fchmod(file.fileno(), mode & 0o777)
            os.utime(target, (modified, modified))
        except OSError as error:
            raise write_error(self.folder / path, error) from error
        self.paths.append(path)

    def go_on(
        self, path: str, key: str, pieces: Callable[[bytes | mmap], Iterable[bytes]], modified: float
    ) -> Iterator[int]:
        """Write a large remote file, resumable after a failure of the remote side or the network.

        The partial file is kept hidden in the target folder, identified by `key`. `pieces` gets the bytes already
        present and yields the rest.

        Raises:
            EngineError: if it cannot be written.
        """
        part = self.folder / f"{_PART}{key}"
        try:
            file = part.open("ab+", buffering=0)
        except OSError as error:
            raise write_error(self.folder / path, error) from error
        with file:
            if filesystem.lock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB) is False:
                yield from self.write(path, pieces(b""), modified, None)  # Another process is copying the same file.
                return
            try:
                yield from self._append(file, pieces)
                self._take(part, path, modified)
            except OSError as error:
                part.unlink(missing_ok=True)
                raise write_error(self.folder / path, error) from error
            except (BackendError, Refused):
                raise
            except BaseException:
                part.unlink(missing_ok=True)
                raise

    def _append(self, file: FileIO, pieces: Callable[[bytes | mmap], Iterable[bytes]]) -> Iterator[int]:
        size = os.fstat(file.fileno()).st_size
        there = mmap(file.fileno(), size, access=ACCESS_READ) if size else b""
        yield size
        for data in pieces(there):
            rest = memoryview(data)
            while rest:
                rest = rest[file.write(rest) :]
            yield len(data)

    def _take(self, part: Path, path: str, modified: float) -> None:
        """Move a complete file into the staging folder."""
        target = self._place / path
        target.parent.mkdir(parents=True, exist_ok=True)
        os.utime(part, (modified, modified))
        os.replace(part, target)
        self.paths.append(path)

    def publish(self, *, overwrite: bool) -> None:
        """Move the files to the target folder.

        Raises:
            Conflict: if files appeared there in the meantime.
            EngineError: if they cannot be written.
        """
        check_targets(self.folder, self.paths, overwrite=overwrite)
        target = self.folder
        try:
            for target in [self.folder / path for path in self.paths]:
                for parent in [*target.relative_to(self.folder).parents][-2::-1]:
                    if not (self.folder / parent).is_dir():
                        (self.folder / parent).mkdir()
                        self._made.insert(0, self.folder / parent)
            for path in self.paths:
                target = self.folder / path
                os.replace(self._place / path, target)
        except OSError as error:
            raise write_error(target, error) from error


def _clear(folder: Path) -> None:
    """Remove the folders of killed processes, and partial files that were not resumed."""
    for path in folder.glob(f"{_PART}*"):
        with contextlib.suppress(OSError):
            if time.time() - path.lstat().st_mtime > _KEPT:
                path.unlink()
    for path in folder.glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):
            if time.time() - path.lstat().st_mtime < _GRACE:
                continue
            place = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                fcntl.flock(place, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(path, ignore_errors=True)
            finally:
                os.close(place)


def write_error(path: Path, error: OSError) -> EngineError:
    """Return the error for a file that cannot be written."""
    return EngineError(
        _("{file} cannot be written: {error}.").format(file=path, error=error.strerror or error),
        fix=_("Choose a folder that you can write to, with enough free space."),
    )
