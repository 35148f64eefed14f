"""Files of this machine, as ``file://`` URIs."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar
from urllib.parse import unquote, urlsplit

from ..errors import NotFound
from ..i18n import _
from .base import File, OpenFile, Storage

__all__ = ["LocalStorage", "path_of"]


class LocalStorage(Storage):
    """The file system. A link counts as what it leads to, as long as that is a file of the same folder."""

    scheme: ClassVar[str] = "file"

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
        self.file = File(path, found.st_size, found.st_mtime)
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


def _entry(top: str, path: str, entry: os.DirEntry[str]) -> Iterator[File]:
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
        yield File(path, found.st_size, found.st_mtime)
    else:
        folder = stat.S_ISDIR(found.st_mode)
        yield File(path, 0, found.st_mtime, _("it is a link to a folder") if folder else _("it is no file"))
