"""Blobs: files that are written once and deleted with their last reference, with the checksums of OSS."""

from __future__ import annotations

import hashlib
import itertools
import os
import threading
import weakref
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from .crc64 import crc64, joined

__all__ = ["Blob", "Blobs", "Piece", "Writer"]


class Piece:
    """A file with some bytes."""

    def __init__(self, path: Path, size: int) -> None:
        self.path, self.size = path, size
        weakref.finalize(self, path.unlink, missing_ok=True).atexit = False


@dataclass(frozen=True)
class Blob:
    """Immutable bytes: one file, or those of an upload's parts in order."""

    pieces: tuple[Piece, ...]
    size: int
    md5: str
    crc: int

    def spans(self, start: int, length: int) -> Iterator[tuple[Piece, int, int]]:
        """Return the pieces of a range: piece, first byte in it, and length."""
        for piece in self.pieces:
            count = min(piece.size - start, length)
            if count > 0:
                yield piece, start, count
                length -= count
            start = max(start - piece.size, 0)

    def read(self, start: int = 0, length: int | None = None) -> bytes:
        """Return the bytes, or a range of them."""
        return b"".join(_read(*span) for span in self.spans(start, self.size if length is None else length))

    def copy_to(self, path: Path) -> None:
        """Write the content to a file with a copy by the kernel."""
        with path.open("wb", buffering=0) as target:
            for piece in self.pieces:
                with piece.path.open("rb", buffering=0) as source:
                    left = piece.size
                    while left:
                        left -= os.sendfile(target.fileno(), source.fileno(), None, left)


def _read(piece: Piece, start: int, count: int) -> bytes:
    with piece.path.open("rb") as file:
        file.seek(start)
        return file.read(count)


@dataclass
class Writer:
    """Writes a blob. Thread-safe. MD5 can be disabled for speed."""

    path: Path
    with_md5: bool = True
    size: int = 0
    crc: int = 0
    _md5: hashlib._Hash = field(default_factory=lambda: hashlib.md5(usedforsecurity=False))

    def __post_init__(self) -> None:
        self._file = self.path.open("wb", buffering=0)
        # Until a write ends, its descriptor must not be closed: the next connection would get its number, and the data.
        self._lock = threading.Lock()

    def write(self, chunks: list[bytes]) -> None:
        """Append bytes. Raises ValueError after `drop`."""
        with self._lock:
            for chunk in chunks:
                self.crc = crc64(chunk, self.crc)
                if self.with_md5:
                    self._md5.update(chunk)
                self.size += len(chunk)
                _write_all(self._file.fileno(), chunk)

    def close(self) -> Blob:
        """Finish writing."""
        self._file.close()
        md5 = self._md5.hexdigest() if self.with_md5 else f"{self.crc:016x}{self.size:016x}"
        return Blob((Piece(self.path, self.size),), self.size, md5.upper(), self.crc)

    def drop(self) -> None:
        """Discard the data, after the current write."""
        with self._lock:
            self._file.close()
        self.path.unlink(missing_ok=True)


class Blobs:
    """A folder of blobs."""

    def __init__(self, folder: Path, with_md5: bool = True) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder, self._with_md5 = folder, with_md5
        self._numbers = itertools.count(1)

    def writer(self) -> Writer:
        """Return the writer of a new blob."""
        return Writer(self._folder / f"{next(self._numbers)}", self._with_md5)

    def of_bytes(self, data: bytes) -> Blob:
        """Return a blob of some bytes."""
        writer = self.writer()
        writer.write([data])
        return writer.close()

    def of_file(self, path: Path) -> Blob:
        """Return a blob with a file's current content. Raises OSError."""
        with path.open("rb") as file:
            writer = self.writer()
            while chunk := file.read(1 << 20):
                writer.write([chunk])
        return writer.close()

    def of_blobs(self, parts: list[Blob], etag: str) -> Blob:
        """Join several blobs in order. Nothing is copied, and the checksum is computed from theirs."""
        size = crc = 0
        for part in parts:
            crc, size = joined(crc, part.crc, part.size), size + part.size
        return Blob(tuple(piece for part in parts for piece in part.pieces), size, etag, crc)


def _write_all(file: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(file, view) :]
