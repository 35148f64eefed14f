"""The states of the steps of a run, in memory and in its folder."""

from __future__ import annotations

import logging
from typing import Any

from ...jobs.workflows.run import StepState, StepStatus
from ...jobs.workflows.run_folder import RunFolder
from ...jobs.workflows.workflow import Workflow

_log = logging.getLogger(__name__)


class States:
    """The states of all steps, for the process that conducts the run. Each change is appended to the folder; without
    room on the disk, by a later `write`."""

    def __init__(self, folder: RunFolder, workflow: Workflow) -> None:
        self.folder = folder
        stored, self._attempts_before = folder.states()
        self._states = {step.name: stored.get(step.name) or StepState(name=step.name) for step in workflow.steps}
        self._unwritten: list[StepState] = []
        self._is_logged = False

    def __getitem__(self, step: str) -> StepState:
        return self._states[step]

    def all(self) -> list[StepState]:
        """Return the states in the order of the workflow."""
        return [*self._states.values()]

    def attempts(self, step: str) -> int:
        """Return the number of attempts that count against the retries of a step."""
        return self._states[step].attempt - self._attempts_before.get(step, 0)

    def change(self, step: str, **changes: Any) -> None:
        """Change the state of a step."""
        self._states[step] = self._states[step].model_copy(update=changes)
        self._unwritten.append(self._states[step])
        self.write()

    def wait(self, step: str, *, attempt: int, reason: str = "", fix: str = "", counts: bool = True) -> None:
        """Let a step wait for its next attempt. `counts`: the attempts up to now count against its retries."""
        if not counts:
            self._attempts_before[step] = attempt
        self.change(step, status=StepStatus.WAITING, attempt=attempt, reason=reason, fix=fix, ended_at=None)

    def write(self) -> bool:
        """Append the states that are not written yet. Return whether all are written."""
        if self._unwritten:
            try:
                self.folder.append(self._unwritten, self._attempts_before)
            except OSError as error:
                if not self._is_logged:
                    self._is_logged = True
                    _log.error("Cannot write the steps of the run %s: %s", self.folder.id, error)
                return False
            self._unwritten.clear()
        return True
