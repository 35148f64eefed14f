"""Alibaba Cloud Object Storage Service as ``oss://`` URIs. Folders are prefixes of keys."""

from __future__ import annotations

import contextlib
import hashlib
import re
import time
from collections.abc import Iterator, Sequence
from functools import partial
from mmap import mmap
from pathlib import Path
from typing import Any, ClassVar, Self

from ...cloud.alibaba.account import AlibabaAccount, AliyunSettings
from ...config.settings import ProfileSettings
from ...core.errors import Conflict, EngineError, NotFound, Refused, Unsupported
from ...core.i18n import _
from ..base import File, OpenFile, Progress, Storage
from ..staging import Staging, read_errors
from .client import OssClient
from .copy import copy_objects
from .multipart import FORBID, Written, checked, create, matching_etag, upload_file
from .transfer import Meter, crc64, read_body, run_ordered, run_parallel
from .uri import OssUri

# Bytes. Smaller files take one request; larger ones are split into pieces of this size.
_PIECE = 8 << 20
# Small files are limited by latency rather than bandwidth.
_SMALL_AT_A_TIME = 16
_MOST_KEYS = 1000
# Status if the requested version no longer exists.
_CHANGED = 412


class OssStorage(Storage):
    """The buckets of one account. The folder `state` holds checkpoints of uploads."""

    scheme: ClassVar[str] = "oss"
    settings_model: ClassVar[type[ProfileSettings] | None] = AliyunSettings

    def __init__(self, account: AlibabaAccount, state: Path) -> None:
        self.client = OssClient(account)
        self.state = state

    @classmethod
    def of(cls, settings: ProfileSettings | None, state: Path) -> Self:
        assert isinstance(settings, AliyunSettings)
        return cls(AlibabaAccount.of(settings), state)

    async def roots(self) -> Sequence[str]:
        return (f"oss://{await self.client.account.bucket()}/",)

    def stat(self, uri: str) -> File | None:
        address = OssUri.parse(uri)
        _folder, name = address.split()
        if address.key and not address.key.endswith("/"):
            with contextlib.suppress(NotFound):
                return self._head(address, name)
        if not address.key or self.client.call(address, "list_objects_v2", address.prefix, max_keys=1).object_list:
            return File(name.rstrip("/") + "/", 0)
        return None

    def _head(self, address: OssUri, path: str) -> File:
        head = self.client.call(address, "head_object", address.key)
        return File(path, head.content_length or 0, float(head.last_modified or 0), version=head.etag or "")

    def entries(self, uri: str, after: str = "", most: int = _MOST_KEYS) -> list[File]:
        address, token = OssUri.parse(uri), ""
        gathered: list[File] = []
        while len(gathered) < most:
            # One more, because `after` may name a folder, which is found by its contents.
            options = {"max_keys": min(most - len(gathered) + 1, _MOST_KEYS), "delimiter": "/"}
            options |= {"continuation_token": token} if token else {"start_after": after and address.prefix + after}
            page = self.client.call(address, "list_objects_v2", address.prefix, **options)
            names = [*(_file(one, address.prefix) for one in page.object_list)]
            names += [File(key.removeprefix(address.prefix), 0) for key in page.prefix_list]
            gathered += [one for one in sorted(names) if one.path > after]
            token = page.next_continuation_token
            if not page.is_truncated:
                break
        return gathered[:most]

    def list(self, uri: str) -> list[File]:
        address = OssUri.parse(uri)
        files = (_file(one, address.prefix) for one in self._below(address))
        return [file for file in files if not file.is_folder and file.path]

    def _below(self, address: OssUri) -> Iterator[Any]:
        """Yield the oss2 objects below a folder."""
        options = {"max_keys": _MOST_KEYS, "continuation_token": ""}
        while page := self.client.call(address, "list_objects_v2", address.prefix, **options):
            yield from page.object_list
            options["continuation_token"] = page.next_continuation_token
            if not page.is_truncated:
                return

    def exists(self, uri: str) -> bool:
        OssUri.parse(uri)
        return True

    def open(self, uri: str, path: str) -> OpenFile:
        if problem := _problem(path):
            raise NotFound(_("`{path}` cannot be read: {why}.").format(path=ascii(path), why=problem))
        address = OssUri.parse(uri).join(path)
        return _OssFile(self.client, address, self._head(address, path))

    def chosen(self, uri: str, files: Sequence[str] | None = None) -> Sequence[File]:
        if files is None or len(files) > _SMALL_AT_A_TIME:
            return super().chosen(uri, files)
        return [self.open(uri, path).file for path in dict.fromkeys(files)]

    def join(self, uri: str, path: str) -> str:
        return str(OssUri.parse(uri).join(path))

    def split(self, uri: str) -> tuple[str, str]:
        folder, path = OssUri.parse(uri).split()
        return str(folder), path

    def put(self, source: Path | bytes, uri: str, *, overwrite: bool = False, progress: Progress | None = None) -> File:
        address = _file_address(uri)
        if isinstance(source, bytes):
            meter = Meter(len(source), progress)
        else:
            with read_errors(source):
                meter = Meter(source.stat().st_size, progress)
        if isinstance(source, Path) and meter.whole > _PIECE:
            written = upload_file(self.client, source, address, self.state, meter, overwrite=overwrite)
        else:
            send = partial(self._put_whole, source, address, overwrite, meter)
            written = run_parallel([send], meter, 1)[0] if progress else send()
        return File(address.split()[1], written.size, time.time(), version=written.etag)

    def _put_whole(self, source: Path | bytes, address: OssUri, overwrite: bool, meter: Meter) -> Written:
        data = source if isinstance(source, bytes) else _read(source)
        headers = {} if overwrite else FORBID
        send = checked(
            data, lambda bucket, body: bucket.put_object(address.key, body, headers=headers), meter, address.key
        )
        etag = create(
            self.client,
            address,
            lambda bucket: send(bucket).etag,
            lambda: matching_etag(self.client, address, crc64(data)),
        )
        return Written(len(data), etag)

    def _send(
        self, folder: Path, files: Sequence[tuple[str, int]], uri: str, overwrite: bool, progress: Progress | None
    ) -> None:
        address, meter = OssUri.parse(uri), Meter(sum(size for _path, size in files), progress)

        small = [path for path, size in files if size <= _PIECE]
        sends = [partial(self._put_whole, folder / path, address.join(path), overwrite, meter) for path in small]
        run_parallel(sends, meter, _SMALL_AT_A_TIME)
        for path, size in files:
            if size > _PIECE:
                upload_file(self.client, folder / path, address.join(path), self.state, meter, overwrite=overwrite)

    def delete(self, uri: str) -> int:
        address = OssUri.parse(uri)
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
        self.client.call(address, "delete_object", address.key)
        return 1

    def _delete_keys(self, address: OssUri, keys: Sequence[str]) -> int:
        """Delete objects of a bucket. Returns the number of files."""
        for start in range(0, len(keys), _MOST_KEYS):
            self.client.call(address, "batch_delete_objects", [*keys[start : start + _MOST_KEYS]])
        return sum(not key.endswith("/") for key in keys)

    def _check_move(self, uri: str, target: str) -> None:
        if self.client.endpoint(OssUri.parse(uri)) != self.client.endpoint(OssUri.parse(target)):
            raise Unsupported(
                _("{uri} and {target} are at different endpoints.").format(uri=uri, target=target),
                fix=_("Copy it through this machine with %pai get and %pai put, then delete it."),
            )
        super()._check_move(uri, target)

    def _move(self, uri: str, target: str, progress: Progress | None) -> int:
        source, goal = OssUri.parse(uri), _file_address(target) if not uri.endswith("/") else OssUri.parse(target)
        if uri.endswith("/"):
            sizes = {one.key: one.size for one in self._below(source)}
        else:
            with self.open(*self.split(uri)) as file:
                sizes = {source.key: file.file.size}
        objects = [(key, goal.key + key.removeprefix(source.key), size) for key, size in sizes.items()]
        copy_objects(self.client, source, goal, objects, progress)
        return self._delete_keys(source, [*sizes])

    def make_folder(self, uri: str) -> None:
        address = OssUri.parse(uri)
        there = self.stat(str(address).rstrip("/")) if address.key else None
        if there and not there.is_folder:
            raise Conflict(_("{path} is a file.").format(path=uri), fix=_("Choose another name."))
        if address.key and not there:
            # The OSS console creates folders the same way.
            self.client.call(address, "put_object", address.prefix, b"")

    def _fill(self, uri: str, files: Sequence[File], staging: Staging, progress: Progress | None) -> None:
        address, meter = OssUri.parse(uri), Meter(sum(file.size for file in files), progress)

        def one(file: File) -> None:
            source = _OssFile(self.client, address.join(file.path), file)
            if file.size > _PIECE:
                steps = staging.write_resumable(file.path, source.key, partial(source.rest, meter), file.modified)
            else:
                steps = staging.write(file.path, source.rest(meter, b""), file.modified, None)
            for _n in steps:
                pass

        run_parallel([partial(one, file) for file in files if file.size <= _PIECE], meter, _SMALL_AT_A_TIME)
        for file in files:
            if file.size > _PIECE:
                one(file)


