"""Instance types, their spot prices, and quotas."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any

from .clock import Clock, iso
from .jobs import TrainingJob
from .service_errors import Refusal
from .services import Operation, Reply, Request

__all__ = ["QUOTAS", "SPECS", "InstanceTypes"]


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
QUOTAS = {"quota1stand": (64, 4, 256), "quota2empty": (0, 0, 0)}


class InstanceTypes:
    """Instance types and their use; `jobs` returns the existing jobs."""

    def __init__(self, workspace_id: str, clock: Clock, jobs: Callable[[], Iterable[TrainingJob]]) -> None:
        self._workspace_id, self._clock, self._jobs = workspace_id, clock, jobs

    def operations(self) -> list[Operation]:
        """The operations of this service."""
        return [
            Operation("dlc", "ListEcsSpecs", "GET", "/ecsspecs", self._specs),
            Operation("paistudio", "GetSpotPriceHistory", "GET", "/spots/{InstanceType}/pricehistory", self._prices),
            Operation("paistudio", "ListQuotas", "GET", "/quotas/", self._quotas),
            Operation("paistudio", "GetQuota", "GET", "/quotas/{QuotaId}", self._quota),
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

    def _quotas(self, request: Request) -> Reply:
        wanted = [name for name in request.query.get("QuotaIds", "").split(",") if name]
        results = [self._fields(name) for name in QUOTAS if not wanted or name in wanted]
        return {"Quotas": request.page(results, 10), "TotalCount": len(results)}

    def _quota(self, request: Request) -> Reply:
        name = request.path["QuotaId"]
        if name not in QUOTAS:
            raise Refusal(404, "QuotaNotFound", f"Quota {name} is not found.")
        return self._fields(name)

    def has_room(self, job: TrainingJob) -> bool:
        """Return whether the job's quota, if any, has enough free resources."""
        name = (job.request.get("ComputeResource") or {}).get("ResourceId")
        if name not in QUOTAS:
            return True
        free = (have - used for have, used in zip(QUOTAS[name], self._taken(name), strict=True))
        return all(need <= left for need, left in zip(self._used(job), free, strict=True))

    def _taken(self, name: str) -> list[int]:
        used = [self._used(job) for job in self._jobs() if job.status == "Running" and self._is_of(job, name)]
        return [sum(part) for part in zip(*used, strict=True)] if used else [0, 0, 0]

    def _fields(self, name: str) -> Reply:
        cpu, gpu, memory = QUOTAS[name]
        taken = self._taken(name)
        return {
            "QuotaId": name,
            "QuotaName": name.removeprefix("quota1"),
            "Status": "Created",
            "ResourceType": "ECS",
            "GPUType": "V100" if gpu else "",
            "Min": {"NodeSpecs": [{"Type": "ecs.gn6v-c8g1.2xlarge", "Count": 4}]},
            "QuotaDetails": {
                "ActualMinQuota": _amount(cpu, gpu, memory),
                "AllocatableQuota": _amount(cpu - taken[0], gpu - taken[1], memory - taken[2]),
                "AllocatedQuota": _amount(*taken),
                "RequestedQuota": _amount(*taken),
                "UsedQuota": _amount(*taken),
            },
            "QueueStrategy": "PaiStrategyIntelligent",
            "Workspaces": [{"WorkspaceId": self._workspace_id, "WorkspaceName": "stand_in"}],
            "SubQuotas": [],
        }

    def _is_of(self, job: TrainingJob, name: str) -> bool:
        return (job.request.get("ComputeResource") or {}).get("ResourceId") == name

    def _used(self, job: TrainingJob) -> list[int]:
        spec = (job.request.get("ComputeResource") or {}).get("InstanceSpec") or {}
        return [int(float(spec.get(word) or 0)) * job.nodes for word in ("CPU", "GPU", "Memory")]


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


def _amount(cpu: float, gpu: float, memory: float) -> Reply:
    return {"CPU": str(cpu), "GPU": str(gpu), "Memory": f"{memory}Gi"}
