"""Cached instance types and spot discounts, so that consecutive submits do not fetch them each time."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime, timedelta

from ...cloud.alibaba.account import AlibabaAccount
from ...core.errors import PaiError
from ..resources import InstanceType
from . import instance_types as resources
from .api import PaiApi
from .pricing import Discount, discount_of, share_of

# Seconds for which instance types and spot prices are cached.
_CACHED, _PRICES_CACHED = 600.0, 60.0
# Seconds that a submit waits for a spot price, which is optional.
_TIMEOUT = 5.0
_DAY = timedelta(days=1)


class InstanceCatalog:
    """The instance types and spot discounts of one account. `cached` and `timeout` are in seconds."""

    def __init__(self, account: AlibabaAccount, cached: float = _CACHED, timeout: float = _TIMEOUT) -> None:
        self._account = account
        self._cached = cached
        self._timeout = timeout
        self._kinds: list[InstanceType] = []
        self._listed_at = float("-inf")
        self._discounts: dict[str, tuple[float, Discount | None]] = {}

    async def instance_types(self, *, refresh: bool = False) -> list[InstanceType]:
        """Return the instance types of the public pools; `refresh` bypasses the cache."""
        if refresh or time.monotonic() - self._listed_at > self._cached:
            self._kinds = await resources.list_instance_types(self._account)
            self._listed_at = time.monotonic()
        return self._kinds

    async def discount(self, name: str) -> Discount | None:
        """Return the spot discount of an instance type; None if unknown or not received in time, which is cached too.

        Errors of the platform are ignored.
        """
        at, known = self._discounts.get(name, (float("-inf"), None))
        if time.monotonic() - at <= _PRICES_CACHED:
            return known
        discount = None
        try:
            async with asyncio.timeout(self._timeout):
                discount = await self._history(name) or await self._listed(name)
        except TimeoutError:
            pass
        self._discounts[name] = (time.monotonic(), discount)
        return discount

    async def _history(self, name: str) -> Discount | None:
        try:
            return discount_of(await PaiApi(self._account).spot_prices(name, datetime.now(UTC) - _DAY))
        except PaiError:
            return None

    async def _listed(self, name: str) -> Discount | None:
        try:
            kinds = await self.instance_types()
        except PaiError:
            return None
        share = next((share_of(kind.spot_discount) for kind in kinds if kind.name == name), None)
        return Discount((share, share)) if share else None
