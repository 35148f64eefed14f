"""Instance types of PAI's public pools, and the account's quotas.

The API sends numbers as numbers, as text, or with a unit (``256Gi``); a missing one is zero. It publishes no prices.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ...cloud.alibaba.account import AlibabaAccount
from ...cloud.alibaba.openapi import DLC, STUDIO
from ..resources import InstanceType, Quota
from .pagination import gather

_GIB = 1 << 30
_UNITS = {"": _GIB, "Ki": 1 << 10, "Mi": 1 << 20, "Gi": _GIB, "Ti": 1 << 40}
_PAGE = 100


async def list_instance_types(account: AlibabaAccount) -> list[InstanceType]:
    """Return the instance types of the public pools: without GPUs first, small before large."""
    kinds: dict[str, InstanceType] = {}
    for pool in ("ECS", "Lingjun"):
        query = {"ResourceType": pool}
        for fields in await gather(account.api, DLC, "ListEcsSpecs", "/api/v1/ecsspecs", "EcsSpecs", query, _PAGE):
            kind = _instance_type(fields)
            kinds[kind.name] = kind
    return sorted(kinds.values(), key=lambda kind: (kind.gpu, kind.gpu_name, kind.cpu, kind.memory, kind.name))


async def list_quotas(account: AlibabaAccount) -> list[Quota]:
    """Return the quotas of the workspace, with their free resources."""
    query = {"WorkspaceIds": await account.workspace_id(), "Verbose": True}
    items = await gather(account.api, STUDIO, "ListQuotas", "/api/v1/quotas/", "Quotas", query, _PAGE)
    return [_quota(fields) for fields in items]


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
