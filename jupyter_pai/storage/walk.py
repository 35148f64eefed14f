"""Listing of a local folder to be uploaded."""

from __future__ import annotations

import os
from pathlib import Path

from ..core.errors import BadInput
from ..core.i18n import _


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
        try:
            with os.scandir(folder / prefix) as entries:
                for entry in entries:
                    path = prefix + entry.name
                    if entry.is_dir():
                        waiting.append((f"{path}/", _within(folder / path, above)))
                    else:
                        files.append((path, _size(folder / path)))
        except OSError as error:
            raise read_error(folder / prefix, error.strerror or str(error)) from None
    return sorted(files)


def _within(path: Path, above: tuple[str, ...]) -> tuple[str, ...]:
    real = os.path.realpath(path)
    if real in above:
        raise read_error(path, _("a link to a folder that contains it"))
    return (*above, real)


def _size(path: Path) -> int:
    if not path.exists():
        raise read_error(path, _("a broken link"))
    if not path.is_file():
        raise read_error(path, _("not a regular file"))
    return path.stat().st_size


def read_error(path: Path, why: str) -> BadInput:
    """Return the error for a local file that cannot be read."""
    return BadInput(_("`{path}` cannot be read: {why}.").format(path=path, why=why), fix=_("Remove or repair it."))
