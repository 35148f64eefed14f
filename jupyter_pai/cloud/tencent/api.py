"""Client for Tencent Cloud's services.

A call is a POST of JSON. Errors come with the status 200. `endpoint` replaces the hosts of all services, for a private
cloud or a test.
"""

from __future__ import annotations

import json
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ...core.errors import Unsupported
from ...core.i18n import language
from ..http import Call, Retries, Transport
from ..keys import AccessKey
from ..signed_call import SignedCall
from .errors import answer_of, read_refusal
from .signature import sign

__all__ = ["BILLING", "CLS", "STS", "TIONE", "VPC", "Service", "TencentApi"]

# Calls per second of all actions together. Tencent Cloud limits each action.
_TOTAL_PACE = 100.0
# Seconds for which an action that is not offered is not called again.
_DAY = 86_400.0


@dataclass(frozen=True)
class Service:
    """A service: its name in hosts and signatures, its name in messages, and the version of its API."""

    name: str
    title: str
    version: str

    def host(self, region: str, network: str) -> str:
        """Return the host in a region. `network` is ``public`` or ``internal``. Regions for financial companies are
        served by hosts of their own only."""
        inner = ".internal" if network == "internal" else ""
        own = f".{region}" if region.endswith("-fsi") else ""
        return f"{self.name}{inner}{own}.tencentcloudapi.com"


TIONE = Service("tione", "TI-ONE", "2021-11-11")
STS = Service("sts", "STS", "2018-08-13")
BILLING = Service("billing", "Billing", "2018-07-09")
VPC = Service("vpc", "VPC", "2017-03-12")
CLS = Service("cls", "CLS", "2020-10-16")


class TencentApi:
    """The services of one account in one region.

    `key` returns the signing key for each attempt, and `drop` discards a rejected one. `network` returns ``internal``
    or ``public``. `endpoint` is the base URL of all services, if set. `pace` is the most calls of one action per
    second. `ca_file` has further trusted certificates. `clock` returns a time in seconds that never decreases.
    """

    def __init__(
        self,
        region: str,
        key: Callable[[], Awaitable[AccessKey]],
        drop: Callable[[AccessKey], None],
        network: Callable[[], Awaitable[str]],
        *,
        endpoint: str = "",
        account: str = "",
        pace: float = 10,
        ca_file: str = "",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.region = region
        self.endpoint = endpoint.rstrip("/")
        self.key = key
        self._drop = drop
        self._network = network
        self._account = f"{account}@{endpoint or region}"
        self._pace = pace
        self._ca_file = ca_file
        self._clock = clock
        self._refused_at: dict[str, float] = {}

    async def call(
        self,
        service: Service,
        action: str,
        body: Mapping[str, Any] | None = None,
        *,
        repeat: bool = True,
        retries: Retries | None = None,
    ) -> dict[str, Any]:
        """Call an action and return the object `Response` of its reply. Fields of `body` that are None are omitted, at
        any depth.

        Pass `repeat=False` for an action that is not idempotent: it is not retried, and the caller checks its effect if
        the reply is lost.

        Raises:
            PaiError: as mapped by `jupyter_pai.cloud.tencent.errors`.
            Unsupported: if the platform does not offer the action.
            Unreachable: if no response is received.
            ReplyLost: if a non-idempotent action may have been executed.
        """
        what = f"{service.title} {action}"
        signed = SignedCall(self.key, self._drop, lambda key, request: sign(key, service.name, request))
        transport = Transport(
            self._account, lambda response: read_refusal(response, what, signed.key), _TOTAL_PACE, self._ca_file
        )
        call = Call(
            "POST",
            f"{self.endpoint or 'https://' + service.host(self.region, await self._network())}/",
            signed.auth,
            json.dumps(_without_none(body or {})).encode(),
            self._headers(service, action),
            repeat,
            retries or Retries(),
            action=f"{service.name} {action}",
            pace=self._pace,
        )
        return answer_of(await signed.send(transport, call))

    async def extra(
        self, service: Service, action: str, body: Mapping[str, Any] | None = None
    ) -> dict[str, Any] | None:
        """Call an idempotent action that the platform need not offer. Returns None if it does not, and does not ask
        again for a day.

        Raises:
            PaiError: like `call`, but never `Unsupported`.
        """
        name = f"{service.name} {action}"
        refused = self._refused_at.get(name)
        if refused is not None and self._clock() - refused < _DAY:
            return None
        try:
            return await self.call(service, action, body)
        except Unsupported:
            self._refused_at[name] = self._clock()
            return None

    def _headers(self, service: Service, action: str) -> dict[str, str]:
        return {
            "content-type": "application/json",
            "x-tc-action": action,
            "x-tc-version": service.version,
            "x-tc-region": self.region,
            "x-tc-language": "zh-CN" if language().startswith("zh") else "en-US",
        }


def _without_none(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _without_none(inner) for name, inner in value.items() if inner is not None}
    return [_without_none(inner) for inner in value] if isinstance(value, list | tuple) else value
