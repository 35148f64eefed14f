"""The local side of copies: the files of a folder to upload, and a staging folder from which downloaded files appear
together when all are complete, or not at all."""

from __future__ import annotations

import fcntl
import os
import secrets
import shutil
import stat
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from io import FileIO
from mmap import ACCESS_READ, mmap
from pathlib import Path
from types import TracebackType
from typing import Self

from ..core import beneath, filesystem
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
    """Return the path and size in bytes of all files below a folder, sorted by path. Links are followed, because an
    upload means the data, but not out of a folder that a job can write.

    Raises:
        BadInput: if a folder or file cannot be read, is a special file, or a link is broken, circular, or leads out.
    """
    files: list[tuple[str, int]] = []
    with read_errors(folder):
        waiting: list[tuple[str, tuple[str, ...]]] = [("", (beneath.resolve(folder),))]
    while waiting:
        prefix, above = waiting.pop()
        with read_errors(folder / prefix), beneath.open_folder(above[-1]) as place, os.scandir(place) as entries:
            for entry in entries:
                path, real = prefix + entry.name, os.path.join(above[-1], entry.name)
                status = entry.stat(follow_symlinks=False)
                if stat.S_ISLNK(status.st_mode):
                    real, status = _target(folder / path)
                if not stat.S_ISDIR(status.st_mode):
                    files.append((path, _size(folder / path, status)))
                elif real in above:
                    raise _read_error(folder / path, _("a link to a folder that contains it"))
                else:
                    waiting.append((f"{path}/", (*above, real)))
    return sorted(files)


def _target(link: Path) -> tuple[str, os.stat_result]:
    """Return the path without links of the target of a link, and its status."""
    with read_errors(link):
        real = beneath.resolve(link)
    try:
        with beneath.open_parent(real) as (place, name):
            return real, os.stat(name, dir_fd=place, follow_symlinks=False)
    except FileNotFoundError:
        raise _read_error(link, _("a broken link")) from None


def _size(path: Path, status: os.stat_result) -> int:
    if not stat.S_ISREG(status.st_mode):
        raise _read_error(path, _("not a regular file"))
    return status.st_size


def open_source(path: Path) -> FileIO:
    """Open a local file to upload it. Links are followed, but not out of a folder that a job can write.

    Raises:
        BadInput: if it cannot be read, or is not a regular file.
    """
    with read_errors(path):
        return FileIO(beneath.open_file(beneath.resolve(path)))


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
    with write_errors(folder):
        top = Path(beneath.resolve(folder))
    there = [path for path in paths if os.path.lexists(top / path)]
    if there and not overwrite:
        raise Conflict(
            _("Files with these names already exist in {folder}: {names}.").format(
                folder=folder, names=", ".join(there[:5])
            ),
            fix=_("Choose another folder, or overwrite them with --overwrite."),
            files=there[:100],
        )
    for path in there:
        if (top / path).is_dir() and not (top / path).is_symlink():
            raise Conflict(
                _("{file} is a folder, but a file of that name is to be written.").format(file=folder / path),
                fix=_("Choose another folder."),
            )
    for parent in {(top / path).parent for path in paths}:
        with write_errors(folder):  # A job may exchange folders and links meanwhile.
            is_inside = Path(os.path.realpath(parent)).is_relative_to(top)
        if not is_inside:
            raise Conflict(
                _("{file} is a link that leads out of {folder}.").format(file=parent, folder=folder),
                fix=_("Choose another folder."),
            )


