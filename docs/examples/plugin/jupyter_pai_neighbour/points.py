"""The metrics that a job's user has the neighbour keep: a file in the job's folder, with a line for each point."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

__all__ = ["Point", "keep", "kept"]

# Metric, step, value, and time in seconds since 1970.
Point = tuple[str, int, float, float]


def keep(folder: Path, points: Sequence[Point]) -> None:
    """Keep points, each once: a client without a reply sends them again."""
    known = {*kept(folder)}
    with open(folder / "points.jsonl", "a", encoding="utf-8") as file:
        file.writelines(f"{json.dumps(point)}\n" for point in points if point not in known)


def kept(folder: Path) -> list[Point]:
    """The points so far."""
    path = folder / "points.jsonl"
    lines = path.read_text("utf-8").splitlines() if path.exists() else []
    return [_point(*json.loads(line)) for line in lines]


def _point(metric: str, step: int, value: float, time: float) -> Point:
    return metric, step, value, time
