"""Requests to OSS: signed with the account's key of the moment, repeated where that helps, refused in words.

oss2 and requests are loaded with the first request, not before.
"""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Callable
from datetime import datetime
from email.utils import format_datetime
from ipaddress import ip_address
from typing import Any, Protocol, TypeVar
from urllib.parse import urlsplit

from ...cloud.alibaba.access_key import AccessKey
from ...cloud.alibaba.error_codes import clock_error, error_of
from ...core.errors import BadInput, BucketError, Conflict, PaiError, PermissionDenied, Unreachable
from ...core.extras import require
from ...core.i18n import _
from .uri import OssUri

__all__ = ["OssAccount", "OssClient"]

T = TypeVar("T")
_ATTEMPTS = 6
# Seconds: to connect, and between two pieces of an answer.
_TIMEOUT = (10.0, 60.0)
_CONNECTIONS = 32
_EXPIRED = re.compile(r"InvalidAccessKeyId|SecurityToken")
_PASSING = re.compile(r"Throttl|QpsLimitExceeded|RequestTimeout$|ServiceBusy")
_PUBLIC = ".aliyuncs.com"

logging.getLogger("stamina").addHandler(logging.NullHandler())
# oss2 writes each request with its signature and token to the log, where somebody has set that to DEBUG.
logging.getLogger("oss2").setLevel(logging.WARNING)


class KeySource(Protocol):
    """Where an account's keys come from."""

    def drop(self, key: AccessKey) -> None:
        """Ask anew next time: this key was refused."""


class OssAccount(Protocol):
    """What OSS needs to know of an account of Alibaba Cloud. `region` is the id of its region."""

    region: str

    @property
    def keys(self) -> KeySource:
        """Where its keys come from."""

    @property
    def oss_endpoint(self) -> str:
        """Where its buckets are: a host or base URL."""

    def key_now(self) -> AccessKey:
        """Its key, renewed if it is about to expire. May block."""

    async def bucket(self) -> str:
        """The name of its bucket; whoever knows may be asked."""


class OssClient:
    """OSS as an account sees it. Its methods may be called from any thread, and block.

    Raises:
        Unsupported: if the extra `pai` is not installed.
    """

    def __init__(self, account: OssAccount) -> None:
        require("pai", "oss2", "anycrc")
        self.account = account
        self._keys = _Keys(account)
        self._buckets: dict[tuple[str, str], Any] = {}
        self._lock = threading.Lock()

    def ask(self, uri: OssUri, action: Callable[[Any], T]) -> T:
        """What `action` gives for the bucket of a URI, an `oss2.Bucket`. It is done again after what may pass.

        Raises:
            NotFound: if the object is not there.
            PaiError: as OSS says.
        """
        import stamina

        bucket = self._bucket(uri)
        waits: dict[str, float] = {"wait_initial": 0.2, "wait_max": 5.0, "wait_jitter": 0.5}
        try:
            for attempt in stamina.retry_context(on=self._again, attempts=_ATTEMPTS, timeout=None, **waits):
                with attempt:
                    return action(bucket)
        except _errors() as error:
            raise self._explained(error, uri) from None
        raise AssertionError  # The loop returns or raises.

    def bucket(self, uri: OssUri) -> Any:
        """The bucket of a URI as the official client has it, for code of the user's own: sums are compared there.

        Raises:
            BadInput: if it is at an endpoint that the account's keys are not for.
        """
        return self._new_bucket(self.endpoint(uri), uri.bucket, enable_crc=True)

    def _bucket(self, uri: OssUri) -> Any:
        endpoint = self.endpoint(uri)
        key = (endpoint, uri.bucket)
        with self._lock:
            if key not in self._buckets:
                # `oss_transfer` compares sums, many times faster.
                self._buckets[key] = self._new_bucket(endpoint, uri.bucket, enable_crc=False)
            return self._buckets[key]

    def _new_bucket(self, endpoint: str, name: str, **options: Any) -> Any:
        import oss2

        session = oss2.Session(pool_size=_CONNECTIONS)
        # Without this a password in ~/.netrc would be sent in place of the signature.
        session.session.auth = _as_it_is
        # No proxy leads to this machine itself.
        session.session.trust_env = not _is_loopback(endpoint)
        return oss2.Bucket(
            oss2.ProviderAuthV4(self._keys),
            endpoint,
            name,
            session=session,
            connect_timeout=_TIMEOUT,
            app_name="jupyter-pai",
            region=_region(endpoint) or self.account.region,
            is_path_style=_is_path_style(endpoint),
            **options,
        )

    def endpoint(self, uri: OssUri) -> str:
        """The base URL for a URI. Keys are used at the profile's own endpoint and at Alibaba's, nowhere else: who sends
        a URI must not get to see a signature.

        Raises:
            BadInput: if the URI names another.
        """
        own = self.account.oss_endpoint
        own = own if "://" in own else f"https://{own}"
        if not uri.endpoint or _public(uri.endpoint) == _public(urlsplit(own).netloc):
            return own
        if not urlsplit(f"//{uri.endpoint}").hostname.endswith(_PUBLIC):  # type: ignore[union-attr]  # it has one
            raise BadInput(
                _("{uri}: the keys of {own} are not for {host}.").format(
                    uri=uri, own=urlsplit(own).netloc, host=uri.endpoint
                ),
                fix=_("If it is a storage of yours, make a profile whose `oss_endpoint` it is."),
            )
        return f"https://{uri.endpoint}"

    def _again(self, error: Exception) -> bool:
        """Whether what failed may succeed when it is done again."""
        import oss2

        if not isinstance(error, _errors()):
            return False
        if not isinstance(error, oss2.exceptions.OssError):
            return True
        if _EXPIRED.search(error.code):
            return self._keys.are_renewed()
        if isinstance(error, oss2.exceptions.RequestError | oss2.exceptions.InconsistentError):
            return True
        return bool(error.status >= 500 or error.status == 429 or _PASSING.search(error.code))

    def _explained(self, error: Exception, uri: OssUri) -> PaiError:
        import oss2

        key = self.account.key_now()
        if not isinstance(error, oss2.exceptions.ServerError):
            body = getattr(error, "body", "") or str(error) or type(error).__name__
            return _unreachable(self.endpoint(uri), key.mask(str(body)))
        if skewed := clock_error(error.code, _date(error)):
            return skewed
        if there := error.details.get("Endpoint") or "":
            return BucketError(
                _("The bucket `{bucket}` is not at {endpoint} but at {there}.").format(
                    bucket=uri.bucket, endpoint=urlsplit(self.endpoint(uri)).netloc, there=there
                ),
                fix=_("Write oss://{bucket}.{there}/…, or set `oss_endpoint` of the profile.").format(
                    bucket=uri.bucket, there=there
                ),
                code=error.code,
                request_id=error.request_id,
                status=error.status,
            )
        if error.code == "InvalidObjectState":
            return Conflict(
                _("{uri} is archived.").format(uri=uri),
                fix=_("Restore it first, in the console of OSS."),
                code=error.code,
            )
        message = key.mask(error.message or "")
        said = error_of(error.status, error.code, message, what=str(uri), request_id=error.request_id)
        if isinstance(said, BucketError):
            said.fix = _("Check its name: the profile's `oss_bucket_name`, or that in the URI.")
        if isinstance(said, PermissionDenied):
            said.fix = _(
                "Ask the bucket's owner for the RAM actions oss:ListObjects, oss:GetObject, oss:PutObject and "
                "oss:DeleteObject on it, or take another bucket."
            )
        return said


