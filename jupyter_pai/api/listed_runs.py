"""Runs of workflows as items of a list."""

from __future__ import annotations

from collections import Counter

from ..jobs.workflows.run import RunStatus, WorkflowRun
from .endpoint import TypedDict


class ListedRun(TypedDict):
    """An item of the list of runs. `counts` has the number of steps by status. Times are ISO 8601 in UTC."""

    id: str
    name: str
    status: RunStatus
    submitted_at: str
    ended_at: str | None
    counts: dict[str, int]


def listed_run(run: WorkflowRun) -> ListedRun:
    """Return a run as an item of a list."""
    return {
        "id": run.id,
        "name": run.name,
        "status": run.status,
        "submitted_at": run.submitted_at.isoformat(),
        "ended_at": run.ended_at.isoformat() if run.ended_at else None,
        "counts": dict(Counter(step.status.value for step in run.steps)),
    }
