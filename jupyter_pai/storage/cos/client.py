"""COS requests by the official client, signed with the account's current key.

The official client and requests are imported with the first request. A bucket is named by the host, since new ones
refuse it in the path. To an endpoint without a name, such as 127.0.0.1, the name is sent in the header Host.
"""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from email.utils import parsedate_to_datetime
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from ...cloud.keys import AccessKey
from ...cloud.tencent.account import TencentAccount
from ...cloud.tencent.errors import clock_error, error_of
from ...cloud.tencent.reading import time_of
from ...core.errors import PaiError, PermissionDenied
from ...core.host import is_loopback
from ...core.i18n import _
from ...core.plugins import require
from ..meter import Meter
from ..objects.client import Object, ObjectClient, Page, Received, Stored, kept_headers, prepare_session
from ..objects.transfer import UploadBody, read_body
from .refusals import CosRefusal, check_response
from .uri import CosUri

if TYPE_CHECKING:
    import requests

__all__ = ["CosClient"]

# The official client passes all headers under this name on.
_FORBID = {"Metadata": {"x-cos-forbid-overwrite": "true"}}
_META = "x-cos-meta-"
_CRC = "x-cos-hash-crc64ecma"
# Seconds: to connect, and between two chunks of a response.
_TIMEOUT = (10.0, 60.0)
_EXPIRED = re.compile(r"InvalidAccessKeyId|InvalidSecretId|ExpiredToken|InvalidToken|SecurityToken")

# The official client logs tokens at level DEBUG, and at level ERROR what is reported as an exception here.
logging.getLogger("qcloud_cos").setLevel(logging.CRITICAL)


