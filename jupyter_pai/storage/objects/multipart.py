"""Uploads of objects: of large files in parallel parts, resumable, and of bytes in one request.

The checkpoint of a multipart upload is a file in the state folder with one line per uploaded part, so that a killed
upload loses only the parts in flight.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Generic, NamedTuple, Self, TypeVar

from ...core import filesystem
from ...core.cleanup import on_failure
from ...core.errors import BadInput, Conflict, EngineError, NotFound, PaiError, Refused
from ...core.i18n import _
from ..meter import Meter
from ..staging import open_source, read_errors
from .client import ObjectClient, Stored
from .transfer import DamagedBody, UploadBody, combine_crc64, crc64, run_parallel
from .uri import ObjectUri

__all__ = ["Written", "create", "matching_etag", "send_checked", "upload_file"]

T = TypeVar("T")
U = TypeVar("U", bound=ObjectUri)
# Seconds until an interrupted upload is abandoned. Its parts incur costs.
_KEPT = 7 * 86_400.0

_SMALLEST = 8 << 20
# The services allow 10,000 parts of 1 MiB to 5 GiB.
_MOST_PARTS = 9_000


class Written(NamedTuple):
    """A stored object."""

    size: int
    etag: str


class _Part(NamedTuple):
    """An uploaded part and its CRC."""

    etag: str
    crc: int


def upload_file(
    client: ObjectClient[U], source: Path, uri: U, state: Path, meter: Meter, *, overwrite: bool
) -> Written:
    """Upload a file in parts.

    Raises:
        Conflict: if the object exists and `overwrite` is not set.
        BadInput: if the file cannot be read, or changes during the upload.
        PaiError: if the service fails. The uploaded parts are kept, and the next upload resumes.
    """
    file = open_source(source)
    _clear(client, type(uri), state)
    with file, _Checkpoint(state, client.endpoint(uri), uri, source, os.fstat(file.fileno())) as checkpoint:
        return _Upload(client, uri, checkpoint, source, file.fileno(), overwrite, meter).run()


def _clear(client: ObjectClient[U], kind: type[U], state: Path) -> None:
    """Abort uploads not resumed for a week, because their parts incur storage costs."""
    for path in state.glob("*.upload"):
        with contextlib.suppress(PaiError, OSError, ValueError, KeyError, TypeError):
            if time.time() - path.stat().st_mtime > _KEPT:
                first = json.loads(path.read_text("utf-8").partition("\n")[0] or "{}")
                endpoint, _blank, text = first["to"].partition(" ")
                uri = kind.parse(text)
                if client.endpoint(uri) == endpoint:
                    with contextlib.suppress(NotFound):
                        client.ask(client.abort, uri, first["upload_id"])
                    path.unlink(missing_ok=True)


class _Checkpoint:
    """The checkpoint of an upload, locked by its process. If another process has the lock, or the file cannot be
    written, nothing is recorded."""

    def __init__(self, state: Path, endpoint: str, uri: ObjectUri, source: Path, status: os.stat_result) -> None:
        self.size = status.st_size
        self.part_size = max(_SMALLEST, -(-self.size // _MOST_PARTS >> 20) << 20)
        # The file, its target and the part size in bytes. Times are in nanoseconds.
        self._header = {
            "to": f"{endpoint} {uri}",
            "source": os.path.realpath(source),
            "size": self.size,
            "modified": status.st_mtime_ns,
            "inode": status.st_ino,
            "part_size": self.part_size,
        }
        both = f"{self._header['to']}\n{self._header['source']}".encode(errors="surrogateescape")
        self.path = state / f"{hashlib.sha256(both).hexdigest()[:32]}.upload"
        self.upload_id = ""
        self.parts: dict[int, _Part] = {}
        self._descriptor = -1

    def describes(self, status: os.stat_result) -> bool:
        """Return whether the file is unchanged."""
        return (status.st_size, status.st_mtime_ns) == (self._header["size"], self._header["modified"])

    def __enter__(self) -> Self:
        with contextlib.suppress(OSError):
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
            if filesystem.lock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB) is False:
                self.__exit__()
            else:
                self._read()
        return self

    def __exit__(self, *_error: object) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _read(self) -> None:
        """Read the checkpoint of an earlier upload of the same file. Incomplete lines are skipped."""
        lines = os.pread(self._descriptor, 1 << 24, 0).decode("utf-8", "replace").splitlines()
        with contextlib.suppress(ValueError, KeyError, TypeError, IndexError):
            first = json.loads(lines[0])
            if first | {"upload_id": ""} == self._header | {"upload_id": ""}:
                self.upload_id = first["upload_id"]
                for line in lines[1:]:
                    number, etag, crc = json.loads(line)
                    self.parts[int(number)] = _Part(str(etag), int(crc))

    def begin(self, upload_id: str) -> None:
        """Start a new upload, discarding the recorded one."""
        self.upload_id, self.parts = upload_id, {}
        if self._descriptor >= 0:
            with contextlib.suppress(OSError):
                os.ftruncate(self._descriptor, 0)
            self._write(self._header | {"upload_id": upload_id})

    def add(self, number: int, part: _Part) -> None:
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


@dataclass
class _Upload(Generic[U]):
    """The upload of one open file."""

    client: ObjectClient[U]
    uri: U
    checkpoint: _Checkpoint
    source: Path
    descriptor: int
    overwrite: bool
    meter: Meter

    def run(self) -> Written:
        if not self.overwrite:
            with contextlib.suppress(NotFound):
                self.client.ask(self.client.head, self.uri)
                raise _exists_error(self.uri)
        parts = self._uploaded()
        if not self.checkpoint.upload_id:
            self.checkpoint.begin(self.client.ask(self.client.begin, self.uri, {}))
        for number in parts:
            self.meter.count((self.uri.key, number), self._length(number))
        count = -(-self.checkpoint.size // self.checkpoint.part_size)
        missing = [number for number in range(1, count + 1) if number not in parts]
        # An upload interrupted by the service or the network can be resumed. A cancelled one is aborted.
        with on_failure(self._abort, unless=(EngineError, Refused)):
            sent = run_parallel([partial(self._send, number) for number in missing], self.meter)
        return self._finish(parts | dict(zip(missing, sent, strict=True)))

    def _uploaded(self) -> dict[int, _Part]:
        """Return the uploaded parts that are both recorded and known to the service."""
        upload_id = self.checkpoint.upload_id
        if not upload_id:
            return {}
        try:
            there = self.client.ask(self.client.parts, self.uri, upload_id)
        except NotFound:
            self.checkpoint.upload_id = ""
            return {}
        parts = {number: part for number, part in self.checkpoint.parts.items() if there.get(number) == part.etag}
        self.checkpoint.begin(upload_id)
        for number, part in parts.items():
            self.checkpoint.add(number, part)
        return parts

    def _length(self, number: int) -> int:
        size, part_size = self.checkpoint.size, self.checkpoint.part_size
        return min(part_size, size - (number - 1) * part_size)

    def _send(self, number: int) -> _Part:
        length = self._length(number)
        with read_errors(self.source):
            data = os.pread(self.descriptor, length, (number - 1) * self.checkpoint.part_size)
        if len(data) != length:
            raise self._changed()
        body, crc = UploadBody(data, self.meter, (self.uri.key, number)), crc64(data)
        send = partial(self.client.put_part, upload=self.checkpoint.upload_id, number=number, body=body)
        part = _Part(self.client.ask(send_checked, self.uri, send, crc), crc)
        self.checkpoint.add(number, part)
        return part

    def _changed(self) -> BadInput:
        return BadInput(
            _("{file} changed during the upload.").format(file=self.source),
            fix=_("Upload it again when it is complete."),
        )

    def _finish(self, parts: dict[int, _Part]) -> Written:
        if not self.checkpoint.describes(os.fstat(self.descriptor)):
            self._abort()
            raise self._changed()
        etags = {number: parts[number].etag for number in sorted(parts)}
        try:
            complete = partial(self.client.complete, overwrite=self.overwrite)
            etag = self.client.ask(complete, self.uri, self.checkpoint.upload_id, etags)
        except (NotFound, Conflict):
            # The response to an earlier attempt may have been lost.
            crc = combine_crc64((parts[number].crc, self._length(number)) for number in sorted(parts))
            there = matching_etag(self.client, self.uri, crc)
            if there is None:
                self._abort()
                if self.overwrite:
                    raise
                raise _exists_error(self.uri) from None
            etag = there
        self.checkpoint.remove()
        return Written(self.checkpoint.size, etag)

    def _abort(self) -> None:
        with contextlib.suppress(Exception):
            self.client.ask(self.client.abort, self.uri, self.checkpoint.upload_id)
        self.checkpoint.remove()


def send_checked(uri: U, send: Callable[[U], Stored], crc: int) -> str:
    """Send bytes with this CRC, and return the ETag of what the service has stored.

    Raises:
        DamagedBody: if that has another CRC.
    """
    stored = send(uri)
    if stored.crc not in (None, crc):
        raise DamagedBody
    return stored.etag


def create(client: ObjectClient[U], uri: U, action: Callable[[U], T], matching: Callable[[], T | None]) -> T:
    """Create an object with `action`. If the response to an earlier attempt was lost, return the result of `matching`,
    which checks that the existing object is the same.

    Raises:
        Conflict: if another object exists.
    """
    attempts = 0

    def attempt(uri: U) -> T:
        nonlocal attempts
        attempts += 1
        return action(uri)

    try:
        return client.ask(attempt, uri)
    except Conflict:
        result = matching() if attempts > 1 else None
        if result is None:
            raise _exists_error(uri) from None
        return result


def matching_etag(client: ObjectClient[U], uri: U, crc: int) -> str | None:
    """Return the ETag of an object if it has this CRC."""
    with contextlib.suppress(NotFound):
        there = client.ask(client.head, uri)
        return there.etag if there.crc == crc else None
    return None


def _exists_error(uri: ObjectUri) -> Conflict:
    """Return the error for an object that exists and must not be replaced."""
    return Conflict(
        _("{file} already exists.").format(file=uri),
        fix=_("Choose another name, or overwrite it with --overwrite."),
        files=[uri.key.rpartition("/")[2]],
    )
