"""Jobs and their pods as stored by the service."""

from __future__ import annotations

import math
import secrets
import uuid
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from ..clock import Clock, iso
from ..history import History, Lines
from ..instancetypes import SPECS
from ..jobs import Instance
from .roles import Cluster, Member

__all__ = ["STATUSES", "TERMINAL", "DlcJob", "Pod"]

STATUSES = (
    "Creating Queuing Bidding EnvPreparing SanityChecking Running Restarting Stopping SucceededReserving "
    "FailedReserving Succeeded Failed Stopped Dequeued"
).split()
TERMINAL = frozenset({"Succeeded", "Failed", "Stopped"})
_HOLDING = frozenset(STATUSES[3:10])
_RESTARTS = 3


@dataclass
class Pod:
    """A pod. One that is restarted gets a new id, and the earlier one is kept."""

    member: Member
    node: Instance
    created: float
    uid: str = field(default_factory=lambda: str(uuid.uuid4()))
    sub_status: str = "Normal"
    started: float | None = None
    finished: float | None = None
    lines: Lines = field(default_factory=Lines)
    last_line: float = 0.0

    def log(self, texts: Iterable[str], moments: Iterable[float]) -> None:
        """Append lines with their times, which never go back."""
        for text, moment in zip(texts, moments, strict=False):
            self.last_line = max(moment, self.last_line)
            self.lines.add(text, self.last_line)

    def tell(self, text: str, now: float) -> None:
        """Add an event."""
        self.node.events.add(f"{iso(now)} {text}", now)

    def enter(self, status: str, now: float) -> None:
        """Enter a status."""
        self.node.status = status
        if status == "Running":
            self.started = self.started or now
        elif status in ("Succeeded", "Failed"):
            self.finished = self.finished or now


class DlcJob:
    """A job: its request and its history."""

    def __init__(self, request: dict[str, Any], user_id: str, clock: Clock) -> None:
        self.id = f"dlc{secrets.token_hex(7)}"
        self.request, self.user_id, self._clock = request, user_id, clock
        self.history = History(clock)
        self.pods: list[Pod] = []
        # Pods that were restarted, the latest first.
        self.earlier: list[Pod] = []
        self.restarts, self.most_restarts = 0, _RESTARTS
        self.priority = int(request.get("Priority") or 1)
        self.stop_wanted = False
        # It has its turn in the quota, and is about to be prepared.
        self.admitted = False
        # What pip is to install.
        self.pip: list[str] = []
        # The URI of each data source.
        self.places: list[str] = []
        # How it is to end instead of running, if its test wants that: status, code, message.
        self.fate: tuple[str, str, str] | None = None
        self.specs = {spec["Type"]: spec for spec in request["JobSpecs"]}
        members = [
            (role, number) for role, spec in self.specs.items() for number in range(int(spec.get("PodCount", 1)))
        ]
        self.cluster = Cluster(request["JobType"], members, lambda role: self.sizes(role)[1])
        self.enter("Creating")

    @property
    def status(self) -> str:
        """The current status."""
        return self.history.last.status

    @property
    def ended(self) -> bool:
        """Return whether the job has ended and its quota is free again."""
        return self.status in TERMINAL

    @property
    def running(self) -> bool:
        """Return whether the job occupies its share of the quota."""
        return self.status in _HOLDING or (self.admitted and not self.ended)

    @property
    def quota(self) -> str:
        """The id of its quota, or an empty text."""
        return str(self.request.get("ResourceId") or "")

    @property
    def amount(self) -> tuple[int, int, int]:
        """Required CPUs, GPUs, and memory in GiB."""
        rows = [self.sizes(role) for role, _ in self.cluster.members]
        cpu, gpu, memory = (sum(column) for column in zip(*rows, strict=True))
        return cpu, gpu, memory

    @property
    def row(self) -> dict[str, Any]:
        """The fields of the job in the list of its quota."""
        named = {"WorkloadId": self.id, "WorkloadName": self.request["DisplayName"], "WorkloadType": "job"}
        return named | {"UserId": self.user_id, "Priority": self.priority}

    @property
    def now(self) -> float:
        """The time of the service."""
        return self._clock.now()

    @property
    def duration(self) -> int:
        """Return the whole seconds until now, or until the end."""
        return int((self.history.last.start if self.ended else self.now) - self.history.created)

    @property
    def is_spot(self) -> bool:
        """Return whether the job waits for cheaper instances."""
        return any(spec.get("UseSpotInstance") or spec.get("SpotSpec") for spec in self.specs.values())

    def sizes(self, role: str) -> tuple[int, int, int]:
        """Return CPUs, GPUs and GiB of memory of one pod."""
        spec = self.specs[role]
        if kind := next((kind for kind in SPECS if kind["InstanceType"] == spec.get("EcsSpec")), None):
            return kind["Cpu"], kind["Gpu"], kind["Memory"]
        wanted = spec.get("ResourceConfig") or {}
        memory = str(wanted.get("Memory") or "0")
        gib = float(memory.rstrip("GiM") or 0) / (1024 if memory.endswith("Mi") else 1)
        return math.ceil(float(wanted.get("CPU") or 0)), math.ceil(float(wanted.get("GPU") or 0)), math.ceil(gib)

    def enter(self, status: str, code: str = "", message: str = "") -> None:
        """Enter a status. With a job, its pods end."""
        self.history.enter(status, code, message)
        if status in TERMINAL:
            for pod in self.pods:
                if pod.finished is None:
                    pod.enter("Succeeded" if status == "Succeeded" else "Failed", self.now)

    def make_pods(self) -> None:
        """Create the pods."""
        self.pods = [self._pod(member) for member in self.cluster.members]

    def _pod(self, member: Member) -> Pod:
        return Pod(member, Instance(f"{self.id}-{member[0].lower()}-{member[1]}", member[0]), self.now)

    def restart_pod(self, pod: Pod) -> Pod:
        """Replace a pod by a new one."""
        pod.enter("Failed", self.now)
        made = self._pod(pod.member)
        self.pods[self.pods.index(pod)] = made
        self.earlier.insert(0, pod)
        self.restarts += 1
        return made

    def pod_of(self, name: str, uid: str = "") -> Pod | None:
        """Return a pod by its id, and an earlier one by its unique id."""
        pods = [*self.pods, *self.earlier]
        return next((pod for pod in pods if pod.node.name == name and uid in ("", pod.uid)), None)

    def age(self, seconds: float) -> None:
        """Move the creation and all statuses into the past."""
        self.history.age(seconds)
        for pod in [*self.pods, *self.earlier]:
            pod.created -= seconds