class CosClient(ObjectClient[CosUri]):
    """COS with one account.

    Raises:
        Unsupported: if the extra `tione` is not installed.
    """

    def __init__(self, account: TencentAccount) -> None:
        require("tione", "qcloud_cos", "anycrc")
        super().__init__(account.keys)
        self.account = account
        self._sessions: dict[str, requests.Session] = {}
        # The last client, with its endpoint and key.
        self._made: tuple[str, AccessKey, Any] | None = None
        self._lock = threading.Lock()
        # Names of buckets that exist.
        self._seen: set[str] = set()

    def endpoint(self, uri: CosUri) -> str:
        return self.account.cos_endpoint

    def page(self, uri: CosUri, *, after: str = "", token: str = "", most: int = 1000, folders: bool = False) -> Page:
        names = {"Prefix": uri.prefix, "Delimiter": "/" if folders else "", "Marker": token or after}
        reply = self._call("list_objects", uri, **names, MaxKeys=most)
        objects = [_listed(row) for row in reply.get("Contents") or []]
        below = [str(row["Prefix"]) for row in reply.get("CommonPrefixes") or []]
        following = ""
        if reply.get("IsTruncated") == "true":
            following = reply.get("NextMarker") or max([*below, *(one.key for one in objects)])
        return Page(objects, below, following)

    def head(self, uri: CosUri) -> Object:
        try:
            headers = _lower(self._call("head_object", uri, Key=uri.key))
        except CosRefusal as refusal:
            if refusal.status != 404 or uri.bucket not in self._seen:
                self._explain(uri)
            raise
        modified = 0.0
        with suppress(ValueError):
            modified = parsedate_to_datetime(headers.get("last-modified", "")).timestamp()
        etag, size = _etag(headers), int(headers.get("content-length") or 0)
        return Object(uri.key, size, modified, etag, _crc(headers), kept_headers(headers, _META))

    def _explain(self, uri: CosUri) -> None:
        """Raise the reason that a description of an object was refused, which is in the body of another response."""
        reply = self._call("get_object", uri, Key=uri.key, Range="bytes=0-0", KeySimplifyCheck=False)
        reply["Body"].get_raw_stream().close()

    def get(self, uri: CosUri, start: int, end: int, version: str, meter: Meter | None) -> Received:
        condition = {"IfMatch": f'"{version}"'} if version else {}
        span = f"bytes={start}-{end - 1}"
        # The check would refuse keys with dots.
        reply = self._call("get_object", uri, Key=uri.key, Range=span, KeySimplifyCheck=False, **condition)
        data = read_body(reply["Body"].get_raw_stream(), end - start, meter, (uri.key, start))
        return Received(data, _crc(_lower(reply)))

    def put(self, uri: CosUri, body: UploadBody, *, overwrite: bool) -> Stored:
        return _stored(self._call("put_object", uri, Key=uri.key, Body=_sent(body), **({} if overwrite else _FORBID)))

    def copy(self, uri: CosUri, source: CosUri) -> None:
        self._call("copy_object", uri, Key=uri.key, CopySource=self._source(source), **_FORBID)

    def delete(self, uri: CosUri) -> None:
        self._call("delete_object", uri, Key=uri.key)

    def delete_many(self, uri: CosUri, keys: Sequence[str]) -> None:
        self._call("delete_objects", uri, Delete={"Object": [{"Key": key} for key in keys], "Quiet": "true"})

    def begin(self, uri: CosUri, headers: Mapping[str, str]) -> str:
        return str(self._call("create_multipart_upload", uri, Key=uri.key, Metadata=dict(headers))["UploadId"])

    def put_part(self, uri: CosUri, upload: str, number: int, body: UploadBody) -> Stored:
        part = {"Key": uri.key, "UploadId": upload, "PartNumber": number}
        return _stored(self._call("upload_part", uri, Body=_sent(body), **part))

    def copy_part(self, uri: CosUri, upload: str, number: int, source: CosUri, start: int, end: int) -> None:
        part = {"Key": uri.key, "UploadId": upload, "PartNumber": number, "CopySourceRange": f"bytes={start}-{end - 1}"}
        self._call("upload_part_copy", uri, CopySource=self._source(source), **part)

    def parts(self, uri: CosUri, upload: str) -> dict[int, str]:
        found: dict[int, str] = {}
        after = "0"
        while after:
            reply = self._call("list_parts", uri, Key=uri.key, UploadId=upload, PartNumberMarker=after)
            found |= {int(row["PartNumber"]): row["ETag"].strip('"') for row in reply.get("Part") or []}
            after = str(reply.get("NextPartNumberMarker") or "") if reply.get("IsTruncated") == "true" else ""
        return found

    def complete(self, uri: CosUri, upload: str, parts: Mapping[int, str], *, overwrite: bool) -> str:
        rows = [{"PartNumber": number, "ETag": f'"{etag}"'} for number, etag in parts.items()]
        options = {"UploadId": upload, "MultipartUpload": {"Part": rows}} | ({} if overwrite else _FORBID)
        return str(self._call("complete_multipart_upload", uri, Key=uri.key, **options)["ETag"]).strip('"')

    def abort(self, uri: CosUri, upload: str) -> None:
        self._call("abort_multipart_upload", uri, Key=uri.key, UploadId=upload)

    def _call(self, method: str, uri: CosUri, **arguments: Any) -> Any:
        """Return the result of a method of the official client for the bucket of a URI."""
        from qcloud_cos import CosClientError

        try:
            reply = getattr(self._client(), method)(Bucket=uri.bucket, **arguments)
        except CosClientError as error:
            # It hides the original exception, of requests, of the body, or of `check_response`.
            cause = error.__context__ or error
            if isinstance(cause, CosRefusal) and cause.code == "NoSuchKey":
                self._seen.add(uri.bucket)
            raise cause from None
        self._seen.add(uri.bucket)
        return reply

    def _client(self) -> Any:
        """Return the official client with the current key. Making one takes as long as sending a small object."""
        endpoint, key = self.account.cos_endpoint, self.keys.now()
        with self._lock:
            if not self._made or self._made[0] != endpoint or self._made[1] is not key:
                self._made = endpoint, key, self._new_client(endpoint, key)
            return self._made[2]

    def _new_client(self, endpoint: str, key: AccessKey) -> Any:
        from qcloud_cos import CosConfig, CosS3Client

        if endpoint not in self._sessions:
            self._sessions[endpoint] = _session(endpoint, self.account.ca_file)
        config = CosConfig(
            SecretId=key.id,
            SecretKey=key.secret.open(),
            Token=key.token.open() if key.token else None,
            Scheme=urlsplit(endpoint).scheme,
            Timeout=_TIMEOUT,
            UA="jupyter-pai",
            **self._place(),
        )
        return CosS3Client(config, retry=0, session=self._sessions[endpoint])

    def _place(self) -> dict[str, Any]:
        parts = urlsplit(self.account.cos_endpoint)
        if _has_name(parts.hostname or ""):
            return {"Endpoint": parts.netloc, "Region": self.account.region}
        return {"IP": parts.hostname, "Port": parts.port, "Region": self.account.region}

    def _source(self, uri: CosUri) -> dict[str, Any]:
        place = self._place()
        place = {name: place[name] for name in ("Endpoint", "Region") if name in place}
        return {"Bucket": uri.bucket, "Key": uri.key} | place

    def errors(self) -> tuple[type[Exception], ...]:
        from qcloud_cos import CosClientError, CosServiceError

        return CosRefusal, CosClientError, CosServiceError

    def is_transient(self, error: Exception) -> bool:
        return isinstance(error, CosRefusal) and self.is_refusal_transient(error.status, error.code, _EXPIRED)

    def explained(self, error: Exception, uri: CosUri) -> PaiError:
        if not isinstance(error, CosRefusal):
            return error_of("", self.keys.mask(str(error)), what=str(uri), status=400)
        if skewed := clock_error(error.code, error.date):
            return skewed
        message = self.keys.mask(error.message)
        result = error_of(error.code, message, what=str(uri), request_id=error.request_id, status=error.status)
        if isinstance(result, PermissionDenied):
            result.fix = _(
                "Ask the bucket's owner for the CAM actions cos:GetBucket, cos:HeadObject, cos:GetObject, "
                "cos:PutObject, cos:DeleteObject and those of multipart uploads on it, or use another bucket."
            )
        return result

    def network_fix(self, host: str) -> str:
        if "cos-internal" in host:
            return _(
                "This endpoint is only reachable from Tencent Cloud machines in the same region. Elsewhere, set "
                "`network` of the profile to public."
            )
        return _("Check the network, the proxy (HTTPS_PROXY) and the profile's `cos_endpoint`; then try again.")


