"""Files of this machine as ``file://`` URIs."""

from __future__ import annotations

import errno
import heapq
import io
import os
import shutil
import stat
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, ClassVar

from ..core import beneath, file_uri
from ..core.errors import Conflict, NotFound
from ..core.i18n import _
from .base import File, OpenFile, Progress, Storage
from .staging import open_source, read_errors, write_errors

_PIECE = 1 << 20


class LocalStorage(Storage):
    """The file system. Links are followed, but not out of a folder that a job can write. Links to files in a folder are
    followed if they lead to files in the same folder."""

    scheme: ClassVar[str] = "file"

    @classmethod
    def canonical(cls, uri: str) -> str:
        return file_uri.canonical(uri)

    async def roots(self) -> Sequence[str]:
        return (file_uri.uri_of(Path.home(), folder=True),)

    def stat(self, uri: str) -> File | None:
        path = _path(uri)
        try:
            with beneath.open_parent(self._real(path)) as (place, name):
                status = os.stat(name, dir_fd=place, follow_symlinks=False)
        except (OSError, ValueError):
            return None
        if stat.S_ISDIR(status.st_mode):
            return File(f"{path.name}/", 0, status.st_mtime)
        return None if uri.endswith("/") or stat.S_ISLNK(status.st_mode) else _file(path.name, status)

    def _real(self, path: Path) -> str:
        """Return a path without links.

        Raises:
            NotFound: if it cannot be accessed without a link that a job could have made.
        """
        try:
            return beneath.resolve(path)
        except OSError as error:
            raise NotFound(
                _("{path} cannot be accessed: {why}.").format(path=path, why=error.strerror or error),
                fix=_("Check its permissions and the links on its way, and pass the target of a link."),
            ) from None

    def entries(self, uri: str, after: str = "", most: int = 1000) -> list[File]:
        top, page = self._real(_path(uri)), list[File]()
        with (
            read_errors(Path(top)),
            suppress(FileNotFoundError),
            beneath.open_folder(top) as place,
            os.scandir(place) as entries,
        ):
            named = ((entry.name + "/" * entry.is_dir(follow_symlinks=False), entry) for entry in entries)
            chosen = heapq.nsmallest(most, (pair for pair in named if pair[0] > after), key=lambda pair: pair[0])
            page = [one for name, entry in chosen for one in _entry(top, place, name.rstrip("/"), entry, name)]
        return page

    def list(self, uri: str) -> list[File]:
        return sorted(_walk(self._real(_path(uri))))

    def exists(self, uri: str) -> bool:
        with suppress(OSError), beneath.open_folder(self._real(_path(uri)), listed=False):
            return True
        return False

    def open(self, uri: str, path: str) -> OpenFile:
        try:
            return _LocalFile(path, self._real(_path(uri)))
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            raise NotFound(_("`{path}` cannot be read: {why}.").format(path=path, why=why)) from None

    def join(self, uri: str, path: str) -> str:
        return file_uri.uri_of(f"{_path(uri)}/{path}")

    def split(self, uri: str) -> tuple[str, str]:
        path = _path(uri)
        name = path.name and path.name + "/" * uri.endswith("/")
        return file_uri.uri_of(path.parent, folder=True), name

    @contextmanager
    def _parent(self, path: Path, *, create: bool = False) -> Iterator[tuple[int, str]]:
        """Open the folder of a file to change it. Yield its descriptor, and the name of the file in it.

        Raises:
            NotFound: if it is missing and not created.
            EngineError: if it cannot be opened.
        """
        path = Path(self._real(path)) if path.name in ("", "..") else path
        folder = self._real(path.parent)
        with ExitStack() as stack, write_errors(path):
            try:
                place = stack.enter_context(beneath.open_folder(folder, create=create, listed=False))
            except FileNotFoundError:
                raise _missing(path) from None
            opened = stack.pop_all()
        with opened:
            yield place, path.name or "."

    def put(self, source: Path | bytes, uri: str, *, overwrite: bool = False, progress: Progress | None = None) -> File:
        target = _path(uri)
        there = self.stat(uri)
        if uri.endswith("/") or (there and there.is_folder):
            raise Conflict(
                _("{file} is a folder, but a file of that name is to be written.").format(file=target),
                fix=_("Choose another name."),
            )
        with self._parent(target, create=True) as (place, name):
            if not overwrite and beneath.status_of(place, name):
                raise _taken(target)
            with write_errors(target):
                temporary, file = beneath.create_file(place, ".jupyter-pai-put-")
            try:
                with os.fdopen(file, "wb") as writing:
                    for done, whole in _copy(source, writing, target):
                        if progress:
                            progress(done, whole)
                    status = os.fstat(file)
                _name(temporary, name, place, target, overwrite=overwrite)
            finally:
                with suppress(FileNotFoundError):
                    os.unlink(temporary, dir_fd=place)
        return _file(target.name, status)

    def delete(self, uri: str) -> int:
        path = _path(uri)
        with self._parent(path) as (place, name), write_errors(path):
            status = beneath.status_of(place, name)
            if status and stat.S_ISDIR(status.st_mode):
                if not uri.endswith("/"):
                    raise Conflict(
                        _("{path} is a folder.").format(path=path),
                        fix=_("To include its contents: {path}/").format(path=path),
                    )
                return self._delete_folder(path, place, name)
            if not status:
                raise _missing(path)
            os.unlink(name, dir_fd=place)
        return 1

    def _delete_folder(self, path: Path, place: int, name: str) -> int:
        real = self._real(path)
        if _is_top(real):
            raise Conflict(_("Cannot delete {path} as a whole.").format(path=path), fix=_("Name a folder inside it."))
        count = sum(1 for _file in _walk(real))
        shutil.rmtree(name, dir_fd=place)
        return count

    def _move(self, uri: str, target: str, progress: Progress | None) -> int:
        source, goal = _path(uri), _path(target)
        if _is_top(self._real(source)):
            raise Conflict(
                _("Cannot move the root of a storage ({path}).").format(path=source), fix=_("Name a folder inside it.")
            )
        count = sum(1 for _file in _walk(self._real(source))) if uri.endswith("/") else 1
        with (
            self._parent(source) as (before, name),
            self._parent(goal, create=True) as (after, new),
            write_errors(goal),
        ):
            if beneath.status_of(after, new):  # Includes a broken link.
                raise _taken(goal)
            try:
                os.rename(name, new, src_dir_fd=before, dst_dir_fd=after)
            except OSError as error:
                if error.errno != errno.EXDEV:
                    raise
                return super()._move(uri, target, progress)  # To a different disk.
        return count

    def make_folder(self, uri: str) -> None:
        path = _path(uri)
        there = self.stat(uri.rstrip("/"))
        if there and not there.is_folder:
            raise Conflict(_("{path} is a file.").format(path=path), fix=_("Choose another name."))
        with write_errors(path), beneath.open_folder(self._real(path), create=True, listed=False):
            pass


