"""Files on their way into a folder: they get their names when all of them are there, or are gone again."""

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

__all__ = ["Staging", "check_targets", "write_error"]

_PREFIX = ".jupyter-pai-copy-"
_PART = ".jupyter-pai-part-"
# Seconds for which the beginning of a file waits for its rest.
_KEPT = 7 * 86_400.0
# What is younger may just be about to be locked.
_GRACE = 60.0


def check_targets(folder: Path, paths: Sequence[str], *, overwrite: bool = False) -> None:
    """See whether files can get these names below a folder.

    Raises:
        Conflict: if they must not be replaced, or folders or links are in the way.
    """
    there = [path for path in paths if os.path.lexists(folder / path)]
    if there and not overwrite:
        raise Conflict(
            _("{folder} has files of that name already: {names}.").format(folder=folder, names=", ".join(there[:5])),
            fix=_("Choose another folder, or replace them with --overwrite."),
            files=there[:100],
        )
    for path in there:
        if (folder / path).is_dir() and not (folder / path).is_symlink():
            raise Conflict(
                _("{file} is a folder; a file is to get that name.").format(file=folder / path),
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
    """A hidden folder within the one that files are for, so that giving them their names is one step of the disk's.

    It is locked as long as somebody works in it: what a process left that was killed, the next one clears away.
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
        with contextlib.suppress(OSError):  # A disk without locks.
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        shutil.rmtree(self._place, ignore_errors=True)
        os.close(self._lock)
        if error:
            self._unmake()

    def _unmake(self) -> None:
        """Remove the folders that were made for nothing."""
        with contextlib.suppress(OSError):
            for path in self._made:
                path.rmdir()

    def write(self, path: str, pieces: Iterable[bytes], modified: float, mode: int | None) -> Iterator[int]:
        """Write a file; the number of bytes after each piece.

        Raises:
            EngineError: if that cannot be.
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
        """As `write`, for a large file from far away. What arrives is kept in a hidden file of the folder, which stays
        when the other end or the network fails, so that the next copy goes on: `pieces` is given what is there of the
        file that `key` stands for, and gives the rest.

        Raises:
            EngineError: if that cannot be.
        """
        part = self.folder / f"{_PART}{key}"
        try:
            file = part.open("ab+", buffering=0)
        except OSError as error:
            raise write_error(self.folder / path, error) from error
        with file:
            if filesystem.lock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB) is False:
                yield from self.write(path, pieces(b""), modified, None)  # Another copies the same.
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
        """A file that is complete, among the others."""
        target = self._place / path
        target.parent.mkdir(parents=True, exist_ok=True)
        os.utime(part, (modified, modified))
        os.replace(part, target)
        self.paths.append(path)

    def publish(self, *, overwrite: bool) -> None:
        """Give the files their names.

        Raises:
            Conflict: if others have come there meanwhile.
            EngineError: if that cannot be.
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
    """Remove what killed processes left, and what nobody has gone on with."""
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
    """The error of a file that cannot be written."""
    return EngineError(
        _("{file} cannot be written: {error}.").format(file=path, error=error.strerror or error),
        fix=_("Choose a folder of yours with enough room."),
    )
