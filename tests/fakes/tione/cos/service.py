"""Which operation a request is, whether it is allowed, and errors as COS writes them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from urllib.parse import unquote
from xml.sax.saxutils import escape

from ...alibaba.blobs import Blobs
from ...alibaba.buckets import Bucket, Stored
from ...alibaba.calls import Answer, Call
from ...alibaba.clock import Clock
from ...alibaba.dispatcher import Service
from ...alibaba.service_errors import Refusal
from ..keys import Keys
from . import listings, objects, uploads
from .signatures import check

__all__ = ["Cos"]

# Method and the query's word to the operation, of a bucket and of an object.
_OF_BUCKETS = {
    ("GET", "location"): "GetBucketLocation",
    ("GET", "uploads"): "ListMultipartUploads",
    ("POST", "delete"): "DeleteMultipleObjects",
    ("GET", ""): "ListObjects",
    ("HEAD", ""): "HeadBucket",
    ("PUT", ""): "PutBucket",
    ("DELETE", ""): "DeleteBucket",
}
_OF_OBJECTS = {
    ("POST", "uploads"): "InitiateMultipartUpload",
    ("PUT", "partNumber"): "UploadPart",
    ("POST", "uploadId"): "CompleteMultipartUpload",
    ("DELETE", "uploadId"): "AbortMultipartUpload",
    ("GET", "uploadId"): "ListParts",
    ("PUT", ""): "PutObject",
    ("GET", ""): "GetObject",
    ("HEAD", ""): "HeadObject",
    ("DELETE", ""): "DeleteObject",
}
_WORDS = {word for table in (_OF_BUCKETS, _OF_OBJECTS) for _, word in table if word}
_UNKNOWN = ("acl", "append", "tagging", "restore", "versioning", "versions", "lifecycle", "policy", "cors", "website")
# demo-1250000000.cos.ap-guangzhou.myqcloud.com, also .cos-internal. and .tencentcos.cn
_HOST = re.compile(r"(?:([a-z0-9-]+)\.)?cos(?:-internal)?\.([a-z0-9-]+)\.(?:myqcloud\.com|tencentcos\.cn)\Z")


class Cos(Service):
    """All buckets. The host of a request names its bucket; one without a bucket lists them."""

    name = "cos"
    id_header = "x-cos-request-id"

    def __init__(self, folder: Path, region: str, keys: Keys, clock: Clock, with_md5: bool = True) -> None:
        self.region, self.clock, self._keys = region, clock, keys
        self.blobs = Blobs(folder, with_md5)
        self.buckets: dict[str, Bucket] = {}
        self.smallest_part = 1 << 20

    def make_bucket(self, name: str, region: str = "") -> Bucket:
        """Make a new empty bucket, perhaps in another region."""
        self.buckets[name] = Bucket(name, region or self.region, self.clock.now())
        return self.buckets[name]

    def store(self, bucket: str, key: str, data: bytes | Path) -> Stored:
        """Store an object without a request. Raises KeyError if the bucket does not exist."""
        blob = self.blobs.of_bytes(data) if isinstance(data, bytes) else self.blobs.of_file(data)
        stored = Stored(key, blob, self.clock.now(), {"Content-Type": "application/octet-stream"})
        self.buckets[bucket].put(stored)
        return stored

    def accept(self, call: Call) -> None:
        bucket, _, key = self._place(call)
        table = _OF_OBJECTS if key else _OF_BUCKETS if bucket else {("GET", ""): "ListBuckets"}
        word = next((name for name in call.query if name in _WORDS and (call.method, name) in table), "")
        if word or not any(name in _UNKNOWN for name in call.query):
            call.action = table.get((call.method, word), "")
        if call.action in ("PutObject", "UploadPart") and "x-cos-copy-source" in call.headers:
            call.action = {"PutObject": "CopyObject", "UploadPart": "UploadPartCopy"}[call.action]

    async def answer(self, call: Call) -> Answer:
        bucket_name, region, key = self._place(call)
        if not bucket_name and key:
            message = "The bucket you are attempting to access does not support path-style access."
            raise Refusal(403, "PathStyleDomainForbidden", message)
        if not call.action:
            raise Refusal(405, "MethodNotAllowed", "The specified method is not allowed against this resource.")
        call.key = check(call, f"/{key}", self._keys, self.clock)
        if not call.key.may(f"cos:{call.action}") or not call.key.may(f"cos:{call.action}:{bucket_name}"):
            raise Refusal(403, "AccessDenied", "Access Denied.")
        if call.action == "ListBuckets":
            return listings.buckets(call, list(self.buckets.values()))
        if call.action == "PutBucket":
            return self._put_bucket(bucket_name, region)
        bucket = self._bucket(bucket_name, region)
        handler = objects.HANDLERS.get(call.action) or uploads.HANDLERS.get(call.action)
        if handler is not None:
            return await handler(self, call, bucket, key)
        if call.action == "DeleteBucket":
            return self._delete_bucket(bucket)
        return listings.HANDLERS[call.action](call, bucket)

    def _bucket(self, name: str, region: str) -> Bucket:
        bucket = self.buckets.get(name)
        if bucket is None or bucket.region != (region or self.region):
            raise Refusal(404, "NoSuchBucket", "The specified bucket does not exist.")
        return bucket

    def _put_bucket(self, name: str, region: str) -> Answer:
        if name in self.buckets:
            message = "Your previous request to create the named bucket succeeded and you already own it."
            raise Refusal(409, "BucketAlreadyOwnedByYou", message)
        self.make_bucket(name, region)
        return Answer()

    def _delete_bucket(self, bucket: Bucket) -> Answer:
        if bucket.below(""):
            raise Refusal(409, "BucketNotEmpty", "The bucket you tried to delete is not empty.")
        del self.buckets[bucket.name]
        return Answer(204)

    def source(self, text: str) -> tuple[str, str]:
        """Return bucket and key of a source of a copy, `HOST/key`. Raises Refusal."""
        host, _, key = unquote(text).partition("/")
        bucket, region = _bucket_of(host)
        if not bucket:
            raise Refusal(400, "InvalidArgument", "copy source is invalid.")
        return self._bucket(bucket, region).name, key

    def _place(self, call: Call) -> tuple[str, str, str]:
        """Return bucket, region and key of a request."""
        return *_bucket_of(call.headers.get("host", "")), unquote(call.path[1:], errors="surrogateescape")

    def refuse(self, call: Call, refusal: Refusal) -> Answer:
        resource = f"{call.headers.get('host', '')}{call.path}"
        fields = {"Code": refusal.code, "Message": refusal.message, "Resource": resource, "RequestId": call.id}
        fields |= {"TraceId": f"trace{call.id}"} | refusal.more
        rows = "".join(f"\t<{name}>{escape(str(value))}</{name}>\n" for name, value in fields.items())
        body = f"<?xml version='1.0' encoding='utf-8' ?>\n<Error>\n{rows}</Error>\n".encode(errors="replace")
        headers: dict[str, Any] = {"Content-Type": "application/xml", "x-cos-trace-id": f"trace{call.id}"}
        if refusal.status == 304:
            body = b""
        return Answer(refusal.status, body, headers | refusal.headers)

    def injected(self, kind: str) -> Refusal:
        if kind == "500":
            return Refusal(500, "InternalError", "We encountered an internal error. Please try again.")
        if kind == "throttled":
            return Refusal(503, "SlowDown", "Please reduce your request rate.")
        return Refusal(503, "ServiceUnavailable", "Service is unable to handle the request.")


def _bucket_of(host: str) -> tuple[str, str]:
    """Return bucket and region of a host; also of `BUCKET.127.0.0.1:PORT`, which a client sends to this machine."""
    name = host.rpartition(":")[0] or host
    if match := _HOST.match(name):
        return match[1] or "", match[2]
    label, _, rest = name.partition(".")
    return (label, "") if rest in ("localhost", "127.0.0.1") else ("", "")
