"""Objects: put, get, head, delete, append, copy."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Awaitable, Callable
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote
from xml.etree import ElementTree

from . import bodies
from .blobs import Blob
from .buckets import Bucket, Stored
from .calls import Answer, Call
from .clock import http_time, iso
from .listings import tag, xml
from .service_errors import Refusal

if TYPE_CHECKING:
    from .oss import Oss

__all__ = ["HANDLERS", "Handler", "kept_headers", "receive", "source_of"]

Handler = Callable[["Oss", Call, Bucket, str], Awaitable[Answer]]

_KEPT = ("content-type", "cache-control", "content-disposition", "content-encoding", "content-language", "expires")


async def receive(oss: Oss, call: Call) -> Blob:
    """The body of a request, as a blob. Raises Refusal."""
    return await bodies.receive(oss.blobs, call, _wrong_digest(EC="0017-00000503"))


def _wrong_digest(**fields: Any) -> Refusal:
    return Refusal(400, "InvalidDigest", "The Content-MD5 you specified did not match what we received.", **fields)


def kept_headers(call: Call) -> dict[str, str]:
    """Return the headers that are stored with an object."""
    kept = {
        name.title() if name in _KEPT else name: value
        for name, value in call.headers.items()
        if name in _KEPT or name.startswith("x-oss-meta-")
    }
    return {"Content-Type": "application/octet-stream"} | kept


def _must_not_exist(call: Call, bucket: Bucket, key: str) -> None:
    if call.headers.get("x-oss-forbid-overwrite") == "true" and bucket.get(key):
        message = "The object you specified already exists and can not be overwritten."
        raise Refusal(409, "FileAlreadyExists", message, EC="0026-00000101")


def _check_key(key: str) -> None:
    if len(key.encode(errors="replace")) > 1023 or key.startswith(("/", "\\")):
        message = "The specified object is not valid."
        raise Refusal(400, "InvalidObjectName", message, ObjectName=key, EC="0009-00000001")


async def _put(oss: Oss, call: Call, bucket: Bucket, key: str) -> Answer:
    _check_key(key)
    _must_not_exist(call, bucket, key)
    blob = await receive(oss, call)
    stored = Stored(key, blob, oss.clock.now(), kept_headers(call))
    bucket.put(stored)
    return Answer(headers={"ETag": stored.etag, "x-oss-hash-crc64ecma": str(blob.crc)})


def _found(bucket: Bucket, key: str) -> Stored:
    stored = bucket.get(key)
    if stored is None:
        raise Refusal(404, "NoSuchKey", "The specified key does not exist.", Key=key, EC="0026-00000001")
    return stored


def _headers(stored: Stored) -> dict[str, str]:
    return {
        "Accept-Ranges": "bytes",
        "ETag": stored.etag,
        "Last-Modified": http_time(stored.modified),
        "x-oss-object-type": stored.type,
        "x-oss-hash-crc64ecma": str(stored.blob.crc),
        "x-oss-storage-class": "Standard",
        **stored.headers,
    }


def _check_conditions(call: Call, stored: Stored) -> None:
    """Check the conditional headers of a request."""
    headers = call.headers
    if (wanted := headers.get("if-match")) and stored.etag.strip('"') not in wanted:
        raise _precondition("If-Match")
    if (since := _time(headers.get("if-unmodified-since"))) and int(stored.modified) > since:
        raise _precondition("If-Unmodified-Since")
    same = stored.etag.strip('"') in headers.get("if-none-match", "")
    since = _time(headers.get("if-modified-since"))
    if same or (since and int(stored.modified) <= since):
        raise Refusal(304, "NotModified", "", {"ETag": stored.etag, "Last-Modified": http_time(stored.modified)})


def _precondition(what: str) -> Refusal:
    message = "At least one of the pre-conditions you specified did not hold."
    return Refusal(412, "PreconditionFailed", message, Condition=what, EC="0026-00000201")


def _time(text: str | None) -> float | None:
    return parsedate_to_datetime(text).timestamp() if text else None


async def _get(oss: Oss, call: Call, bucket: Bucket, key: str) -> Answer:
    stored = _found(bucket, key)
    _check_conditions(call, stored)
    headers, size = _headers(stored), stored.blob.size
    headers |= {n.removeprefix("response-").title(): v for n, v in call.query.items() if n.startswith("response-")}
    span = _range(call.headers.get("range", ""), size, call.headers.get("x-oss-range-behavior") == "standard")
    if span is None:
        return Answer(200, headers=headers, blob=stored.blob, length=size)
    start, end = span
    headers["Content-Range"] = f"bytes {start}-{end}/{size}"
    return Answer(206, headers=headers, blob=stored.blob, start=start, length=end - start + 1)


def _range(text: str, size: int, standard: bool) -> tuple[int, int] | None:
    """First and last byte; a range that does not fit means all of it, as OSS has it, or 416 by the standard."""
    match = re.fullmatch(r"bytes=(\d*)-(\d*)", text.strip())
    if match is None or match.groups() == ("", ""):
        return None
    first, last = match.groups()
    start, end = (int(first), int(last or size - 1)) if first else (max(size - int(last), 0), size - 1)
    if start < size and (standard or end < size) and start <= end:
        return start, min(end, size - 1)
    if start >= size and standard:
        message = "The requested range cannot be satisfied"
        raise Refusal(416, "InvalidRange", message, ActualObjectSize=size, EC="0017-00000802")
    return None


async def _head(oss: Oss, call: Call, bucket: Bucket, key: str) -> Answer:
    stored = _found(bucket, key)
    _check_conditions(call, stored)
    return Answer(headers=_headers(stored), blob=stored.blob, length=stored.blob.size)


async def _delete(oss: Oss, call: Call, bucket: Bucket, key: str) -> Answer:
    bucket.delete(key)
    return Answer(204)


async def _delete_many(oss: Oss, call: Call, bucket: Bucket, key: str) -> Answer:
    body = await call.body()
    if "content-md5" in call.headers:
        bodies.check_digest(call, hashlib.md5(body).digest(), _wrong_digest())
    try:
        root = ElementTree.fromstring(body)
    except ElementTree.ParseError:
        raise Refusal(400, "MalformedXML", "The XML you provided was not well-formed.", EC="0016-00000201") from None
    keys = [node.findtext("Key") or "" for node in root.findall("Object")]
    if len(keys) > 1000:
        raise Refusal(400, "MalformedXML", "The number of objects exceeds 1000.", EC="0016-00000201")
    for name in keys:
        bucket.delete(name)
    if root.findtext("Quiet") == "true":
        return Answer()
    url = call.query.get("encoding-type") == "url"
    rows = [f"<Deleted>{tag('Key', quote(name, safe='') if url else name)}</Deleted>" for name in keys]
    return xml("DeleteResult", *([tag("EncodingType", "url")] if url else []), *rows)


async def _append(oss: Oss, call: Call, bucket: Bucket, key: str) -> Answer:
    old, position = bucket.get(key), int(call.query.get("position", 0))
    if old and old.type != "Appendable":
        raise Refusal(409, "ObjectNotAppendable", "The object is not appendable", EC="0026-00000301")
    if position != (size := old.blob.size if old else 0):
        message = "Position is not equal to file length"
        headers = {"x-oss-next-append-position": str(size)}
        raise Refusal(409, "PositionNotEqualToLength", message, headers, EC="0026-00000302")
    blob = await receive(oss, call)
    if old:
        blob = oss.blobs.of_blobs([old.blob, blob], blob.md5)
    bucket.put(Stored(key, blob, oss.clock.now(), kept_headers(call), "Appendable"))
    headers = {"ETag": f'"{blob.md5}"', "x-oss-next-append-position": str(blob.size)}
    return Answer(headers=headers | {"x-oss-hash-crc64ecma": str(blob.crc)})


def source_of(oss: Oss, call: Call) -> Stored:
    """The object that is to be copied. Raises Refusal."""
    bucket, _, key = unquote(call.headers["x-oss-copy-source"]).lstrip("/").partition("/")
    if bucket not in oss.buckets:
        raise Refusal(404, "NoSuchBucket", "The specified bucket does not exist.", BucketName=bucket)
    stored = _found(oss.buckets[bucket], key)
    wanted = call.headers.get("x-oss-copy-source-if-match")
    if wanted and wanted.strip('"') != stored.blob.md5:
        raise _precondition("x-oss-copy-source-if-match")
    return stored


async def _copy(oss: Oss, call: Call, bucket: Bucket, key: str) -> Answer:
    source = source_of(oss, call)
    _must_not_exist(call, bucket, key)
    replace = call.headers.get("x-oss-metadata-directive", "COPY").upper() == "REPLACE"
    copied = Stored(key, source.blob, oss.clock.now(), kept_headers(call) if replace else source.headers)
    bucket.put(copied)
    answer = xml("CopyObjectResult", tag("LastModified", iso(copied.modified, True)), tag("ETag", copied.etag))
    answer.headers["x-oss-hash-crc64ecma"] = str(copied.blob.crc)
    return answer


async def _object_acl(oss: Oss, call: Call, bucket: Bucket, key: str) -> Answer:
    _found(bucket, key)
    owner = "<Owner><ID>1</ID><DisplayName>1</DisplayName></Owner>"
    return xml("AccessControlPolicy", owner, "<AccessControlList><Grant>default</Grant></AccessControlList>")


HANDLERS: dict[str, Handler] = {
    "PutObject": _put,
    "GetObject": _get,
    "HeadObject": _head,
    "GetObjectMeta": _head,
    "DeleteObject": _delete,
    "DeleteMultipleObjects": _delete_many,
    "AppendObject": _append,
    "CopyObject": _copy,
    "GetObjectAcl": _object_acl,
}
