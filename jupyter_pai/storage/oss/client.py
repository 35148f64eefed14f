"""OSS requests: signing with the account's current key, and translation of errors.

oss2 and requests are imported with the first request.
"""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Mapping, Sequence
from datetime import datetime
from email.utils import format_datetime
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from ...cloud.alibaba.account import AlibabaAccount
from ...cloud.alibaba.error_codes import clock_error, error_of
from ...cloud.http import is_untrusted
from ...core.errors import BadInput, BucketError, Conflict, PaiError, PermissionDenied
from ...core.i18n import _
from ...core.plugins import require
from ..meter import Meter
from ..objects.client import Object, ObjectClient, Page, Received, SigningKeys, Stored, kept_headers, prepare_session
from ..objects.transfer import UploadBody, read_body
from .uri import OssUri

_FORBID = {"x-oss-forbid-overwrite": "true"}
_META = "x-oss-meta-"
_CRC = "x-oss-hash-crc64ecma"
# Seconds: to connect, and between two chunks of a response.
_TIMEOUT = (10.0, 60.0)
_EXPIRED = re.compile(r"InvalidAccessKeyId|SecurityToken")
# The region in an endpoint, except that of global acceleration.
_REGION = re.compile(r"//(?:oss|vpc100-oss)-(?!accelerate)([a-z0-9-]+?)(-internal)?\.aliyuncs\.com")
_PUBLIC = ".aliyuncs.com"

# At level DEBUG, oss2 logs each request with its signature and token.
logging.getLogger("oss2").setLevel(logging.WARNING)


