"""HDFS, the file system of Hadoop, as ``hdfs://`` URIs, by WebHDFS."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Iterator, Sequence
from functools import partial
from mmap import mmap
from pathlib import Path
from typing import ClassVar, Self

from ...cloud.hadoop import HdfsSettings
from ...config.settings import ProfileSettings
from ...core.errors import Conflict, EngineError, NotFound, Unsupported
from ...core.i18n import _
from ..base import File, OpenFile, Progress, Storage
from ..meter import Meter
from ..staging import Staging, read_errors
from .address import root, serves
from .client import HdfsClient, Status
from .loop import run_parallel, wait, wait_in_order
from .small import LARGEST, SmallFiles
from .upload import AT_A_TIME, is_hidden, upload, upload_tree
from .uri import HdfsUri, problem_of

# Bytes. Larger files are downloaded in ranges of this size, some at a time.
_PIECE = 8 << 20
_RANGES = 4


class HdfsStorage(Storage):
    """The HDFS of one profile."""

    scheme: ClassVar[str] = "hdfs"
    settings_model: ClassVar[type[ProfileSettings] | None] = HdfsSettings
    account_keys: ClassVar[str] = "hdfs=hdfs://HOST/"

    def __init__(self, settings: HdfsSettings) -> None:
        self.client = HdfsClient(settings)

    @classmethod
    def of(cls, settings: ProfileSettings | None, state: Path) -> Self:
        assert isinstance(settings, HdfsSettings)
        return cls(settings)

    @classmethod
    def serves(cls, uri: str, settings: ProfileSettings) -> bool:
        return isinstance(settings, HdfsSettings) and serves(HdfsUri.parse(uri), settings)

    @classmethod
    def canonical(cls, uri: str) -> str:
        return str(HdfsUri.parse(uri))

    async def roots(self) -> Sequence[str]:
        own = root(self.client.settings)
        return (str(own),) if own else ()

    def stat(self, uri: str) -> File | None:
        address = HdfsUri.parse(uri)
        there = wait(self.client.status(address))
        if there is None or (address.path.endswith("/") and not there.is_folder):
            return None
        return _file(there, address.name)

    def entries(self, uri: str, after: str = "", most: int = 1000) -> list[File]:
        address = HdfsUri.parse(uri)
        files = [_file(one, one.name) for one in wait(self._page(address, after, most)) if not is_hidden(one.name)]
        return sorted(file for file in files if file.path > after)[:most]

    async def _page(self, address: HdfsUri, after: str, most: int) -> list[Status]:
        """Return at least the first `most` entries after a name in our order, in which ``-`` and ``.`` precede the
        slash of a folder: `a-b` is before the folder `a/`, in HDFS after it."""
        name = after.rstrip("/")
        # Folders that are before the name in HDFS and after it in our order.
        behind = {name[:index] for index, char in enumerate(name) if char < "/"} - {"", ".", ".."}
        found = [one for one in await asyncio.gather(*(self._folder(address, one) for one in behind)) if one]
        while True:
            page, more = await self.client.page(address, name)
            found += page
            if not more or not page:
                return found
            name = page[-1].name
            # A later entry is after this name in both orders.
            ready = [one for one in found if after < _path(one, one.name) <= name and not is_hidden(one.name)]
            if len(ready) >= most:
                return found

    async def _folder(self, address: HdfsUri, name: str) -> Status | None:
        there = await self.client.status(address.join(name))
        return there._replace(name=name) if there and there.is_folder else None

    def list(self, uri: str) -> list[File]:
        return wait(_below(self.client, HdfsUri.parse(uri)))

    def exists(self, uri: str) -> bool:
        there = wait(self.client.status(HdfsUri.parse(uri)))
        return bool(there and there.is_folder)

    def open(self, uri: str, path: str) -> OpenFile:
        if problem := problem_of(path):
            raise NotFound(_("`{path}` cannot be read: {why}.").format(path=ascii(path), why=problem))
        address = HdfsUri.parse(uri).join(path)
        there = wait(self.client.status(address))
        if there is None or there.type != "FILE":
            raise NotFound(_("File not found: `{path}`.").format(path=path))
        return _HdfsFile(self.client, address, _file(there, path))

    def chosen(self, uri: str, files: Sequence[str] | None = None) -> Sequence[File]:
        if files is None or len(files) > AT_A_TIME:
            return super().chosen(uri, files)
        return [self.open(uri, path).file for path in dict.fromkeys(files)]

    def join(self, uri: str, path: str) -> str:
        return str(HdfsUri.parse(uri).join(path))

    def split(self, uri: str) -> tuple[str, str]:
        address = HdfsUri.parse(uri)
        if not address.name:
            return str(address), ""
        return str(address.parent), address.name + "/" * address.path.endswith("/")

    def put(self, source: Path | bytes, uri: str, *, overwrite: bool = False, progress: Progress | None = None) -> File:
        address = _file_address(uri)
        with read_errors(source if isinstance(source, Path) else Path()):
            size = source.stat().st_size if isinstance(source, Path) else len(source)
        written = upload(self.client, source, address, Meter(size, progress), overwrite=overwrite)
        return _file(written, address.name)

    def _send(
        self, folder: Path, files: Sequence[tuple[str, int]], uri: str, overwrite: bool, progress: Progress | None
    ) -> None:
        if files:
            meter = Meter(sum(size for _path, size in files), progress)
            upload_tree(self.client, folder, files, HdfsUri.parse(uri), meter, overwrite=overwrite)

    def delete(self, uri: str) -> int:
        address = HdfsUri.parse(uri)
        if not address.name:
            raise Conflict(_("Cannot delete {path} as a whole.").format(path=uri), fix=_("Name a folder inside it."))
        there = self.stat(uri)
        if there is None:
            raise NotFound(_("File not found: `{path}`.").format(path=uri))
        if there.is_folder and not uri.endswith("/"):
            raise Conflict(
                _("{path} is a folder.").format(path=uri), fix=_("To include its contents: {path}/").format(path=uri)
            )
        count = wait(self.client.count_files(address)) if there.is_folder else 1
        wait(self.client.delete(address))
        return count

    def make_folder(self, uri: str) -> None:
        address = HdfsUri.parse(uri)
        there = wait(self.client.status(address))
        if there and not there.is_folder:
            raise Conflict(_("{path} is a file.").format(path=uri), fix=_("Choose another name."))
        if not there:
            wait(self.client.make_folder(address))

    def _check_move(self, uri: str, target: str) -> None:
        if HdfsUri.parse(uri).site != HdfsUri.parse(target).site:
            raise Unsupported(
                _("{uri} and {target} are at different endpoints.").format(uri=uri, target=target),
                fix=_("Copy it through this machine with %pai get and %pai put, then delete it."),
            )
        super()._check_move(uri, target)

    def _move(self, uri: str, target: str, progress: Progress | None) -> int:
        source = HdfsUri.parse(uri)
        goal = HdfsUri.parse(target) if uri.endswith("/") else _file_address(target)
        count = wait(self.client.count_files(source)) if uri.endswith("/") else 1
        wait(self.client.make_folder(goal.parent))
        wait(self.client.rename(source, goal))
        return count

    def _fill(self, uri: str, files: Sequence[File], staging: Staging, progress: Progress | None) -> None:
        address, meter = HdfsUri.parse(uri), Meter(sum(file.size for file in files), progress)
        quick = SmallFiles(wait(self.client.base(address)), self.client.settings, AT_A_TIME)

        def write(file: File, data: bytes) -> None:
            for _done in staging.write(file.path, [data], file.modified, None):
                pass
            meter.count(file.path, file.size)

        def small(file: File) -> bool:
            data = quick.read(address.join(file.path), file.size) if file.size <= LARGEST else None
            if data is not None:
                write(file, data)
            return data is not None

        async def whole(file: File) -> None:
            write(file, await self.client.read(address.join(file.path), 0, file.size) if file.size else b"")

        with quick:
            wait(quick.each([file for file in files if file.size <= _PIECE], small, whole), meter)
        for file in files:
            if file.size > _PIECE:
                source = _HdfsFile(self.client, address.join(file.path), file)
                rest = partial(source.rest, meter)
                for _done in staging.write_resumable(file.path, source.key, rest, file.modified):
                    pass


async def _below(client: HdfsClient, address: HdfsUri) -> list[File]:
    """Return all files below a folder, sorted by path."""
    files: list[File] = []
    folders = [""]
    below: list[str] = []

    async def look(folder: str) -> None:
        for one in await client.listing(address.join(folder)):
            if one.is_folder and not is_hidden(one.name):
                below.append(f"{folder}{one.name}/")
            elif not is_hidden(one.name):
                files.append(_file(one, folder + one.name))

    while folders:
        await run_parallel([partial(look, folder) for folder in folders], AT_A_TIME)
        folders, below = below, []
    return sorted(files)


class _HdfsFile(OpenFile):
    """One version of a file. HDFS reads by path, so a copy checks at its end that the version is still there."""

    def __init__(self, client: HdfsClient, address: HdfsUri, file: File) -> None:
        self._client = client
        self._address = address
        self.file = file

    def read(self, offset: int, length: int) -> bytes:
        length = min(length, self.file.size - offset)
        return wait(self._client.read(self._address, offset, length)) if length > 0 else b""

    def close(self) -> None:
        """Do nothing: no resources are held."""

    @property
    def key(self) -> str:
        """An identifier of this version."""
        return hashlib.sha256(f"{self._address}\n{self.file.version}".encode()).hexdigest()[:32]

    def rest(self, meter: Meter, there: bytes | mmap) -> Iterator[bytes]:
        """Yield the bytes after those already present.

        Raises:
            EngineError: if the file changed in the meantime.
        """
        meter.count((self._address.path, "there"), len(there))
        starts = range(len(there), self.file.size, _PIECE)
        yield from wait_in_order((self._range(start, meter) for start in starts), meter, _RANGES)
        now = wait(self._client.status(self._address))
        if now is None or now.version != self.file.version:
            raise EngineError(_("{file} changed while it was read.").format(file=self._address), fix=_("Try again."))

    async def _range(self, start: int, meter: Meter) -> bytes:
        data = await self._client.read(self._address, start, min(_PIECE, self.file.size - start))
        meter.count((self._address.path, start), len(data))
        return data


def _path(one: Status, path: str) -> str:
    return f"{path}/" if one.is_folder else path


def _file(one: Status, path: str) -> File:
    if one.is_folder:
        return File(_path(one, path), 0, one.modified)
    problem = _("a symbolic link") if one.type == "SYMLINK" else problem_of(path)
    return File(path, one.size, one.modified, problem, one.version)


def _file_address(uri: str) -> HdfsUri:
    address = HdfsUri.parse(uri)
    if not address.name or address.path.endswith("/"):
        raise Conflict(
            _("{file} is a folder, but a file of that name is to be written.").format(file=uri),
            fix=_("Choose another name."),
        )
    return address
