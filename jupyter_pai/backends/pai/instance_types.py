"""What PAI's jobs can run on: instance types of the public pools, and the account's quotas.

Numbers come as numbers, as texts, or with a unit (``256Gi``); what is missing is zero. No API publishes prices.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ...cloud.alibaba.account import AlibabaAccount
from ...cloud.alibaba.openapi import DLC, STUDIO
from ..resources import InstanceType, Quota
from .pagination import gather

__all__ = ["list_instance_types", "list_quotas"]

_GIB = 1 << 30
_UNITS = {"": _GIB, "Ki": 1 << 10, "Mi": 1 << 20, "Gi": _GIB, "Ti": 1 << 40}
_PAGE = 100


async def list_instance_types(account: AlibabaAccount) -> list[InstanceType]:
    """The kinds of machine of the public pools: those without GPUs first, small before large."""
    found: dict[str, InstanceType] = {}
    for pool in ("ECS", "Lingjun"):
        query = {"ResourceType": pool}
        for fields in await gather(account.api, DLC, "ListEcsSpecs", "/api/v1/ecsspecs", "EcsSpecs", query, _PAGE):
            kind = _instance_type(fields)
            found[kind.name] = kind
    return sorted(found.values(), key=lambda kind: (kind.gpu, kind.gpu_name, kind.cpu, kind.memory, kind.name))


async def list_quotas(account: AlibabaAccount) -> list[Quota]:
    """The quotas that the workspace may use, with what is free in them."""
    query = {"WorkspaceIds": await account.workspace_id(), "Verbose": True}
    found = await gather(account.api, STUDIO, "ListQuotas", "/api/v1/quotas/", "Quotas", query, _PAGE)
    return [_quota(fields) for fields in found]


def _instance_type(fields: Mapping[str, Any]) -> InstanceType:
    available, stock = fields.get("IsAvailable"), str(fields.get("SpotStockStatus") or "")
    payments = fields.get("PaymentTypes") or []
    spot = _amount(fields.get("NonProtectSpotDiscount"))
    has_spot = spot > 0 and (not payments or "Spot" in payments) and stock != "NoStock"
    return InstanceType(
        name=str(fields.get("InstanceType") or ""),
        cpu=_amount(fields.get("Cpu")),
        memory=_bytes(fields.get("Memory")),
        gpu=int(_amount(fields.get("Gpu"))),
        gpu_name=str(fields.get("GpuType") or ""),
        gpu_memory=_bytes(fields.get("GpuMemory")),
        available=available if isinstance(available, bool) else None,
        spot_discount=spot if has_spot else None,
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
    """A number, whether it comes as one, as text, or in thousandths (``500m``)."""
    found = re.fullmatch(r"\s*(-?\d+(?:\.\d+)?)\s*(m?)\s*", str(value if value is not None else ""))
    return float(found[1]) / (1000 if found[2] else 1) if found else 0.0


def _bytes(value: object) -> int:
    """A size in bytes; a number without a unit counts GiB."""
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]i)?[Bb]?\s*", str(value if value is not None else ""))
    return int(float(found[1]) * _UNITS[found[2] or ""]) if found else 0
