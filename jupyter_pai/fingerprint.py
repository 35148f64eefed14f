"""Digests of data on this machine, so that the same content is known again.

What was read once is noted with size, time and inode, and not read again before one of them changes.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
from pathlib import Path

from .storage.walk import unreadable, walk

__all__ = ["fingerprint"]

_LENGTH = 32


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
    try:
        with path.open("rb") as file:
            seen = os.fstat(file.fileno())
            stamp: list[object] = [seen.st_size, seen.st_mtime_ns, seen.st_ino]
            if known and known[:-1] == stamp:
                return known
            return [*stamp, hashlib.file_digest(file, "sha256").hexdigest()]
    except OSError as error:
        raise unreadable(path, error.strerror or str(error)) from None


def _read(note: Path) -> dict[str, list[object]]:
    try:
        found = json.loads(note.read_text("utf-8"))
        return {str(name): list(entry) for name, entry in found.items() if len(entry) == 4}
    except (OSError, ValueError, AttributeError, TypeError):
        return {}


def _write(note: Path, found: dict[str, list[object]]) -> None:
    """On a full disk it is read again next time."""
    with contextlib.suppress(OSError):
        note.parent.mkdir(mode=0o700, exist_ok=True)
        file, temporary = tempfile.mkstemp(dir=note.parent, suffix=".new")
        with os.fdopen(file, "w") as target:
            json.dump(found, target)
        os.replace(temporary, note)
