"""Files of this machine, as ``file://`` URIs."""

from __future__ import annotations

import errno
import heapq
import io
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, ClassVar
from urllib.parse import quote, unquote, urlsplit

from ..core.errors import Conflict, NotFound
from ..core.i18n import _
from .base import File, OpenFile, Progress, Storage
from .staging import write_error
from .walk import read_error

__all__ = ["LocalStorage", "path_of"]

_PIECE = 1 << 20


class LocalStorage(Storage):
    """The file system. A link counts as what it leads to, as long as that is a file of the same folder."""

    scheme: ClassVar[str] = "file"

    async def roots(self) -> Sequence[str]:
        return (f"{Path.home().as_uri()}/",)

    def stat(self, uri: str) -> File | None:
        path = _path(uri)
        try:
            found = path.stat()
        except (OSError, ValueError):
            return None
        if stat.S_ISDIR(found.st_mode):
            return File(f"{path.name}/", 0, found.st_mtime)
        return None if uri.endswith("/") else _file(path.name, found)

    def entries(self, uri: str, after: str = "", most: int = 1000) -> list[File]:
        top = os.path.realpath(_path(uri))
        try:
            with os.scandir(top) as entries:
                found = ((entry.name + "/" * entry.is_dir(follow_symlinks=False), entry) for entry in entries)
                page = heapq.nsmallest(most, (pair for pair in found if pair[0] > after), key=lambda pair: pair[0])
        except FileNotFoundError:
            return []
        except OSError as error:
            raise read_error(Path(top), error.strerror or str(error)) from None
        return [one for name, entry in page for one in _entry(top, name.rstrip("/"), entry, name)]

    def list(self, uri: str) -> list[File]:
        return sorted(_walk(os.path.realpath(_path(uri))))

    def exists(self, uri: str) -> bool:
        return _path(uri).is_dir()

    def open(self, uri: str, path: str) -> OpenFile:
        try:
            return _LocalFile(path, _inside(os.path.realpath(_path(uri)), path))
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            raise NotFound(_("`{path}` cannot be read: {why}.").format(path=path, why=why)) from None

    def join(self, uri: str, path: str) -> str:
        return super().join(uri, quote(os.fsencode(path)))

    def split(self, uri: str) -> tuple[str, str]:
        if not _path(uri).name:
            return uri, ""
        folder, path = super().split(uri)
        return folder, unquote(path)

    def put(self, source: Path | bytes, uri: str, *, overwrite: bool = False, progress: Progress | None = None) -> File:
        target = _path(uri)
        if target.is_dir() or uri.endswith("/"):
            raise Conflict(
                _("{file} is a folder; a file is to get that name.").format(file=target),
                fix=_("Choose another name."),
            )
        if not overwrite and os.path.lexists(target):
            raise _taken(target)
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            file, temporary = tempfile.mkstemp(prefix=".jupyter-pai-put-", dir=target.parent)
        except OSError as error:
            raise write_error(target, error) from None
        try:
            with os.fdopen(file, "wb") as place:
                for done, whole in _copy(source, place, target):
                    if progress:
                        progress(done, whole)
            _name(temporary, target, overwrite=overwrite)
        finally:
            Path(temporary).unlink(missing_ok=True)
        return _file(target.name, target.stat())

    def delete(self, uri: str) -> int:
        path = _path(uri)
        if path.is_dir() and not path.is_symlink():
            if not uri.endswith("/"):
                raise Conflict(
                    _("{path} is a folder.").format(path=path),
                    fix=_("With all that is in it: {path}/").format(path=path),
                )
            return _remove_tree(path)
        try:
            path.unlink()
        except FileNotFoundError:
            raise NotFound(_("There is no file `{path}`.").format(path=path)) from None
        except OSError as error:
            raise write_error(path, error) from None
        return 1

    def _move(self, uri: str, target: str, progress: Progress | None) -> int:
        source, goal = _path(uri), _path(target)
        if _is_top(source):
            raise Conflict(_("{path} is not moved as a whole.").format(path=source), fix=_("Name a folder in it."))
        if os.path.lexists(goal):  # Also a link that leads nowhere.
            raise _taken(goal)
        count = sum(1 for _file in _walk(str(source))) if uri.endswith("/") else 1
        try:
            goal.parent.mkdir(parents=True, exist_ok=True)
            os.rename(source, goal)
        except OSError as error:
            if error.errno == errno.EXDEV:  # Another disk.
                return super()._move(uri, target, progress)
            raise write_error(goal, error) from None
        return count

    def make_folder(self, uri: str) -> None:
        path = _path(uri)
        try:
            path.mkdir(parents=True, exist_ok=True)
        except FileExistsError:
            raise Conflict(_("{path} is a file.").format(path=path), fix=_("Choose another name.")) from None
        except OSError as error:
            raise write_error(path, error) from None


