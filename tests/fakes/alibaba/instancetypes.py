"""Instance types and their spot prices."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from .clock import Clock, iso
from .service_errors import Refusal
from .services import Operation, Reply, Request

__all__ = ["SPECS", "InstanceTypes", "ordered"]


def _spec(
    name: str, cpu: int, memory: int, gpu: int = 0, gpu_type: str = "", gpu_memory: int = 0, **more: Any
) -> Reply:
    reply: Reply = {
        "InstanceType": name,
        "AcceleratorType": "GPU" if gpu else "CPU",
        "Cpu": cpu,
        "Gpu": gpu,
        "GpuType": gpu_type,
        "GpuMemory": gpu_memory,
        "Memory": memory,
        "IsAvailable": True,
        "ResourceType": "ECS",
        "PaymentTypes": ["Postpaid", "Spot"],
        "SpotStockStatus": "WithStock",
        "NonProtectSpotDiscount": 0.25,
    }
    return reply | more


_DAY = 86_400
SOLD_OUT = "ecs.gn7i-c8g1.2xlarge"
SPECS = [
    _spec("ecs.c6.large", 2, 4),
    _spec("ecs.c6.xlarge", 4, 8),
    _spec("ecs.g6.xlarge", 4, 16),
    _spec("ecs.g6.4xlarge", 16, 64),
    _spec("ecs.gn6i-c4g1.xlarge", 4, 15, 1, "T4", 16, DefaultGPUDriver="470.199.02"),
    _spec("ecs.gn6v-c8g1.2xlarge", 8, 32, 1, "V100", 16, NonProtectSpotDiscount=0.4),
    _spec(SOLD_OUT, 8, 30, 1, "A10", 24, IsAvailable=False, SpotStockStatus="NoStock"),
    _spec("ecs.gn7e-c16g1.16xlarge", 64, 512, 4, "A100", 80, PaymentTypes=["Postpaid"]),
    _spec("ml.gu8xf.8xlarge-gu108", 32, 256, 8, "GU108", 96, ResourceType="Lingjun"),
]


def ordered(named: str) -> Reply:
    """Return an instance type. Raises Refusal if there is none now."""
    spec = next((spec for spec in SPECS if spec["InstanceType"] == named), None)
    if spec is None:
        raise Refusal(400, "InvalidEcsSpec", f"The specified EcsSpec {named} is not supported in this region.")
    if not spec["IsAvailable"]:
        message = f"The resource {named} is sold out in this region. Use another instance type."
        raise Refusal(403, "OperationDenied.NoStock", message)
    return spec


class InstanceTypes:
    """The instance types of a region."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def operations(self) -> list[Operation]:
        """The operations of this service."""
        return [
            Operation("dlc", "ListEcsSpecs", "GET", "/ecsspecs", self._specs),
            Operation("paistudio", "GetSpotPriceHistory", "GET", "/spots/{InstanceType}/pricehistory", self._prices),
        ]

    def _specs(self, request: Request) -> Reply:
        query = request.query
        names = [name for name in query.get("InstanceTypes", "").split(",") if name]
        results = [
            spec
            for spec in SPECS
            if query.get("AcceleratorType") in (None, "", spec["AcceleratorType"])
            and query.get("ResourceType", "ECS") in ("", spec["ResourceType"])
            and (not names or spec["InstanceType"] in names)
        ]
        by = {"CPU": "Cpu", "GPU": "Gpu", "MEMORY": "Memory"}.get(query.get("SortBy", "").upper())
        if by:
            results.sort(key=lambda spec: int(spec[by]), reverse=query.get("Order", "desc") != "asc")
        return {"EcsSpecs": request.page(results, 10), "TotalCount": len(results)}

    def _prices(self, request: Request) -> Reply:
        name = request.path["InstanceType"]
        spec = next((spec for spec in SPECS if spec["InstanceType"] == name), None)
        if spec is None:
            raise Refusal(400, "InvalidInstanceType", f"The instance type {name} is not supported.")
        until = _seconds(request.query.get("EndTime")) or self._clock.now()
        since = _seconds(request.query.get("StartTime")) or until - 3 * _DAY
        if not 0 <= until - since <= 7 * _DAY:
            raise Refusal(400, "InvalidStartTime", "StartTime must be within seven days before EndTime.")
        result = _history(spec, since, until)
        if spec["ResourceType"] == "ECS":  # Order and pages are of Lingjun only.
            return {"SpotPriceHistory": result, "TotalCount": len(result)}
        result.sort(key=lambda item: str(item["Timestamp"]), reverse=request.query.get("Order") == "desc")
        return {"SpotPriceHistory": request.page(result, 10), "TotalCount": len(result)}


def _history(spec: Reply, since: float, until: float) -> list[Reply]:
    """Return the spot prices of a type, one per hour in two zones, oldest first: the current price in one zone and a
    little more in the other, rising by a hundredth per hour of the past day."""
    if "Spot" not in spec["PaymentTypes"] or spec["SpotStockStatus"] == "NoStock":
        return []
    hours = range(int(-(-since // 3600)), int(until // 3600) + 1)
    return [
        {
            "InstanceType": spec["InstanceType"],
            "SpotDiscount": round(spec["NonProtectSpotDiscount"] + dearer + (hours[-1] - hour) % 24 / 100, 2),
            "ZoneId": f"cn-shanghai-{zone}",
            "Timestamp": iso(3600 * hour),
        }
        for hour in hours
        for zone, dearer in (("b", 0), ("c", 0.03))
    ]


def _seconds(text: str | None) -> float:
    return datetime.fromisoformat(text).timestamp() if text else 0.0
