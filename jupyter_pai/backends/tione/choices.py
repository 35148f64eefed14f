"""The values that the account has for fields of the form. Requests go to the services of the resources."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...cloud.tencent.api import CLS, VPC, Service
from ...cloud.tencent.reading import rows_of, text_of
from ...core.i18n import _, join, ngettext
from ...core.text import show_memory
from ..resources import Choice, InstanceType, Quota

if TYPE_CHECKING:
    from .api import TioneApi
    from .catalog import Catalog

__all__ = ["choices"]

_Listing = Callable[["TioneApi", "Catalog"], Awaitable[list[Choice]]]

# Most items of a list that VPC and CLS return at once.
_MOST = 100


async def choices(name: str, api: TioneApi, catalog: Catalog) -> Sequence[Choice]:
    """Return the values for fields that are picked from the list `name`; empty for an unknown one.

    Raises:
        PaiError: if the platform does not return them, as for a missing permission.
    """
    listing = _LISTS.get(name)
    return await listing(api, catalog) if listing else ()


async def _workspaces(api: TioneApi, catalog: Catalog) -> list[Choice]:
    # The list is that of the account, which the workspace of the profile need not be in.
    rows = await api.items("DescribeWorkspaces", "Workspaces", {"TiProjectId": None})
    return _rows(rows, "TiProjectId", "Name")


async def _resource_groups(api: TioneApi, catalog: Catalog) -> list[Choice]:
    return [Choice(quota.id, free(quota)) for quota in await catalog.quotas()]


def free(quota: Quota) -> str:
    """Return the name of a resource group and its free resources."""
    cores = _("{free:g} of {all:g} cores free").format(free=quota.free_cpu, all=quota.cpu)
    gpus = _("{free} of {all} GPUs free").format(free=quota.free_gpu, all=quota.gpu) if quota.gpu else ""
    return join(", ", filter(None, (quota.name, gpus, cores)))


async def _instance_types(api: TioneApi, catalog: Catalog) -> list[Choice]:
    return [Choice(kind.name, _machine(kind)) for kind in await catalog.instance_types(refresh=True)]


def _machine(kind: InstanceType) -> str:
    cores = ngettext("{n:g} core", "{n:g} cores", 1 if kind.cpu == 1 else 2).format(n=kind.cpu)
    gpu = f"{kind.gpu} × {kind.gpu_name}" if kind.gpu else ""
    price = _("{price} per hour").format(price=str(kind.price)) if kind.price else ""
    sold_out = _("sold out") if kind.available is False else ""
    return join(", ", filter(None, (cores, show_memory(kind.memory), gpu, price, sold_out)))


async def _environments(api: TioneApi, catalog: Catalog) -> list[Choice]:
    images = await catalog.images(refresh=True)
    return [
        Choice(image.name, ", ".join(filter(None, (f"{image.framework} {image.version}".strip(), *image.modes))))
        for image in images
    ]


def _list_of(service: Service, action: str, items: str, value: str, *labels: str, **body: Any) -> _Listing:
    """Return a function that lists one kind of resources. `value` and `labels` are fields of an item."""

    async def listing(api: TioneApi, catalog: Catalog) -> list[Choice]:
        return _rows(rows_of(await api.account.api.call(service, action, body), items), value, *labels)

    return listing


def _rows(rows: Sequence[Mapping[str, Any]], value: str, *labels: str) -> list[Choice]:
    return [Choice(text_of(row.get(value)), _label(row, *labels)) for row in rows if text_of(row.get(value))]


def _label(row: Mapping[str, Any], *names: str) -> str:
    return ", ".join(filter(None, (text_of(row.get(name)) for name in names)))


_LISTS: dict[str, _Listing] = {
    "workspaces": _workspaces,
    "resource_groups": _resource_groups,
    "instance_types": _instance_types,
    "environments": _environments,
    # VPC takes limits as text, CLS as numbers.
    "vpcs": _list_of(VPC, "DescribeVpcs", "VpcSet", "VpcId", "VpcName", "CidrBlock", Limit=str(_MOST)),
    "subnets": _list_of(
        VPC, "DescribeSubnets", "SubnetSet", "SubnetId", "SubnetName", "CidrBlock", "VpcId", Limit=str(_MOST)
    ),
    "logsets": _list_of(CLS, "DescribeLogsets", "Logsets", "LogsetId", "LogsetName", Limit=_MOST),
    "topics": _list_of(CLS, "DescribeTopics", "Topics", "TopicId", "TopicName", "LogsetId", Limit=_MOST),
}
