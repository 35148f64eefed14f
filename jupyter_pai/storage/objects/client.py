"""The requests to a service for objects, with retries, renewed keys and errors that name a fix.

requests is imported with the first request.
"""

from __future__ import annotations

import logging
import re
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Concatenate, Generic, NamedTuple, ParamSpec, TypeVar
from urllib.parse import urlsplit

from ...cloud.http import is_untrusted, trust, untrusted
from ...cloud.keys import AccessKey, KeyChain
from ...core.errors import EngineError, PaiError, Unreachable
from ...core.host import is_loopback
from ...core.i18n import _
from ..meter import Meter
from .transfer import DamagedBody, UploadBody
from .uri import ObjectUri

if TYPE_CHECKING:
    import requests

__all__ = [
    "Object", "ObjectClient", "Page", "Received", "SigningKeys", "Stored", "kept_headers", "prepare_session",
]  # fmt: skip

P = ParamSpec("P")
T = TypeVar("T")
U = TypeVar("U", bound=ObjectUri)
_ATTEMPTS = 6
_CONNECTIONS = 32
# Headers that a copy in parts preserves, besides those of users.
_KEPT = ("content-type", "cache-control", "content-disposition", "content-encoding", "content-language", "expires")
# Codes of transient errors with any status: those of throttled requests, and of uploads whose body was cut or damaged
# on the way.
_PASSING = re.compile(
    r"Throttl|QpsLimitExceeded|RateLimit|TooManyRequests|SlowDown|RequestTimeout$|ServiceBusy|IncompleteBody|BadDigest"
)

logging.getLogger("stamina").addHandler(logging.NullHandler())


class Object(NamedTuple):
    """An object: its key, size in bytes, modification time in seconds since 1970, and ETag without quotes.

    A listing has neither CRC nor headers. A copy in parts preserves `headers`.
    """

    key: str
    size: int
    modified: float
    etag: str
    crc: int | None = None
    headers: Mapping[str, str] = {}


class Page(NamedTuple):
    """Objects and folders of a listing. `following` names the next page, empty on the last one."""

    objects: Sequence[Object]
    folders: Sequence[str]
    following: str


class Stored(NamedTuple):
    """The ETag and the CRC of what the service has stored. The CRC is None if the service does not tell it."""

    etag: str
    crc: int | None = None


class Received(NamedTuple):
    """Bytes of an object, and the CRC of the whole object if the service tells it."""

    data: bytes
    crc: int | None


class SigningKeys:
    """Provides the account's key for each signature, and remembers with which one a thread signed."""

    def __init__(self, keys: KeyChain) -> None:
        self._keys = keys
        self._used = threading.local()

    def now(self) -> AccessKey:
        """Return the key to sign with. Raises CredentialsError like `KeyChain.now`."""
        key: AccessKey = self._keys.now()
        self._used.key = key
        return key

    def are_renewed(self) -> bool:
        """Return whether the account has a newer key than the rejected one with which this thread signed."""
        self._keys.drop(self._used.key)
        return not self._keys.now().same(self._used.key)

    def mask(self, text: str) -> str:
        """Mask the secret parts of the current key in `text`."""
        return self._keys.now().mask(text)


