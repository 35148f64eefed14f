"""One step of a run: its condition, its job, and its end."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ...backends.reports import NEVER_STARTED
from ...core.cleanup import at_exit
from ...core.errors import PaiError
from ...core.i18n import N_, _
from ...jobs.job import Job, JobStatus, now
from ...jobs.state_dir import PackedCode
from ...jobs.workflows.references import Reference, replaced
from ...jobs.workflows.run import StepState, StepStatus
from ...jobs.workflows.run_folder import RunFolder
from ...jobs.workflows.workflow import Step
from ..watcher.stopping import stop_job
from . import results, reuse
from .step_submit import StepSubmit, key_of

_log = logging.getLogger(__name__)

# Seconds after which the end of a job is looked up, in case that its watcher could not store it.
_LOOK_UP = 2.0
# Jobs of a step whose submit was interrupted. More of them in one process have another cause.
_MOST_UNSTARTED = 3
_UNMET = {
    StepStatus.FAILED: N_("The step `{step}` failed."),
    StepStatus.STOPPED: N_("The step `{step}` was stopped."),
    StepStatus.LOST: N_("The job of the step `{step}` was lost."),
    StepStatus.SKIPPED: N_("The step `{step}` was skipped."),
}


class StepRunner:
    """Runs the steps of one run, each by `run`.

    `used` has the results of each step that others use. `earlier` has the steps of earlier runs, by digest.
    """

    def __init__(
        self,
        folder: RunFolder,
        submits: StepSubmit,
        used: Mapping[str, list[Reference]],
        earlier: Mapping[str, StepState],
    ) -> None:
        self.folder = folder
        self.submits = submits
        self.states = submits.states
        self.stopping = submits.stopping
        self.watcher = submits.submitter.watcher
        self.jobs = submits.submitter.store.jobs
        self._used = used
        self._earlier = earlier
        self._codes: dict[str, PackedCode] = {}
        self._versions = reuse.Versions(self.watcher.storages)

    async def run(self, step: Step) -> None:
        """Run a step whose dependencies have ended, and store its end. A step that has a job already is followed."""
        try:
            await self._run(step)
        except PaiError as error:
            self._fail(step, error.message, error.fix)
        except Exception as error:
            if at_exit(error):
                raise
            _log.exception("The step %s of the run %s failed.", step.name, self.folder.id)
            self._fail(step, _("Internal error: {error}.").format(error=f"{type(error).__name__}: {error}"))

    def _fail(self, step: Step, reason: str, fix: str = "") -> None:
        self.states.change(step.name, status=StepStatus.FAILED, reason=reason, fix=fix, ended_at=now())

    async def _run(self, step: Step) -> None:
        job = self._stored(step)
        is_retried = bool(self.states.attempts(step.name))
        unstarted = 0
        while True:
            if not job:
                if not is_retried and not await self._is_wanted(step):
                    return
                job = await self._submitted(step)
            if not job:
                return
            job = await self._ended(job)
            unstarted += job.platform_status == NEVER_STARTED
            if not self._retries(step, job, unstarted):
                self._end(step, job)
                return
            job, is_retried = None, True

    def _stored(self, step: Step) -> Job | None:
        """Return the job of the current attempt of a step, also if the process that submitted it was killed."""
        state = self.states[step.name]
        if state.status is not StepStatus.WAITING:
            return self.jobs.get(state.job)
        job = self.jobs.by_key(key_of(self.folder.id, step.name, state.attempt + 1))
        if job:
            self._begin(step, job, state.attempt + 1)
        return job

    async def _is_wanted(self, step: Step) -> bool:
        """Return whether the dependencies of a step succeeded and its condition holds. If not, store that it is
        skipped or stopped."""
        if self.stopping.is_set():
            self._stop_waiting(step)
            return False
        for name in step.dependencies:
            if text := _UNMET.get(self.states[name].status):
                self._skip(step, _(text).format(step=name))
                return False
        if not step.condition:
            return True
        values = await results.values_of(step.condition.references, self._dependencies(step), self.watcher)
        texts = {str(reference): results.as_text(value) for reference, value in values.items()}
        if not step.condition.evaluate(values):
            self._skip(step, _("The condition is false: {condition}").format(condition=step.when), values=texts)
            return False
        self.states.change(step.name, values=texts)
        return True

    def _skip(self, step: Step, reason: str, **changes: Any) -> None:
        self.states.change(step.name, status=StepStatus.SKIPPED, reason=reason, ended_at=now(), **changes)

    def _stop_waiting(self, step: Step) -> None:
        text = _("The run was stopped.")
        self.states.change(step.name, status=StepStatus.STOPPED, reason=text, fix="", ended_at=now())

    def _dependencies(self, step: Step) -> dict[str, Job]:
        """Return the jobs of the steps that a step depends on."""
        return {name: self.jobs.get(self.states[name].job) for name in step.dependencies}

    async def _submitted(self, step: Step) -> Job | None:
        """Submit the job of a step and return it. Return None if the step has ended without one: its job is taken over
        from an earlier run, or the run is stopped."""
        values = await results.values_of(step.used_in_spec, self._dependencies(step), self.watcher)
        spec = step.spec
        if values:
            spec = replaced(spec, lambda reference: results.as_text(values[reference]))
        code = await self._packed_code(step)
        dependencies = {name: self.states[name].digest for name in step.dependencies}
        digest = await self._digest(step, code.digest, dependencies)
        if await self._is_taken_over(step, digest):
            return None
        submitted = await self.submits.submit(step.name, spec, code)
        if not submitted:
            self._stop_waiting(step)
            return None
        self._begin(step, *submitted, digest=digest)
        return submitted[0]

    async def _packed_code(self, step: Step) -> PackedCode:
        """Return the packed code of a step. Steps with the same code share it."""
        stored = self.folder.stored()
        digest = stored.code.get(step.name, "")
        if digest not in self._codes:
            self._codes[digest] = await asyncio.to_thread(self.folder.code, step.name)
        return replace(self._codes[digest], notes=stored.notes.get(step.name, ()))

    async def _digest(self, step: Step, code: str, dependencies: Mapping[str, str]) -> str:
        if step.spec.inputs:  # Their versions are read.
            return await asyncio.to_thread(reuse.digest, step, code, dependencies, self._versions)
        return reuse.digest(step, code, dependencies, self._versions)

    def _begin(self, step: Step, job: Job, attempt: int, **changes: Any) -> None:
        """Store the job of a step. Its end is stored later, when it was judged."""
        status = StepStatus.STARTING if job.status.ended else StepStatus(job.status.value)
        changes |= {"status": status, "job": job.id, "attempt": attempt, "reason": "", "fix": "", "ended_at": None}
        self.states.change(step.name, **changes)

    async def _is_taken_over(self, step: Step, digest: str) -> bool:
        """Take over the job of an earlier run, if it did the same and its results are still there. Return whether it
        was taken over."""
        if not (earlier := self._earlier.get(digest)):
            return False
        try:
            job = self.jobs.get(earlier.job)
            await results.values_of(self._used[step.name], {step.name: job}, self.watcher)
        except PaiError:
            return False
        changes = {"job": job.id, "digest": digest, "started_at": job.started_at, "ended_at": job.ended_at}
        self.states.change(step.name, status=StepStatus.SUCCEEDED, reused=True, reason="", fix="", **changes)
        return True

    async def _ended(self, job: Job) -> Job:
        """Wait for the end of a job, and return it. Stop it if the run is stopped."""
        is_stopped = False
        with self.watcher.watch(job.id, details=False) as ended:
            while not self.watcher.has_ended(job.id):
                if self.stopping.is_set() and not is_stopped:
                    is_stopped = await self._stop(job.id)
                events = [ended] if is_stopped or self.stopping.is_set() else [ended, self.stopping]
                await _any_of(events, _LOOK_UP if is_stopped else self.watcher.timings.run_stops)
        return self.watcher.current(self.jobs.get(job.id))

    async def _stop(self, job_id: str) -> bool:
        """Request the end of a job. Return whether its platform accepted the request."""
        try:
            await stop_job(self.submits.submitter.profiles, self.jobs.get(job_id))
        except PaiError as error:
            _log.warning("Cannot stop job %s yet: %s", job_id, error)
            return False
        return True

    def _retries(self, step: Step, job: Job, unstarted: int) -> bool:
        """Return whether a step runs again after the end of its job. `unstarted`: the number of its jobs whose command
        certainly never ran."""
        state = self.states[step.name]
        if job.status is not JobStatus.FAILED:
            return False
        if job.platform_status == NEVER_STARTED and unstarted <= _MOST_UNSTARTED:
            self.states.wait(step.name, attempt=state.attempt, counts=False)
            return True
        if self.stopping.is_set() or self.states.attempts(step.name) > step.retries:
            return False
        reason = _("Attempt {n} failed: {reason}").format(n=state.attempt, reason=_reason(job))
        self.states.wait(step.name, attempt=state.attempt, reason=reason, fix=job.fix)
        return True

    def _end(self, step: Step, job: Job) -> None:
        changes = {"reason": _reason(job), "fix": job.fix, "started_at": job.started_at, "ended_at": job.ended_at}
        self.states.change(step.name, status=StepStatus(job.status.value), **changes)


def _reason(job: Job) -> str:
    if job.reason or not job.exit_code:
        return job.reason
    return _("Exit code {n}.").format(n=job.exit_code)


async def _any_of(events: list[asyncio.Event], timeout: float) -> None:
    """Wait until one of the events is set, or for a time in seconds."""
    waits = [asyncio.ensure_future(event.wait()) for event in events]
    try:
        await asyncio.wait(waits, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()
