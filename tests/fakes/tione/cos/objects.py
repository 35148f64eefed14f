"""Objects: put, get, head, delete, copy."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Awaitable, Callable
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from ...alibaba import bodies
from ...alibaba.blobs import Blob
from ...alibaba.buckets import Bucket, Stored
from ...alibaba.calls import Answer, Call
from ...alibaba.clock import http_time, iso
from ...alibaba.listings import tag, xml
from ...alibaba.service_errors import Refusal
from .listings import namer

if TYPE_CHECKING:
    from .service import Cos

__all__ = ["HANDLERS", "Handler", "check_overwrite", "etag", "kept_headers", "receive", "source_of"]

Handler = Callable[["Cos", Call, Bucket, str], Awaitable[Answer]]

_KEPT = ("content-type", "cache-control", "content-disposition", "content-encoding", "content-language", "expires")


def etag(blob: Blob) -> str:
    """Return the ETag of a blob."""
    return f'"{blob.md5.lower()}"'


async def receive(cos: Cos, call: Call) -> Blob:
    """Return the body of a request as a blob. Raises Refusal."""
    return await bodies.receive(cos.blobs, call, _wrong_digest())


def _wrong_digest() -> Refusal:
    return Refusal(400, "BadDigest", "The Content-MD5 you specified did not match what we received.")


def kept_headers(call: Call) -> dict[str, str]:
    """Return the headers that are stored with an object."""
    kept = {
        name.title() if name in _KEPT else name: value
        for name, value in call.headers.items()
        if name in _KEPT or name.startswith("x-cos-meta-")
    }
    return {"Content-Type": "application/octet-stream"} | kept


def _sums(blob: Blob) -> dict[str, str]:
    return {"ETag": etag(blob), "x-cos-hash-crc64ecma": str(blob.crc)}


async def _put(cos: Cos, call: Call, bucket: Bucket, key: str) -> Answer:
    if len(key.encode(errors="replace")) > 850:
        raise Refusal(400, "KeyTooLong", "Your key is too long.")
    blob = await receive(cos, call)
    check_overwrite(call, bucket, key)
    bucket.put(Stored(key, blob, cos.clock.now(), kept_headers(call)))
    return Answer(headers=_sums(blob))


def check_overwrite(call: Call, bucket: Bucket, key: str) -> None:
    """Refuse to replace an object if the client forbids it."""
    if call.headers.get("x-cos-forbid-overwrite") == "true" and bucket.get(key) is not None:
        raise Refusal(409, "FileAlreadyExists", "The object you specified already exists and can not be overwritten.")


def _found(bucket: Bucket, key: str) -> Stored:
    stored = bucket.get(key)
    if stored is None:
        raise Refusal(404, "NoSuchKey", "The specified key does not exist.")
    return stored


def _headers(stored: Stored) -> dict[str, str]:
    headers = {"Accept-Ranges": "bytes", "Last-Modified": http_time(stored.modified), "x-cos-storage-class": "STANDARD"}
    return headers | _sums(stored.blob) | stored.headers


def _check_conditions(call: Call, stored: Stored) -> None:
    """Check the conditional headers of a request."""
    headers, own = call.headers, stored.blob.md5.lower()
    since = _time(headers.get("if-unmodified-since"))
    if own not in headers.get("if-match", own) or (since and int(stored.modified) > since):
        raise Refusal(412, "PreconditionFailed", "Precondition Failed")
    since = _time(headers.get("if-modified-since"))
    if own in headers.get("if-none-match", "") or (since and int(stored.modified) <= since):
        raise Refusal(304, "NotModified", "", {"ETag": etag(stored.blob)})


def _time(text: str | None) -> float | None:
    return parsedate_to_datetime(text).timestamp() if text else None


async def _get(cos: Cos, call: Call, bucket: Bucket, key: str) -> Answer:
    stored = _found(bucket, key)
    _check_conditions(call, stored)
    headers, size = _headers(stored), stored.blob.size
    headers |= {n.removeprefix("response-").title(): v for n, v in call.query.items() if n.startswith("response-")}
    span = _range(call.headers.get("range", ""), size)
    if span is None:
        return Answer(200, headers=headers, blob=stored.blob, length=size)
    start, end = span
    headers["Content-Range"] = f"bytes {start}-{end}/{size}"
    return Answer(206, headers=headers, blob=stored.blob, start=start, length=end - start + 1)


def _range(text: str, size: int) -> tuple[int, int] | None:
    """Return first and last byte, or nothing for all of them. Raises Refusal (416) for a start beyond the end."""
    match = re.fullmatch(r"bytes=(\d*)-(\d*)", text.strip())
    if match is None or match.groups() == ("", ""):
        return None
    first, last = match.groups()
    start, end = (int(first), int(last or size - 1)) if first else (max(size - int(last), 0), size - 1)
    if start >= size or start > end:
        raise Refusal(416, "InvalidRange", "The requested range cannot be satisfied.")
    return start, min(end, size - 1)


async def _head(_cos: Cos, call: Call, bucket: Bucket, key: str) -> Answer:
    stored = _found(bucket, key)
    _check_conditions(call, stored)
    return Answer(headers=_headers(stored), blob=stored.blob, length=stored.blob.size)


async def _delete(_cos: Cos, _call: Call, bucket: Bucket, key: str) -> Answer:
    bucket.delete(key)
    return Answer(204)


async def _delete_many(_cos: Cos, call: Call, bucket: Bucket, _key: str) -> Answer:
    body = await call.body()
    if "content-md5" not in call.headers:
        raise Refusal(400, "MissingRequestHeader", "Missing required header Content-MD5.")
    bodies.check_digest(call, hashlib.md5(body).digest(), _wrong_digest())
    try:
        root = ElementTree.fromstring(body)
    except ElementTree.ParseError:
        raise Refusal(400, "MalformedXML", "The XML you provided was not well-formed.") from None
    names = [node.findtext("Key") or "" for node in root.findall("Object")]
    if not 1 <= len(names) <= 1000:
        raise Refusal(400, "MalformedXML", "The number of objects must be between 1 and 1000.")
    for name in names:
        bucket.delete(name)
    if root.findtext("Quiet") == "true":
        return xml("DeleteResult")
    write = namer(call.query)
    return xml("DeleteResult", *[f"<Deleted>{tag('Key', write(name))}</Deleted>" for name in names])


def source_of(cos: Cos, call: Call) -> Stored:
    """Return the object that is to be copied. Raises Refusal."""
    bucket, key = cos.source(call.headers["x-cos-copy-source"])
    stored = _found(cos.buckets[bucket], key)
    wanted = call.headers.get("x-cos-copy-source-if-match")
    if wanted and wanted.strip('"') != stored.blob.md5.lower():
        raise Refusal(412, "PreconditionFailed", "Precondition Failed")
    return stored


async def _copy(cos: Cos, call: Call, bucket: Bucket, key: str) -> Answer:
    source = source_of(cos, call)
    is_replaced = call.headers.get("x-cos-metadata-directive", "Copy") == "Replaced"
    check_overwrite(call, bucket, key)
    copied = Stored(key, source.blob, cos.clock.now(), kept_headers(call) if is_replaced else source.headers)
    bucket.put(copied)
    rows = [tag("ETag", etag(copied.blob)), tag("CRC64", copied.blob.crc)]
    return xml("CopyObjectResult", *rows, tag("LastModified", iso(copied.modified, millis=True)))


HANDLERS: dict[str, Handler] = {
    "PutObject": _put,
    "GetObject": _get,
    "HeadObject": _head,
    "DeleteObject": _delete,
    "DeleteMultipleObjects": _delete_many,
    "CopyObject": _copy,
}
