"""Quotas: what they have, and the jobs in them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Protocol

from .service_errors import Refusal
from .services import Operation, Reply, Request

__all__ = ["QUOTAS", "Claim", "Quotas", "check_quota"]

QUOTAS = {"quota1stand": (64, 4, 256), "quota2empty": (0, 0, 0)}


class Claim(Protocol):
    """A job, of either service, as its quota sees it."""

    @property
    def quota(self) -> str:
        """The id of its quota, or an empty text."""

    @property
    def amount(self) -> tuple[int, int, int]:
        """Required CPUs, GPUs, and memory in GiB."""

    @property
    def running(self) -> bool:
        """Return whether the job occupies its share of the quota."""

    @property
    def ended(self) -> bool:
        """Return whether the job has ended and its quota is free again."""

    @property
    def status(self) -> str:
        """The current status."""

    @property
    def row(self) -> dict[str, Any]:
        """Further fields of the job in the list of its quota."""


def check_quota(name: str) -> None:
    """Raises Refusal if the quota does not exist."""
    if name not in QUOTAS:
        raise Refusal(404, "QuotaNotFound", f"Quota {name} is not found.")


class Quotas:
    """All quotas of a workspace; `claims` returns the existing jobs."""

    def __init__(self, workspace_id: str, claims: Callable[[], Iterable[Claim]]) -> None:
        self._workspace_id, self._existing = workspace_id, claims
        self._forgotten: set[int] = set()

    def clear(self) -> None:
        """Free the quotas of the jobs that exist. They go on."""
        self._forgotten = {id(claim) for claim in self._existing()}

    def _claims(self) -> Iterable[Claim]:
        return (claim for claim in self._existing() if id(claim) not in self._forgotten)

    def operations(self) -> list[Operation]:
        """The operations of this service."""
        return [
            Operation("paistudio", "ListQuotas", "GET", "/quotas/", self._quotas),
            Operation("paistudio", "GetQuota", "GET", "/quotas/{QuotaId}", self._quota),
            Operation("paistudio", "ListQuotaWorkloads", "GET", "/quotas/{QuotaId}/workloads", self._workloads),
        ]

    def _quotas(self, request: Request) -> Reply:
        wanted = [name for name in request.query.get("QuotaIds", "").split(",") if name]
        results = [self._fields(name) for name in QUOTAS if not wanted or name in wanted]
        return {"Quotas": request.page(results, 10), "TotalCount": len(results)}

    def _quota(self, request: Request) -> Reply:
        check_quota(request.path["QuotaId"])
        return self._fields(request.path["QuotaId"])

    def _workloads(self, request: Request) -> Reply:
        name = request.path["QuotaId"]
        check_quota(name)
        shared = {"QuotaId": name, "WorkspaceId": self._workspace_id, "QueueStrategy": "PaiStrategyIntelligent"}
        rows = [
            claim.row
            | shared
            | {"WorkloadStatus": claim.status, "Status": "Dequeued" if claim.running else "Enqueued"}
            | {"Resource": _amount(*claim.amount)}
            for claim in self._claims()
            if claim.quota == name and not claim.ended
        ]
        return {"Workloads": request.page(rows, 10), "TotalCount": len(rows)}

    def has_room(self, claim: Claim) -> bool:
        """Return whether the quota of a job, if any, has enough free resources."""
        if claim.quota not in QUOTAS:
            return True
        free = (have - used for have, used in zip(QUOTAS[claim.quota], self._taken(claim.quota), strict=True))
        return all(need <= left for need, left in zip(claim.amount, free, strict=True))

    def _taken(self, name: str) -> list[int]:
        used = [claim.amount for claim in self._claims() if claim.running and claim.quota == name]
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


def _amount(cpu: float, gpu: float, memory: float) -> Reply:
    return {"CPU": str(cpu), "GPU": str(gpu), "Memory": f"{memory}Gi"}
