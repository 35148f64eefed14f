"""Files of this machine, as ``file://`` URIs."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import ClassVar
from urllib.parse import unquote, urlsplit

from ..errors import Conflict, EngineError
from ..i18n import _
from .base import File, Progress, Storage

__all__ = ["LocalStorage", "path_of"]


class LocalStorage(Storage):
    """The file system."""

    scheme: ClassVar[str] = "file"

    def list(self, uri: str) -> list[File]:
        top = _path(uri)
        found = []
        for folder, _folders, names in os.walk(top):
            for name in names:
                path = Path(folder, name)
                if path.is_file():
                    found.append(File(path.relative_to(top).as_posix(), path.stat().st_size))
        return sorted(found)

    def get_tree(self, uri: str, folder: Path, *, overwrite: bool = False, progress: Progress | None = None) -> int:
        files = self.list(uri)
        there = [file.path for file in files if os.path.lexists(folder / file.path)]
        if there and not overwrite:
            raise Conflict(
                _("{folder} has files of that name already: {names}.").format(
                    folder=folder, names=", ".join(there[:5])
                ),
                fix=_("Choose another folder, or replace them with --overwrite."),
            )
        done, whole = 0, sum(file.size for file in files)
        top = _path(uri)
        for file in files:
            target = folder / file.path
            try:
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(top / file.path, target)
            except OSError as error:
                raise EngineError(
                    _("{file} cannot be written: {error}.").format(file=target, error=error.strerror or error),
                    fix=_("Choose a folder of yours with enough room."),
                ) from error
            done += file.size
            if progress:
                progress(done, whole)
        return len(files)


def path_of(uri: str) -> Path | None:
    """The path that a ``file://`` URI means; None for any other."""
    return _path(uri) if uri.startswith("file:") else None


def _path(uri: str) -> Path:
    return Path(unquote(urlsplit(uri).path))