def _copy(source: Path | bytes, target: BinaryIO, name: Path) -> Iterator[tuple[int, int]]:
    """Write a file's bytes, with its mode and time if it has them; after each piece, bytes done and bytes in all.

    Raises:
        BadInput: if it cannot be read.
        EngineError: if it cannot be written.
    """
    with _reading(source) as reading:
        found = None if isinstance(source, bytes) else os.fstat(reading.fileno())
        done, whole = 0, found.st_size if found else 0
        try:
            while piece := reading.read(_PIECE):
                target.write(piece)
                done += len(piece)
                yield done, max(done, whole)
            target.flush()
            os.fchmod(target.fileno(), found.st_mode & 0o777 if found else 0o644)
            if found:
                os.utime(target.fileno(), (found.st_atime, found.st_mtime))
        except OSError as error:
            raise write_error(name, error) from None


def _reading(source: Path | bytes) -> BinaryIO:
    if isinstance(source, bytes):
        return io.BytesIO(source)
    try:
        return source.open("rb")
    except OSError as error:
        raise read_error(source, error.strerror or str(error)) from None


def _name(temporary: str, target: Path, *, overwrite: bool) -> None:
    """Give a file its name; where it must not replace another, in one step of the disk's."""
    try:
        if overwrite:
            os.replace(temporary, target)
        else:
            os.link(temporary, target)
    except FileExistsError:
        raise _taken(target) from None
    except OSError as error:
        raise write_error(target, error) from None


def _taken(target: Path) -> Conflict:
    return Conflict(
        _("{file} is there already.").format(file=target),
        fix=_("Choose another name, or replace it with --overwrite."),
        files=[target.name],
    )


def _remove_tree(path: Path) -> int:
    if _is_top(path):
        raise Conflict(_("{path} is not removed as a whole.").format(path=path), fix=_("Name a folder in it."))
    count = sum(1 for _file in _walk(os.path.realpath(path)))
    try:
        shutil.rmtree(path)
    except OSError as error:
        raise write_error(path, error) from None
    return count


def _is_top(path: Path) -> bool:
    """Whether a folder is one of those that nobody means to lose."""
    real = Path(os.path.realpath(path))
    return real in (Path("/"), Path.home()) or real in Path.home().parents


class _LocalFile(OpenFile):
    def __init__(self, path: str, real: str) -> None:
        # Neither waits for the other end of a pipe nor wakes a device: it is looked at first.
        if not stat.S_ISREG(os.lstat(real).st_mode):
            raise ValueError(_("it is no file"))
        self._descriptor = os.open(real, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        found = os.fstat(self._descriptor)
        if not stat.S_ISREG(found.st_mode):
            self.close()
            raise ValueError(_("it is no file"))
        self.file = _file(path, found)
        self.mode = stat.S_IMODE(found.st_mode)

    def read(self, offset: int, length: int) -> bytes:
        return os.pread(self._descriptor, length, offset)

    def close(self) -> None:
        os.close(self._descriptor)


def path_of(uri: str) -> Path | None:
    """The path that a ``file://`` URI means; None for any other."""
    return _path(uri) if uri.startswith("file:") else None


def _path(uri: str) -> Path:
    return Path(unquote(urlsplit(uri).path))


def _inside(top: str, path: str) -> str:
    """Where a path below a folder leads, all links followed.

    Raises:
        ValueError: if that is not below the folder.
        OSError: if there is nothing.
    """
    if "\0" in path or any(part in ("", ".", "..") for part in path.split("/")):
        raise ValueError(_("it is no path of a file in this folder"))
    real = os.path.realpath(os.path.join(top, path), strict=True)
    if not Path(real).is_relative_to(top):
        raise ValueError(_("it is a link that leads out of its folder"))
    return real


def _walk(top: str) -> Iterator[File]:
    """All that is below a folder and is no folder itself. What vanishes meanwhile is passed over."""
    waiting = [""]
    while waiting:
        prefix = waiting.pop()
        try:
            with os.scandir(os.path.join(top, prefix)) as entries:
                for entry in entries:
                    path = prefix + entry.name
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(f"{path}/")
                    else:
                        yield from _entry(top, path, entry)
        except FileNotFoundError:
            continue
        except OSError as error:
            if prefix:
                yield File(prefix.removesuffix("/"), 0, 0.0, error.strerror or str(error))


def _file(path: str, found: os.stat_result) -> File:
    version = f"{found.st_mtime_ns:x}-{found.st_size:x}-{found.st_ino:x}"
    return File(path, found.st_size, found.st_mtime, version=version)


def _entry(top: str, path: str, entry: os.DirEntry[str], name: str = "") -> Iterator[File]:
    """A file; what is none has a problem, but for a folder that is to be named as one."""
    try:
        found = os.stat(_inside(top, path)) if entry.is_symlink() else entry.stat(follow_symlinks=False)
    except FileNotFoundError:
        if entry.is_symlink():
            yield File(path, 0, 0.0, _("it is a link that leads nowhere"))
        return
    except (OSError, ValueError) as error:
        yield File(path, 0, 0.0, str(error))
        return
    if stat.S_ISREG(found.st_mode):
        yield _file(path, found)
    elif name.endswith("/"):
        yield File(name, 0, found.st_mtime)
    else:
        folder = stat.S_ISDIR(found.st_mode)
        yield File(path, 0, found.st_mtime, _("it is a link to a folder") if folder else _("it is no file"))
