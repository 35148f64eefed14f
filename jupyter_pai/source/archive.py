"""The archive of a job's code: a reproducible tar.gz file that depends on the content only."""

from __future__ import annotations

import hashlib
import io
import os
import shutil
import tarfile
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, NamedTuple

from ..core import cancellation
from ..core.errors import SourceError
from ..core.i18n import _
from ..jobs.state_dir import FULL
from . import secret_archives
from .secret_scan import Leak, Scanner, locate

# The earliest date of the zip format: a job may zip its own code.
MTIME = 315532800
_CHUNK = 1 << 20
# An argument of tarfile that is missing from its type stubs.
_LARGE_COPIES: Any = {"copybufsize": _CHUNK}


@dataclass(frozen=True)
class Entry:
    """An entry of the archive: a file on disk, a file in memory (`data`), a link (`link`), or an empty folder.

    `path` is relative, with slashes; `stat` is (size, mtime, ctime, inode) in bytes and nanoseconds.
    """

    path: str
    mode: int
    size: int = 0
    file: str = ""
    stat: tuple[int, int, int, int] | None = None
    data: bytes | None = None
    link: str = ""

    @property
    def is_folder(self) -> bool:
        return self.path.endswith("/")


class Content(NamedTuple):
    """The SHA-256 of a file and the secrets detected in it."""

    sha256: str
    leaks: tuple[Leak, ...] = ()


def write(entries: Iterable[Entry], target: IO[bytes]) -> dict[str, Content]:
    """Write the archive of the entries in the order of their paths; return the content of each file by path.

    Hashes and detected secrets belong to the written bytes.

    Raises:
        SourceError: if a file cannot be read, or shrinks while it is read.
    """
    from isal import igzip  # Idle servers do not need it.

    contents: dict[str, Content] = {}
    # Level 1 of igzip, plain mode and large copies: 6 to 8 times as fast as tarfile's "w:gz" at level 6.
    with (
        igzip.IGzipFile(filename="", mode="wb", compresslevel=1, fileobj=target, mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT, **_LARGE_COPIES) as tar,
    ):
        for entry in sorted(entries, key=lambda entry: entry.path):
            if entry.link or entry.is_folder:
                tar.addfile(_info(entry))
            else:
                contents[entry.path] = _add_file(tar, entry)
    return contents


def _add_file(tar: tarfile.TarFile, entry: Entry) -> Content:
    try:
        with _open(entry) as file:
            reader = _Reader(file)
            tar.addfile(_info(entry), reader)
            return reader.content(entry)
    except PermissionError as error:
        raise SourceError(
            _("No permission to read `{path}`.").format(path=entry.path),
            fix=_("Exclude it with --exclude, or ask its owner for read permission."),
        ) from error
    except OSError as error:
        if error.errno in FULL:
            raise  # The archive's disk is full.
        raise SourceError(
            _("`{path}` changed or disappeared while it was packed.").format(path=entry.path),
            fix=_("Submit again when it no longer changes, or exclude it with --exclude."),
        ) from error


def _open(entry: Entry) -> IO[bytes]:
    return open(entry.file, "rb") if entry.data is None else io.BytesIO(entry.data)