class OssClient(ObjectClient[OssUri]):
    """OSS with one account.

    Raises:
        Unsupported: if the extra `pai` is not installed.
    """

    def __init__(self, account: AlibabaAccount) -> None:
        require("pai", "oss2", "anycrc")
        super().__init__(account.keys)
        self.account = account
        self._buckets: dict[tuple[str, str], Any] = {}
        self._lock = threading.Lock()

    def page(self, uri: OssUri, *, after: str = "", token: str = "", most: int = 1000, folders: bool = False) -> Page:
        start = {"continuation_token": token} if token else {"start_after": after}
        delimiter = "/" if folders else ""
        page = self._bucket(uri).list_objects_v2(uri.prefix, delimiter, max_keys=most, **start)
        objects = [Object(one.key, one.size, float(one.last_modified), one.etag) for one in page.object_list]
        return Page(objects, page.prefix_list, page.next_continuation_token if page.is_truncated else "")

    def head(self, uri: OssUri) -> Object:
        head = self._bucket(uri).head_object(uri.key)
        crc = head.headers.get(_CRC)
        return Object(
            uri.key,
            head.content_length or 0,
            float(head.last_modified or 0),
            head.etag or "",
            int(crc) if crc else None,
            kept_headers(head.headers, _META),
        )

    def get(self, uri: OssUri, start: int, end: int, version: str, meter: Meter | None) -> Received:
        headers = {"If-Match": f'"{version}"'} if version else {}
        result = self._bucket(uri).get_object(uri.key, byte_range=(start, end - 1), headers=headers)
        data = read_body(result.resp.response.raw, end - start, meter, (uri.key, start))
        return Received(data, result.server_crc)

    def put(self, uri: OssUri, body: UploadBody, *, overwrite: bool) -> Stored:
        result = self._bucket(uri).put_object(uri.key, body, headers={} if overwrite else _FORBID)
        return Stored(result.etag, result.crc)

    def copy(self, uri: OssUri, source: OssUri) -> None:
        self._bucket(uri).copy_object(source.bucket, source.key, uri.key, headers=_FORBID)

    def delete(self, uri: OssUri) -> None:
        self._bucket(uri).delete_object(uri.key)

    def delete_many(self, uri: OssUri, keys: Sequence[str]) -> None:
        self._bucket(uri).batch_delete_objects([*keys])

    def begin(self, uri: OssUri, headers: Mapping[str, str]) -> str:
        return str(self._bucket(uri).init_multipart_upload(uri.key, headers=dict(headers)).upload_id)

    def put_part(self, uri: OssUri, upload: str, number: int, body: UploadBody) -> Stored:
        result = self._bucket(uri).upload_part(uri.key, upload, number, body)
        return Stored(result.etag, result.crc)

    def copy_part(self, uri: OssUri, upload: str, number: int, source: OssUri, start: int, end: int) -> None:
        self._bucket(uri).upload_part_copy(source.bucket, source.key, (start, end - 1), uri.key, upload, number)

    def parts(self, uri: OssUri, upload: str) -> dict[int, str]:
        import oss2

        return {one.part_number: one.etag for one in oss2.PartIterator(self._bucket(uri), uri.key, upload)}

    def complete(self, uri: OssUri, upload: str, parts: Mapping[int, str], *, overwrite: bool) -> str:
        import oss2

        infos = [oss2.models.PartInfo(number, etag) for number, etag in parts.items()]
        headers = {} if overwrite else dict(_FORBID)
        return str(self._bucket(uri).complete_multipart_upload(uri.key, upload, infos, headers).etag)

    def abort(self, uri: OssUri, upload: str) -> None:
        self._bucket(uri).abort_multipart_upload(uri.key, upload)

    def bucket(self, uri: OssUri) -> Any:
        """Return the official client's bucket for a URI, with CRC checks enabled, for user code.

        Raises:
            BadInput: if the endpoint does not belong to the account.
        """
        return self._new_bucket(self.endpoint(uri), uri.bucket, enable_crc=True)

    def _bucket(self, uri: OssUri) -> Any:
        key = (self.endpoint(uri), uri.bucket)
        with self._lock:
            if key not in self._buckets:
                # `objects` checks CRCs, many times faster.
                self._buckets[key] = self._new_bucket(*key, enable_crc=False)
            return self._buckets[key]

    def _new_bucket(self, endpoint: str, name: str, **options: Any) -> Any:
        import oss2

        region = _REGION.search(endpoint)
        session = oss2.Session()
        prepare_session(session.session, endpoint, self.account.ca_file)
        # Otherwise requests would replace the signature with a password from ~/.netrc.
        session.session.auth = lambda request: request
        return oss2.Bucket(
            oss2.ProviderAuthV4(_Credentials(self.keys)),
            endpoint,
            name,
            session=session,
            connect_timeout=_TIMEOUT,
            app_name="jupyter-pai",
            region=region[1] if region else self.account.region,
            is_path_style=_is_path_style(endpoint),
            **options,
        )

    def endpoint(self, uri: OssUri) -> str:
        """Return the base URL for a URI. Keys are used only at the profile's own endpoint and at Alibaba Cloud's, so
        that a URI from someone else cannot obtain a signature.

        Raises:
            BadInput: if the URI has another endpoint.
        """
        own = self.account.oss_endpoint
        own = own if "://" in own else f"https://{own}"
        if not uri.endpoint or _public(uri.endpoint) == _public(urlsplit(own).netloc):
            return own
        if not urlsplit(f"//{uri.endpoint}").hostname.endswith(_PUBLIC):  # type: ignore[union-attr]  # it has one
            raise BadInput(
                _("{uri}: the keys for {own} cannot be used at {host}.").format(
                    uri=uri, own=urlsplit(own).netloc, host=uri.endpoint
                ),
                fix=_("If this is your own storage, create a profile with it as `oss_endpoint`."),
            )
        return f"https://{uri.endpoint}"

    def errors(self) -> tuple[type[Exception], ...]:
        import oss2

        return (oss2.exceptions.OssError,)

    def is_transient(self, error: Any) -> bool:
        import oss2

        if isinstance(error, oss2.exceptions.RequestError | oss2.exceptions.InconsistentError):
            return not is_untrusted(str(error))
        return self.is_refusal_transient(error.status, error.code, _EXPIRED)

    def explained(self, error: Any, uri: OssUri) -> PaiError:
        import oss2

        if not isinstance(error, oss2.exceptions.ServerError):
            return self.unreachable(uri, str(getattr(error, "body", "") or str(error) or type(error).__name__))
        if skewed := clock_error(error.code, _date(error)):
            return skewed
        if there := error.details.get("Endpoint") or "":
            return BucketError(
                _("The bucket `{bucket}` is at {there}, not at {endpoint}.").format(
                    bucket=uri.bucket, endpoint=urlsplit(self.endpoint(uri)).netloc, there=there
                ),
                fix=_("Use oss://{bucket}.{there}/…, or set `oss_endpoint` of the profile.").format(
                    bucket=uri.bucket, there=there
                ),
                code=error.code,
                request_id=error.request_id,
                status=error.status,
            )
        if error.code == "InvalidObjectState":
            return Conflict(
                _("{uri} is archived.").format(uri=uri),
                fix=_("Restore it first in the OSS console."),
                code=error.code,
            )
        message = self.keys.mask(error.message or "")
        result = error_of(error.status, error.code, message, what=str(uri), request_id=error.request_id)
        if isinstance(result, BucketError):
            result.fix = _("Check its name in the URI or in the profile's `oss_bucket_name`.")
        if isinstance(result, PermissionDenied):
            result.fix = _(
                "Ask the bucket's owner for the RAM actions oss:ListObjects, oss:GetObject, oss:PutObject and "
                "oss:DeleteObject on it, or use another bucket."
            )
        return result

    def network_fix(self, host: str) -> str:
        if "-internal" in host:
            return _(
                "This endpoint is only reachable from Alibaba Cloud machines in the same region. Elsewhere, "
                "omit `-internal`."
            )
        return _("Check the network, the proxy (HTTPS_PROXY) and the profile's `oss_endpoint`; then try again.")


class _Credentials:
    """Provides oss2 with the key for each signature."""

    def __init__(self, keys: SigningKeys) -> None:
        self._keys = keys

    def get_credentials(self) -> Any:
        from oss2.credentials import Credentials

        key = self._keys.now()
        return Credentials(key.id, key.secret.open(), key.token.open() if key.token else "")


def _date(error: Any) -> str:
    """Return the server's time from an error response, in the format of the Date header."""
    try:
        return format_datetime(datetime.fromisoformat(error.details["ServerTime"]))
    except (KeyError, TypeError, ValueError):
        return str(error.headers.get("date", ""))


def _public(host: str) -> str:
    """Return the public name of an internal host. Which of the two is used depends on the profile."""
    return host.lower().replace(f"-internal{_PUBLIC}", _PUBLIC)


def _is_path_style(endpoint: str) -> bool:
    host = urlsplit(endpoint).hostname or ""
    try:
        ip_address(host)
    except ValueError:
        return "." not in host
    return True
