"""Storages of objects in buckets. Folders are prefixes of keys."""

from __future__ import annotations

import contextlib
import re
import time
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Generic, TypeVar

from ...core.errors import Conflict, NotFound, Unsupported
from ...core.i18n import _
from ..base import File, OpenFile, Progress, Storage, check_names
from ..meter import Meter
from ..staging import Staging, open_source, read_errors
from .client import Object, ObjectClient
from .copy import copy_objects
from .multipart import Written, create, matching_etag, send_checked, upload_file
from .reading import PIECE, ObjectFile
from .transfer import UploadBody, crc64, run_parallel
from .unchanged import etags_of_equal_size, has_digest, unchanged_etag
from .uri import ObjectUri

__all__ = ["ObjectStorage"]

U = TypeVar("U", bound=ObjectUri)
# Small files are limited by latency rather than bandwidth.
_SMALL_AT_A_TIME = 16
_MOST_KEYS = 1000
# Up to this size, sending a file takes no longer than a request that looks for it.
_SENT_AT_ONCE = 256 << 10


class ObjectStorage(Storage, Generic[U]):
    """The buckets of one account. The folder `state` holds checkpoints of uploads."""

    def __init__(self, client: ObjectClient[U], state: Path) -> None:
        self.client = client
        self.state = state

    @staticmethod
    @abstractmethod
    def parse(uri: str) -> U:
        """Parse a URI.

        Raises:
            BadInput: if it is invalid.
        """

    @classmethod
    def canonical(cls, uri: str) -> str:
        address = cls.parse(f"{cls.scheme}{uri[len(cls.scheme) :]}")
        names = address.key.rstrip("/")
        check_names(uri, re.sub("/+", "/", names))  # A key may have empty names.
        return str(address.at(names + "/" * address.key.endswith("/")))

    def stat(self, uri: str) -> File | None:
        address = self.parse(uri)
        _folder, name = address.split()
        if address.key and not address.key.endswith("/"):
            with contextlib.suppress(NotFound):
                return self._head(address, name)
        if not address.key or self.client.ask(self.client.page, address, most=1).objects:
            return File(name.rstrip("/") + "/", 0)
        return None

    def _head(self, address: U, path: str) -> File:
        there = self.client.ask(self.client.head, address)
        return File(path, there.size, there.modified, version=there.etag)

    def entries(self, uri: str, after: str = "", most: int = _MOST_KEYS) -> list[File]:
        address, token = self.parse(uri), ""
        start = after and address.prefix + after
        gathered: list[File] = []
        while len(gathered) < most:
            # One more, because `after` may name a folder, which is found by its contents.
            wanted = min(most - len(gathered) + 1, _MOST_KEYS)
            page = self.client.ask(self.client.page, address, after=start, token=token, most=wanted, folders=True)
            names = [*(_file(one, address.prefix) for one in page.objects)]
            names += [File(key.removeprefix(address.prefix), 0) for key in page.folders]
            gathered += [one for one in sorted(names) if one.path > after]
            token = page.following
            if not token:
                break
        return gathered[:most]

    def list(self, uri: str) -> list[File]:
        address = self.parse(uri)
        files = (_file(one, address.prefix) for one in self._below(address))
        return [file for file in files if not file.is_folder and file.path]

    def _below(self, address: U) -> Iterator[Object]:
        """Yield the objects below a folder."""
        token = ""
        while page := self.client.ask(self.client.page, address, token=token, most=_MOST_KEYS):
            yield from page.objects
            token = page.following
            if not token:
                return

    def exists(self, uri: str) -> bool:
        self.parse(uri)
        return True

    def open(self, uri: str, path: str) -> OpenFile:
        return self._open(uri, path)

    def _open(self, uri: str, path: str) -> ObjectFile[U]:
        if problem := _problem(path):
            raise NotFound(_("`{path}` cannot be read: {why}.").format(path=ascii(path), why=problem))
        address = self.parse(uri).join(path)
        return ObjectFile(self.client, address, self._head(address, path))

    def chosen(self, uri: str, files: Sequence[str] | None = None) -> Sequence[File]:
        if files is None or len(files) > _SMALL_AT_A_TIME:
            return super().chosen(uri, files)
        return [self._open(uri, path).file for path in dict.fromkeys(files)]

    def join(self, uri: str, path: str) -> str:
        return str(self.parse(uri).join(path))

    def split(self, uri: str) -> tuple[str, str]:
        folder, path = self.parse(uri).split()
        return str(folder), path

    def put(self, source: Path | bytes, uri: str, *, overwrite: bool = False, progress: Progress | None = None) -> File:
        address = self._file_address(uri)
        if isinstance(source, bytes):
            meter = Meter(len(source), progress)
        else:
            with read_errors(source):
                meter = Meter(source.stat().st_size, progress)
        if isinstance(source, Path) and meter.whole > PIECE:
            written = self._put_large(source, address, overwrite, meter)
        else:
            send = partial(self._put_whole, source, address, overwrite, meter)
            written = run_parallel([send], meter, 1)[0] if progress else send()
        return File(address.split()[1], written.size, time.time(), version=written.etag)

    def put_once(self, source: Path | bytes, uri: str, progress: Progress | None = None) -> None:
        size = len(source) if isinstance(source, bytes) else source.stat().st_size
        if size > _SENT_AT_ONCE:
            super().put_once(source, uri, progress)
            return
        with contextlib.suppress(Conflict):
            self.put(source, uri, progress=progress)

    def _put_large(self, source: Path, address: U, overwrite: bool, meter: Meter) -> Written:
        if overwrite and (etag := unchanged_etag(self.client, source, address)):
            size = source.stat().st_size
            meter.count(address.key, size)
            return Written(size, etag)
        return upload_file(self.client, source, address, self.state, meter, overwrite=overwrite)

    def _put_whole(
        self, source: Path | bytes, address: U, overwrite: bool, meter: Meter, there: Mapping[str, str] = {}
    ) -> Written:
        """Send a small file. `there` has the ETags of objects that need not be replaced, if their content is equal."""
        data = source if isinstance(source, bytes) else _read(source)
        if (known := there.get(address.key)) and has_digest(data, known):
            meter.count(address.key, len(data))
            return Written(len(data), known)
        crc = crc64(data)
        send = partial(self.client.put, body=UploadBody(data, meter, address.key), overwrite=overwrite)
        etag = create(
            self.client,
            address,
            partial(send_checked, send=send, crc=crc),
            lambda: matching_etag(self.client, address, crc),
        )
        return Written(len(data), etag)

    def _send(
        self, folder: Path, files: Sequence[tuple[str, int]], uri: str, overwrite: bool, progress: Progress | None
    ) -> None:
        address, meter = self.parse(uri), Meter(sum(size for _path, size in files), progress)
        small = {path: size for path, size in files if size <= PIECE}
        there: dict[str, str] = {}
        if overwrite and small:
            # A folder may have many more objects. Files that are not found in time are sent.
            first = islice(self._below(address), 2 * len(small) + _MOST_KEYS)
            there = etags_of_equal_size(first, {address.join(path).key: size for path, size in small.items()})
        sends = [partial(self._put_whole, folder / path, address.join(path), overwrite, meter, there) for path in small]
        run_parallel(sends, meter, _SMALL_AT_A_TIME)
        for path, size in files:
            if size > PIECE:
                self._put_large(folder / path, address.join(path), overwrite, meter)

    def delete(self, uri: str) -> int:
        address = self.parse(uri)
        if not address.key:
            raise Conflict(_("Cannot delete {path} as a whole.").format(path=uri), fix=_("Name a folder inside it."))
        if address.key.endswith("/"):
            if keys := [one.key for one in self._below(address)]:
                return self._delete_keys(address, keys)
            raise NotFound(_("There is nothing in {path}.").format(path=address))
        there = self.stat(uri)
        if there is None:
            raise NotFound(_("File not found: `{path}`.").format(path=uri))
        if there.is_folder:
            raise Conflict(
                _("{path} is a folder.").format(path=uri), fix=_("To include its contents: {path}/").format(path=uri)
            )
        self.client.ask(self.client.delete, address)
        return 1

    def _delete_keys(self, address: U, keys: Sequence[str]) -> int:
        """Delete objects of a bucket. Returns the number of files."""
        for start in range(0, len(keys), _MOST_KEYS):
            self.client.ask(self.client.delete_many, address, [*keys[start : start + _MOST_KEYS]])
        return sum(not key.endswith("/") for key in keys)

    def _check_move(self, uri: str, target: str) -> None:
        if self.client.endpoint(self.parse(uri)) != self.client.endpoint(self.parse(target)):
            raise Unsupported(
                _("{uri} and {target} are at different endpoints.").format(uri=uri, target=target),
                fix=_("Copy it through this machine with %pai get and %pai put, then delete it."),
            )
        super()._check_move(uri, target)

    def _move(self, uri: str, target: str, progress: Progress | None) -> int:
        source, goal = self.parse(uri), self.parse(target) if uri.endswith("/") else self._file_address(target)
        if uri.endswith("/"):
            sizes = {one.key: one.size for one in self._below(source)}
        else:
            sizes = {source.key: self._open(*self.split(uri)).file.size}
        objects = [(key, goal.key + key.removeprefix(source.key), size) for key, size in sizes.items()]
        copy_objects(self.client, source, goal, objects, progress)
        return self._delete_keys(source, [*sizes])

    def make_folder(self, uri: str) -> None:
        address = self.parse(uri)
        there = self.stat(str(address).rstrip("/")) if address.key else None
        if there and not there.is_folder:
            raise Conflict(_("{path} is a file.").format(path=uri), fix=_("Choose another name."))
        if address.key and not there:
            # The consoles of the services create folders the same way.
            empty = UploadBody(b"", Meter(0), "")
            self.client.ask(partial(self.client.put, body=empty, overwrite=True), address.at(address.prefix))

    def _fill(self, uri: str, files: Sequence[File], staging: Staging, progress: Progress | None) -> None:
        address, meter = self.parse(uri), Meter(sum(file.size for file in files), progress)

        def one(file: File) -> None:
            source = ObjectFile(self.client, address.join(file.path), file)
            if file.size > PIECE:
                steps = staging.write_resumable(file.path, source.key, partial(source.rest, meter), file.modified)
            else:
                steps = staging.write(file.path, source.rest(meter, b""), file.modified, None)
            for _n in steps:
                pass

        run_parallel([partial(one, file) for file in files if file.size <= PIECE], meter, _SMALL_AT_A_TIME)
        for file in files:
            if file.size > PIECE:
                one(file)

    def _file_address(self, uri: str) -> U:
        address = self.parse(uri)
        if not address.key or address.key.endswith("/"):
            raise Conflict(
                _("{file} is a folder, but a file of that name is to be written.").format(file=uri),
                fix=_("Choose another name."),
            )
        return address


def _file(one: Object, prefix: str) -> File:
    path = one.key.removeprefix(prefix)
    return File(path, one.size, one.modified, _problem(path), one.etag)


def _problem(path: str) -> str:
    """Return the reason that a key cannot be a file path below a folder, or an empty string."""
    bad = re.search(r"[\0\ud800-\udfff]", path) or {"", ".", ".."} & {*path.split("/")}
    return _("not a valid path inside this folder") if bad else ""


def _read(path: Path) -> bytes:
    with read_errors(path), open_source(path) as file:
        return file.readall()
