"""The virtual clusters and storages that a user may use, and the SKUs of a virtual cluster."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from ....core.errors import NotFound
from .. import machines
from ..protocol.references import Cluster, Sku

if TYPE_CHECKING:
    from ..client import OpenPaiClient

__all__ = ["cluster_of"]

# Seconds for which a reply is used: check, preview and submit of one job need the same one.
_AGE = 10.0
_MIB = 1 << 20
_known: WeakKeyDictionary[OpenPaiClient, dict[str, tuple[float, Cluster]]] = WeakKeyDictionary()


async def cluster_of(client: OpenPaiClient, virtual_cluster: str) -> Cluster:
    """Return what the check of a document needs for a virtual cluster. `skus` is empty without HiveD."""
    known = _known.setdefault(client, {})
    at, found = known.get(virtual_cluster, (float("-inf"), Cluster()))
    if time.monotonic() > at + _AGE:
        granted = await machines.granted(client)
        is_granted = virtual_cluster in granted.virtual_clusters
        skus = await _skus(client, virtual_cluster) if is_granted else {}
        found = Cluster(granted.virtual_clusters, granted.storages, skus)
        known[virtual_cluster] = time.monotonic(), found
    return found


async def _skus(client: OpenPaiClient, virtual_cluster: str) -> dict[str, Sku]:
    try:
        kinds = await machines.skus(client, virtual_cluster)
    except NotFound:  # The cluster runs without HiveD.
        return {}
    return {kind.name: Sku(int(kind.cpu or 0), (kind.memory or 0) // _MIB, kind.gpu or 0) for kind in kinds}
