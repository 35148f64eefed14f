"""Records of downloaded files, so that a submit can tell them from files of the user."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable
from pathlib import Path

from ...core.errors import DAMAGED
from ...core.filesystem import replace_file
from ...jobs.state_dir import Home

_NAME = "downloads"
# Bytes of the record that are read: its end. A record of twice this size is cut.
_LARGEST = 4 << 20


def record(home: Home, paths: Iterable[str]) -> None:
    """Append downloaded files with their modification times. A full disk loses the record only."""
    with contextlib.suppress(OSError):
        lines = [json.dumps([os.path.realpath(path), os.stat(path).st_mtime_ns]) for path in paths]
        path = home.path / _NAME
        with open(path, "a", encoding="utf-8") as file:
            file.write("".join(f"{line}\n" for line in lines))
        if path.stat().st_size > 2 * _LARGEST:
            end = _end(path)
            with replace_file(path) as file:
                file.write(end.decode("utf-8", "replace"))


def downloaded(home: Home, folder: str, paths: Iterable[str]) -> set[str]:
    """Return the paths, relative to `folder`, that were downloaded and have not been modified since."""
    known: dict[str, int] = {}
    with contextlib.suppress(OSError):
        for line in _end(home.path / _NAME).splitlines():
            with contextlib.suppress(*DAMAGED):  # The first line may be cut off.
                path, modified = json.loads(line)
                known[path] = modified
    return {path for path in paths if _is_same(os.path.realpath(os.path.join(folder, path)), known)}


def _end(path: Path) -> bytes:
    with open(path, "rb") as file:
        file.seek(max(file.seek(0, os.SEEK_END) - _LARGEST, 0))
        return file.read()


def _is_same(path: str, known: dict[str, int]) -> bool:
    try:
        return known.get(path) == os.stat(path).st_mtime_ns
    except OSError:
        return False
