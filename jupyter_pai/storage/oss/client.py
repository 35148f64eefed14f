"""OSS requests: signing with the account's current key, retries, and translation of errors.

oss2 and requests are imported with the first request.
"""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Callable
from datetime import datetime
from email.utils import format_datetime
from ipaddress import ip_address
from typing import Any, TypeVar
from urllib.parse import urlsplit

from ...cloud.alibaba.account import AlibabaAccount
from ...cloud.alibaba.credentials import KeyChain
from ...cloud.alibaba.error_codes import clock_error, error_of
from ...cloud.http import is_untrusted, trust, untrusted
from ...core.errors import BadInput, BucketError, Conflict, PaiError, PermissionDenied, Unreachable
from ...core.host import is_loopback
from ...core.i18n import _
from ...core.plugins import require
from .uri import OssUri

T = TypeVar("T")
_ATTEMPTS = 6
# Seconds: to connect, and between two chunks of a response.
_TIMEOUT = (10.0, 60.0)
_CONNECTIONS = 32
_EXPIRED = re.compile(r"InvalidAccessKeyId|SecurityToken")
# Some have the status 400: those of throttled requests, and of uploads whose body was cut or damaged on the way.
_PASSING = re.compile(
    r"Throttl|QpsLimitExceeded|RateLimit|TooManyRequests|SlowDown|RequestTimeout$|ServiceBusy|IncompleteBody|BadDigest"
)
# The region in an endpoint, except that of global acceleration.
_REGION = re.compile(r"//(?:oss|vpc100-oss)-(?!accelerate)([a-z0-9-]+?)(-internal)?\.aliyuncs\.com")
_PUBLIC = ".aliyuncs.com"

logging.getLogger("stamina").addHandler(logging.NullHandler())
# At level DEBUG, oss2 logs each request with its signature and token.
logging.getLogger("oss2").setLevel(logging.WARNING)


class OssClient:
    """OSS with one account. All methods are thread-safe and may block.

    Raises:
        Unsupported: if the extra `pai` is not installed.
    """

    def __init__(self, account: AlibabaAccount) -> None:
        require("pai", "oss2", "anycrc")
        self.account = account
        self._keys = _Keys(account.keys)
        self._buckets: dict[tuple[str, str], Any] = {}
        self._lock = threading.Lock()

    def ask(self, uri: OssUri, action: Callable[[Any], T]) -> T:
        """Return the result of `action` for the `oss2.Bucket` of a URI. Transient errors are retried.

        Raises:
            NotFound: if the object does not exist.
            PaiError: for other errors of OSS.
        """
        import stamina

        retry = stamina.RetryingCaller(_ATTEMPTS, timeout=None, wait_initial=0.2, wait_max=5.0, wait_jitter=0.5)
        bucket = self._bucket(uri)
        try:
            return retry(self._again, action, bucket)
        except _errors() as error:
            raise self._explained(error, uri) from None

    def call(self, uri: OssUri, method: str, *arguments: Any, **options: Any) -> Any:
        """Return the result of a method of the `oss2.Bucket` of a URI. Raises like `ask`."""
        return self.ask(uri, lambda bucket: getattr(bucket, method)(*arguments, **options))

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
                # `transfer` checks CRCs, many times faster.
                self._buckets[key] = self._new_bucket(*key, enable_crc=False)
            return self._buckets[key]

    def _new_bucket(self, endpoint: str, name: str, **options: Any) -> Any:
        import oss2

        region = _REGION.search(endpoint)
        session = oss2.Session(pool_size=_CONNECTIONS)
        # Otherwise requests would replace the signature with a password from ~/.netrc.
        session.session.auth = lambda request: request
        # Proxies do not apply to this machine.
        session.session.trust_env = not is_loopback(urlsplit(endpoint).hostname or "")
        if self.account.ca_file:
            session.session.mount("https://", _trusting_adapter(self.account.ca_file))
        return oss2.Bucket(
            oss2.ProviderAuthV4(self._keys),
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

    def _again(self, error: Exception) -> bool:
        """Return whether to retry after an error."""
        import oss2

        if not isinstance(error, oss2.exceptions.OssError):
            return isinstance(error, _errors())
        if _EXPIRED.search(error.code):
            return self._keys.are_renewed()
        if isinstance(error, oss2.exceptions.RequestError | oss2.exceptions.InconsistentError):
            return not is_untrusted(str(error))
        return bool(error.status >= 500 or error.status == 429 or _PASSING.search(error.code))

    def _explained(self, error: Exception, uri: OssUri) -> PaiError:
        import oss2

        key = self.account.keys.now()
        if not isinstance(error, oss2.exceptions.ServerError):
            body = getattr(error, "body", "") or str(error) or type(error).__name__
            text, endpoint = key.mask(str(body)), self.endpoint(uri)
            return untrusted(urlsplit(endpoint).netloc, text) if is_untrusted(text) else _unreachable(endpoint, text)
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
        message = key.mask(error.message or "")
        result = error_of(error.status, error.code, message, what=str(uri), request_id=error.request_id)
        if isinstance(result, BucketError):
            result.fix = _("Check its name in the URI or in the profile's `oss_bucket_name`.")
        if isinstance(result, PermissionDenied):
            result.fix = _(
                "Ask the bucket's owner for the RAM actions oss:ListObjects, oss:GetObject, oss:PutObject and "
                "oss:DeleteObject on it, or use another bucket."
            )
        return result


class _Keys:
    """Provides oss2 with the account's key for each signature."""

    def __init__(self, keys: KeyChain) -> None:
        self._keys = keys
        self._used = threading.local()

    def get_credentials(self) -> Any:
        from oss2.credentials import Credentials

        key = self._used.key = self._keys.now()
        return Credentials(key.id, key.secret.open(), key.token.open() if key.token else "")

    def are_renewed(self) -> bool:
        """Return whether the account has a newer key than the rejected one with which this thread signed."""
        self._keys.drop(self._used.key)
        return not self._keys.now().same(self._used.key)


def _errors() -> tuple[type[Exception], ...]:
    """Return the exceptions that a request can raise."""
    from xml.etree.ElementTree import ParseError

    import oss2
    import requests
    import urllib3

    return oss2.exceptions.OssError, requests.RequestException, urllib3.exceptions.HTTPError, ParseError


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


def _unreachable(endpoint: str, why: str) -> Unreachable:
    host = urlsplit(endpoint).netloc
    fix = _("Check the network, the proxy (HTTPS_PROXY) and the profile's `oss_endpoint`; then try again.")
    if "-internal" in host:
        fix = _(
            "This endpoint is only reachable from Alibaba Cloud machines in the same region. Elsewhere, "
            "omit `-internal`."
        )
    return Unreachable(_("No response from {host}: {why}.").format(host=host, why=why.rstrip(".")), fix=fix)


def _trusting_adapter(ca_file: str) -> Any:
    """Return an adapter of requests that also trusts the authorities of a file."""
    from requests.adapters import HTTPAdapter

    class TrustingAdapter(HTTPAdapter):
        def init_poolmanager(self, *arguments: Any, **options: Any) -> None:
            super().init_poolmanager(*arguments, **options, ssl_context=trust(ca_file))

        def proxy_manager_for(self, proxy: str, **options: Any) -> Any:
            return super().proxy_manager_for(proxy, **options, ssl_context=trust(ca_file))

    return TrustingAdapter(pool_connections=_CONNECTIONS, pool_maxsize=_CONNECTIONS)
