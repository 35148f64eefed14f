"""The conductor of a run: starts its steps in order, and stores its end. It holds the run's lease."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Mapping
from graphlib import TopologicalSorter

from ...core.i18n import _
from ...jobs.job import now
from ...jobs.workflows.references import Reference
from ...jobs.workflows.run import RunStatus, StepState, StepStatus
from ...jobs.workflows.run_folder import RunFolder
from ...jobs.workflows.workflow import Step, Workflow
from ..audit_log import Audit
from ..submit import Submitter
from .states import States
from .step_runner import StepRunner
from .step_submit import StepSubmit

__all__ = ["Conductor"]

_log = logging.getLogger(__name__)


class Conductor:
    """Conducts one run, whose lease is held."""

    def __init__(self, folder: RunFolder, submitter: Submitter, audit: Audit) -> None:
        self.folder = folder
        self.submitter = submitter
        self.audit = audit
        self.timings = submitter.watcher.timings
        self.stopping = asyncio.Event()
        self._ended: asyncio.Queue[str] = asyncio.Queue()
        self._tasks: dict[str, asyncio.Task[None]] = {}

    async def run(self, earlier: Mapping[str, StepState]) -> bool:
        """Conduct the run to its end. Return False if another process took it over. `earlier`: the steps of earlier
        runs that may be reused, by digest.

        Raises:
            StateError: if a file of the run is damaged.
        """
        record = self.folder.record()
        workflow = (await asyncio.to_thread(self.folder.stored)).workflow
        states = await asyncio.to_thread(States, self.folder, workflow)
        submits = StepSubmit(record, states, self.submitter, self.audit, self.stopping)
        runner = StepRunner(self.folder, submits, await asyncio.to_thread(_used_results, workflow), earlier)
        try:
            if not await self._run_steps(workflow, states, runner):
                return False
        finally:
            for task in self._tasks.values():
                task.cancel()
            await asyncio.gather(*self._tasks.values(), return_exceptions=True)
        while not await self._finish(states):
            await asyncio.sleep(self.timings.retry)
        return True

    async def _run_steps(self, workflow: Workflow, states: States, runner: StepRunner) -> bool:
        """Run all steps. Return False if another process took over the run."""
        steps = workflow.by_name
        sorter = TopologicalSorter({step.name: step.dependencies for step in workflow.steps})
        sorter.prepare()
        ready: deque[Step] = deque()
        while sorter.is_active():
            for name in sorter.get_ready():
                state = states[name]
                if state.status.ended:
                    self._ended.put_nowait(name)
                elif state.status is StepStatus.WAITING:
                    ready.append(steps[name])
                else:
                    ready.appendleft(steps[name])
            while ready and len(self._tasks) < workflow.max_parallel:
                self._start(runner, ready.popleft())
            name = await self._next_end()
            if not name:
                if not self._is_mine(states):
                    return False
                continue
            if task := self._tasks.pop(name, None):
                task.result()  # Raises what has ended it before the end of its step, such as the end of the process.
            sorter.done(name)
        return True

    def _start(self, runner: StepRunner, step: Step) -> None:
        task = self._tasks[step.name] = asyncio.create_task(runner.run(step))
        task.add_done_callback(lambda _task: self._ended.put_nowait(step.name))

    async def _next_end(self) -> str:
        """Return the name of the next step that has ended; empty if none ends within a time."""
        if not self._ended.empty():
            return self._ended.get_nowait()
        try:
            async with asyncio.timeout(self.timings.run_stops):
                return await self._ended.get()
        except TimeoutError:
            return ""

    def _is_mine(self, states: States) -> bool:
        """Return whether this process still holds the lease. Look for a request to stop, and write pending states."""
        if not self.folder.lease.acquire():
            return False
        if self.folder.stops:
            self.stopping.set()
        states.write()
        return True

    async def _finish(self, states: States) -> bool:
        """Store the end of the run. Return False if the disk has no room for it."""
        if not states.write():
            return False
        record = self.folder.record()
        status, reason = outcome(states.all())
        try:
            self.folder.write(record.model_copy(update={"status": status, "reason": reason, "ended_at": now()}))
        except OSError as error:
            _log.error("Cannot store the end of the run %s: %s", self.folder.id, error)
            return False
        return True


def outcome(states: list[StepState]) -> tuple[RunStatus, str]:
    """Return the final status of a run with these steps, and the reason."""
    for status in (StepStatus.FAILED, StepStatus.LOST):
        if failed := next((state for state in states if state.status is status), None):
            text = _("The step `{step}` failed: {reason}") if failed.reason else _("The step `{step}` failed.")
            return RunStatus.FAILED, text.format(step=failed.name, reason=failed.reason)
    if any(state.status is StepStatus.STOPPED for state in states):
        return RunStatus.STOPPED, ""
    return RunStatus.SUCCEEDED, ""


def _used_results(workflow: Workflow) -> dict[str, list[Reference]]:
    """Return the results of each step that other steps use."""
    used: dict[str, dict[Reference, None]] = {step.name: {} for step in workflow.steps}
    for step in workflow.steps:
        for reference in step.references:
            used[reference.step][reference] = None
    return {name: [*references] for name, references in used.items()}
