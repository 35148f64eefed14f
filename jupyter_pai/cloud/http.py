"""Transport: the one door to platforms' HTTP APIs.

It asks again what may be asked again: what was never sent, what was refused for coming too often, and, of calls that
change nothing when they are repeated, what failed on the way or on the platform's side. A call that makes something is
not repeated once it may have been received: then `ReplyLost` says so, and the caller looks before it tries again.

Nothing of httpx is loaded before the first call. Connections belong to the event loop that made them, and are shared by
all accounts.
"""

from __future__ import annotations

import asyncio
import json
import logging
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

from ..core.errors import PaiError, ReplyLost, Unreachable
from ..core.i18n import _

if TYPE_CHECKING:
    import httpx
    from aiolimiter import AsyncLimiter

__all__ = ["Call", "Refusal", "Transport", "close", "is_reachable"]

_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
# Seconds. The last bounds an attempt whose answer comes byte by byte.
_CONNECT, _READ, _ATTEMPT = 5.0, 10.0, 30.0
_ATTEMPTS = 6
_FIRST_WAIT, _LONGEST_WAIT, _JITTER = 0.2, 5.0, 0.5
# A platform that asks for more patience than this is not waited for.
_PATIENCE = 60.0

# It tells of each repetition as a warning, which would show in a notebook where nobody has set up logging.
logging.getLogger("stamina").addHandler(logging.NullHandler())


@dataclass(frozen=True)
class Call:
    """One call. `auth` is asked anew for each attempt. `repeat`: whether doing it twice does no harm."""

    method: str
    url: str
    auth: Callable[[], Awaitable[httpx.Auth]]
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    repeat: bool = True

    @property
    def host(self) -> str:
        return urlsplit(self.url).netloc


@dataclass(frozen=True)
class Refusal:
    """What an answer means that is no success. `again`: it was not done, and may be asked for again; after `wait`
    seconds, if the platform said so."""

    error: PaiError
    again: bool = False
    wait: float | None = None


class Transport:
    """Calls of one account: `pace` a second at most, in bursts of as many. `read` says what a platform's refusals mean.

    Accounts of one name share their pace.
    """

    def __init__(self, account: str, read: Callable[[httpx.Response], Refusal], pace: float = 10) -> None:
        self.account = account
        self.read = read
        self.pace = pace

    async def send(self, call: Call) -> dict[str, Any]:
        """The JSON object that answers a call; empty if the answer is.

        Raises:
            PaiError: as `read` says.
            Unreachable: if there is no answer, after all attempts.
            ReplyLost: if it is not known whether the call was carried out.
        """
        import stamina

        waits: dict[str, float] = {
            "wait_initial": _FIRST_WAIT,
            "wait_max": _LONGEST_WAIT,
            "wait_jitter": _JITTER,
        }
        try:
            async for attempt in stamina.retry_context(on=_again, attempts=_ATTEMPTS, timeout=None, **waits):
                with attempt:
                    return await self._once(call)
        except _Failed as failed:
            raise failed.error from None
        raise AssertionError  # The loop returns or raises.

    async def _once(self, call: Call) -> dict[str, Any]:
        import httpx

        auth = await call.auth()
        local = _local()
        await local.limiter(self.account, self.pace).acquire()
        try:
            async with asyncio.timeout(_ATTEMPT):
                response = await local.client.request(
                    call.method, call.url, content=call.body, headers=call.headers, auth=auth
                )
        except (httpx.TransportError, httpx.DecodingError, TimeoutError) as error:
            raise _lost(call, error) from None
        if not response.is_success:
            raise self._refused(call, response)
        try:
            answer = json.loads(response.content or b"{}")
        except ValueError as error:
            raise _lost(call, error) from None
        if not isinstance(answer, dict):
            raise _lost(call, TypeError("no object"))
        return answer

    def _refused(self, call: Call, response: httpx.Response) -> _Failed:
        refusal = self.read(response)
        if refusal.again:
            wait = refusal.wait and refusal.wait + random.uniform(0, _JITTER)
            return _Failed(refusal.error, wait <= _PATIENCE and wait if wait else True)
        if response.status_code < 500:
            return _Failed(refusal.error, False)
        if call.repeat:
            return _Failed(refusal.error, True)
        return _Failed(_reply_lost(call, refusal.error.message, **refusal.error.details), False)


class _Failed(Exception):
    """An attempt that failed. `again`: whether to make another, and after how many seconds if that is known."""

    def __init__(self, error: PaiError, again: bool | float) -> None:
        super().__init__(error.code)
        self.error = error
        self.again = again


def _again(error: Exception) -> bool | float:
    return error.again if isinstance(error, _Failed) else False


def _lost(call: Call, error: Exception) -> _Failed:
    """An attempt that got no answer, or half of one."""
    import httpx

    why = str(error) or type(error).__name__
    if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout | httpx.PoolTimeout | httpx.ProxyError):
        return _Failed(_unreachable(call, why, sent=False), True)
    if not isinstance(error, httpx.HTTPError | TimeoutError):
        why = _("what it answered is not whole")
    if call.repeat:
        return _Failed(_unreachable(call, why, sent=True), True)
    return _Failed(_reply_lost(call, why), False)


def _unreachable(call: Call, why: str, sent: bool) -> Unreachable:
    return Unreachable(
        _("{host} does not answer: {why}.").format(host=call.host, why=why.rstrip(".")),
        fix=_("Check the network, the proxy (HTTPS_PROXY) and the profile's region and endpoint; then try again."),
        sent=sent,
    )


def _reply_lost(call: Call, why: str, **details: object) -> ReplyLost:
    return ReplyLost(
        _("No answer from {host}, which may have done what was asked: {why}.").format(
            host=call.host, why=why.rstrip(".")
        ),
        fix=_("Look whether it is there before you try again."),
        **details,
    )


class _Local:
    """What belongs to one event loop."""

    def __init__(self) -> None:
        import httpx

        self.client = httpx.AsyncClient(
            timeout=httpx.Timeout(_READ, connect=_CONNECT, pool=_ATTEMPT),
            limits=httpx.Limits(max_connections=50, max_keepalive_connections=20, keepalive_expiry=30),
            mounts={f"all://{host}": None for host in _LOOPBACK},
            headers={"user-agent": "jupyter-pai", "accept": "application/json"},
        )
        self._limiters: dict[tuple[str, float], AsyncLimiter] = {}

    def limiter(self, account: str, pace: float) -> AsyncLimiter:
        from aiolimiter import AsyncLimiter

        known = self._limiters.get((account, pace))
        if known is None:
            known = self._limiters[account, pace] = AsyncLimiter(max(pace, 1), max(pace, 1) / pace)
        return known


_locals: WeakKeyDictionary[asyncio.AbstractEventLoop, _Local] = WeakKeyDictionary()


def _local() -> _Local:
    loop = asyncio.get_running_loop()
    if loop not in _locals:
        _locals[loop] = _Local()
    return _locals[loop]


async def is_reachable(url: str) -> bool:
    """Whether a page is there: what asks for a login is, an error of the gateway before it is not."""
    import httpx

    try:
        async with asyncio.timeout(_READ):
            return (await _local().client.get(url)).status_code < 500
    except (httpx.HTTPError, httpx.InvalidURL, TimeoutError):
        return False


async def close() -> None:
    """Close the connections of the loop that runs. It may go on: the next call makes new ones."""
    if local := _locals.pop(asyncio.get_running_loop(), None):
        await local.client.aclose()