class _OssFile(OpenFile):
    """One version of an object. Reading fails once it is replaced."""

    def __init__(self, client: OssClient, address: OssUri, file: File) -> None:
        self._client = client
        self._address = address
        self.file = file
        self._crc: int | None = None

    def read(self, offset: int, length: int) -> bytes:
        end = min(offset + length, self.file.size)
        return self._range(offset, end, None) if offset < end else b""

    def close(self) -> None:
        """Do nothing: no resources are held."""

    @property
    def key(self) -> str:
        """An identifier of this version."""
        both = f"{self._client.endpoint(self._address)} {self._address}\n{self.file.version}"
        return hashlib.sha256(both.encode()).hexdigest()[:32]

    def rest(self, meter: Meter, there: bytes | mmap) -> Iterator[bytes]:
        """Yield the bytes after those already present. Checks the CRC of the whole."""
        starts = range(len(there), self.file.size, _PIECE)
        ranges = [partial(self._range, start, min(start + _PIECE, self.file.size), meter) for start in starts]
        meter.count((self._address.key, "there"), len(there))
        crc = crc64(there)
        for data in run_ordered(ranges, meter) if len(ranges) > 1 else (task() for task in ranges):
            crc = crc64(data, crc)
            yield data
        if there and not ranges:
            self._crc = self._client.call(self._address, "head_object", self._address.key).server_crc
        if (there or ranges) and self._crc not in (None, crc):
            raise EngineError(_("{file} was corrupted in transit.").format(file=self._address), fix=_("Try again."))

    def _range(self, start: int, end: int, meter: Meter | None) -> bytes:
        headers = {"If-Match": f'"{self.file.version}"'} if self.file.version else {}
        key = self._address.key

        def ask(bucket: Any) -> bytes:
            result = bucket.get_object(key, byte_range=(start, end - 1), headers=headers)
            self._crc = result.server_crc
            return read_body(result, end - start, meter, (key, start))

        try:
            return self._client.ask(self._address, ask)
        except Refused as error:
            if error.details.get("status") != _CHANGED:
                raise
            raise EngineError(
                _("{file} changed while it was read.").format(file=self._address), fix=_("Try again.")
            ) from None


def _file(one: Any, prefix: str) -> File:
    path = one.key.removeprefix(prefix)
    return File(path, one.size, float(one.last_modified), _problem(path), one.etag)


def _problem(path: str) -> str:
    """Return the reason that a key cannot be a file path below a folder, or an empty string."""
    bad = re.search(r"[\0\ud800-\udfff]", path) or {"", ".", ".."} & {*path.split("/")}
    return _("not a valid path inside this folder") if bad else ""


def _file_address(uri: str) -> OssUri:
    address = OssUri.parse(uri)
    if not address.key or address.key.endswith("/"):
        raise Conflict(
            _("{file} is a folder, but a file of that name is to be written.").format(file=uri),
            fix=_("Choose another name."),
        )
    return address


def _read(path: Path) -> bytes:
    with read_errors(path):
        return path.read_bytes()
