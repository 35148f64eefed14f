"""Instance types with prices, resource groups and platform images, cached.

A missing price never stops a submit: prices are optional here, and `pricing` asks the user about a missing one.
"""

from __future__ import annotations

import asyncio
import math
import re
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ...cloud.tencent.reading import number_of, rows_of, text_of
from ...core.errors import ClockError, CredentialsError, PaiError, RegionError
from ...core.price import Price
from ..resources import InstanceType, Quota
from .api import TioneApi

__all__ = ["Catalog", "PlatformImage"]

# Seconds for which lists are cached, and that a submit waits for prices.
_CACHED, _TIMEOUT = 600.0, 5.0
# Most items of a page: DescribeBillingResourceGroups allows 30, DescribePlatformImages 100.
_GROUPS, _IMAGES = 30, 100
_CURRENCY = "CNY"
_MIB, _GIB = 1 << 20, 1 << 30
# Errors that concern the submit, too. After others, prices count as unknown.
_OF_ALL_CALLS = (ClockError, CredentialsError, RegionError)
# 8C40G V100*1, 8C32GB GPU(T4)*1, 8核40GB V100*1, 4C8GB S6, 32C128G T4*1/4
_ALIAS = re.compile(
    r"\s*(?P<cpu>\d+(\.\d+)?)\s*(C|核)\s*(?P<memory>\d+(\.\d+)?)\s*GB?"
    r"(.*?(GPU\()?(?P<gpu>[A-Za-z0-9-]+)\)?\s*[*×xX]\s*(?P<count>\d+(/\d+)?))?",
    re.IGNORECASE,
)
# TI.GN10.2XLARGE40.POST has 2 × 4 cores and 40 GiB.
_NAME = re.compile(r"TI\.[^.]+\.(?P<factor>\d*)(?P<size>SMALL|MEDIUM|X?LARGE)(?P<memory>\d*)\b")
_CORES = {"SMALL": 1, "MEDIUM": 2, "LARGE": 4, "XLARGE": 4}


@dataclass(frozen=True)
class PlatformImage:
    """An image of the platform. `name` is the environment that jobs refer to; models may refer to `id`. `modes` are the
    training modes that it supports; empty if unknown. `gpus` are the GPUs it is made for."""

    name: str
    url: str
    framework: str
    version: str
    modes: tuple[str, ...]
    gpus: tuple[str, ...]
    description: str
    id: str = ""


class Catalog:
    """The lists of one workspace. `cached` and `timeout` are in seconds."""

    def __init__(self, api: TioneApi, cached: float = _CACHED, timeout: float = _TIMEOUT) -> None:
        self._api = api
        self._cached, self._timeout = cached, timeout
        self._kinds: dict[str, InstanceType] = {}
        self._listed_at = float("-inf")
        self._images: dict[str, tuple[float, list[PlatformImage]]] = {}
        # Submits at the same time request a list once.
        self._listing = asyncio.Lock()

    async def instance_types(self, *, refresh: bool = False) -> list[InstanceType]:
        """Return the pay-as-you-go instance types, with their prices per hour in yuan; those without GPUs first, small
        before large. Sold-out types are among them. `refresh` bypasses the cache.

        Raises:
            PaiError: if the platform does not return the types. Without their prices, they are returned.
        """
        asked = time.monotonic()
        async with self._listing:
            if self._listed_at < (asked if refresh else asked - self._cached):
                await self._list()
        return [*self._kinds.values()]

    async def _list(self) -> None:
        body = {"ChargeType": "POSTPAID_BY_HOUR", "TaskType": "TRAIN"}
        reply = await self._api.call("DescribeBillingSpecs", body)
        rows = [row for row in rows_of(reply, "Specs") if text_of(row.get("SpecName"))]
        prices = await self._prices(text_of(row["SpecName"]) for row in rows)
        kinds = [_instance_type(row, prices) for row in rows]
        kinds.sort(key=lambda kind: (kind.gpu, kind.gpu_name, kind.cpu, kind.memory, kind.name))
        self._kinds, self._listed_at = {kind.name: kind for kind in kinds}, time.monotonic()

    async def _prices(self, names: Iterable[str]) -> dict[str, Price]:
        """Return the prices of instance types for one node and hour. Unknown ones are missing.

        The platform sends fen, in any order, and 0 for a price that it cannot represent.
        """
        units = [{"SpecName": name, "SpecCount": 1} for name in names]
        if not units:
            return {}
        try:
            async with asyncio.timeout(self._timeout):
                reply = await self._api.call("DescribeBillingSpecsPrice", {"SpecsParam": units})
        except _OF_ALL_CALLS:
            raise
        except (PaiError, TimeoutError):
            return {}
        prices = {}
        for row in rows_of(reply, "SpecsPrice"):
            fen = number_of(row.get("RealTotalCost")) or number_of(row.get("TotalCost")) or 0
            if fen > 0:
                prices[text_of(row.get("SpecName"))] = Price(fen / 100, _CURRENCY)
        return prices

    async def instance_type(self, name: str) -> InstanceType | None:
        """Return an instance type; None if the platform does not list it, or does not respond.

        Raises:
            PaiError: if it does not accept the keys, the clock or the region.
        """
        try:
            async with asyncio.timeout(self._timeout * 2):
                await self.instance_types()
        except _OF_ALL_CALLS:
            raise
        except (PaiError, TimeoutError):
            return None
        return self._kinds.get(name)

    async def price(self, instance_type: str, count: int = 1) -> Price | None:
        """Return the price of nodes per hour, in yuan; None if unknown.

        Raises:
            PaiError: if the platform does not accept the keys, the clock or the region.
        """
        kind = await self.instance_type(instance_type)
        return kind.price * count if kind and kind.price else None

    async def quotas(self) -> list[Quota]:
        """Return the resource groups of the workspace, with their free resources."""
        body = {"DontShowInstanceSet": True}
        rows = await self._api.items("DescribeBillingResourceGroups", "ResourceGroupSet", body, size=_GROUPS)
        return [_quota(row) for row in rows]

    async def images(self, purpose: str = "Train", *, refresh: bool = False) -> list[PlatformImage]:
        """Return the platform's images for a purpose: Train, Notebook or Inference. `refresh` bypasses the cache."""
        at, images = self._images.get(purpose, (float("-inf"), []))
        if refresh or time.monotonic() - at > self._cached:
            body = {"Filters": [{"Name": "ImageRange", "Values": [purpose]}]}
            rows = await self._api.items("DescribePlatformImages", "PlatformImageInfos", body, size=_IMAGES)
            images = [_image(row) for row in rows if text_of(row.get("ImageName"))]
            self._images[purpose] = (time.monotonic(), images)
        return images

    async def environment(self, name: str) -> PlatformImage | None:
        """Return the platform's image for training with this name; None if there is none."""
        return next((image for image in await self.images() if image.name == name), None)


