"""The files of a folder of the user's own that is to be copied to a storage."""

from __future__ import annotations

import os
from pathlib import Path

from ..core.errors import BadInput
from ..core.i18n import _

__all__ = ["read_error", "walk"]


def walk(folder: Path) -> list[tuple[str, int]]:
    """The files below a folder, path and size in bytes, in the order of their paths. Links count as what they lead to,
    wherever that is: whoever uploads a folder of data means the data.

    Raises:
        BadInput: if a folder or file cannot be read, is neither, or a link leads nowhere or round in a circle.
    """
    found: list[tuple[str, int]] = []
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
                        found.append((path, _size(folder / path)))
        except OSError as error:
            raise read_error(folder / prefix, error.strerror or str(error)) from None
    return sorted(found)


def _within(path: Path, above: tuple[str, ...]) -> tuple[str, ...]:
    real = os.path.realpath(path)
    if real in above:
        raise read_error(path, _("it is a link to a folder that it lies in"))
    return (*above, real)


def _size(path: Path) -> int:
    if not path.exists():
        raise read_error(path, _("it is a link that leads nowhere"))
    if not path.is_file():
        raise read_error(path, _("it is no file"))
    return path.stat().st_size


def read_error(path: Path, why: str) -> BadInput:
    """The error of a file that is to be copied and cannot be."""
    return BadInput(_("`{path}` cannot be read: {why}.").format(path=path, why=why), fix=_("Remove it, or mend it."))