class _Reader:
    """A file whose bytes are hashed and scanned for secrets while they are read."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file = file
        self.sha256 = hashlib.sha256()
        self.scanner = Scanner()
        self.start = b""

    def read(self, size: int = -1) -> bytes:
        cancellation.check()
        data = self.file.read(size)
        self.sha256.update(data)
        self.scanner.feed(data)
        self.start = self.start or data[: secret_archives.START]
        return data

    def content(self, entry: Entry) -> Content:
        """Return the content, after the whole file was read and before it is closed."""
        leaks = self.scanner.leaks()
        if secret_archives.is_archive(self.start):
            leaks += secret_archives.find_inside(self.file, self.start)
        if leaks and entry.data is not None and entry.path.endswith(".ipynb"):
            leaks = locate(entry.data, leaks)
        return Content(self.sha256.hexdigest(), tuple(leaks))


def _info(entry: Entry) -> tarfile.TarInfo:
    info = tarfile.TarInfo(entry.path.rstrip("/"))
    info.mtime = MTIME
    info.mode = entry.mode & 0o777
    info.size = entry.size
    if entry.link:
        info.type, info.linkname = tarfile.SYMTYPE, entry.link
    elif entry.is_folder:
        info.type = tarfile.DIRTYPE
    return info


def inspect(entry: Entry) -> Content:
    """Return the content of a file without packing it.

    Raises:
        OSError: if it cannot be read.
    """
    with _open(entry) as file:
        reader = _Reader(file)
        while reader.read(_CHUNK):
            pass
        return reader.content(entry)


def digest(entries: Iterable[Entry], hashes: dict[str, str]) -> str:
    """Return the SHA-256 of the whole content: of paths, modes, links and file hashes."""
    whole = hashlib.sha256()
    for entry in sorted(entries, key=lambda entry: entry.path):
        content = (entry.link and f"-> {entry.link}") or hashes.get(entry.path, "")
        whole.update(f"{entry.mode & 0o777:o} {content} {entry.path}\0".encode("utf-8", "surrogateescape"))
    return whole.hexdigest()


def unpack(archive: Path, folder: Path) -> None:
    """Unpack files, folders and links of an archive. Never writes outside of the folder.

    (The filter of tarfile is missing before Python 3.11.4, as in Debian 12, and changes modes.)

    Raises:
        SourceError: if the archive is damaged, or a member or a link would leave the folder.
    """
    from isal import igzip

    folder.mkdir(parents=True, exist_ok=True)
    made = {""}
    try:
        with igzip.open(archive, "rb") as packed, tarfile.open(fileobj=packed, mode="r|") as tar:
            for member in tar:
                _extract(tar, member, str(folder), made)
    except (tarfile.TarError, OSError, EOFError) as error:
        if isinstance(error, OSError) and error.errno in FULL:
            raise
        raise SourceError(_("Cannot unpack the archive {path}: {error}.").format(path=archive, error=error)) from error


def _extract(tar: tarfile.TarFile, member: tarfile.TarInfo, folder: str, made: set[str]) -> None:
    """Write one member. `made` has the created folders; existing links are never followed."""
    parent, _slash, _name = member.name.rpartition("/")
    if member.name.startswith("/") or ".." in member.name.split("/"):
        raise tarfile.TarError(member.name)
    _make_folders(folder, parent, made)
    path = f"{folder}/{member.name}"
    if member.isdir():
        _make_folders(folder, member.name, made)
    elif member.issym():
        if not stays_inside(parent, member.linkname):
            raise tarfile.TarError(f"{member.name} -> {member.linkname}")
        os.symlink(member.linkname, path)
    elif (content := tar.extractfile(member)) is not None:
        with open(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:
            shutil.copyfileobj(content, file, _CHUNK)
            os.fchmod(file.fileno(), member.mode & 0o777 | 0o600)
        os.utime(path, (MTIME, MTIME))  # As `tar` does.
    else:
        raise tarfile.TarError(member.name)


def _make_folders(folder: str, path: str, made: set[str]) -> None:
    if path not in made:
        _make_folders(folder, path.rpartition("/")[0], made)
        os.mkdir(f"{folder}/{path}")
        made.add(path)


def contents(archive: Path, wanted: Container[str], limit: int) -> Iterator[Entry]:
    """Yield the entries of an archive, with the data of the `wanted` files of at most `limit` bytes.

    Raises:
        SourceError: if it is damaged or missing.
    """
    from isal import igzip

    try:
        with igzip.open(archive, "rb") as packed, tarfile.open(fileobj=packed, mode="r|") as tar:
            for member in tar:
                path = f"{member.name}/" if member.isdir() else member.name
                file = tar.extractfile(member) if path in wanted and member.isreg() and member.size <= limit else None
                yield Entry(path, member.mode, member.size, data=file.read() if file else None, link=member.linkname)
    except (tarfile.TarError, OSError, EOFError) as error:
        raise SourceError(_("Cannot read the archive {path}: {error}.").format(path=archive, error=error)) from error


def stays_inside(parent: str, target: str) -> bool:
    """Return whether a link in `parent` stays inside the archive. ``..`` is accepted only at its start: after another
    link, it would lead elsewhere."""
    words = target.split("/")
    climbs = next((n for n, word in enumerate(words) if word != ".."), len(words))
    depth = len(parent.split("/")) if parent else 0
    return not target.startswith("/") and climbs <= depth and ".." not in words[climbs:]
