"""Scans the files in an archive for secrets: zip, tar, and gzip, bzip2 and xz with and without tar, one level deep.

Encrypted and damaged archives, and archives in archives, are skipped.
"""

from __future__ import annotations

import io
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import IO

from .secret_scan import Leak, Scanner

Stream = IO[bytes] | io.BufferedIOBase

# The most bytes read from one archive, after decompression, and the most members.
_MOST_BYTES = 128 << 20
_MOST_MEMBERS = 5_000
# A member whose first bytes are binary is not read further.
_FIRST, _PIECE = 8192, 1 << 20
# The bytes that tell the format: the mark of tar is at offset 257.
START = 262
_ZIP, _BZIP2, _XZ, _GZIP = b"PK\x03\x04", b"BZh", b"\xfd7zXZ\x00", b"\x1f\x8b"


def is_archive(start: bytes) -> bool:
    """Return whether a file with these first bytes (`START` of them) is an archive that `find_inside` reads."""
    return start.startswith((_ZIP, _BZIP2, _XZ, _GZIP)) or _is_tar(start)


def find_inside(file: IO[bytes], start: bytes) -> list[Leak]:
    """Return the secrets in the members of an archive, with the names of the members. Reads the file from its
    beginning."""
    leaks: list[Leak] = []
    budget = _Budget(_MOST_BYTES)
    with suppress(Exception):  # Libraries raise many kinds of errors for damaged archives.
        file.seek(0)
        for number, (name, member) in enumerate(_members(file, start, budget)):
            with suppress(Exception), member:
                leaks += (replace(leak, member=name) for leak in _scan(member, budget))
            if number >= _MOST_MEMBERS or not budget.left:
                break
    return leaks


class _Budget:
    """The bytes that may still be read."""

    def __init__(self, left: int) -> None:
        self.left = left

    def read(self, file: Stream, size: int) -> bytes:
        """Read up to `size` bytes; nothing if the budget is used up."""
        data = file.read(min(size, self.left))
        self.left -= len(data)
        return data


class _Limited:
    """A decompressed stream that ends when the budget is used up."""

    def __init__(self, file: Stream, budget: _Budget) -> None:
        self.file, self.budget = file, budget

    def read(self, size: int) -> bytes:
        return self.budget.read(self.file, size)


def _scan(member: Stream, budget: _Budget) -> list[Leak]:
    scanner = Scanner()
    data = budget.read(member, _FIRST)
    while data:
        scanner.feed(data)
        data = b"" if scanner.binary else budget.read(member, _PIECE)
    return scanner.leaks()


def _members(file: IO[bytes], start: bytes, budget: _Budget) -> Iterator[tuple[str, Stream]]:
    """Yield the names and contents of the members. A compressed file has one, without a name."""
    if start.startswith(_ZIP):
        yield from _zipped(file)
    elif _is_tar(start):
        yield from _tarred(file, budget)
    else:
        decompressed = _decompressor(start)
        is_tar = _is_tar(decompressed(file).read(START))
        file.seek(0)
        if is_tar:
            yield from _tarred(decompressed(file), budget)
        else:
            yield "", decompressed(file)


def _decompressor(start: bytes) -> Callable[[IO[bytes]], Stream]:
    if start.startswith(_BZIP2):
        import bz2

        return bz2.BZ2File
    if start.startswith(_XZ):
        import lzma

        return lzma.LZMAFile
    from isal import igzip

    return lambda file: igzip.IGzipFile(fileobj=file)


def _zipped(file: IO[bytes]) -> Iterator[tuple[str, Stream]]:
    with zipfile.ZipFile(file) as archive:
        for info in archive.infolist():
            is_plain = info.compress_type in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) and not info.flag_bits & 1
            if is_plain and not info.is_dir():
                with suppress(Exception):
                    yield info.filename, archive.open(info)


def _tarred(file: Stream, budget: _Budget) -> Iterator[tuple[str, Stream]]:
    """Yield the files of a tar stream. All bytes of the stream count."""
    stream = _Budget(budget.left)
    with tarfile.open(fileobj=_Limited(file, stream), mode="r|") as archive:  # type: ignore[call-overload]  # only reads
        for member in archive:
            if member.isreg() and (content := archive.extractfile(member)):
                yield member.name, content


def _is_tar(start: bytes) -> bool:
    return start[257:262] == b"ustar"
