"""Standard output becomes lines of the log; the service's regular expressions find metrics and progress in them."""

from __future__ import annotations

import re
from collections.abc import Callable
from math import isfinite
from typing import Any

from .clock import Clock
from .jobs import Point, TrainingJob

__all__ = ["Splitter", "Watcher"]


class Splitter:
    """Calls `take` with the lines of an output that comes in pieces."""

    def __init__(self, take: Callable[[list[str]], None]) -> None:
        self._take = take
        self._rest = b""

    def feed(self, data: bytes) -> None:
        """More of the output."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        self._take([line.decode("utf-8", "replace").rstrip("\r") for line in lines])

    def finish(self) -> None:
        """The end of the output; a line need not have an end."""
        rest, self._rest = self._rest, b""
        if rest:
            self._take([rest.decode("utf-8", "replace")])


class Watcher:
    """Takes lines of all nodes of one job."""

    def __init__(self, job: TrainingJob, clock: Clock) -> None:
        self._job, self._clock = job, clock
        # While requirements are installed nothing is a metric.
        self.pause = False
        definitions = job.spec.get("MetricDefinitions") or []
        self._metrics = [(row["Name"], re.compile(row["Regex"])) for row in definitions]
        progress = job.spec.get("ProgressDefinitions") or {}
        self._overall, self._remaining = (_pattern(progress.get(name)) for name in ("OverallProgress", "RemainingTime"))

    def take(self, instance: str, lines: list[str]) -> None:
        """More lines of a node."""
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
