"""Multipart uploads."""

from __future__ import annotations

import asyncio
import hashlib
import re
import secrets
from typing import TYPE_CHECKING, Any
from urllib.parse import quote
from xml.etree import ElementTree

from .blobs import Blob
from .buckets import Bucket, Part, Stored, Upload
from .calls import Answer, Call
from .clock import iso
from .listings import tag, xml
from .objects import Handler, kept_headers, receive, source_of
from .service_errors import Refusal

if TYPE_CHECKING:
    from .oss import Oss

__all__ = ["HANDLERS"]

_SMALLEST_PART = 100 * 1024


def _upload(call: Call, bucket: Bucket, key: str) -> Upload:
    upload = bucket.uploads.get(call.query.get("uploadId", ""))
    if upload is None or upload.key != key:
        message = (
            "The specified upload does not exist. The upload ID may be invalid, "
            "or the upload may have been aborted or completed."
        )
        more: Any = {"UploadId": call.query.get("uploadId", ""), "EC": "0042-00000002"}
        raise Refusal(404, "NoSuchUpload", message, **more)
    return upload


async def _begin(oss: Oss, call: Call, bucket: Bucket, key: str) -> Answer:
    upload = Upload(secrets.token_hex(16).upper(), key, oss.clock.now(), kept_headers(call))
    bucket.uploads[upload.id] = upload
    name = quote(key, safe="") if call.query.get("encoding-type") == "url" else key
    rows = [tag("Bucket", bucket.name), tag("Key", name), tag("UploadId", upload.id)]
    return xml("InitiateMultipartUploadResult", *rows)


def _number(call: Call) -> int:
    text = call.query.get("partNumber", "")
    if not text.isdigit() or not 1 <= int(text) <= 10_000:
        message = "Part number must be an integer between 1 and 10000, inclusive."
        raise Refusal(400, "InvalidArgument", message, ArgumentName="partNumber", ArgumentValue=text)
    return int(text)


async def _put_part(oss: Oss, call: Call, bucket: Bucket, key: str) -> Answer:
    number, upload = _number(call), _upload(call, bucket, key)
    blob = await receive(oss, call)
    _keep(upload, Part(number, blob, oss.clock.now()))
    return Answer(headers={"ETag": f'"{blob.md5}"', "x-oss-hash-crc64ecma": str(blob.crc)})


async def _copy_part(oss: Oss, call: Call, bucket: Bucket, key: str) -> Answer:
    number, upload, source = _number(call), _upload(call, bucket, key), source_of(oss, call)
    match = re.fullmatch(r"bytes=(\d+)-(\d+)", call.headers.get("x-oss-copy-source-range", ""))
    start, end = (int(match[1]), int(match[2])) if match else (0, source.blob.size - 1)
    data = await asyncio.to_thread(source.blob.read, start, end - start + 1)
    blob = oss.blobs.of_bytes(data)
    _keep(upload, Part(number, blob, oss.clock.now()))
    return xml("CopyPartResult", tag("LastModified", iso(oss.clock.now(), True)), tag("ETag", f'"{blob.md5}"'))


def _keep(upload: Upload, part: Part) -> None:
    upload.parts[part.number] = part


async def _complete(oss: Oss, call: Call, bucket: Bucket, key: str) -> Answer:
    upload = _upload(call, bucket, key)
    body = await call.body()
    if "x-oss-complete-all" in call.headers:
        parts = [upload.parts[number] for number in sorted(upload.parts)]
    else:
        parts = _named(upload, body)
    for part in parts[:-1]:
        if part.blob.size < _SMALLEST_PART:
            message = "Your proposed upload is smaller than the minimum allowed size."
            raise Refusal(400, "EntityTooSmall", message, PartNumber=part.number, EC="0042-00000103")
    blob = _join(oss, parts)
    stored = Stored(key, blob, oss.clock.now(), upload.headers, "Multipart")
    bucket.put(stored)
    bucket.uploads.pop(upload.id, None)
    rows = [tag("Bucket", bucket.name), tag("Key", key), tag("ETag", stored.etag)]
    answer = xml("CompleteMultipartUploadResult", tag("Location", f"{bucket.name}/{key}"), *rows)
    answer.headers |= {"ETag": stored.etag, "x-oss-hash-crc64ecma": str(blob.crc)}
    return answer


def _join(oss: Oss, parts: list[Part]) -> Blob:
    sums = hashlib.md5("".join(part.blob.md5 for part in parts).encode()).hexdigest().upper()
    return oss.blobs.of_blobs([part.blob for part in parts], f"{sums}-{len(parts)}")


def _named(upload: Upload, body: bytes) -> list[Part]:
    """The parts that the client names, which must be in order and as they were received."""
    try:
        nodes = ElementTree.fromstring(body).findall("Part")
    except ElementTree.ParseError:
        raise Refusal(400, "MalformedXML", "The XML you provided was not well-formed.") from None
    numbers = [int(node.findtext("PartNumber") or 0) for node in nodes]
    if numbers != sorted(set(numbers)):
        raise Refusal(400, "InvalidPartOrder", "The list of parts was not in ascending order.", EC="0042-00000107")
    parts = []
    for number, node in zip(numbers, nodes, strict=True):
        part = upload.parts.get(number)
        if part is None or (node.findtext("ETag") or "").strip('"').upper() != part.blob.md5:
            message = (
                "One or more of the specified parts could not be found or the specified entity tag might not match."
            )
            raise Refusal(400, "InvalidPart", message, PartNumber=number, UploadId=upload.id, EC="0042-00000105")
        parts.append(part)
    if not parts:
        raise Refusal(400, "MalformedXML", "The XML you provided was not well-formed.", EC="0042-00000101")
    return parts


async def _abort(oss: Oss, call: Call, bucket: Bucket, key: str) -> Answer:
    del bucket.uploads[_upload(call, bucket, key).id]
    return Answer(204)


async def _list_parts(oss: Oss, call: Call, bucket: Bucket, key: str) -> Answer:
    upload = _upload(call, bucket, key)
    after, limit = int(call.query.get("part-number-marker") or 0), int(call.query.get("max-parts") or 1000)
    numbers = [number for number in sorted(upload.parts) if number > after]
    parts = [upload.parts[number] for number in numbers[:limit]]
    truncated = str(len(numbers) > limit).lower()
    rows = [tag("Bucket", bucket.name), tag("Key", key), tag("UploadId", upload.id), tag("MaxParts", limit)]
    rows += [tag("NextPartNumberMarker", parts[-1].number if parts else after), tag("IsTruncated", truncated)]
    return xml("ListPartsResult", *rows, *[_row(part) for part in parts])


def _row(part: Part) -> str:
    fields = {
        "PartNumber": part.number,
        "LastModified": iso(part.modified, millis=True),
        "ETag": f'"{part.blob.md5}"',
        "HashCrc64ecma": part.blob.crc,
        "Size": part.blob.size,
    }
    return f"<Part>{''.join(tag(*field) for field in fields.items())}</Part>"


HANDLERS: dict[str, Handler] = {
    "InitiateMultipartUpload": _begin,
    "UploadPart": _put_part,
    "UploadPartCopy": _copy_part,
    "CompleteMultipartUpload": _complete,
    "AbortMultipartUpload": _abort,
    "ListParts": _list_parts,
}