class Staging:
    """A hidden folder inside the target folder, from which files are renamed atomically. All are opened below their
    open folder, so that a job that can write there cannot divert them by links.

    It is locked while in use. The next copy removes the folders of killed processes.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.paths: list[str] = []
        self._made: list[str] = []
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        with on_failure(self._unmake), write_errors(self.folder), self._stack as stack:
            self._real = beneath.resolve(self.folder)
            self._make(self._real)
            self._top = stack.enter_context(beneath.open_folder(self._real))
            _clear(self._top)
            self._name = _PREFIX + secrets.token_hex(8)
            os.mkdir(self._name, 0o700, dir_fd=self._top)
            stack.callback(shutil.rmtree, self._name, ignore_errors=True, dir_fd=self._top)
            self._place = stack.enter_context(beneath.open_folder(self._name, below=self._top))
            filesystem.lock(self._place, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._stack.close()
        if error:
            self._unmake()

    def _make(self, folder: str) -> None:
        """Create a folder and its parents, to be removed if the copy fails."""
        self._made[:0] = [str(path) for path in (Path(folder), *Path(folder).parents) if not path.exists()]
        with beneath.open_folder(folder, create=True, listed=False):
            pass

    def _unmake(self) -> None:
        for path in self._made:
            with suppress(OSError), beneath.open_parent(path) as (place, name):
                os.rmdir(name, dir_fd=place)

    def write(self, path: str, pieces: Iterable[bytes], modified: float, mode: int | None) -> Iterator[int]:
        """Write a file. Yields the size of each chunk.

        Raises:
            EngineError: if it cannot be written.
        """
        with (
            write_errors(self.folder / path),
            beneath.open_parent(path, below=self._place, create=True) as (place, name),
        ):
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            with open(os.open(name, flags, 0o666, dir_fd=place), "wb") as file:
                for data in pieces:
                    file.write(data)
                    yield len(data)
                if mode is not None:
                    os.fchmod(file.fileno(), mode & 0o777)
                file.flush()
                os.utime(file.fileno(), (modified, modified))
        self.paths.append(path)

    def link(self, path: str, target: str) -> None:
        """Create a link to a folder of the copy. `target` is relative to the folder of the link.

        Raises:
            EngineError: if it cannot be created.
        """
        with (
            write_errors(self.folder / path),
            beneath.open_parent(path, below=self._place, create=True) as (place, name),
        ):
            os.symlink(target, name, dir_fd=place)
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
        part = f"{_PART}{key}"
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        with (
            write_errors(self.folder / path),
            open(os.open(part, flags, 0o666, dir_fd=self._top), "ab+", buffering=0) as file,
        ):
            if filesystem.lock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB) is False:
                yield from self.write(path, pieces(b""), modified, None)  # Another process is copying the same file.
                return
            with on_failure(self._remove(part), unless=(BackendError, Refused)):
                yield from _append(file, pieces)
                os.utime(file.fileno(), (modified, modified))
                with beneath.open_parent(path, below=self._place, create=True) as (place, name):
                    os.replace(part, name, src_dir_fd=self._top, dst_dir_fd=place)
            self.paths.append(path)

    def _remove(self, name: str) -> Callable[[], None]:
        """Return a function that removes a file of the target folder."""

        def remove() -> None:
            with suppress(FileNotFoundError):
                os.unlink(name, dir_fd=self._top)

        return remove

    def publish(self, *, overwrite: bool) -> None:
        """Move the files to the target folder.

        Raises:
            Conflict: if files appeared there in the meantime.
            EngineError: if they cannot be written.
        """
        check_targets(self.folder, self.paths, overwrite=overwrite)
        folders = {path: os.path.dirname(path) for path in self.paths}
        for folder in dict.fromkeys(folders.values()):
            with write_errors(self.folder / folder):
                real = beneath.resolve(os.path.join(self._real, folder))
                self._make(real)
            folders |= {path: os.path.relpath(real, self._real) for path in self.paths if folders[path] == folder}
        for path, folder in folders.items():
            name = os.path.basename(path)
            with (
                write_errors(self.folder / path),
                beneath.open_parent(path, below=self._place) as (place, _name),
                beneath.open_folder(folder, below=self._top, listed=False) as target,
            ):
                os.replace(name, name, src_dir_fd=place, dst_dir_fd=target)


def _append(file: FileIO, pieces: Callable[[bytes | mmap], Iterable[bytes]]) -> Iterator[int]:
    """Write the rest of a partial file. Yields the size of the bytes already present, then of each chunk."""
    size = os.fstat(file.fileno()).st_size
    yield size
    for data in pieces(mmap(file.fileno(), size, access=ACCESS_READ) if size else b""):
        rest = memoryview(data)
        while rest:
            rest = rest[file.write(rest) :]
        yield len(data)


def _clear(folder: int) -> None:
    """Remove the folders of killed processes in an open folder, and partial files that were not resumed."""
    for name in os.listdir(folder):
        if not name.startswith((_PART, _PREFIX)):
            continue
        with suppress(OSError):
            age = time.time() - os.stat(name, dir_fd=folder, follow_symlinks=False).st_mtime
            if name.startswith(_PART) and age > _KEPT:
                os.unlink(name, dir_fd=folder)
            elif name.startswith(_PREFIX) and age > _GRACE:
                with beneath.open_folder(name, below=folder) as place:
                    fcntl.flock(place, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    shutil.rmtree(name, ignore_errors=True, dir_fd=folder)
