"""Resumable uploads of large files in parallel parts."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from ...core.errors import BadInput, Conflict, EngineError, NotFound, PaiError, Refused
from ...core.i18n import _
from ..base import Progress
from ..walk import read_error
from .checkpoint import Part, UploadCheckpoint, abandoned_uploads
from .client import OssClient
from .transfer import Body, Meter, combine_crc64, crc64, run_parallel
from .uri import OssUri

FORBID = {"x-oss-forbid-overwrite": "true"}


class Written(NamedTuple):
    """A stored object."""

    size: int
    etag: str


def upload_file(
    client: OssClient, source: Path, uri: OssUri, state: Path, *, overwrite: bool, progress: Progress | None = None
) -> Written:
    """Upload a file in parts.

    Raises:
        Conflict: if the object exists and `overwrite` is not set.
        BadInput: if the file cannot be read, or changes during the upload.
        PaiError: if OSS fails. The uploaded parts are kept, and the next upload resumes.
    """
    try:
        descriptor = os.open(source, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise read_error(source, error.strerror or str(error)) from None
    _clear(client, state)
    try:
        with UploadCheckpoint(state, client.endpoint(uri), uri, source, os.fstat(descriptor)) as note:
            return _Upload(client, uri, note, source, descriptor, overwrite).run(progress)
    finally:
        os.close(descriptor)


def _clear(client: OssClient, state: Path) -> None:
    """Abort abandoned uploads, because their parts incur storage costs."""
    for path, endpoint, text, upload_id in abandoned_uploads(state):
        with contextlib.suppress(PaiError, OSError):
            uri = OssUri.parse(text)
            if client.endpoint(uri) == endpoint:
                with contextlib.suppress(NotFound):
                    client.ask(uri, partial(_abort, uri.key, upload_id))
                path.unlink(missing_ok=True)


def _abort(key: str, upload_id: str, bucket: Any) -> None:
    bucket.abort_multipart_upload(key, upload_id)


class _Upload:
    """The upload of one open file."""

    def __init__(
        self, client: OssClient, uri: OssUri, note: UploadCheckpoint, source: Path, descriptor: int, overwrite: bool
    ) -> None:
        self.client = client
        self.uri = uri
        self.note = note
        self.source = source
        self.descriptor = descriptor
        self.overwrite = overwrite
        self.size = note.about.size
        self.part_size = note.about.part_size

    def run(self, progress: Progress | None) -> Written:
        if not self.overwrite:
            self._check_free()
        meter = Meter(self.size, progress)
        parts = self._there()
        upload_id = self.note.upload_id or self._begin()
        for number in parts:
            meter.count(number, self._length(number))
        missing = [n for n in range(1, -(-self.size // self.part_size) + 1) if n not in parts]
        try:
            sent = run_parallel([partial(self._send, upload_id, number, meter) for number in missing], meter)
        except BaseException as error:
            self._end(upload_id, error)
            raise
        return self._finish(upload_id, parts | dict(zip(missing, sent, strict=True)))

    def _check_free(self) -> None:
        with contextlib.suppress(NotFound):
            self.client.ask(self.uri, lambda bucket: bucket.head_object(self.uri.key))
            raise exists_error(self.uri)

    def _begin(self) -> str:
        key = self.uri.key
        begun = self.client.ask(self.uri, lambda bucket: bucket.init_multipart_upload(key))
        self.note.begin(begun.upload_id)
        return str(begun.upload_id)

    def _there(self) -> dict[int, Part]:
        """Return the uploaded parts that are both recorded and known to OSS."""
        if not self.note.upload_id:
            return {}
        key, upload_id = self.uri.key, self.note.upload_id

        def ask(bucket: Any) -> dict[int, str]:
            import oss2

            return {part.part_number: part.etag for part in oss2.PartIterator(bucket, key, upload_id)}

        try:
            there = self.client.ask(self.uri, ask)
        except NotFound:
            self.note.upload_id = ""
            return {}
        parts = {number: part for number, part in self.note.parts.items() if there.get(number) == part.etag}
        self.note.begin(upload_id)
        for number, part in parts.items():
            self.note.add(number, part)
        return parts

    def _length(self, number: int) -> int:
        return min(self.part_size, self.size - (number - 1) * self.part_size)

    def _send(self, upload_id: str, number: int, meter: Meter) -> Part:
        length = self._length(number)
        try:
            data = os.pread(self.descriptor, length, (number - 1) * self.part_size)
        except OSError as error:
            raise read_error(self.source, error.strerror or str(error)) from None
        if len(data) != length:
            raise self._changed()
        part = send_part(
            self.client,
            self.uri,
            data,
            lambda bucket, body: bucket.upload_part(self.uri.key, upload_id, number, body),
            meter,
            number,
        )
        self.note.add(number, part)
        return part

    def _changed(self) -> BadInput:
        return BadInput(
            _("{file} changed during the upload.").format(file=self.source),
            fix=_("Upload it again when it is complete."),
        )

    def _finish(self, upload_id: str, parts: dict[int, Part]) -> Written:
        import oss2

        if not self.note.describes(os.fstat(self.descriptor)):
            self._abort(upload_id)
            raise self._changed()
        numbers = sorted(parts)
        crc = combine_crc64((parts[number].crc, self._length(number)) for number in numbers)
        infos = [oss2.models.PartInfo(number, parts[number].etag) for number in numbers]
        headers = {} if self.overwrite else FORBID
        key = self.uri.key
        try:
            etag = self.client.ask(
                self.uri, lambda b: b.complete_multipart_upload(key, upload_id, infos, headers=headers).etag
            )
        except (NotFound, Conflict):
            # The response to an earlier attempt may have been lost.
            etag = matching_etag(self.client, self.uri, crc)
            if etag is None:
                self._abort(upload_id)
                if self.overwrite:
                    raise
                raise exists_error(self.uri) from None
        self.note.remove()
        return Written(self.size, etag)

    def _end(self, upload_id: str, error: BaseException) -> None:
        """Abort a cancelled upload. An upload interrupted by OSS or the network can be resumed."""
        if not isinstance(error, EngineError | Refused):
            self._abort(upload_id)

    def _abort(self, upload_id: str) -> None:
        with contextlib.suppress(Exception):
            self.client.ask(self.uri, partial(_abort, self.uri.key, upload_id))
        self.note.remove()


def send_part(
    client: OssClient,
    uri: OssUri,
    data: bytes,
    action: Callable[[Any, Body], Any],
    meter: Meter,
    piece: object,
) -> Part:
    """Send bytes with `action`, and retry if their CRC differs."""
    crc = crc64(data)

    def ask(bucket: Any) -> Part:
        import oss2

        result = action(bucket, Body(data, meter, piece))
        if result.crc is not None and result.crc != crc:
            raise oss2.exceptions.InconsistentError("the CRC differs", result.request_id)
        return Part(result.etag, crc)

    return client.ask(uri, ask)


def matching_etag(client: OssClient, uri: OssUri, crc: int) -> str | None:
    """Return the ETag of an object if it has this CRC."""
    with contextlib.suppress(NotFound):
        head = client.ask(uri, lambda bucket: bucket.head_object(uri.key))
        if head.headers.get("x-oss-hash-crc64ecma") == str(crc):
            return str(head.etag)
    return None


def exists_error(uri: OssUri) -> Conflict:
    """Return the error for an object that exists and must not be replaced."""
    return Conflict(
        _("{file} already exists.").format(file=uri),
        fix=_("Choose another name, or overwrite it with --overwrite."),
        files=[uri.key.rpartition("/")[2]],
    )
