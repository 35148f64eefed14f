"""HTTP transport for platforms' APIs, with rate limits and retries.

A call is retried if it was not sent, or if the service says that it was not executed. An idempotent call is also
retried after network and server errors. A non-idempotent call that may have been executed raises `ReplyLost`, and the
caller checks its effect before it sends the call again.

httpx is imported with the first call. Connections belong to an event loop and are shared by all accounts.
"""

from __future__ import annotations

import asyncio
import json
import logging
import random
import socket
from collections.abc import AsyncIterable, Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

from ..core.errors import PaiError, ReplyLost, SettingsError, Unreachable
from ..core.i18n import _

if TYPE_CHECKING:
    import ssl

    import httpx
    from aiolimiter import AsyncLimiter

_T = TypeVar("_T")

__all__ = [
    "Call", "Refusal", "Retries", "Transport", "accepts_connections", "close", "is_proxied", "is_reachable",
    "is_untrusted", "service_url", "trust", "untrusted",
]  # fmt: skip

_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
# Seconds.
_CONNECT_TIMEOUT = 5.0
_PROBE_TIMEOUT = 1.0
# Longer waits requested by a platform are not honoured.
_PATIENCE = 60.0

# stamina logs each retry as a warning, which a notebook would show.
logging.getLogger("stamina").addHandler(logging.NullHandler())


@dataclass(frozen=True)
class Retries:
    """The number of attempts of a call, and their waits and timeouts in seconds."""

    attempts: int = 6
    first_wait: float = 0.2
    longest_wait: float = 5.0
    jitter: float = 0.5
    read_timeout: float = 10.0
    # Limits an attempt with a slow response.
    attempt_timeout: float = 30.0


@dataclass(frozen=True)
class Call:
    """One call. `auth` is called for each attempt; None for a call without credentials. `repeat` marks an idempotent
    call.

    `body` may be a function that returns the bytes in pieces, called for each attempt.

    `pace` is the most calls of this `action` per second, if the platform limits single actions; 0 for no limit of its
    own.
    """

    method: str
    url: str
    auth: Callable[[], Awaitable[httpx.Auth | Callable[[httpx.Request], httpx.Request]]] | None = None
    body: bytes | Callable[[], AsyncIterable[bytes]] = b""
    headers: dict[str, str] = field(default_factory=dict)
    repeat: bool = True
    retries: Retries = Retries()
    action: str = ""
    pace: float = 0

    @property
    def host(self) -> str:
        return urlsplit(self.url).netloc


@dataclass(frozen=True)
class Refusal:
    """The meaning of an error response.

    `not_executed`: the service says that it did not execute the call, as it is busy. Any call is retried, after `wait`
    seconds if the platform set them. `unclear`: the call may have been executed, so only an idempotent one is retried.
    Other responses with a status of 500 and more always are, except 501 for an operation that the platform does not
    have. Otherwise, the call is refused for good.
    """

    error: PaiError
    not_executed: bool = False
    wait: float | None = None
    unclear: bool = False


