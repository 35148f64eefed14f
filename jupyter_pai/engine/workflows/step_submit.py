"""The submit of a step's job: repeated after temporary errors, and cancelled when the run is stopped."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Mapping
from dataclasses import dataclass

from ...core.errors import NotAllowed, PaiError, ReplyLost, StateError, Throttled, Unconfirmed, Unreachable
from ...core.i18n import _
from ...jobs.job import Job
from ...jobs.spec import JobSpec
from ...jobs.state_dir import PackedCode
from ...jobs.workflows.run_folder import RunRecord
from ..audit_log import Audit
from ..requests import SubmitRequest
from ..submit import Submitter
from .states import States

__all__ = ["StepSubmit", "key_of"]

# The rule of the policy that limits the number of jobs. A step waits for room.
_ROOM = "jobs_at_a_time"


def key_of(run: str, step: str, attempt: int) -> str:
    """Return the idempotency key of an attempt: it makes one job, also if its process is killed."""
    return f"workflow/{run}/{step}/{attempt}"


@dataclass
class StepSubmit:
    """Submits the jobs of one run. `stopping` is set when the end of the run was requested."""

    record: RunRecord
    states: States
    submitter: Submitter
    audit: Audit
    stopping: asyncio.Event

    async def submit(self, step: str, spec: JobSpec, code: PackedCode) -> tuple[Job, int] | None:
        """Submit the next attempt of a step. Return its job and the number of the attempt; None if the run is stopped
        before the job is stored.

        Raises:
            PaiError: if the job is refused, or after many temporary errors.
        """
        timings = self.submitter.watcher.timings
        begun, pause = time.monotonic(), timings.resubmit
        while not self.stopping.is_set():
            attempt = self.states[step].attempt + 1
            try:
                return await self._attempt(step, spec, code, attempt), attempt
            except Unconfirmed as error:  # Such as for a price that has risen since the run was started.
                error.fix = _("Confirm it when you resume the run: %pai workflow resume {run} --yes").format(
                    run=self.record.id
                )
                raise
            except PaiError as error:
                failed = self.submitter.store.jobs.by_key(key_of(self.record.id, step, attempt))
                if failed:
                    self.states.change(step, job=failed.id, attempt=attempt)
                if self.stopping.is_set():  # The submit was cancelled.
                    break
                if not _is_temporary(error, patient=time.monotonic() - begun < timings.resubmit_patience):
                    raise
                text = _("The submit is repeated in {seconds} s: {error}")
                reason = text.format(seconds=round(pause), error=error.message)
                attempt -= not failed
                self.states.wait(step, attempt=attempt, reason=reason, fix=error.fix, counts=False)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await self.stopping.wait()
            pause = min(2 * pause, timings.resubmit_longest)
        return None

    async def _attempt(self, step: str, spec: JobSpec, code: PackedCode, attempt: int) -> Job:
        record = self.record
        request = SubmitRequest(
            spec=spec,
            python=record.python,
            confirmed=record.confirmed,
            notebook=record.notebook,
            key=key_of(record.id, step, attempt),
        )
        origin = {"workflow": record.id, "step": step, "notebook": record.notebook or spec.notebook}
        async with self.audit.entry("submit", starts=True) as entry:
            entry.of_spec(spec)
            entry.of_job(job := await self._cancellable(request, code, origin))
        return job

    async def _cancellable(self, request: SubmitRequest, code: PackedCode, origin: Mapping[str, str]) -> Job:
        """Submit a job. A request to stop the run cancels the submit, until the job is stored."""
        submit = asyncio.ensure_future(self.submitter.submit_packed(request, code, origin))
        stop = asyncio.ensure_future(self.stopping.wait())
        try:
            await asyncio.wait([submit, stop], return_when=asyncio.FIRST_COMPLETED)
            if not submit.done():
                await self.submitter.cancel(request.key)
            return await submit
        finally:
            stop.cancel()
            submit.cancel()
            self.submitter.keys.reopen(request.key)  # The same attempt is submitted when the run is resumed.


def _is_temporary(error: PaiError, *, patient: bool) -> bool:
    """Return whether a submit may succeed later. `patient`: also if the platform does not respond."""
    if isinstance(error, NotAllowed):
        return error.details.get("rule") == _ROOM
    # Without its reply, the job may exist.
    return patient and isinstance(error, (Throttled, Unreachable, StateError)) and not isinstance(error, ReplyLost)
