"""`WorkflowRun`: a run of a workflow and the states of its steps."""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field

from ..job import JobStatus, Time, UserText
from ..spec import Value


class StepStatus(StrEnum):
    """The status of a step: that of its job, or `waiting` before it has one, or `skipped`. `lost` is the end of a job
    that its platform no longer has."""

    WAITING = "waiting"
    QUEUED = "queued"
    STARTING = "starting"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    STOPPED = "stopped"
    LOST = "lost"
    SKIPPED = "skipped"

    @property
    def ended(self) -> bool:
        """True if the status is final."""
        return self is StepStatus.SKIPPED or (self is not StepStatus.WAITING and JobStatus(self.value).ended)

    def __str__(self) -> str:
        return self.value


class RunStatus(StrEnum):
    """The status of a run. It failed if a step failed, also if others succeeded."""

    RUNNING = "running"
    STOPPING = "stopping"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    STOPPED = "stopped"

    @property
    def ended(self) -> bool:
        """True if the status is final."""
        return self not in (RunStatus.RUNNING, RunStatus.STOPPING)

    def __str__(self) -> str:
        return self.value


class StepState(Value):
    """The state of one step of a run. Times are in UTC."""

    name: str
    status: StepStatus = StepStatus.WAITING
    job: str = Field("", description="Id of the job of the last attempt.")
    attempt: int = Field(0, description="Number of the last attempt, from 1; 0 before the first.")
    reason: UserText = Field("", description="Reason of a failure or a skip.")
    fix: UserText = Field("", description="Suggested fix.")
    values: dict[str, str] = Field({}, description="Values that decided the condition, by reference.")
    reused: bool = Field(False, description="True if the job is that of an earlier run.")
    digest: str = Field("", description="SHA-256 of the spec, code and inputs of the job.")
    started_at: Time | None = None
    ended_at: Time | None = None


class WorkflowRun(Value):
    """A run of a workflow. Times are in UTC."""

    id: str
    name: str
    status: RunStatus
    submitted_at: Time
    ended_at: Time | None = None
    reason: UserText = ""
    notes: tuple[UserText, ...] = Field((), description="Messages for the user.")
    notebook: str = Field("", description="Path of the notebook that started the run.")
    steps: tuple[StepState, ...] = ()

    def step(self, name: str) -> StepState:
        """Return the state of a step."""
        return next(step for step in self.steps if step.name == name)
