"""Files of this machine as ``file://`` URIs."""

from __future__ import annotations

import errno
import heapq
import io
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, ClassVar

from ..core import file_uri
from ..core.errors import Conflict, NotFound
from ..core.filesystem import open_folder
from ..core.i18n import _
from .base import File, OpenFile, Progress, Storage
from .staging import read_errors, write_errors

_PIECE = 1 << 20


class LocalStorage(Storage):
    """The file system. Links are followed if they lead to files in the same folder."""

    scheme: ClassVar[str] = "file"

    @classmethod
    def canonical(cls, uri: str) -> str:
        return file_uri.canonical(uri)

    async def roots(self) -> Sequence[str]:
        return (file_uri.uri_of(Path.home(), folder=True),)

    def stat(self, uri: str) -> File | None:
        path = _path(uri)
        try:
            status = path.stat()
        except (OSError, ValueError):
            return None
        if stat.S_ISDIR(status.st_mode):
            return File(f"{path.name}/", 0, status.st_mtime)
        return None if uri.endswith("/") else _file(path.name, status)

    def _top(self, uri: str) -> str:
        """Return the path of a folder without links."""
        return os.path.realpath(_path(uri))

    def entries(self, uri: str, after: str = "", most: int = 1000) -> list[File]:
        top, page = self._top(uri), []
        with read_errors(Path(top)), suppress(FileNotFoundError), os.scandir(top) as entries:
            named = ((entry.name + "/" * entry.is_dir(follow_symlinks=False), entry) for entry in entries)
            page = heapq.nsmallest(most, (pair for pair in named if pair[0] > after), key=lambda pair: pair[0])
        return [one for name, entry in page for one in _entry(top, name.rstrip("/"), entry, name)]

    def list(self, uri: str) -> list[File]:
        return sorted(_walk(self._top(uri)))

    def exists(self, uri: str) -> bool:
        return os.path.isdir(self._top(uri))

    def open(self, uri: str, path: str) -> OpenFile:
        try:
            return _LocalFile(path, self._top(uri))
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            raise NotFound(_("`{path}` cannot be read: {why}.").format(path=path, why=why)) from None

    def join(self, uri: str, path: str) -> str:
        return file_uri.uri_of(f"{_path(uri)}/{path}")

    def split(self, uri: str) -> tuple[str, str]:
        path = _path(uri)
        name = path.name and path.name + "/" * uri.endswith("/")
        return file_uri.uri_of(path.parent, folder=True), name

    def put(self, source: Path | bytes, uri: str, *, overwrite: bool = False, progress: Progress | None = None) -> File:
        target = _path(uri)
        if target.is_dir() or uri.endswith("/"):
            raise Conflict(
                _("{file} is a folder, but a file of that name is to be written.").format(file=target),
                fix=_("Choose another name."),
            )
        if not overwrite and os.path.lexists(target):
            raise _taken(target)
        with write_errors(target):
            target.parent.mkdir(parents=True, exist_ok=True)
            file, temporary = tempfile.mkstemp(prefix=".jupyter-pai-put-", dir=target.parent)
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
                    fix=_("To include its contents: {path}/").format(path=path),
                )
            return _remove_tree(path)
        if not os.path.lexists(path):
            raise NotFound(_("File not found: `{path}`.").format(path=path))
        with write_errors(path):
            path.unlink()
        return 1

    def _move(self, uri: str, target: str, progress: Progress | None) -> int:
        source, goal = _path(uri), _path(target)
        if _is_top(source):
            raise Conflict(
                _("Cannot move the root of a storage ({path}).").format(path=source), fix=_("Name a folder inside it.")
            )
        if os.path.lexists(goal):  # Includes a broken link.
            raise _taken(goal)
        count = sum(1 for _file in _walk(os.path.realpath(source))) if uri.endswith("/") else 1
        with write_errors(goal):
            goal.parent.mkdir(parents=True, exist_ok=True)
            try:
                os.rename(source, goal)
            except OSError as error:
                if error.errno != errno.EXDEV:
                    raise
                return super()._move(uri, target, progress)  # To a different disk.
        return count

    def make_folder(self, uri: str) -> None:
        path = _path(uri)
        if path.exists() and not path.is_dir():
            raise Conflict(_("{path} is a file.").format(path=path), fix=_("Choose another name."))
        with write_errors(path):
            path.mkdir(parents=True, exist_ok=True)


class ChannelStorage(LocalStorage):
    """The output channels of jobs. The path of a channel has no links, because a job can replace its folders by links
    to other files of this machine. Links inside the channel are followed as in other folders."""

    def _top(self, uri: str) -> str:
        path = _path(uri)
        try:
            with open_folder(str(path), listed=False):
                pass
        except FileNotFoundError:
            pass  # Read as an empty folder.
        except OSError as error:
            raise NotFound(
                _("The output folder {path} cannot be opened without following links: {error}.").format(
                    path=path, error=error.strerror
                ),
                fix=_("The job may have replaced it by a link. Check the folder before you read it by other means."),
            ) from None
        return str(path)


