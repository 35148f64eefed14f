"""What the platform offers, remembered for a while: submits that follow each other do not ask for it each time."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime, timedelta

from ...cloud.alibaba.account import AlibabaAccount
from ...core.errors import PaiError
from ..resources import InstanceType
from . import instance_types as machines
from . import spot
from .api import PaiStudio
from .spot import Discount

__all__ = ["Catalogue"]

# Seconds for which a list of instance types counts, and a price of a spot machine.
_KEPT, _PRICES_KEPT = 600.0, 60.0
# Seconds that a submit waits for the price of a spot machine; it can do without.
_PATIENCE = 5.0
_DAY = timedelta(days=1)


class Catalogue:
    """The instance types of one account, and what they cost as spot machines. `kept`: seconds that a list counts;
    `patience`: seconds that anybody waits for a price."""

    def __init__(self, account: AlibabaAccount, kept: float = _KEPT, patience: float = _PATIENCE) -> None:
        self._account = account
        self._kept = kept
        self._patience = patience
        self._kinds: list[InstanceType] = []
        self._listed_at = float("-inf")
        self._discounts: dict[str, tuple[float, Discount | None]] = {}

    async def instance_types(self, *, anew: bool = False) -> list[InstanceType]:
        """The kinds of machine of the public pools; with `anew` the platform is asked in any case."""
        if anew or time.monotonic() - self._listed_at > self._kept:
            self._kinds = await machines.list_instance_types(self._account)
            self._listed_at = time.monotonic()
        return self._kinds

    async def discount(self, name: str) -> Discount | None:
        """What an instance type costs as a spot machine; None where that is not known, or not within a few seconds.
        That it is not known is remembered as well. Raises nothing that the platform may answer."""
        at, known = self._discounts.get(name, (float("-inf"), None))
        if time.monotonic() - at <= _PRICES_KEPT:
            return known
        found = None
        try:
            async with asyncio.timeout(self._patience):
                found = await self._history(name) or await self._listed(name)
        except TimeoutError:
            pass
        self._discounts[name] = (time.monotonic(), found)
        return found

    async def _history(self, name: str) -> Discount | None:
        try:
            since = datetime.now(UTC) - _DAY
            return spot.read(await PaiStudio(self._account).spot_prices(name, since))
        except PaiError:
            return None

    async def _listed(self, name: str) -> Discount | None:
        try:
            kinds = await self.instance_types()
        except PaiError:
            return None
        share = next((spot.share_of(kind.spot_discount) for kind in kinds if kind.name == name), None)
        return Discount((share, share)) if share else None
