"""Standard output becomes lines of the log; the service's regular expressions find metrics and progress in them."""

from __future__ import annotations

import re
from math import isfinite
from typing import Any

from .clock import Clock
from .jobs import Point, TrainingJob

__all__ = ["Watcher"]


class Watcher:
    """Takes bytes of all nodes of one job."""

    def __init__(self, job: TrainingJob, clock: Clock) -> None:
        self._job, self._clock = job, clock
        self._rest: dict[str, bytes] = {}
        # While requirements are installed nothing is a metric.
        self.pause = False
        definitions = job.spec.get("MetricDefinitions") or []
        self._metrics = [(row["Name"], re.compile(row["Regex"])) for row in definitions]
        progress = job.spec.get("ProgressDefinitions") or {}
        self._overall, self._remaining = (_pattern(progress.get(name)) for name in ("OverallProgress", "RemainingTime"))

    def feed(self, instance: str, data: bytes) -> None:
        """More of a node's output."""
        *lines, self._rest[instance] = (self._rest.get(instance, b"") + data).split(b"\n")
        self._take(instance, [line.decode("utf-8", "replace").rstrip("\r") for line in lines])

    def finish(self, instance: str) -> None:
        """A node wrote its last; a line need not have an end."""
        if rest := self._rest.pop(instance, b""):
            self._take(instance, [rest.decode("utf-8", "replace")])

    def _take(self, instance: str, lines: list[str]) -> None:
        self._job.log(instance, lines)
        if self.pause:
            return
        for line in lines:
            for name, pattern in self._metrics:
                if point := self._found(name, pattern, line):
                    self._job.points.append(point)
            self._job.overall = self._found("", self._overall, line) or self._job.overall
            self._job.remaining = self._found("", self._remaining, line) or self._job.remaining

    def _found(self, name: str, pattern: re.Pattern[str] | None, line: str) -> Point | None:
        match = pattern.search(line) if pattern else None
        if match is None or not match.groups():
            return None
        try:
            value = float(match[1])
        except ValueError:
            return None
        # JSON has no word for the others.
        return Point(name, self._clock.now(), value) if isfinite(value) else None


def _pattern(definition: dict[str, Any] | None) -> re.Pattern[str] | None:
    return re.compile(definition["Regex"]) if definition and definition.get("Regex") else None
