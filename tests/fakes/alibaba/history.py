"""The statuses of a job, with their times and reasons, and its events."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass

from .clock import Clock, iso

__all__ = ["History", "Lines", "Step"]


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
        # The whole last second.
        return self.texts[first : len(self.texts) if end is None else bisect_left(self._times, end + 1)]


@dataclass
class Step:
    """One status. The end is None as long as the job has it."""

    status: str
    code: str
    message: str
    start: float
    end: float | None = None


class History:
    """The statuses of one job."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.created = clock.now()
        self.steps: list[Step] = []
        self.events = Lines()

    @property
    def last(self) -> Step:
        """The current status."""
        return self.steps[-1]

    def enter(self, status: str, code: str = "", message: str = "") -> None:
        """Enter a status."""
        now = self._clock.now()
        if self.steps:
            self.last.end = now
        self.steps.append(Step(status, code, message, now))
        self.tell(f"[{status}] {message or 'the job is ' + status}")

    def tell(self, text: str) -> None:
        """Add an event."""
        now = self._clock.now()
        self.events.add(f"{iso(now)} {text}", now)

    def first(self, *statuses: str) -> float | None:
        """Return the time of the first of these statuses, if the job had one."""
        return next((step.start for step in self.steps if step.status in statuses), None)

    def age(self, seconds: float) -> None:
        """Move the creation and all statuses into the past."""
        self.created -= seconds
        for step in self.steps:
            step.start -= seconds
            if step.end is not None:
                step.end -= seconds

    def rows(self) -> list[dict[str, str]]:
        """Return the statuses as the services show them."""
        return [
            {"Status": step.status, "StartTime": iso(step.start)}
            | ({"EndTime": iso(step.end)} if step.end is not None else {})
            | {"ReasonCode": step.code, "ReasonMessage": step.message}
            for step in self.steps
        ]
