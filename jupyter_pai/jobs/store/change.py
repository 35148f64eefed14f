"""A change of a job that is stored: of its labels, and what an event says of it."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

from ...core.errors import NotFound
from ...core.i18n import _
from ..job import Job

__all__ = ["relabelled", "told"]


def relabelled(job: Job, changes: Mapping[str, str | None]) -> Job:
    """The job with labels changed; None takes one away.

    Raises:
        NotFound: if the job has not what is to be taken away.
    """
    for name, value in changes.items():
        if value is None and name not in job.labels:
            near = get_close_matches(name, job.labels, 1)
            fix = _("Did you mean `{name}`?").format(name=near[0]) if near else ""
            raise NotFound(_("The job {job} has no label `{name}`.").format(job=job.id, name=name), fix=fix)
    labels = {name: value for name, value in {**job.labels, **changes}.items() if value is not None}
    return job.model_copy(update={"labels": labels})


def told(before: Job, job: Job) -> dict[str, Any]:
    """What an event says of a change: which fields, and what the user changed, null for a label that went."""
    said: dict[str, Any] = {
        "fields": [name for name in Job.model_fields if getattr(before, name) != getattr(job, name)]
    }
    if job.pinned != before.pinned:
        said["pinned"] = job.pinned
    if job.labels != before.labels:
        names = sorted({*before.labels.items(), *job.labels.items()} - (before.labels.items() & job.labels.items()))
        said["labels"] = {name: job.labels.get(name) for name, _value in names}
    return said
