"""Instance types of PAI's public pools with their spot discounts, and the account's quotas.

Consecutive submits use cached instance types and discounts. The API sends numbers as numbers, as text, or with a unit
(``256Gi``); a missing one is zero. It publishes no prices.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote

from ...cloud.alibaba.account import AlibabaAccount
from ...cloud.alibaba.openapi import DLC, STUDIO
from ...core.errors import PaiError
from ..resources import InstanceType, Quota, QuotaUser
from .api import PaiApi, list_items
from .pricing import Discount, discount_of, share_of

_GIB = 1 << 30
_UNITS = {"": _GIB, "Ki": 1 << 10, "Mi": 1 << 20, "Gi": _GIB, "Ti": 1 << 40}
_PAGE = 100
# Seconds for which instance types and spot prices are cached.
_CACHED, _PRICES_CACHED = 600.0, 60.0
# Seconds that a submit waits for a spot price, which is optional.
_TIMEOUT = 5.0
_DAY = timedelta(days=1)
# Statuses of jobs that have left a quota.
_ENDED = {"Succeeded", "Succeed", "Failed", "Stopped", "Terminated"}


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
            self._kinds = await list_instance_types(self._account)
            self._listed_at = time.monotonic()
        return self._kinds

    async def discount(self, name: str) -> Discount | None:
        """Return the spot discount of an instance type; None if unknown or not received in time, which is cached too.

        Errors of the platform are ignored.
        """
        at, discount = self._discounts.get(name, (float("-inf"), None))
        if time.monotonic() - at <= _PRICES_CACHED:
            return discount
        discount = None
        with suppress(TimeoutError):
            async with asyncio.timeout(self._timeout):
                discount = await self._fetch_discount(name)
        self._discounts[name] = (time.monotonic(), discount)
        return discount

    async def _fetch_discount(self, name: str) -> Discount | None:
        with suppress(PaiError):
            if discount := discount_of(await PaiApi(self._account).spot_prices(name, datetime.now(UTC) - _DAY)):
                return discount
        with suppress(PaiError):
            kinds = await self.instance_types()
            share = next((share_of(kind.spot_discount) for kind in kinds if kind.name == name), None)
            return Discount((share, share)) if share else None
        return None


async def list_instance_types(account: AlibabaAccount) -> list[InstanceType]:
    """Return the instance types of the public pools: without GPUs first, small before large."""
    kinds: dict[str, InstanceType] = {}
    for pool in ("ECS", "Lingjun"):
        query = {"ResourceType": pool}
        items = list_items(account.api, DLC, "ListEcsSpecs", "/api/v1/ecsspecs", "EcsSpecs", query, _PAGE)
        kinds |= {kind.name: kind async for kind in (_instance_type(fields) async for fields in items)}
    return sorted(kinds.values(), key=lambda kind: (kind.gpu, kind.gpu_name, kind.cpu, kind.memory, kind.name))


async def list_quotas(account: AlibabaAccount) -> list[Quota]:
    """Return the quotas of the workspace, with their free resources."""
    query = {"WorkspaceIds": await account.workspace_id(), "Verbose": True}
    items = list_items(account.api, STUDIO, "ListQuotas", "/api/v1/quotas/", "Quotas", query, _PAGE)
    return [_quota(fields) async for fields in items]


async def list_quota_users(account: AlibabaAccount, quota_id: str) -> list[QuotaUser]:
    """Return the users whose jobs are in a quota, the largest number of running jobs first. Jobs of all services
    count."""
    path = f"/api/v1/quotas/{quote(quota_id, safe='')}/workloads"
    running, waiting = Counter[str](), Counter[str]()
    async for fields in list_items(account.api, STUDIO, "ListQuotaWorkloads", path, "Workloads", {}, _PAGE):
        if str(fields.get("WorkloadStatus") or "") not in _ENDED:
            has_resources = fields.get("Status") == "Dequeued" or fields.get("WorkloadStatus") == "Running"
            user = str(fields.get("UserName") or fields.get("UserId") or "")
            (running if has_resources else waiting)[user] += 1
    users = [QuotaUser(name, running[name], waiting[name]) for name in running | waiting]
    return sorted(users, key=lambda user: (-user.running, -user.waiting, user.name))


def _instance_type(fields: Mapping[str, Any]) -> InstanceType:
    available, stock = fields.get("IsAvailable"), str(fields.get("SpotStockStatus") or "")
    payments = fields.get("PaymentTypes") or []
    spot = _amount(fields.get("NonProtectSpotDiscount"))
    return InstanceType(
        name=str(fields.get("InstanceType") or ""),
        cpu=_amount(fields.get("Cpu")),
        memory=_bytes(fields.get("Memory")),
        gpu=int(_amount(fields.get("Gpu"))),
        gpu_name=str(fields.get("GpuType") or ""),
        gpu_memory=_bytes(fields.get("GpuMemory")),
        available=available if isinstance(available, bool) else None,
        spot_discount=spot if spot > 0 and (not payments or "Spot" in payments) and stock != "NoStock" else None,
        pool=str(fields.get("ResourceType") or ""),
    )


def _quota(fields: Mapping[str, Any]) -> Quota:
    details = fields.get("QuotaDetails") or {}
    whole = details.get("ActualMinQuota") or {}
    free = details.get("AllocatableQuota") or {}
    return Quota(
        id=str(fields.get("QuotaId") or ""),
        name=str(fields.get("QuotaName") or ""),
        status=str(fields.get("Status") or ""),
        cpu=_amount(whole.get("CPU")),
        memory=_bytes(whole.get("Memory")),
        gpu=int(_amount(whole.get("GPU"))),
        free_cpu=_amount(free.get("CPU")),
        free_memory=_bytes(free.get("Memory")),
        free_gpu=int(_amount(free.get("GPU"))),
        gpu_name=str(fields.get("GPUType") or whole.get("GPUType") or ""),
    )


def _amount(value: object) -> float:
    """Return a number sent as number, text, or in thousandths (``500m``)."""
    match = re.fullmatch(r"\s*(-?\d+(?:\.\d+)?)\s*(m?)\s*", str(value if value is not None else ""))
    return float(match[1]) / (1000 if match[2] else 1) if match else 0.0


def _bytes(value: object) -> int:
    """Return a size in bytes; the default unit is GiB."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]i)?[Bb]?\s*", str(value if value is not None else ""))
    return int(float(match[1]) * _UNITS[match[2] or ""]) if match else 0
