"""Folders and files that are reached without the links that a job could have put in the way.

A job in a container can replace everything below the folders that it writes by links to other files of the machine.
`resolve` follows the links of a path, except one that leads out of such a folder. Its result has no links and is opened
without following any, so that a part that a job replaces meanwhile is not reached.

Uses only the standard library: the supervisor of a job opens the folders of a container, and a TensorBoard of any
interpreter those of its runs.
"""

from __future__ import annotations

import errno
import json
import os
import stat
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from weakref import WeakSet

_MOST_LINKS = 40
# Opens a folder that may be passed through, but not listed.
_PASS = os.O_PATH if sys.platform == "linux" else getattr(os, "O_SEARCH", os.O_RDONLY)
# The folders of all state folders that this process uses.
_known: WeakSet[WrittenFolders] = WeakSet()


class WrittenFolders:
    """The folders in which containers of the jobs of one state folder can write: `ml` and `output` of each job, below
    the folder `jobs`, and those elsewhere, which are lines of a file."""

    def __init__(self, file: str | os.PathLike[str], jobs: str | os.PathLike[str]) -> None:
        self._file = file
        self._jobs = jobs
        self._read: tuple[object, frozenset[str]] = None, frozenset()
        _known.add(self)

    def add(self, folders: Iterable[str]) -> None:
        """Add folders, given by paths without links.

        Raises:
            OSError: if they cannot be stored.
        """
        if new := [folder for folder in folders if self.root_of(folder) != folder]:
            file = os.open(self._file, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
            with open(file, "w", encoding="utf-8") as lines:
                lines.write("".join(f"\n{json.dumps(folder)}" for folder in new))  # After a torn line, if any.

    def root_of(self, path: str) -> str:
        """Return the innermost of the folders that is or contains a path without links; empty if there is none."""
        elsewhere, jobs = self._elsewhere(), os.path.realpath(self._jobs)
        place = path
        while True:
            job = os.path.dirname(place)
            if place in elsewhere or (os.path.basename(place) in ("ml", "output") and os.path.dirname(job) == jobs):
                return place
            if job == place:
                return ""
            place = job

    def _elsewhere(self) -> frozenset[str]:
        try:
            status = os.stat(self._file)
        except FileNotFoundError:
            return frozenset()
        version = (status.st_mtime_ns, status.st_size)
        if self._read[0] != version:
            folders = set()
            with open(self._file, "rb") as file:
                for line in file:
                    with suppress(ValueError):
                        folders.add(str(json.loads(line)))
            self._read = version, frozenset(folders)
        return self._read[1]


def root_of(path: str) -> str:
    """Return the innermost folder in which a job can write and that is or contains a path without links; empty if there
    is none."""
    return max((known.root_of(path) for known in [*_known]), key=len, default="")


def steps(path: str | os.PathLike[str]) -> Iterator[tuple[str, os.stat_result | None]]:
    """Yield the folders and links on the way to a path, with their status, and last the path without links. The status
    of a missing one is None.

    Raises:
        OSError: if one of them cannot be accessed, or there are too many links.
    """
    names = os.path.join(os.getcwd(), os.fspath(path)).split("/")
    place, waiting, links = "/", [name for name in reversed(names) if name not in ("", ".")], 0
    yield place, os.lstat(place)
    while waiting:
        name = waiting.pop()
        if name == "..":
            place = os.path.dirname(place)
        else:
            inner = os.path.join(place, name)
            status = _status(inner)
            yield inner, status
            if status is None or not stat.S_ISLNK(status.st_mode):
                place = inner
                continue
            links += 1
            if links > _MOST_LINKS:
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), os.fspath(path))
            target = os.readlink(inner)
            place = "/" if target.startswith("/") else place
            waiting += [part for part in reversed(target.split("/")) if part not in ("", ".")]
        if not waiting:  # The last link ended with "/" or "..".
            yield place, _status(place)


def _status(path: str) -> os.stat_result | None:
    try:
        return os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None


