"""Checkpoint of a multipart upload: a file in the state folder with one line per uploaded part, so that a killed upload
loses only the parts in flight."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple, Self

from .uri import OssUri

# Seconds until an interrupted upload is abandoned. Its parts incur costs.
_KEPT = 7 * 86_400.0

_SMALLEST = 8 << 20
# OSS allows 10,000 parts.
_MOST_PARTS = 9_000


class Part(NamedTuple):
    """An uploaded part and its CRC."""

    etag: str
    crc: int


@dataclass(frozen=True)
class _About:
    """The file, its target and the part size in bytes. Times are in nanoseconds."""

    to: str
    source: str
    size: int
    modified: int
    inode: int
    part_size: int


def abandoned_uploads(state: Path) -> Iterator[tuple[Path, str, str, str]]:
    """Yield the uploads not resumed for a week: checkpoint, endpoint, URI and upload id."""
    for path in state.glob("*.upload"):
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            if time.time() - path.stat().st_mtime > _KEPT:
                first = json.loads(path.read_text("utf-8").partition("\n")[0] or "{}")
                endpoint, _blank, uri = first["to"].partition(" ")
                yield path, endpoint, uri, first["upload_id"]


class UploadCheckpoint:
    """The checkpoint of an upload, locked by its process. If another process has the lock, or the file cannot be
    written, nothing is recorded."""

    def __init__(self, state: Path, endpoint: str, uri: OssUri, source: Path, seen: os.stat_result) -> None:
        self.about = _About(
            to=f"{endpoint} {uri}",
            source=os.path.realpath(source),
            size=seen.st_size,
            modified=seen.st_mtime_ns,
            inode=seen.st_ino,
            part_size=max(_SMALLEST, -(-seen.st_size // _MOST_PARTS >> 20) << 20),
        )
        both = f"{self.about.to}\n{self.about.source}".encode(errors="surrogateescape")
        self.path = state / f"{hashlib.sha256(both).hexdigest()[:32]}.upload"
        self.upload_id = ""
        self.parts: dict[int, Part] = {}
        self._descriptor = -1

    def describes(self, seen: os.stat_result) -> bool:
        """Return whether the file is unchanged."""
        return (seen.st_size, seen.st_mtime_ns) == (self.about.size, self.about.modified)

    def __enter__(self) -> Self:
        with contextlib.suppress(OSError):
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                self._read()
            except BlockingIOError:
                self._close()
        return self

    def __exit__(self, *_error: object) -> None:
        self._close()

    def _close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _read(self) -> None:
        """Read the checkpoint of an earlier upload of the same file. Incomplete lines are skipped."""
        lines = os.pread(self._descriptor, 1 << 24, 0).decode("utf-8", "replace").splitlines()
        with contextlib.suppress(ValueError, KeyError, TypeError, IndexError):
            if (first := json.loads(lines[0])) and first.pop("upload_id") and first == asdict(self.about):
                self.upload_id = json.loads(lines[0])["upload_id"]
                for line in lines[1:]:
                    number, etag, crc = json.loads(line)
                    self.parts[int(number)] = Part(str(etag), int(crc))

    def begin(self, upload_id: str) -> None:
        """Start a new upload, discarding the recorded one."""
        self.upload_id, self.parts = upload_id, {}
        if self._descriptor >= 0:
            with contextlib.suppress(OSError):
                os.ftruncate(self._descriptor, 0)
            self._write(asdict(self.about) | {"upload_id": upload_id})

    def add(self, number: int, part: Part) -> None:
        """Record an uploaded part."""
        self._write([number, *part])

    def _write(self, value: object) -> None:
        if self._descriptor >= 0:
            with contextlib.suppress(OSError):
                os.write(self._descriptor, f"{json.dumps(value)}\n".encode())

    def remove(self) -> None:
        """Delete the checkpoint of a finished upload."""
        if self._descriptor >= 0:
            self.path.unlink(missing_ok=True)
