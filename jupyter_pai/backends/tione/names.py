"""Names of tasks. A name is used once in a workspace, so that each one ends with our id of the job."""

from __future__ import annotations

import re

__all__ = ["LONGEST", "our_id", "task_name"]

LONGEST = 60
"""Characters of a name; from the reference of CreateTrainingTask, as are the allowed characters."""

_OTHERS = re.compile(r"[^A-Za-z0-9_\u4e00-\u9fff-]+")
_OURS = re.compile(r".*-([a-z2-7]{8})", re.DOTALL)


def task_name(name: str, job_id: str) -> str:
    """Return the name of a task: that of its job, cut to fit, and our id."""
    clean = _OTHERS.sub("_", name).lstrip("_-") or "job"
    return f"{clean[: LONGEST - len(job_id) - 1]}-{job_id}"


def our_id(name: str) -> str:
    """Return what is our id of a job if we submitted it: the last part of its name; empty if there is none."""
    match = _OURS.fullmatch(name)
    return match[1] if match else ""
