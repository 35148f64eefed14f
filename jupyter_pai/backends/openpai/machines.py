"""The virtual clusters, SKUs and storages of a cluster that the user may use, and the pages of its portal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

from ...core.i18n import _
from ..resources import Choice, InstanceType, Link, Quota
from .options import OpenPaiSettings

if TYPE_CHECKING:
    from .client import OpenPaiClient

__all__ = ["Granted", "choices", "free", "granted", "links", "portal", "quotas", "skus", "storages"]

# Memory is in megabytes of 2^20 bytes.
_MEMORY_UNIT = 1 << 20


@dataclass(frozen=True)
class Granted:
    """The virtual clusters and the storages that the user may use, by their names."""

    virtual_clusters: tuple[str, ...]
    storages: tuple[str, ...]


async def granted(client: OpenPaiClient) -> Granted:
    """Return what the user may use. The reply has a private key, too, which is dropped here."""
    reply = await client.get(f"/users/{quote((await client.credentials()).username, safe='')}")
    fields: dict[str, Any] = reply if isinstance(reply, dict) else {}
    return Granted(_names(fields.get("virtualCluster")), _names(fields.get("storageConfig")))


def _names(value: object) -> tuple[str, ...]:
    return tuple(sorted({str(name) for name in value})) if isinstance(value, list) else ()


async def quotas(client: OpenPaiClient) -> list[Quota]:
    """Return the virtual clusters of the user, with total and free resources."""
    names = (await granted(client)).virtual_clusters
    reply = await client.get("/virtual-clusters")
    rows = reply if isinstance(reply, dict) else {}
    return [_quota(name, rows[name]) for name in names if isinstance(rows.get(name), dict)]


def _quota(name: str, row: dict[str, Any]) -> Quota:
    total, used = _resources(row.get("resourcesTotal")), _resources(row.get("resourcesUsed"))
    free = [max(have - use, 0.0) for have, use in zip(total, used, strict=True)]
    return Quota(
        id=name,
        name=name,
        status="dedicated" if row.get("dedicated") else "",
        cpu=total[0],
        memory=int(total[1] * _MEMORY_UNIT),
        gpu=int(total[2]),
        free_cpu=free[0],
        free_memory=int(free[1] * _MEMORY_UNIT),
        free_gpu=int(free[2]),
    )


def _resources(value: object) -> tuple[float, float, float]:
    """Return cores, megabytes and GPUs."""
    fields = value if isinstance(value, dict) else {}
    return _number(fields.get("cpu")), _number(fields.get("memory")), _number(fields.get("gpu"))


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) and isfinite(value) else 0.0


async def skus(client: OpenPaiClient, virtual_cluster: str = "") -> list[InstanceType]:
    """Return the SKUs of a cluster or of a virtual cluster, each as one unit, smallest first; none without HiveD.

    Raises:
        NotFound: if the virtual cluster is unknown, or the cluster runs without HiveD.
    """
    query = {"vc": virtual_cluster} if virtual_cluster else None
    reply = await client.get("/cluster/sku-types", query)
    found = []
    for name, value in (reply if isinstance(reply, dict) else {}).items():
        cpu, memory, gpu = _resources(value)
        if isinstance(value, dict):
            found.append(InstanceType(name=str(name), cpu=cpu, memory=int(memory * _MEMORY_UNIT), gpu=int(gpu)))
    return sorted(found, key=lambda kind: (kind.gpu, kind.cpu, kind.memory, kind.name))


async def storages(client: OpenPaiClient) -> dict[str, bool]:
    """Return the names of the storages of the user, and whether jobs of the portal use each by default.

    The details of a storage have credentials. They are never requested.
    """
    reply = await client.get("/storages")
    rows = reply.get("storages") if isinstance(reply, dict) else None
    known = [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
    return {str(row["name"]): bool(row.get("default")) for row in known if row.get("name")}


async def choices(client: OpenPaiClient, name: str) -> list[Choice]:
    """Return the values for fields that are picked from `virtual_clusters` or `storages`."""
    if name == "storages":
        found = sorted((await storages(client)).items())
        return [Choice(storage, _("default") if is_default else "") for storage, is_default in found]
    return [Choice(quota.id, free(quota)) for quota in await quotas(client)]


def free(quota: Quota) -> str:
    """Return the free share of a virtual cluster as text."""
    if quota.gpu:
        return _("{free} of {all} GPUs free").format(free=quota.free_gpu, all=quota.gpu)
    return _("{free:g} of {all:g} cores free").format(free=quota.free_cpu, all=quota.cpu)


def portal(settings: OpenPaiSettings) -> str:
    """Return the address of the portal, without a request: HTTPS unless the profile says otherwise."""
    return settings.endpoint if "://" in settings.endpoint else f"https://{settings.endpoint}"


def links(settings: OpenPaiSettings) -> Sequence[Link]:
    """Return the pages of the portal. Sends no request."""
    base = portal(settings)
    jobs = f"{base}/job-list.html"
    if settings.username:
        jobs += f"?{urlencode({'username': settings.username})}"
    return [Link(_("Portal"), f"{base}/"), Link(_("Jobs in the portal"), jobs)]
