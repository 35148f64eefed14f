"""HTTP transport for platforms' APIs, with rate limits and retries.

A call is retried if it was not sent or was throttled. An idempotent call is also retried after network and server
errors. A non-idempotent call that may have been received raises `ReplyLost`, and the caller checks its effect before
retrying.

httpx is imported with the first call. Connections belong to an event loop and are shared by all accounts.
"""

from __future__ import annotations

import asyncio
import json
import logging
import random
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

from ..core.errors import PaiError, ReplyLost, Unreachable
from ..core.i18n import _

if TYPE_CHECKING:
    import httpx
    from aiolimiter import AsyncLimiter

__all__ = ["Call", "Refusal", "Retries", "Transport", "close", "is_reachable"]

_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
# Seconds.
_CONNECT_TIMEOUT = 5.0
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
    """One call. `auth` is called for each attempt. `repeat` marks an idempotent call."""

    method: str
    url: str
    auth: Callable[[], Awaitable[httpx.Auth | Callable[[httpx.Request], httpx.Request]]]
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    repeat: bool = True
    retries: Retries = Retries()

    @property
    def host(self) -> str:
        return urlsplit(self.url).netloc


@dataclass(frozen=True)
class Refusal:
    """The meaning of an error response. `again` allows a retry, after `wait` seconds if the platform set them."""

    error: PaiError
    again: bool = False
    wait: float | None = None


@dataclass(frozen=True)
class Transport:
    """Sends the calls of one account, at most `pace` per second, in bursts of the same size. `read` maps error
    responses.

    Accounts of the same name share their rate limit.
    """

    account: str
    read: Callable[[httpx.Response], Refusal]
    pace: float = 10

    async def send(self, call: Call) -> dict[str, Any]:
        """Send a call and return the JSON object of its response, empty for an empty body.

        Raises:
            PaiError: as mapped by `read`.
            Unreachable: if all attempts get no response.
            ReplyLost: if the call may have been executed.
        """
        import stamina

        retry = stamina.AsyncRetryingCaller(
            call.retries.attempts,
            timeout=None,
            wait_initial=call.retries.first_wait,
            wait_max=call.retries.longest_wait,
            wait_jitter=call.retries.jitter,
        )
        try:
            return await retry(lambda error: isinstance(error, _Failed) and error.again, self._once, call)
        except _Failed as failed:
            raise failed.error from None

    async def _once(self, call: Call) -> dict[str, Any]:
        import httpx

        auth = await call.auth()
        local = _local()
        await local.limiter(self.account, self.pace).acquire()
        timeout = httpx.Timeout(call.retries.read_timeout, connect=_CONNECT_TIMEOUT, pool=call.retries.attempt_timeout)
        try:
            async with asyncio.timeout(call.retries.attempt_timeout):
                response = await local.client.request(
                    call.method, call.url, content=call.body, headers=call.headers, auth=auth, timeout=timeout
                )
        except (httpx.TransportError, httpx.DecodingError, TimeoutError) as error:
            raise _lost(call, error) from None
        if not response.is_success:
            raise self._refused(call, response)
        with suppress(ValueError):
            answer = json.loads(response.content or b"{}")
            if isinstance(answer, dict):
                return answer
        raise _lost(call, ValueError("no JSON object"))

    def _refused(self, call: Call, response: httpx.Response) -> _Failed:
        refusal = self.read(response)
        if refusal.again:
            wait = refusal.wait and refusal.wait + random.uniform(0, call.retries.jitter)
            return _Failed(refusal.error, wait <= _PATIENCE and wait if wait else True)
        if response.status_code < 500:
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
        fix=_("Check the network, the proxy (HTTPS_PROXY) and the profile's region and endpoint, then try again."),
        sent=sent,
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
        import httpx

        self.client = httpx.AsyncClient(
            limits=httpx.Limits(max_connections=50, max_keepalive_connections=20, keepalive_expiry=30),
            mounts={f"all://{host}": None for host in _LOOPBACK},
            headers={"user-agent": "jupyter-pai", "accept": "application/json"},
        )
        self._limiters: dict[tuple[str, float], AsyncLimiter] = {}

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


async def is_reachable(url: str) -> bool:
    """Return whether a URL responds. A login page counts, a gateway error does not."""
    import httpx

    try:
        async with asyncio.timeout(Retries().read_timeout):
            return (await _local().client.get(url)).status_code < 500
    except (httpx.HTTPError, httpx.InvalidURL, TimeoutError):
        return False


async def close() -> None:
    """Close the running loop's connections. Later calls reconnect."""
    if local := _locals.pop(asyncio.get_running_loop(), None):
        await local.client.aclose()