def _translation() -> Callable[[str], str]:
    """Return the function that translates messages. There is none if this file is run by its path."""
    if not __package__:
        return str
    from .i18n import _

    return _


def resolve(path: str | os.PathLike[str]) -> str:
    """Return a path without links. Missing parts remain.

    Raises:
        OSError: if a link leads out of a folder in which a job can write (ELOOP), or a part cannot be accessed.
        ValueError: if the path has a NUL character.
    """
    place, links = "/", list[tuple[str, str]]()
    for place, status in steps(path):
        if status and stat.S_ISLNK(status.st_mode) and (root := root_of(os.path.dirname(place))):
            links.append((root, place))
    for root, link in links:
        if os.path.commonpath((place, root)) != root:
            _ = _translation()
            text = _("a link that leads out of {folder}, where a job can write")
            raise OSError(errno.ELOOP, text.format(folder=root), link)
    return place


@contextmanager
def open_folder(path: str, *, below: int | None = None, create: bool = False, listed: bool = True) -> Iterator[int]:
    """Open a folder without following a link in its path, and yield its descriptor. `path` is absolute, or relative to
    the open folder `below`. `create` creates missing folders. A folder that is not `listed` needs no permission to
    read it.

    The same as `openat2` with RESOLVE_NO_SYMLINKS and RESOLVE_BENEATH, on each system.

    Raises:
        OSError: if a folder is missing, or if a part of the path is a link (ENOTDIR) or leads upwards (EINVAL).
    """
    flags = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    names = [name for name in path.split("/") if name not in ("", ".")]
    place = os.open("/", flags | _PASS) if below is None else os.dup(below)
    try:
        if listed and not names:
            place = _replaced(place, ".", flags | os.O_RDONLY)
        for number, name in enumerate(names, 1):
            if name == "..":
                raise OSError(errno.EINVAL, os.strerror(errno.EINVAL), path)
            access = flags | (os.O_RDONLY if listed and number == len(names) else _PASS)
            try:
                place = _replaced(place, name, access)
            except FileNotFoundError:
                if not create:
                    raise
                with suppress(FileExistsError):
                    os.mkdir(name, dir_fd=place)
                place = _replaced(place, name, access)
        yield place
    finally:
        os.close(place)


def _replaced(place: int, name: str, flags: int) -> int:
    """Open a folder in an open folder, which is closed then."""
    inner = os.open(name, flags, dir_fd=place)
    os.close(place)
    return inner


@contextmanager
def open_parent(path: str, *, below: int | None = None, create: bool = False) -> Iterator[tuple[int, str]]:
    """Open the folder of a file as `open_folder` does. Yield its descriptor, and the name of the file in it.

    Raises:
        OSError: as `open_folder` does.
    """
    folder, name = os.path.split(path.rstrip("/") or path)
    with open_folder(folder, below=below, create=create, listed=False) as place:
        yield place, name or "."


def status_of(place: int, name: str) -> os.stat_result | None:
    """Return the status of a name in an open folder, without following a link; None if it does not exist."""
    try:
        return os.stat(name, dir_fd=place, follow_symlinks=False)
    except FileNotFoundError:
        return None


def create_file(place: int, prefix: str) -> tuple[str, int]:
    """Create a file (mode 0600) with a new name in an open folder. Return its name and a descriptor to write it."""
    name = prefix + os.urandom(8).hex()
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    return name, os.open(name, flags, 0o600, dir_fd=place)


def open_file(path: str, *, below: int | None = None) -> int:
    """Open a regular file to read it, without following a link in its path. Never blocks. Return its descriptor.

    Raises:
        OSError: as `open_folder` does, or if it is not a regular file (EINVAL).
    """
    with open_parent(path, below=below) as (place, name):
        # Check first, because opening a device could have effects.
        status = os.stat(name, dir_fd=place, follow_symlinks=False)
        if stat.S_ISREG(status.st_mode):
            file = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=place)
            if stat.S_ISREG(os.fstat(file).st_mode):
                return file
            os.close(file)
    _ = _translation()
    raise OSError(errno.EINVAL, _("not a regular file"), path)
