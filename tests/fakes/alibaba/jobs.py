"""Training jobs as stored by the service."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from .algorithms import definition
from .clock import Clock
from .history import History, Lines

__all__ = ["TERMINAL", "Instance", "Point", "TrainingJob"]

TERMINAL = frozenset({"Succeed", "Failed", "Terminated", "CreateFailed", "InitializeFailed"})


@dataclass(frozen=True)
class Point:
    """A value of a metric."""

    name: str
    time: float
    value: float


@dataclass
class Instance:
    """A node of a job."""

    name: str
    role: str
    status: str = "Pending"
    events: Lines = field(default_factory=Lines)
    # Resource usage as (time, metric type, value).
    usage: list[tuple[float, str, float]] = field(default_factory=list)


class TrainingJob:
    """A training job: its request and its history."""

    def __init__(self, request: dict[str, Any], user_id: str, clock: Clock) -> None:
        self.id = f"train{secrets.token_hex(6)}"
        self.dlc_id = f"dlc{secrets.token_hex(8)}"
        self.request, self.user_id, self._clock = request, user_id, clock
        self.history = History(clock)
        self.error: dict[str, str] = {}
        self.labels = {label["Key"]: label.get("Value", "") for label in request.get("Labels") or []}
        self.instances: list[Instance] = []
        self.lines = Lines()
        self.lines_of: dict[str, Lines] = {}
        self.points: list[Point] = []
        self.overall: Point | None = None
        self.remaining: Point | None = None
        self.stop_wanted = False
        self.pip: list[str] = []
        # The URI of each input.
        self.places: dict[str, str] = {}
        # The output channels that it has written something to.
        self.written: set[str] = set()
        # How it is to end instead of running, if its test wants that: status, code, message.
        self.fate: tuple[str, str, str] | None = None
        self.enter("Creating")

    @property
    def status(self) -> str:
        return self.history.last.status

    @property
    def ended(self) -> bool:
        return self.status in TERMINAL

    @property
    def spec(self) -> dict[str, Any]:
        """The inline algorithm, or the registered one."""
        if self.request.get("AlgorithmName"):
            return definition(self.request)
        return self.request.get("AlgorithmSpec") or {}

    @property
    def nodes(self) -> int:
        """The number of requested instances."""
        resource = self.request.get("ComputeResource") or {}
        return int(resource.get("EcsCount") or resource.get("InstanceCount") or 1)

    @property
    def quota(self) -> str:
        """The id of its quota, or an empty text."""
        return str((self.request.get("ComputeResource") or {}).get("ResourceId") or "")

    @property
    def amount(self) -> tuple[int, int, int]:
        """Required CPUs, GPUs, and memory in GiB."""
        spec = (self.request.get("ComputeResource") or {}).get("InstanceSpec") or {}
        cpu, gpu, memory = (int(float(spec.get(word) or 0)) * self.nodes for word in ("CPU", "GPU", "Memory"))
        return cpu, gpu, memory

    @property
    def running(self) -> bool:
        """Return whether the job occupies its share of the quota."""
        return self.status == "Running"

    @property
    def row(self) -> dict[str, Any]:
        """The fields of the job in the list of its quota."""
        name = self.request.get("TrainingJobName", "")
        return {"WorkloadId": self.id, "WorkloadName": name, "WorkloadType": "trainingjob", "UserId": self.user_id}

    def enter(self, status: str, code: str = "", message: str = "") -> None:
        """Enter a status."""
        self.history.enter(status, code, message)

    def make_instances(self) -> None:
        """Create the instances."""
        names = ["master-0", *(f"worker-{number}" for number in range(self.nodes - 1))]
        self.instances = [Instance(f"{self.id}-{name}", name.split("-")[0].title()) for name in names]
        self.lines_of = {instance.name: Lines() for instance in self.instances}

    def log(self, instance: str, texts: Iterable[str]) -> None:
        """Append lines of an instance."""
        now = self._clock.now()
        for text in texts:
            self.lines.add(text, now)
            self.lines_of[instance].add(text, now)

    def expire_log(self) -> None:
        """Delete the log, which the service keeps for a limited time."""
        self.lines, self.lines_of = Lines(), {name: Lines() for name in self.lines_of}

    def latest(self) -> dict[str, Point]:
        """Return the last value of each metric."""
        return {point.name: point for point in self.points}

    @property
    def started(self) -> float:
        """Return the time of the first status Running, or of the creation."""
        return self.history.first("Running") or self.history.created

    @property
    def now(self) -> float:
        return self._clock.now()

    @property
    def duration(self) -> int:
        """Return the whole seconds until now, or until the end."""
        return int((self.history.last.start if self.ended else self._clock.now()) - self.history.created)