class ChannelStorage(LocalStorage):
    """The output channels of jobs. The path of a channel has no links, because a job can replace its folders by links
    to other files of this machine. Links inside the channel are followed as in other folders."""

    def _real(self, path: Path) -> str:
        try:
            with beneath.open_folder(str(path), listed=False):
                pass
        except FileNotFoundError:
            pass  # Read as an empty folder.
        except OSError as error:
            if _is_file(path):
                return str(path)
            raise NotFound(
                _("The output folder {path} cannot be opened without following links: {error}.").format(
                    path=path, error=error.strerror
                ),
                fix=_("The job may have replaced it by a link. Check the folder before you read it by other means."),
            ) from None
        return str(path)


def _is_file(path: Path) -> bool:
    """Return whether a path without links is that of a regular file."""
    with suppress(OSError), beneath.open_parent(str(path)) as (place, name):
        status = beneath.status_of(place, name)
        return status is not None and stat.S_ISREG(status.st_mode)
    return False


def _copy(source: Path | bytes, target: BinaryIO, name: Path) -> Iterator[tuple[int, int]]:
    """Copy bytes, or a file with its mode and modification time. Yields the bytes done and the total after each chunk.

    Raises:
        BadInput: if it cannot be read.
        EngineError: if it cannot be written.
    """
    with read_errors(name if isinstance(source, bytes) else source):
        reading = io.BytesIO(source) if isinstance(source, bytes) else open_source(source)
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


