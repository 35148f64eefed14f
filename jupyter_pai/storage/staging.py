"""The local side of copies: the files of a folder to upload, and a staging folder from which downloaded files appear
together when all are complete, or not at all."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from io import FileIO
from mmap import ACCESS_READ, mmap
from pathlib import Path
from types import TracebackType
from typing import Self

from ..core import filesystem
from ..core.cleanup import on_failure
from ..core.errors import BackendError, BadInput, Conflict, EngineError, Refused
from ..core.i18n import _

_PREFIX = ".jupyter-pai-copy-"
_PART = ".jupyter-pai-part-"
# Seconds for which a partial file is kept.
_KEPT = 7 * 86_400.0
# A younger folder may be about to be locked.
_GRACE = 60.0


def walk(folder: Path) -> list[tuple[str, int]]:
    """Return the path and size in bytes of all files below a folder, sorted by path. All links are followed, because an
    upload means the data.

    Raises:
        BadInput: if a folder or file cannot be read, is a special file, or a link is broken or circular.
    """
    files: list[tuple[str, int]] = []
    waiting: list[tuple[str, tuple[str, ...]]] = [("", (os.path.realpath(folder),))]
    while waiting:
        prefix, above = waiting.pop()
        with read_errors(folder / prefix), os.scandir(folder / prefix) as entries:
            for entry in entries:
                path = prefix + entry.name
                if not entry.is_dir():
                    files.append((path, _size(folder / path)))
                elif (real := os.path.realpath(folder / path)) in above:
                    raise _read_error(folder / path, _("a link to a folder that contains it"))
                else:
                    waiting.append((f"{path}/", (*above, real)))
    return sorted(files)


def _size(path: Path) -> int:
    if not path.exists():
        raise _read_error(path, _("a broken link"))
    if not path.is_file():
        raise _read_error(path, _("not a regular file"))
    return path.stat().st_size


def _read_error(path: Path, why: str) -> BadInput:
    """Return the error for a local file that cannot be read."""
    return BadInput(_("`{path}` cannot be read: {why}.").format(path=path, why=why), fix=_("Remove or repair it."))


@contextmanager
def read_errors(path: Path) -> Iterator[None]:
    """Turn an OSError in the block into a BadInput about a local file that cannot be read."""
    try:
        yield
    except OSError as error:
        raise _read_error(path, error.strerror or str(error)) from None


@contextmanager
def write_errors(path: Path) -> Iterator[None]:
    """Turn an OSError in the block into an EngineError about a file that cannot be written."""
    try:
        yield
    except OSError as error:
        raise EngineError(
            _("{file} cannot be written: {error}.").format(file=path, error=error.strerror or error),
            fix=_("Choose a folder that you can write to, with enough free space."),
        ) from error


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
        self._made: list[Path] = []

    def __enter__(self) -> Self:
        with on_failure(self._unmake), write_errors(self.folder):
            self._make(self.folder)
            _clear(self.folder)
            self._place = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=self.folder))
            self._lock = os.open(self._place, os.O_RDONLY | os.O_DIRECTORY)
            filesystem.lock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        shutil.rmtree(self._place, ignore_errors=True)
        os.close(self._lock)
        if error:
            self._unmake()

    def _make(self, folder: Path) -> None:
        """Create a folder and its parents, to be removed if the copy fails."""
        self._made[:0] = [path for path in (folder, *folder.parents) if not path.exists()]
        folder.mkdir(parents=True, exist_ok=True)

    def _unmake(self) -> None:
        for path in self._made:
            with suppress(OSError):
                path.rmdir()

    def write(self, path: str, pieces: Iterable[bytes], modified: float, mode: int | None) -> Iterator[int]:
        """Write a file. Yields the size of each chunk.

        Raises:
            EngineError: if it cannot be written.
        """
        target = self._place / path
        with write_errors(self.folder / path):
            target.parent.mkdir(parents=True, exist_ok=True)
            with target.open("xb") as file:
                for data in pieces:
                    file.write(data)
                    yield len(data)
                if mode is not None:
                    os.fchmod(file.fileno(), mode & 0o777)
            os.utime(target, (modified, modified))
        self.paths.append(path)

    def write_resumable(
        self, path: str, key: str, pieces: Callable[[bytes | mmap], Iterable[bytes]], modified: float
    ) -> Iterator[int]:
        """Write a large remote file, resumable after a failure of the remote side or the network.

        The partial file is kept hidden in the target folder, identified by `key`. `pieces` gets the bytes already
        present and yields the rest.

        Raises:
            EngineError: if it cannot be written.
        """
        part = self.folder / f"{_PART}{key}"
        with write_errors(self.folder / path), part.open("ab+", buffering=0) as file:
            if filesystem.lock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB) is False:
                yield from self.write(path, pieces(b""), modified, None)  # Another process is copying the same file.
                return
            with on_failure(lambda: part.unlink(missing_ok=True), unless=(BackendError, Refused)):
                yield from _append(file, pieces)
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
        for folder in dict.fromkeys((self.folder / path).parent for path in self.paths):
            with write_errors(folder):
                self._make(folder)
        for path in self.paths:
            with write_errors(self.folder / path):
                os.replace(self._place / path, self.folder / path)


def _append(file: FileIO, pieces: Callable[[bytes | mmap], Iterable[bytes]]) -> Iterator[int]:
    """Write the rest of a partial file. Yields the size of the bytes already present, then of each chunk."""
    size = os.fstat(file.fileno()).st_size
    yield size
    for data in pieces(mmap(file.fileno(), size, access=ACCESS_READ) if size else b""):
        rest = memoryview(data)
        while rest:
            rest = rest[file.write(rest) :]
        yield len(data)


def _clear(folder: Path) -> None:
    """Remove the folders of killed processes, and partial files that were not resumed."""
    for path in folder.glob(f"{_PART}*"):
        with suppress(OSError):
            if time.time() - path.lstat().st_mtime > _KEPT:
                path.unlink()
    for path in folder.glob(f"{_PREFIX}*"):
        with suppress(OSError):
            if time.time() - path.lstat().st_mtime < _GRACE:
                continue
            place = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                fcntl.flock(place, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(path, ignore_errors=True)
            finally:
                os.close(place)
