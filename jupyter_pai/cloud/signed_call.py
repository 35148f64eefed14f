"""Calls that are signed by a key of a cloud account, and the clock of the machine that signs them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from ..core.errors import ClockError, CredentialsError
from ..core.i18n import _
from .http import Call, Transport
from .keys import AccessKey

if TYPE_CHECKING:
    import httpx

__all__ = ["SignedCall", "clock_skew_error"]

# Seconds below the tolerance from which on a skew counts as the cause: requests take time to arrive, too.
_MARGIN = 60


@dataclass
class SignedCall:
    """One call of an action. `current` returns the signing key for each attempt, `drop` discards a rejected one, and
    `sign` signs a request by a key."""

    current: Callable[[], Awaitable[AccessKey]]
    drop: Callable[[AccessKey], None]
    sign: Callable[[AccessKey, httpx.Request], httpx.Request]
    _used: AccessKey | None = field(default=None, init=False)

    @property
    def key(self) -> AccessKey:
        """The key of the last attempt, which its response may quote."""
        assert self._used
        return self._used

    async def auth(self) -> Callable[[httpx.Request], httpx.Request]:
        """Return the function that signs an attempt."""
        self._used = await self.current()
        return partial(self.sign, self._used)

    async def send(self, transport: Transport, call: Call) -> Any:
        """Send a call and return the JSON value of its response. Raises like `Transport.send`.

        A temporary key may have expired since it was fetched: then the call is sent once more with a newer one.
        """
        try:
            return await transport.send(call)
        except CredentialsError:
            if self._used is None:  # There is none.
                raise
            self.drop(self._used)
            if (await self.current()).same(self._used):
                raise
            return await transport.send(call)


def clock_skew_error(date: str, tolerance: int, code: str) -> ClockError | None:
    """Return an error with the clock skew of this machine, if the skew is the cause of a refusal with this code.

    `date` is a header of the response, `tolerance` the skew in minutes that the platform accepts.
    """
    try:
        ahead = (datetime.now(UTC) - parsedate_to_datetime(date)).total_seconds()
    except (ValueError, TypeError):
        return None
    if abs(ahead) < tolerance * 60 - _MARGIN:
        return None
    text = (
        _("This machine's clock is {minutes} minutes fast. The platform accepts requests within {limit} minutes.")
        if ahead > 0
        else _("This machine's clock is {minutes} minutes slow. The platform accepts requests within {limit} minutes.")
    )
    return ClockError(
        text.format(minutes=round(abs(ahead) / 60), limit=tolerance),
        fix=_("Set the clock of this machine, for example by NTP."),
        seconds=round(ahead),
        code=code,
    )