def _name(temporary: str, name: str, place: int, target: Path, *, overwrite: bool) -> None:
    """Rename a file in an open folder atomically, without replacing another unless `overwrite` is set."""
    with write_errors(target):
        try:
            (os.replace if overwrite else os.link)(temporary, name, src_dir_fd=place, dst_dir_fd=place)
        except FileExistsError:
            raise _taken(target) from None


def _missing(path: Path) -> NotFound:
    return NotFound(_("File not found: `{path}`.").format(path=path))


def _taken(target: Path) -> Conflict:
    return Conflict(
        _("{file} already exists.").format(file=target),
        fix=_("Choose another name, or overwrite it with --overwrite."),
        files=[target.name],
    )


def _is_top(path: str) -> bool:
    """Return whether a folder is protected: the root, the home folder, or a parent of it."""
    real, home = Path(path), Path(os.path.realpath(Path.home()))
    return real == Path("/") or home.is_relative_to(real)


class _LocalFile(OpenFile):
    def __init__(self, path: str, top: str) -> None:
        with beneath.open_folder(top, listed=False) as place:
            self._descriptor = beneath.open_file(_inside(top, path), below=place)
        status = os.fstat(self._descriptor)
        self.file = _file(path, status)
        self.mode = stat.S_IMODE(status.st_mode)

    def read(self, offset: int, length: int) -> bytes:
        return os.pread(self._descriptor, length, offset)

    def close(self) -> None:
        os.close(self._descriptor)


def _path(uri: str) -> Path:
    return Path(file_uri.local_path(uri))


def _inside(top: str, path: str) -> str:
    """Return a path below a folder as a relative path without links.

    Raises:
        ValueError: if the result is outside the folder.
        OSError: if it does not exist.
    """
    if "\0" in path or {"", ".", ".."} & {*path.split("/")}:
        raise ValueError(_("not a valid path inside this folder"))
    real = os.path.realpath(os.path.join(top, path), strict=True)
    if not Path(real).is_relative_to(top):
        raise ValueError(_("a link that leads out of its folder"))
    return os.path.relpath(real, top)


def _walk(top: str) -> Iterator[File]:
    """Yield everything below a folder except folders. Entries that vanish meanwhile are skipped."""
    waiting = [""]
    with suppress(OSError), beneath.open_folder(top) as place:
        while waiting:
            prefix = waiting.pop()
            try:
                with beneath.open_folder(prefix, below=place) as folder, os.scandir(folder) as entries:
                    for entry in entries:
                        path = prefix + entry.name
                        if entry.is_dir(follow_symlinks=False):
                            waiting.append(f"{path}/")
                        else:
                            yield from _entry(top, place, path, entry)
            except FileNotFoundError:
                continue
            except OSError as error:
                if prefix:
                    yield File(prefix.removesuffix("/"), 0, 0.0, error.strerror or str(error))


def _file(path: str, status: os.stat_result) -> File:
    version = f"{status.st_mtime_ns:x}-{status.st_size:x}-{status.st_ino:x}"
    return File(path, status.st_size, status.st_mtime, version=version)


def _entry(top: str, place: int, path: str, entry: os.DirEntry[str], name: str = "") -> Iterator[File]:
    """Yield a file, or a folder if `name` ends with a slash. Other entries get a problem. `place` is the open folder
    `top`."""
    inner = ""
    try:
        status = entry.stat(follow_symlinks=False)
        if stat.S_ISLNK(status.st_mode):
            inner = _inside(top, path)
            with beneath.open_parent(inner, below=place) as (folder, target):
                status = os.stat(target, dir_fd=folder, follow_symlinks=False)
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
    elif stat.S_ISDIR(status.st_mode) and not inner:
        return  # It was a link when the folder was read.
    elif stat.S_ISDIR(status.st_mode):
        link = os.path.relpath(inner, os.path.dirname(path) or ".")
        yield File(path, 0, status.st_mtime, _("a link to a folder"), link=link)
    else:
        yield File(path, 0, status.st_mtime, _("not a regular file"))