class ObjectClient(ABC, Generic[U]):
    """The objects of one account. All methods are thread-safe and may block.

    The methods that take a URI first send one request and raise the errors of the service's own client. `ask` retries
    them and translates the errors.
    """

    def __init__(self, keys: KeyChain) -> None:
        self.keys = SigningKeys(keys)

    def ask(self, method: Callable[Concatenate[U, P], T], uri: U, *arguments: P.args, **options: P.kwargs) -> T:
        """Return the result of a method of this client. Transient errors are retried.

        Raises:
            NotFound: if the object or upload does not exist.
            Conflict: if the object exists and must not be replaced.
            PaiError: for other errors of the service.
        """
        import stamina

        retry = stamina.RetryingCaller(_ATTEMPTS, timeout=None, wait_initial=0.2, wait_max=5.0, wait_jitter=0.5)
        try:
            return retry(self._again, method, uri, *arguments, **options)
        except DamagedBody:
            raise EngineError(_("{file} was corrupted in transit.").format(file=uri), fix=_("Try again.")) from None
        except _network_errors() as error:
            raise self.unreachable(uri, str(error) or type(error).__name__) from None
        except self.errors() as error:
            raise self.explained(error, uri) from None

    def _again(self, error: Exception) -> bool:
        """Return whether to retry after an error."""
        if isinstance(error, _network_errors()):
            return not is_untrusted(str(error))
        return isinstance(error, DamagedBody) or (isinstance(error, self.errors()) and self.is_transient(error))

    def is_refusal_transient(self, status: int, code: str, key_codes: re.Pattern[str]) -> bool:
        """Return whether to retry after an error response. `key_codes` finds the codes of expired keys."""
        if key_codes.search(code):
            return self.keys.are_renewed()
        return status >= 500 or status == 429 or bool(_PASSING.search(code))

    def unreachable(self, uri: U, why: str) -> Unreachable:
        """Return the error for a request without a response."""
        text, host = self.keys.mask(why), urlsplit(self.endpoint(uri)).netloc
        if is_untrusted(text):
            return untrusted(host, text)
        return Unreachable(
            _("No response from {host}: {why}.").format(host=host, why=text.rstrip(".")), fix=self.network_fix(host)
        )

    # Errors of the service's own client.

    @abstractmethod
    def errors(self) -> tuple[type[Exception], ...]:
        """Return the exceptions for refused requests."""

    @abstractmethod
    def is_transient(self, error: Exception) -> bool:
        """Return whether to retry after one of `errors`."""

    @abstractmethod
    def explained(self, error: Exception, uri: U) -> PaiError:
        """Return the meaning of one of `errors`."""

    @abstractmethod
    def network_fix(self, host: str) -> str:
        """Return what to do if a host does not respond."""

    # Requests.

    @abstractmethod
    def endpoint(self, uri: U) -> str:
        """Return the base URL for a URI, without the bucket. Sends no request for objects.

        Raises:
            BadInput: if the URI has one to which the keys must not be sent.
        """

    @abstractmethod
    def page(self, uri: U, *, after: str = "", token: str = "", most: int = 1000, folders: bool = False) -> Page:
        """Return a page of the objects below the folder of a URI, sorted by key: the first one, the one after the key
        `after`, or the one named by `token`. With `folders`, the first part of longer paths is listed as a folder."""

    @abstractmethod
    def head(self, uri: U) -> Object:
        """Return the description of an object."""

    @abstractmethod
    def get(self, uri: U, start: int, end: int, version: str, meter: Meter | None) -> Received:
        """Return the bytes of an object from `start` up to and without `end`. A refusal has the status 412 if the
        object has another ETag than `version`, unless that is empty."""

    @abstractmethod
    def put(self, uri: U, body: UploadBody, *, overwrite: bool) -> Stored:
        """Store an object."""

    @abstractmethod
    def copy(self, uri: U, source: U) -> None:
        """Copy an object of at most 1 GiB to `uri` if that does not exist."""

    @abstractmethod
    def delete(self, uri: U) -> None:
        """Delete an object. Does nothing if it does not exist."""

    @abstractmethod
    def delete_many(self, uri: U, keys: Sequence[str]) -> None:
        """Delete up to 1000 objects of a bucket. Ignores missing ones."""

    @abstractmethod
    def begin(self, uri: U, headers: Mapping[str, str]) -> str:
        """Begin an upload in parts of an object with these headers, and return its id."""

    @abstractmethod
    def put_part(self, uri: U, upload: str, number: int, body: UploadBody) -> Stored:
        """Store a part. Numbers start from 1."""

    @abstractmethod
    def copy_part(self, uri: U, upload: str, number: int, source: U, start: int, end: int) -> None:
        """Store the bytes of another object from `start` up to and without `end` as a part."""

    @abstractmethod
    def parts(self, uri: U, upload: str) -> dict[int, str]:
        """Return the ETags of the stored parts by number."""

    @abstractmethod
    def complete(self, uri: U, upload: str, parts: Mapping[int, str], *, overwrite: bool) -> str:
        """Join the parts with these ETags to an object, and return its ETag."""

    @abstractmethod
    def abort(self, uri: U, upload: str) -> None:
        """Delete the parts of an upload."""


def kept_headers(headers: Mapping[str, str], prefix: str) -> dict[str, str]:
    """Return the headers of an object that a copy in parts preserves. `prefix` begins those of users."""
    return {name: headers[name] for name in headers if name.lower() in _KEPT or name.lower().startswith(prefix)}


def prepare_session(session: requests.Session, endpoint: str, ca_file: str) -> requests.Session:
    """Set the connections of a session for one endpoint. `ca_file` is trusted besides the usual authorities."""
    # Proxies do not apply to this machine.
    session.trust_env = not is_loopback(urlsplit(endpoint).hostname or "")
    session.mount("https://", _adapter(ca_file))
    session.mount("http://", _adapter(""))
    return session


def _adapter(ca_file: str) -> requests.adapters.HTTPAdapter:
    from requests.adapters import HTTPAdapter

    class TrustingAdapter(HTTPAdapter):
        def init_poolmanager(self, *arguments: Any, **options: Any) -> None:
            super().init_poolmanager(*arguments, **options, ssl_context=trust(ca_file))

        def proxy_manager_for(self, proxy: str, **options: Any) -> Any:
            return super().proxy_manager_for(proxy, **options, ssl_context=trust(ca_file))

    kind = TrustingAdapter if ca_file else HTTPAdapter
    return kind(pool_connections=_CONNECTIONS, pool_maxsize=_CONNECTIONS)


def _network_errors() -> tuple[type[Exception], ...]:
    """Return the exceptions for a lost connection, and for a response that was cut."""
    from xml.etree.ElementTree import ParseError

    import requests
    import urllib3

    return requests.RequestException, urllib3.exceptions.HTTPError, ParseError