def _instance_type(row: Mapping[str, Any], prices: Mapping[str, Price]) -> InstanceType:
    name, available = text_of(row.get("SpecName")), row.get("Available")
    cpu, memory, gpu, gpu_name = _sizes(row)
    return InstanceType(
        name=name,
        cpu=cpu,
        memory=int(memory * _GIB),
        gpu=gpu,
        gpu_name=gpu_name,
        available=available if isinstance(available, bool) else None,
        price=prices.get(name),
    )


def _sizes(row: Mapping[str, Any]) -> tuple[float, float, int, str]:
    """Return cores, GiB, number of GPUs and their type, from the alias; without one, from the name."""
    kind = text_of(row.get("GpuType"))
    has_gpu = bool(kind) or text_of(row.get("SpecType")).upper().startswith("GPU")
    alias = _ALIAS.match(text_of(row.get("SpecAlias")))
    if alias:
        count, part = alias["count"] or "", ""
        if "/" in count:  # A share of a GPU, which jobs see as one.
            count, part = "1", f"{count} "
        kind = kind or alias["gpu"] or ""
        return float(alias["cpu"]), float(alias["memory"]), int(count or has_gpu), part + kind
    named = _NAME.match(text_of(row.get("SpecName")))
    if not named:
        return 0.0, 0.0, int(has_gpu), kind
    cores = _CORES[named["size"]] * int(named["factor"] or 1)
    return cores, float(named["memory"] or 0), int(has_gpu), kind


def _quota(row: Mapping[str, Any]) -> Quota:
    total, used = _resources(row.get("TotalResource")), _resources(row.get("UsedResource"))
    free = [max(have - use, 0.0) for have, use in zip(total, used, strict=True)]
    resource = row.get("TotalResource")
    gpus = rows_of(resource, "GpuDetailSet") if isinstance(resource, Mapping) else []
    return Quota(
        id=text_of(row.get("ResourceGroupId")),
        name=text_of(row.get("ResourceGroupName")),
        status="",
        cpu=total[0],
        memory=int(total[1]),
        gpu=math.floor(total[2]),
        free_cpu=free[0],
        free_memory=int(free[1]),
        free_gpu=math.floor(free[2]),
        gpu_name=", ".join(dict.fromkeys(filter(None, (text_of(gpu.get("Name")) for gpu in gpus)))),
    )


def _resources(value: object) -> tuple[float, float, float]:
    """Return cores, bytes and GPUs. The platform sends thousandths of a core, MiB and hundredths of a GPU."""
    fields = value if isinstance(value, Mapping) else {}
    cpu, memory, gpu = (number_of(fields.get(name)) or 0.0 for name in ("Cpu", "Memory", "Gpu"))
    return cpu / 1000, memory * _MIB, gpu / 100


def _image(row: Mapping[str, Any]) -> PlatformImage:
    gpus = row.get("SupportGpuList")
    return PlatformImage(
        name=text_of(row.get("ImageName")),
        url=text_of(row.get("ImageUrl")),
        framework=text_of(row.get("Framework")),
        version=text_of(row.get("FrameworkVersion")),
        modes=tuple(
            str(value)
            for attribute in rows_of(row, "ExtraAttributes")
            if text_of(attribute.get("Key")) == "TrainingModes" and isinstance(attribute.get("Values"), list)
            for value in attribute["Values"]
        ),
        gpus=tuple(map(str, gpus)) if isinstance(gpus, list) else (),
        description=text_of(row.get("Description")),
        id=text_of(row.get("ImageId")),
    )