class _Keys:
    """The account's key, as oss2 asks for it at each signature."""

    def __init__(self, account: OssAccount) -> None:
        self._account = account
        self._used = threading.local()

    def get_credentials(self) -> Any:
        from oss2.credentials import Credentials

        key = self._account.key_now()
        self._used.key = key
        token = key.token.open() if key.token else ""
        return Credentials(key.id, key.secret.open(), token)

    def are_renewed(self) -> bool:
        """Whether there is another key than the one with which this thread has signed, and which was refused."""
        self._account.keys.drop(self._used.key)
        return not self._account.key_now().same(self._used.key)


def _errors() -> tuple[type[Exception], ...]:
    """What a request can end with."""
    from xml.etree.ElementTree import ParseError

    import oss2
    import requests
    import urllib3

    return oss2.exceptions.OssError, requests.RequestException, urllib3.exceptions.HTTPError, ParseError


def _date(error: Any) -> str:
    """What time it is where a refusal comes from, as a header would have it."""
    try:
        return format_datetime(datetime.fromisoformat(error.details["ServerTime"]))
    except (KeyError, TypeError, ValueError):
        return str(error.headers.get("date", ""))


def _as_it_is(request: Any) -> Any:
    return request


def _public(host: str) -> str:
    """A host as it is called from outside Alibaba's own network: whichever is meant, the profile says which is
    reached."""
    return host.lower().replace(f"-internal{_PUBLIC}", _PUBLIC)


def _region(endpoint: str) -> str:
    found = re.search(r"//(?:oss|vpc100-oss)-([a-z0-9-]+?)(-internal)?\.aliyuncs\.com", endpoint)
    return "" if not found or found[1].startswith("accelerate") else found[1]


def _is_loopback(endpoint: str) -> bool:
    host = urlsplit(endpoint).hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


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
            "Only machines of Alibaba Cloud in the same region reach this endpoint; elsewhere leave out `-internal`."
        )
    return Unreachable(_("{host} does not answer: {why}.").format(host=host, why=why.rstrip(".")), fix=fix)
