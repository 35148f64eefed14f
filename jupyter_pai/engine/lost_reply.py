"""Submit a job once, although the reply of its platform may be lost.

After a lost reply, the job is searched by our id. Lists of a platform may lag, and a request without a reply may still
be executed. So the request is repeated only if the platform shows that it was never executed. Otherwise the job ends as
unknown at the platform.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from ..backends.base import Backend, Submission
from ..backends.reports import Report
from ..core.errors import EngineError, ReplyLost, Unsupported
from ..core.i18n import _
from ..core.secret import Secret
from ..jobs.job import Job, JobStatus
from ..jobs.state_dir import JobFolder
from .watcher.timings import Timings

__all__ = ["recovered", "submit_once", "submitted", "unknown"]

# Seconds before the first search, and between two of the later ones.
_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 2.0


async def submit_once(
    backend: Backend, job: Job, folder: JobFolder, secrets: Mapping[str, Secret], timings: Timings
) -> Submission:
    """Submit a stored job to its platform.

    Raises:
        ReplyLost: if it is unknown whether the platform has the job.
        PaiError: if the platform rejects it.
    """
    while True:
        try:
            return await backend.submit(job, folder, secrets)
        except ReplyLost as error:
            lost = error
        if remote_id := await _search(backend, job, timings, lost):
            return await recovered(backend, job, remote_id)


async def recovered(backend: Backend, job: Job, remote_id: str) -> Submission:
    """Return the submission of a job whose reply was lost, with the outputs that are known only after a submit."""
    outputs: Mapping[str, str] = {}
    if {*job.spec.channels} - job.outputs.keys():
        with suppress(EngineError, Unsupported):
            outputs = (await backend.job(remote_id)).outputs
    return Submission(remote_id, outputs=outputs)


def submitted(job: Job, submission: Submission) -> dict[str, Any]:
    """Return the changes of a job that its platform has taken."""
    changes = {"remote_id": submission.remote_id, "outputs": {**submission.outputs, **job.outputs}}
    return changes | ({"console_url": submission.console_url} if submission.console_url else {})


async def _search(backend: Backend, job: Job, timings: Timings, lost: ReplyLost) -> str:
    """Return the platform's id of a job; empty if it was never created.

    Raises:
        ReplyLost: if this remains unknown.
    """
    begun, pause = time.monotonic(), _FIRST_PAUSE
    while time.monotonic() - begun < timings.unseen:
        await asyncio.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE)
        with suppress(EngineError):
            if remote_id := await backend.find(job.id):
                return remote_id
            if await backend.lists_since(begun + timings.executed):
                return await backend.find(job.id)
    report = unknown(backend, job)
    raise ReplyLost(report.reason, fix=report.fix, **lost.details)


def unknown(backend: Backend, job: Job) -> Report:
    """Return the end of a job whose submit was interrupted and that its platform does not list."""
    label = f"{backend.job_label}={job.id}" if backend.job_label else job.id
    return Report(
        JobStatus.LOST,
        reason=_("Unknown at the platform: the reply to the submit was lost, and the platform does not list the job."),
        fix=_(
            "Search the platform for the label {label}. If the job exists there, import it: %pai adopt ID. Otherwise "
            "submit it again."
        ).format(label=label),
    )