def _session(endpoint: str, ca_file: str) -> requests.Session:
    import requests

    session = prepare_session(requests.Session(), endpoint, ca_file)
    session.hooks["response"].append(check_response)
    return session


def _has_name(host: str) -> bool:
    """Return whether a bucket can be named before a host."""
    try:
        ip_address(host)
    except ValueError:
        return not is_loopback(host)
    return False


def _sent(body: UploadBody) -> UploadBody | bytes:
    """Return a body of which requests sends the length, also if it is empty."""
    return body if len(body) else b""


def _listed(row: Mapping[str, str]) -> Object:
    time = time_of(row.get("LastModified"))
    return Object(row["Key"], int(row["Size"]), time.timestamp() if time else 0.0, row["ETag"].strip('"'))


def _lower(headers: Mapping[str, Any]) -> dict[str, Any]:
    return {name.lower(): value for name, value in headers.items()}


def _stored(headers: Mapping[str, str]) -> Stored:
    headers = _lower(headers)
    return Stored(_etag(headers), _crc(headers))


def _etag(headers: Mapping[str, str]) -> str:
    return headers.get("etag", "").strip('"')


def _crc(headers: Mapping[str, str]) -> int | None:
    text = headers.get(_CRC, "")
    return int(text) if text.isdigit() else None
