"""Digests of data on this machine, to recognize the same content.

The digest of a file is cached with its size, time of change and inode, and computed again if one of them changes. The
modification time is not used, because it can be set back.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import time
from pathlib import Path

from ...core.filesystem import replace_file
from ...storage.staging import read_errors, walk

_LENGTH = 32
# A file changed this recently may change again with the same time stamp, so it is not cached yet.
_RACY_NS = 2_000_000_000


def fingerprint(path: Path, notes: Path) -> str:
    """Return the digest of a file's content, or of all paths and contents below a folder. `notes` is the folder of the
    cache. May block for long.

    Raises:
        BadInput: if a file or folder cannot be read.
    """
    note = notes / f"{hashlib.sha256(os.fsencode(path)).hexdigest()[:_LENGTH]}.json"
    cached = _read(note)
    names = [name for name, _size in walk(path)] if path.is_dir() else [""]
    entries = {name: _entry(path / name, cached.get(name)) for name in names}
    if entries != cached:
        _write(note, entries)
    if not path.is_dir():
        return str(entries[""][-1])[:_LENGTH]
    lines = "".join(f"{name}\0{entry[-1]}\n" for name, entry in entries.items())
    return hashlib.sha256(lines.encode(errors="surrogateescape")).hexdigest()[:_LENGTH]


def _entry(path: Path, cached: list[object] | None) -> list[object]:
    """Return the size, time of change in nanoseconds, inode and SHA-256 of a file."""
    with read_errors(path), path.open("rb") as file:
        info = os.fstat(file.fileno())
        stamp: list[object] = [info.st_size, info.st_ctime_ns, info.st_ino]
        if cached and cached[:-1] == stamp:
            return cached
        return [*stamp, hashlib.file_digest(file, "sha256").hexdigest()]


def _read(note: Path) -> dict[str, list[object]]:
    try:
        entries = json.loads(note.read_text("utf-8")).items()
        return {str(name): list(entry) for name, entry in entries if len(entry) == 4}
    except (OSError, ValueError, AttributeError, TypeError):
        return {}


def _write(note: Path, entries: dict[str, list[object]]) -> None:
    """Cache the digests of files that cannot change unnoticed. On a full disk nothing is cached."""
    old = time.time_ns() - _RACY_NS
    settled = {name: entry for name, entry in entries.items() if int(str(entry[1])) < old}
    with contextlib.suppress(OSError):
        note.parent.mkdir(mode=0o700, exist_ok=True)
        with replace_file(note) as target:
            target.write(json.dumps(settled))