def _copy(source: Path | bytes, target: BinaryIO, name: Path) -> Iterator[tuple[int, int]]:
    """Copy bytes, or a file with its mode and modification time. Yields the bytes done and the total after each chunk.

    Raises:
        BadInput: if it cannot be read.
        EngineError: if it cannot be written.
    """
    with read_errors(name if isinstance(source, bytes) else source):
        reading = io.BytesIO(source) if isinstance(source, bytes) else source.open("rb")
    with reading, write_errors(name):
        status = None if isinstance(source, bytes) else os.fstat(reading.fileno())
        done, whole = 0, status.st_size if status else 0
        while piece := reading.read(_PIECE):
            target.write(piece)
            done += len(piece)
            yield done, max(done, whole)
        target.flush()
        os.fchmod(target.fileno(), status.st_mode & 0o777 if status else 0o644)
        if status:
            os.utime(target.fileno(), (status.st_atime, status.st_mtime))


def _name(temporary: str, target: Path, *, overwrite: bool) -> None:
    """Rename a file atomically, without replacing another unless `overwrite` is set."""
    with write_errors(target):
        try:
            (os.replace if overwrite else os.link)(temporary, target)
        except FileExistsError:
            raise _taken(target) from None


def _taken(target: Path) -> Conflict:
    return Conflict(
        _("{file} already exists.").format(file=target),
        fix=_("Choose another name, or overwrite it with --overwrite."),
        files=[target.name],
    )


def _remove_tree(path: Path) -> int:
    if _is_top(path):
        raise Conflict(_("Cannot delete {path} as a whole.").format(path=path), fix=_("Name a folder inside it."))
    count = sum(1 for _file in _walk(os.path.realpath(path)))
    with write_errors(path):
        shutil.rmtree(path)
    return count


def _is_top(path: Path) -> bool:
    """Return whether a folder is protected: the root, the home folder, or a parent of it."""
    real = Path(os.path.realpath(path))
    return real in (Path("/"), Path.home()) or real in Path.home().parents


class _LocalFile(OpenFile):
    def __init__(self, path: str, top: str) -> None:
        # Links are resolved first. The result is opened without following any, since it may be replaced meanwhile.
        folder, name = os.path.split(os.path.relpath(_inside(top, path), top))
        with open_folder(top, listed=False) as place, open_folder(folder, below=place, listed=False) as parent:
            # Check first, because opening a pipe would block and opening a device could have effects.
            if not stat.S_ISREG(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode):
                raise ValueError(_("not a regular file"))
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
            self._descriptor = os.open(name, flags, dir_fd=parent)
        status = os.fstat(self._descriptor)
        if not stat.S_ISREG(status.st_mode):
            self.close()
            raise ValueError(_("not a regular file"))
        self.file = _file(path, status)
        self.mode = stat.S_IMODE(status.st_mode)

    def read(self, offset: int, length: int) -> bytes:
        return os.pread(self._descriptor, length, offset)

    def close(self) -> None:
        os.close(self._descriptor)


def _path(uri: str) -> Path:
    return Path(file_uri.local_path(uri))


def _inside(top: str, path: str) -> str:
    """Resolve a path below a folder, following links.

    Raises:
        ValueError: if the result is outside the folder.
        OSError: if it does not exist.
    """
    if "\0" in path or {"", ".", ".."} & {*path.split("/")}:
        raise ValueError(_("not a valid path inside this folder"))
    real = os.path.realpath(os.path.join(top, path), strict=True)
    if not Path(real).is_relative_to(top):
        raise ValueError(_("a link that leads out of its folder"))
    return real


def _walk(top: str) -> Iterator[File]:
    """Yield everything below a folder except folders. Entries that vanish meanwhile are skipped."""
    waiting = [""]
    with suppress(OSError), open_folder(top) as place:
        while waiting:
            prefix = waiting.pop()
            try:
                with open_folder(prefix, below=place) as folder, os.scandir(folder) as entries:
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


def _file(path: str, status: os.stat_result) -> File:
    version = f"{status.st_mtime_ns:x}-{status.st_size:x}-{status.st_ino:x}"
    return File(path, status.st_size, status.st_mtime, version=version)


def _entry(top: str, path: str, entry: os.DirEntry[str], name: str = "") -> Iterator[File]:
    """Yield a file, or a folder if `name` ends with a slash. Other entries get a problem."""
    try:
        status = os.stat(_inside(top, path)) if entry.is_symlink() else entry.stat(follow_symlinks=False)
    except FileNotFoundError:
        if entry.is_symlink():
            yield File(path, 0, 0.0, _("a broken link"))
        return
    except (OSError, ValueError) as error:
        yield File(path, 0, 0.0, str(error))
        return
    if stat.S_ISREG(status.st_mode):
        yield _file(path, status)
    elif name.endswith("/"):
        yield File(name, 0, status.st_mtime)
    else:
        folder = stat.S_ISDIR(status.st_mode)
        yield File(path, 0, status.st_mtime, _("a link to a folder") if folder else _("not a regular file"))