@dataclass(frozen=True)
class Transport:
    """Sends the calls of one account, at most `pace` per second, in bursts of the same size.

    `read` gets every response, since some platforms report errors with the status 200. It returns None for an answer,
    and the meaning of an error otherwise. A ValueError means that the response is incomplete. Redirects are not
    followed: `read` decides. `ca_file` has certificates of authorities that are trusted besides the usual ones; empty
    for none.

    Accounts of the same name share their rate limits.
    """

    account: str
    read: Callable[[httpx.Response], Refusal | None]
    pace: float = 10
    ca_file: str = ""

    async def send(self, call: Call) -> Any:
        """Send a call and return the JSON value of its response, an empty object for an empty body.

        Raises:
            PaiError: as mapped by `read`.
            SettingsError: if `ca_file` cannot be read.
            Unreachable: if all attempts get no response, or the certificate is not trusted.
            ReplyLost: if the call may have been executed.
        """
        return await self._try(call, lambda response: json.loads(response.content or b"{}"))

    async def fetch(self, call: Call) -> httpx.Response:
        """Send a call and return its response, for text, bytes, ranges and redirects. Raises like `send`."""
        return await self._try(call, lambda response: response)

    async def _try(self, call: Call, parse: Callable[[httpx.Response], _T]) -> _T:
        import stamina

        retry = stamina.AsyncRetryingCaller(
            call.retries.attempts,
            timeout=None,
            wait_initial=call.retries.first_wait,
            wait_max=call.retries.longest_wait,
            wait_jitter=call.retries.jitter,
        )
        try:
            return await retry(lambda error: isinstance(error, _Failed) and error.again, self._once, call, parse)
        except _Failed as failed:
            raise failed.error from None

    async def _once(self, call: Call, parse: Callable[[httpx.Response], _T]) -> _T:
        import httpx

        auth = await call.auth() if call.auth else None
        body = call.body if isinstance(call.body, bytes) else call.body()
        local = _local()
        client = local.client(self.ca_file)
        await local.limiter(self.account, self.pace).acquire()
        if call.pace:
            await local.limiter(f"{self.account} {call.action}", call.pace).acquire()
        timeout = httpx.Timeout(call.retries.read_timeout, connect=_CONNECT_TIMEOUT, pool=call.retries.attempt_timeout)
        try:
            async with asyncio.timeout(call.retries.attempt_timeout):
                response = await client.request(
                    call.method, call.url, content=body, headers=call.headers, auth=auth, timeout=timeout
                )
        except (httpx.TransportError, httpx.DecodingError, TimeoutError) as error:
            raise _lost(call, error) from None
        try:
            if refusal := self.read(response):
                raise self._refused(call, refusal, response.status_code)
            return parse(response)
        except ValueError as error:
            raise _lost(call, error) from None

    def _refused(self, call: Call, refusal: Refusal, status: int) -> _Failed:
        if refusal.not_executed:
            wait = refusal.wait and refusal.wait + random.uniform(0, call.retries.jitter)
            return _Failed(refusal.error, wait <= _PATIENCE and wait if wait else True)
        if (status < 500 or status == 501) and not refusal.unclear:
            return _Failed(refusal.error, False)
        if call.repeat:
            return _Failed(refusal.error, True)
        return _Failed(_reply_lost(call, refusal.error.message, **refusal.error.details), False)


class _Failed(Exception):
    """A failed attempt. `again` tells whether to retry, or after how many seconds."""

    def __init__(self, error: PaiError, again: bool | float) -> None:
        super().__init__(error.code)
        self.error = error
        self.again = again


def _lost(call: Call, error: Exception) -> _Failed:
    """Map a missing or incomplete response."""
    import httpx

    why = str(error) or type(error).__name__
    if is_untrusted(why):
        return _Failed(untrusted(call.host, why), False)
    if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout | httpx.PoolTimeout | httpx.ProxyError):
        return _Failed(_unreachable(call, why, sent=False), True)
    if not isinstance(error, httpx.HTTPError | TimeoutError):
        why = _("the response was incomplete")
    if call.repeat:
        return _Failed(_unreachable(call, why, sent=True), True)
    return _Failed(_reply_lost(call, why), False)


def _unreachable(call: Call, why: str, sent: bool) -> Unreachable:
    return Unreachable(
        _("No response from {host}: {why}.").format(host=call.host, why=why.rstrip(".")),
        fix=_("Check the network, the proxy (HTTPS_PROXY) and the addresses in the profile, then try again."),
        sent=sent,
    )


def is_untrusted(why: str) -> bool:
    """Return whether a connection failed since the certificate is not trusted. Libraries wrap the error of `ssl`."""
    return "CERTIFICATE_VERIFY_FAILED" in why


def untrusted(host: str, why: str) -> Unreachable:
    """Return the error for a server whose certificate is not trusted."""
    return Unreachable(
        _("The certificate of {host} is not trusted: {why}.").format(host=host, why=why.rstrip(".")),
        fix=_(
            "If your network or platform has a certificate authority of its own, set the profile's `ca_file` to its "
            "file, or SSL_CERT_FILE in the Jupyter server's environment."
        ),
        sent=False,
        untrusted=True,
    )


