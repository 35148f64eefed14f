"""Training jobs as stored by the service."""

from __future__ import annotations

import secrets
from bisect import bisect_left, bisect_right
from calendar import timegm
from collections.abc import Iterable
from dataclasses import dataclass, field
from time import strptime
from typing import Any

from .clock import Clock, iso

__all__ = ["TERMINAL", "Instance", "Lines", "Point", "TrainingJob"]

TERMINAL = frozenset({"Succeed", "Failed", "Terminated", "CreateFailed", "InitializeFailed"})
TIME = "%Y-%m-%dT%H:%M:%SZ"


@dataclass(frozen=True)
class Point:
    """A value of a metric."""

    name: str
    time: float
    value: float


class Lines:
    """Lines of text with times, in their order."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._times: list[float] = []

    def add(self, text: str, moment: float) -> None:
        """Add a line."""
        self.texts.append(text)
        self._times.append(moment)

    def between(self, start: float | None, end: float | None) -> list[str]:
        """Return the lines of a time span, with both ends."""
        if start is None and end is None:
            return self.texts
        first = 0 if start is None else bisect_left(self._times, start)
        return self.texts[first : len(self.texts) if end is None else bisect_right(self._times, end + 0.999)]


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
        self.created = self.modified = clock.now()
        self.status = ""
        self.transitions: list[dict[str, str]] = []
        self.reason_code = self.reason_message = ""
        self.error: dict[str, str] = {}
        self.labels = {label["Key"]: label.get("Value", "") for label in request.get("Labels") or []}
        self.instances: list[Instance] = []
        self.lines, self.events = Lines(), Lines()
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
    def ended(self) -> bool:
        return self.status in TERMINAL

    @property
    def spec(self) -> dict[str, Any]:
        """The inline algorithm."""
        return self.request.get("AlgorithmSpec") or {}

    @property
    def nodes(self) -> int:
        """The number of requested instances."""
        resource = self.request.get("ComputeResource") or {}
        return int(resource.get("EcsCount") or resource.get("InstanceCount") or 1)

    def enter(self, status: str, code: str = "", message: str = "") -> None:
        """Enter a status."""
        now = self._clock.now()
        if self.transitions:
            self.transitions[-1]["EndTime"] = iso(now)
        self.status, self.modified = status, now
        self.reason_code, self.reason_message = code, message
        reply = {"Status": status, "StartTime": iso(now)}
        self.transitions.append(reply | {"ReasonCode": code, "ReasonMessage": message})
        self.tell(f"[{status}] {message or 'the job is ' + status}")

    def tell(self, text: str) -> None:
        """Add an event."""
        now = self._clock.now()
        self.events.add(f"{iso(now)} {text}", now)

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

    def age(self, seconds: float) -> None:
        """Move the creation and all statuses into the past."""
        self.created -= seconds
        self.modified -= seconds
        for transition in self.transitions:
            for name in ("StartTime", "EndTime"):
                if name in transition:
                    transition[name] = iso(timegm(strptime(transition[name], TIME)) - seconds)

    def latest(self) -> dict[str, Point]:
        """Return the last value of each metric."""
        return {point.name: point for point in self.points}

    @property
    def started(self) -> float:
        """Return the time of the first status Running, or of the creation."""
        times = [step["StartTime"] for step in self.transitions if step["Status"] == "Running"]
        return timegm(strptime(times[0], TIME)) if times else self.created

    @property
    def now(self) -> float:
        return self._clock.now()

    @property
    def duration(self) -> int:
        """Return the whole seconds until now, or until the end."""
        return int((self.modified if self.ended else self._clock.now()) - self.created)
