"""OSS: which operation a request is, whether it is allowed, and errors as OSS writes them."""

from __future__ import annotations

from base64 import b64encode
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import unquote
from xml.sax.saxutils import escape

from . import listings, objects, uploads
from .blobs import Blobs
from .buckets import Bucket, Stored
from .calls import Answer, Call
from .clock import Clock
from .dispatcher import Service
from .keys import Keyring
from .oss_signatures import check
from .service_errors import Refusal

__all__ = ["Oss"]

# Method and the query's word to the operation, of a bucket and of an object.
_OF_BUCKETS = {
    ("GET", "bucketInfo"): "GetBucketInfo",
    ("GET", "location"): "GetBucketLocation",
    ("GET", "stat"): "GetBucketStat",
    ("GET", "acl"): "GetBucketAcl",
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
    ("POST", "append"): "AppendObject",
    ("GET", "objectMeta"): "GetObjectMeta",
    ("HEAD", "objectMeta"): "GetObjectMeta",
    ("GET", "acl"): "GetObjectAcl",
    ("PUT", ""): "PutObject",
    ("GET", ""): "GetObject",
    ("HEAD", ""): "HeadObject",
    ("DELETE", ""): "DeleteObject",
}
_WORDS = {word for table in (_OF_BUCKETS, _OF_OBJECTS) for _, word in table if word}
_UNKNOWN = ("acl", "tagging", "symlink", "restore", "versioning", "lifecycle", "policy", "cors", "website", "logging")


class Oss(Service):
    """All buckets, behind one endpoint."""

    name = "oss"
    id_header = "x-oss-request-id"

    def __init__(self, folder: Path, region: str, keyring: Keyring, clock: Clock, with_md5: bool = True) -> None:
        self.region, self.clock, self._keyring = region, clock, keyring
        self.blobs = Blobs(folder, with_md5)
        self.buckets: dict[str, Bucket] = {}

    def make_bucket(self, name: str, region: str = "") -> Bucket:
        """A bucket, new and empty; perhaps in another region."""
        self.buckets[name] = Bucket(name, region or self.region, self.clock.now())
        return self.buckets[name]

    def store(self, bucket: str, key: str, data: bytes | Path, headers: dict[str, str] | None = None) -> Stored:
        """Store an object without a request, for jobs. Raises KeyError if the bucket does not exist."""
        blob = self.blobs.of_bytes(data) if isinstance(data, bytes) else self.blobs.of_file(data)
        stored = Stored(key, blob, self.clock.now(), headers or {"Content-Type": "application/octet-stream"})
        self.buckets[bucket].put(stored)
        return stored

    def accept(self, call: Call) -> None:
        bucket, key = self._place(call)
        table = _OF_OBJECTS if key else _OF_BUCKETS if bucket else {("GET", ""): "ListBuckets"}
        word = next((name for name in call.query if name in _WORDS and (call.method, name) in table), "")
        if word or not any(name in _UNKNOWN for name in call.query):
            call.action = table.get((call.method, word), "")
        if call.action == "ListObjects" and call.query.get("list-type") == "2":
            call.action = "ListObjectsV2"
        if call.action in ("PutObject", "UploadPart") and "x-oss-copy-source" in call.headers:
            call.action = {"PutObject": "CopyObject", "UploadPart": "UploadPartCopy"}[call.action]

    async def answer(self, call: Call) -> Answer:
        bucket_name, key = self._place(call)
        if not call.action:
            raise Refusal(501, "NotImplemented", "A header or query you provided implies functionality not here.")
        resource = f"/{bucket_name}/{key}" if bucket_name else "/"
        call.key = check(call, resource, self._keyring, self.clock, self.region)
        if not call.key.may(f"oss:{call.action}") or not call.key.may(f"oss:{call.action}:{bucket_name}"):
            message = "You have no right to access this object because of bucket acl."
            raise Refusal(403, "AccessDenied", message, EC="0003-00000001")
        if call.action == "ListBuckets":
            return listings.buckets(call, list(self.buckets.values()))
        if call.action == "PutBucket":
            return self._put_bucket(bucket_name)
        bucket = self._bucket(bucket_name)
        handler = objects.HANDLERS.get(call.action) or uploads.HANDLERS.get(call.action)
        if handler is not None:
            return await handler(self, call, bucket, key)
        if call.action == "DeleteBucket":
            return self._delete_bucket(bucket)
        return listings.HANDLERS[call.action](call, bucket)

    def _bucket(self, name: str) -> Bucket:
        bucket = self.buckets.get(name)
        if bucket is None:
            message = "The specified bucket does not exist."
            raise Refusal(404, "NoSuchBucket", message, BucketName=name, EC="0015-00000101")
        if bucket.region != self.region:
            message = (
                "The bucket you are attempting to access must be addressed using the specified endpoint. "
                "Please send all future requests to this endpoint."
            )
            endpoint = f"oss-{bucket.region}.aliyuncs.com"
            raise Refusal(403, "AccessDenied", message, Bucket=name, Endpoint=endpoint, EC="0003-00001403")
        return bucket

    def _put_bucket(self, name: str) -> Answer:
        if name in self.buckets:
            message = "The requested bucket name is not available."
            raise Refusal(409, "BucketAlreadyExists", message, BucketName=name, EC="0015-00000104")
        self.make_bucket(name)
        return Answer()

    def _delete_bucket(self, bucket: Bucket) -> Answer:
        if bucket.below(""):
            message = "The bucket you tried to delete is not empty."
            raise Refusal(409, "BucketNotEmpty", message, BucketName=bucket.name, EC="0015-00000301")
        del self.buckets[bucket.name]
        return Answer(204)

    def _place(self, call: Call) -> tuple[str, str]:
        """Bucket and key, from the path, or the bucket from the host's first label."""
        path = unquote(call.path.lstrip("/") if call.path.startswith("//") else call.path[1:])
        host = call.headers.get("host", "").rsplit(":", 1)[0]
        label, dot, _ = host.partition(".")
        if dot and not _is_address(host) and not host.startswith("oss-"):
            return label, path
        bucket, _, key = path.partition("/")
        return bucket, key

    def refuse(self, call: Call, refusal: Refusal) -> Answer:
        fields = {"Code": refusal.code, "Message": refusal.message, "RequestId": call.id}
        fields |= {"HostId": call.headers.get("host", "")} | refusal.more
        rows = "".join(f"  <{name}>{escape(str(value))}</{name}>\n" for name, value in fields.items())
        body = f'<?xml version="1.0" encoding="UTF-8"?>\n<Error>\n{rows}</Error>\n'.encode(errors="replace")
        headers = {"Content-Type": "application/xml", **refusal.headers}
        if "EC" in refusal.more:
            headers["x-oss-ec"] = refusal.more["EC"]
        if call.method == "HEAD":
            headers["x-oss-err"] = b64encode(body).decode()
        if refusal.status == 304:
            body = b""
        return Answer(refusal.status, body, headers)

    def injected(self, kind: str) -> Refusal:
        if kind == "500":
            return Refusal(500, "InternalError", "We encountered an internal error. Please try again.")
        if kind == "throttled":
            message = "The total request rate has exceeded the limit."
            return Refusal(503, "TotalQpsLimitExceeded", message, EC="0048-00000105")
        return Refusal(503, "ServiceBusy", "Please reduce your request rate.")


def _is_address(host: str) -> bool:
    try:
        ip_address(host.strip("[]"))
    except ValueError:
        return False
    return True
