"""Digests of data on this machine, so that the same content is known again.

What was read once is noted with size, time of change and inode, and not read again before one of them changes. The time
of change, which cannot be set back: a file may keep its size, and be given its old modification time.
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
    """The digest of a file's content, or of all paths and contents below a folder; `notes` is a folder for what is
    known. May block for long.

    Raises:
        BadInput: if something cannot be read.
    """
    note = notes / f"{hashlib.sha256(os.fsencode(path)).hexdigest()[:_LENGTH]}.json"
    known, found = _read(note), {}
    names = [name for name, _size in walk(path)] if path.is_dir() else [""]
    for name in names:
        found[name] = _entry(path / name if name else path, known.get(name))
    if found != known:
        _write(note, found)
    if not path.is_dir():
        return str(found[""][-1])[:_LENGTH]
    lines = "".join(f"{name}\0{entry[-1]}\n" for name, entry in found.items())
    return hashlib.sha256(lines.encode(errors="surrogateescape")).hexdigest()[:_LENGTH]


def _entry(path: Path, known: list[object] | None) -> list[object]:
    """Size, time of change in nanoseconds, inode and SHA-256 of a file."""
    with read_errors(path), path.open("rb") as file:
        seen = os.fstat(file.fileno())
        stamp: list[object] = [seen.st_size, seen.st_ctime_ns, seen.st_ino]
        if known and known[:-1] == stamp:
            return known
        return [*stamp, hashlib.file_digest(file, "sha256").hexdigest()]


def _read(note: Path) -> dict[str, list[object]]:
    try:
        found = json.loads(note.read_text("utf-8"))
        return {str(name): list(entry) for name, entry in found.items() if len(entry) == 4}
    except (OSError, ValueError, AttributeError, TypeError):
        return {}


def _write(note: Path, found: dict[str, list[object]]) -> None:
    """Cache the digests of files that cannot change unnoticed. On a full disk nothing is cached."""
    old = time.time_ns() - _RACY_NS
    settled = {name: entry for name, entry in found.items() if int(str(entry[1])) < old}
    with contextlib.suppress(OSError):
        note.parent.mkdir(mode=0o700, exist_ok=True)
        with replace_file(note) as target:
            target.write(json.dumps(settled))
