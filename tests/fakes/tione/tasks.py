"""Training tasks, their runs and pods, as the platform knows them."""

from __future__ import annotations

import base64
import itertools
import json
import secrets
from bisect import bisect_left
from dataclasses import dataclass, field
from typing import Any, NamedTuple

__all__ = ["ENDED", "Event", "Line", "Pod", "Run", "Task", "command_of"]

ENDED = ("STOPPED", "FAILED", "SUCCEED", "SUBMIT_FAILED")
_numbers = itertools.count(1_329_791_605_108_055_040)
_packages, _places = itertools.count(1), itertools.count(1)


class Line(NamedTuple):
    """A line of a log. `time` is in nanoseconds, `found` in seconds since 1970: from then on it is found."""

    time: int
    number: int
    pod: str
    text: str
    stream: str
    package: int
    place: int
    found: float


@dataclass
class Event:
    """An event of a run. Times are seconds since 1970."""

    message: str
    first: float
    last: float
    kind: str
    name: str
    type: str = "Normal"
    count: int = 1


@dataclass
class Pod:
    """A node of a run: `rank` counts all, `index` those of its role."""

    name: str
    role: str
    rank: int
    index: int
    ip: str
    config: dict[str, Any]
    gpus: int
    command: str = ""
    status: str = "PENDING"
    started: float | None = None
    ended: float | None = None
    code: int | None = None


@dataclass
class Run:
    """One start of a task."""

    instance: str
    status: str = "SUBMITTING"
    pods: list[Pod] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    lines: list[Line] = field(default_factory=list)
    started: float | None = None
    ended: float | None = None
    reason: str = ""
    message: str = ""
    stop_wanted: bool = False
    fate: tuple[str, str] | None = None

    def log(self, pod: str, texts: list[str], moment: int, stream: str = "stdout", found: float = 0.0) -> None:
        """Add lines of a pod; `moment` is in nanoseconds. They come in one package."""
        package = next(_packages)
        lines = [Line(moment, next(_places), pod, text, stream, package, i, found) for i, text in enumerate(texts)]
        if not lines or not self.lines or self.lines[-1].time <= moment:
            self.lines += lines
            return
        place = bisect_left(self.lines, lines[0])
        self.lines[place:place] = lines

    def tell(self, message: str, now: float, kind: str, name: str, is_warning: bool = False) -> None:
        """Add an event, or count up the one that says the same."""
        for event in self.events:
            if (event.message, event.name) == (message, name):
                event.count, event.last = event.count + 1, now
                return
        self.events.append(Event(message, now, now, kind, name, "Warning" if is_warning else "Normal"))


@dataclass
class Task:
    """A created task: the body of its creation and its runs, the last one current."""

    request: dict[str, Any]
    region: str
    user: str
    created: float
    updated: float = 0.0
    runs: list[Run] = field(default_factory=list)
    # The charge status, if it is another one than that of the state.
    charge: str = ""
    id: str = field(default_factory=lambda: f"train-{next(_numbers)}")

    def __post_init__(self) -> None:
        self.updated = self.created
        self.begin()

    def begin(self) -> Run:
        """Start anew."""
        self.runs.append(Run(f"{self.id}-{secrets.token_hex(6)}"))
        return self.run

    @property
    def run(self) -> Run:
        """The current run."""
        return self.runs[-1]

    @property
    def name(self) -> str:
        """The user's name of the task."""
        return str(self.request["Name"])

    @property
    def project(self) -> str:
        """The workspace."""
        return self.request.get("TiProjectId") or "0"

    @property
    def status(self) -> str:
        """The status of the current run."""
        return self.run.status

    @property
    def is_postpaid(self) -> bool:
        """Return whether it costs money by the hour."""
        return bool(self.request["ChargeType"] == "POSTPAID_BY_HOUR")

    def enter(self, status: str, now: float, reason: str = "") -> None:
        """Change the status of the current run."""
        run = self.run
        run.status, run.reason, self.updated = status, reason or run.reason, now
        if status == "RUNNING":
            run.started = now
        if status in ENDED:
            run.ended = now
        run.tell(f"task is {status}", now, "TrainingTask", self.id, status in ("FAILED", "SUBMIT_FAILED"))


def command_of(request: dict[str, Any]) -> dict[str, str]:
    """Return the start commands of a request: the encoded ones win. Raises ValueError."""
    encoded = (request.get("EncodedStartCmdInfo") or {}).get("StartCmdInfo")
    if not encoded:
        return {name: text or "" for name, text in (request.get("StartCmdInfo") or {}).items()}
    found = json.loads(base64.b64decode(encoded, validate=True))
    if not isinstance(found, dict):
        raise ValueError("the encoded commands are no object")
    return {name: str(text or "") for name, text in found.items()}