def _reply_lost(call: Call, why: str, **details: object) -> ReplyLost:
    return ReplyLost(
        _("No response from {host}, which may have executed the request: {why}.").format(
            host=call.host, why=why.rstrip(".")
        ),
        fix=_("Check whether it was created before retrying."),
        **details,
    )


class _Local:
    """The connections and rate limits of one event loop."""

    def __init__(self) -> None:
        self._clients: dict[str, httpx.AsyncClient] = {}
        self._limiters: dict[tuple[str, float], AsyncLimiter] = {}

    def client(self, ca_file: str = "") -> httpx.AsyncClient:
        import httpx

        if ca_file not in self._clients:
            self._clients[ca_file] = httpx.AsyncClient(
                limits=httpx.Limits(max_connections=50, max_keepalive_connections=20, keepalive_expiry=30),
                mounts={f"all://{host}": None for host in _LOOPBACK},
                headers={"user-agent": "jupyter-pai", "accept": "application/json"},
                verify=trust(ca_file) if ca_file else True,
            )
        return self._clients[ca_file]

    async def close(self) -> None:
        for client in self._clients.values():
            await client.aclose()

    def limiter(self, account: str, pace: float) -> AsyncLimiter:
        from aiolimiter import AsyncLimiter

        if (account, pace) not in self._limiters:
            self._limiters[account, pace] = AsyncLimiter(max(pace, 1), max(pace, 1) / pace)
        return self._limiters[account, pace]


_locals: WeakKeyDictionary[asyncio.AbstractEventLoop, _Local] = WeakKeyDictionary()


def _local() -> _Local:
    loop = asyncio.get_running_loop()
    if loop not in _locals:
        _locals[loop] = _Local()
    return _locals[loop]


def trust(ca_file: str) -> ssl.SSLContext:
    """Return the settings of TLS connections, which also trust the authorities of a file if one is named.

    Raises:
        SettingsError: if it cannot be read.
    """
    import httpx

    context = httpx.create_ssl_context()
    if not ca_file:
        return context
    try:
        context.load_verify_locations(ca_file)
    except OSError as error:  # Errors of TLS are errors of the system, too.
        raise SettingsError(
            _("ca_file: cannot read certificates from {path}: {error}").format(path=ca_file, error=error),
            fix=_("Name a file of certificates in PEM format."),
        ) from None
    return context


def is_proxied(url: str) -> bool:
    """Return whether the environment names a proxy for a URL, for requests that are not sent by a transport."""
    from urllib.request import getproxies, proxy_bypass

    parts, proxies = urlsplit(url), getproxies()
    is_named = proxies.get(parts.scheme) or proxies.get("all")
    is_loopback = parts.hostname in [host.strip("[]") for host in _LOOPBACK]
    return bool(is_named) and not is_loopback and not proxy_bypass(parts.netloc)


def service_url(value: str, example: str) -> str:
    """Return the URL of a service that a user typed, with https:// before a host without a scheme; empty for none.

    Raises:
        ValueError: if it is not a URL without a path. The message names `example`, a host.
    """
    url = value if "://" in value or not value else f"https://{value}"
    parts = urlsplit(url)
    if value and (parts.scheme not in ("http", "https") or not parts.hostname or parts.path.strip("/")):
        raise ValueError(
            _("Invalid endpoint `{url}`: expected a host such as {example}").format(url=value, example=example)
        )
    return url.rstrip("/")


def accepts_connections(host: str, port: int) -> bool:
    """Return whether a host accepts a connection within a second. Blocks."""
    with suppress(OSError), socket.create_connection((host, port), _PROBE_TIMEOUT):
        return True
    return False


async def is_reachable(url: str) -> bool:
    """Return whether a URL responds. A login page counts, a gateway error does not."""
    import httpx

    try:
        async with asyncio.timeout(Retries().read_timeout):
            return (await _local().client().get(url)).status_code < 500
    except (httpx.HTTPError, httpx.InvalidURL, TimeoutError):
        return False


async def close() -> None:
    """Close the running loop's connections. Later calls reconnect."""
    if local := _locals.pop(asyncio.get_running_loop(), None):
        await local.close()
