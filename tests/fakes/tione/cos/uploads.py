"""Multipart uploads."""

from __future__ import annotations

import asyncio
import hashlib
import re
import secrets
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from ...alibaba.blobs import Blob
from ...alibaba.buckets import Bucket, Part, Stored, Upload
from ...alibaba.calls import Answer, Call
from ...alibaba.clock import iso
from ...alibaba.listings import tag, xml
from ...alibaba.service_errors import Refusal
from .listings import namer
from .objects import Handler, check_overwrite, etag, kept_headers, receive, source_of

if TYPE_CHECKING:
    from .service import Cos

__all__ = ["HANDLERS"]


def _upload(call: Call, bucket: Bucket, key: str) -> Upload:
    upload = bucket.uploads.get(call.query.get("uploadId", ""))
    if upload is None or upload.key != key:
        message = "The specified multipart upload does not exist. The upload ID might be invalid."
        raise Refusal(404, "NoSuchUpload", message)
    return upload


async def _begin(cos: Cos, call: Call, bucket: Bucket, key: str) -> Answer:
    upload = Upload(f"{int(cos.clock.now())}{secrets.token_hex(32)}", key, cos.clock.now(), kept_headers(call))
    bucket.uploads[upload.id] = upload
    rows = [tag("Bucket", bucket.name), tag("Key", namer(call.query)(key)), tag("UploadId", upload.id)]
    return xml("InitiateMultipartUploadResult", *rows)


def _number(call: Call) -> int:
    text = call.query.get("partNumber", "")
    if not text.isdigit() or not 1 <= int(text) <= 10_000:
        message = "Part number must be an integer between 1 and 10000, inclusive."
        raise Refusal(400, "InvalidArgument", message)
    return int(text)


async def _put_part(cos: Cos, call: Call, bucket: Bucket, key: str) -> Answer:
    number, upload = _number(call), _upload(call, bucket, key)
    blob = await receive(cos, call)
    upload.parts[number] = Part(number, blob, cos.clock.now())
    return Answer(headers={"ETag": etag(blob), "x-cos-hash-crc64ecma": str(blob.crc)})


async def _copy_part(cos: Cos, call: Call, bucket: Bucket, key: str) -> Answer:
    number, upload, source = _number(call), _upload(call, bucket, key), source_of(cos, call)
    match = re.fullmatch(r"bytes=(\d+)-(\d+)", call.headers.get("x-cos-copy-source-range", ""))
    start, end = (int(match[1]), int(match[2])) if match else (0, source.blob.size - 1)
    data = await asyncio.to_thread(source.blob.read, start, end - start + 1)
    blob = cos.blobs.of_bytes(data)
    upload.parts[number] = Part(number, blob, cos.clock.now())
    moment = iso(cos.clock.now(), millis=True)
    return xml("CopyPartResult", tag("ETag", etag(blob)), tag("LastModified", moment), tag("CRC64", blob.crc))


async def _complete(cos: Cos, call: Call, bucket: Bucket, key: str) -> Answer:
    upload = _upload(call, bucket, key)
    parts = _named(upload, await call.body())
    if any(part.blob.size < cos.smallest_part for part in parts[:-1]):
        message = "Your proposed upload is smaller than the minimum allowed object size."
        raise Refusal(400, "EntityTooSmall", message)
    check_overwrite(call, bucket, key)
    blob = _join(cos, parts)
    bucket.put(Stored(key, blob, cos.clock.now(), upload.headers, "Multipart"))
    bucket.uploads.pop(upload.id, None)
    location = f"http://{call.headers.get('host', '')}{call.path}"
    rows = [tag("Location", location), tag("Bucket", bucket.name), tag("Key", namer(call.query)(key))]
    answer = xml("CompleteMultipartUploadResult", *rows, tag("ETag", etag(blob)))
    answer.headers["x-cos-hash-crc64ecma"] = str(blob.crc)
    return answer


def _join(cos: Cos, parts: list[Part]) -> Blob:
    sums = hashlib.md5("".join(part.blob.md5 for part in parts).encode()).hexdigest()
    return cos.blobs.of_blobs([part.blob for part in parts], f"{sums}-{len(parts)}")


def _named(upload: Upload, body: bytes) -> list[Part]:
    """Return the parts that the client names, which must be in order and as they were received."""
    try:
        nodes = ElementTree.fromstring(body).findall("Part")
    except ElementTree.ParseError:
        raise Refusal(400, "MalformedXML", "The XML you provided was not well-formed.") from None
    numbers = [int(node.findtext("PartNumber") or 0) for node in nodes]
    if not numbers or numbers != sorted(set(numbers)):
        raise Refusal(400, "InvalidPartOrder", "The list of parts was not in ascending order.")
    parts = []
    for number, node in zip(numbers, nodes, strict=True):
        part = upload.parts.get(number)
        if part is None or (node.findtext("ETag") or "").strip('"').upper() != part.blob.md5:
            raise Refusal(400, "InvalidPart", "One or more of the specified parts could not be found.")
        parts.append(part)
    return parts


async def _abort(_cos: Cos, call: Call, bucket: Bucket, key: str) -> Answer:
    del bucket.uploads[_upload(call, bucket, key).id]
    return Answer(204)


async def _list_parts(_cos: Cos, call: Call, bucket: Bucket, key: str) -> Answer:
    upload, write = _upload(call, bucket, key), namer(call.query)
    after, limit = int(call.query.get("part-number-marker") or 0), int(call.query.get("max-parts") or 1000)
    numbers = [number for number in sorted(upload.parts) if number > after]
    parts = [upload.parts[number] for number in numbers[:limit]]
    truncated = str(len(numbers) > limit).lower()
    rows = [tag("Bucket", bucket.name), tag("Key", write(key)), tag("UploadId", upload.id), tag("MaxParts", limit)]
    rows += [tag("PartNumberMarker", after), tag("IsTruncated", truncated), tag("StorageClass", "STANDARD")]
    rows += [tag("NextPartNumberMarker", parts[-1].number)] if truncated == "true" else []
    return xml("ListPartsResult", *rows, *[_row(part) for part in parts])


def _row(part: Part) -> str:
    fields = {"PartNumber": part.number, "LastModified": iso(part.modified, millis=True), "ETag": etag(part.blob)}
    return f"<Part>{''.join(tag(*field) for field in (fields | {'Size': part.blob.size}).items())}</Part>"


HANDLERS: dict[str, Handler] = {
    "InitiateMultipartUpload": _begin,
    "UploadPart": _put_part,
    "UploadPartCopy": _copy_part,
    "CompleteMultipartUpload": _complete,
    "AbortMultipartUpload": _abort,
    "ListParts": _list_parts,
}
