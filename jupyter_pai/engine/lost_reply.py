"""Submit a job once, although the reply of its platform may be lost.

After a lost reply, the job is searched by our id. The request is sent again when the platform lists a job that was
submitted later, or after some seconds, and only a few times, whatever the platform replies. Lists may lag, and a
request without a reply may be executed later. So several jobs may appear: the oldest is ours, and
`watcher/second_jobs.py` stops the others.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any

from ..backends.base import Backend, Submission
from ..backends.reports import Report
from ..core.errors import EngineError, PaiError, ReplyLost
from ..core.i18n import _
from ..core.secret import Secret
from ..jobs.job import Job, JobStatus
from ..jobs.state_dir import JobFolder
from ..jobs.store.store import Store
from .watcher.second_jobs import SecondJobs
from .watcher.timings import Timings

__all__ = ["SubmitOnce", "Waits", "recovered", "submit_once", "submitted", "unknown"]

# Seconds before the first search, and between two of the later ones.
_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 2.0


class Waits:
    """A text for users on the platform's reply that a submit waits for: the current one, and the last one stored."""

    def __init__(self) -> None:
        self.text = ""
        self.told = ""


class SubmitOnce:
    """Submits stored jobs. While one waits for its platform, its reason says for what."""

    def __init__(self, store: Store, second_jobs: SecondJobs, timings: Timings) -> None:
        self.store = store
        self.second_jobs = second_jobs
        self.timings = timings

    async def __call__(
        self, backend: Backend, job: Job, folder: JobFolder, secrets: Mapping[str, Secret]
    ) -> Submission:
        """Submit a stored job to its platform. Raises like `submit_once`."""
        waits = Waits()

        async def tell() -> None:
            while True:
                await asyncio.sleep(self.timings.waits)
                if waits.told != waits.text:
                    waits.told = waits.text
                    await asyncio.wrap_future(self.store.jobs.update(job.id, reason=waits.told))

        async def send_again() -> None:
            await asyncio.to_thread(self.second_jobs.mark, job.id)
            self.second_jobs.watch(job.id)

        telling = asyncio.create_task(tell())
        try:
            return await submit_once(backend, job, folder, secrets, self.timings, waits, send_again)
        finally:
            telling.cancel()
            await asyncio.gather(telling, return_exceptions=True)
            if waits.told:
                await asyncio.wrap_future(self.store.jobs.update(job.id, reason=""))


async def submit_once(
    backend: Backend,
    job: Job,
    folder: JobFolder,
    secrets: Mapping[str, Secret],
    timings: Timings,
    waits: Waits,
    send_again: Callable[[], Awaitable[object]],
) -> Submission:
    """Submit a stored job to its platform. `send_again` is called each time before the request is sent again.

    Raises:
        ReplyLost: if it is unknown whether the platform has the job.
        PaiError: if the platform rejects it.
    """
    for number, seconds in enumerate(timings.unlisted):
        waits.text = _("Waiting for the platform's reply to the submit.")
        if number:
            await send_again()
        begun = time.monotonic()
        try:
            submission = await backend.submit(job, folder, secrets)
            backend.submits.append((begun, submission.remote_id))
        except ReplyLost as error:
            lost = error
            waits.text = _("The reply to the submit was lost. Waiting until the platform lists the job.")
            if not (remote_id := await _search(backend, job, seconds, timings)):
                continue
            submission = await recovered(backend, job, remote_id)
        if number:
            waits.text = _("The job was submitted again. Waiting until the platform lists it.")
            submission = await _oldest(backend, job, submission, timings)
        return submission
    report = unknown(backend, job)
    raise ReplyLost(report.reason, fix=report.fix, **lost.details)


async def recovered(backend: Backend, job: Job, remote_id: str) -> Submission:
    """Return the submission of a job whose reply was lost, with the outputs that are known only after a submit."""
    outputs: Mapping[str, str] = {}
    if {*job.spec.channels} - job.outputs.keys():
        with suppress(PaiError):
            outputs = (await backend.job(remote_id)).outputs
    return Submission(remote_id, outputs=outputs)


def submitted(job: Job, submission: Submission) -> dict[str, Any]:
    """Return the changes of a job that its platform has taken."""
    changes: dict[str, Any] = {"remote_id": submission.remote_id, "outputs": {**submission.outputs, **job.outputs}}
    changes |= {"console_url": submission.console_url} if submission.console_url else {}
    return changes | ({"reason": ""} if job.reason else {})


async def _search(backend: Backend, job: Job, seconds: float, timings: Timings) -> str:
    """Return the platform's id of a job. Empty if the platform does not list it, but a job that this process submitted
    later, or after some seconds."""
    lost = time.monotonic()
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            async for _pause in _pauses():
                with suppress(EngineError):
                    if remote_id := await backend.find(job.id):
                        return remote_id
                    later = {one for begun, one in backend.submits if begun >= lost + timings.executed}
                    if later and await backend.lists_any(later):
                        return await backend.find(job.id)
    return ""


async def _oldest(backend: Backend, job: Job, submission: Submission, timings: Timings) -> Submission:
    """Return the submission of the oldest job with our id, when the platform lists one, or after some seconds."""
    with suppress(TimeoutError):
        async with asyncio.timeout(timings.settling):
            async for _pause in _pauses():
                with suppress(EngineError):
                    if oldest := await backend.find(job.id):
                        is_ours = oldest == submission.remote_id
                        return submission if is_ours else await recovered(backend, job, oldest)
    return submission


async def _pauses() -> AsyncIterator[None]:
    """Pause before each search, longer and longer."""
    pause = _FIRST_PAUSE
    while True:
        await asyncio.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE)
        yield


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
