"""`Job`, a submitted spec with its state, and `JobStatus`."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from enum import StrEnum

from pydantic import Field, computed_field, model_validator

from .spec import JobSpec, Texts, Value

__all__ = ["Job", "JobStatus", "now"]


class JobStatus(StrEnum):
    """Where a job stands. `lost` is a job that its platform no longer knows."""

    QUEUED = "queued"
    STARTING = "starting"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    STOPPED = "stopped"
    LOST = "lost"

    @property
    def ended(self) -> bool:
        """Whether the job will not change any more."""
        return self not in (JobStatus.QUEUED, JobStatus.STARTING, JobStatus.RUNNING)

    def __str__(self) -> str:
        return self.value


def now() -> datetime:
    """This moment, in UTC."""
    return datetime.now(UTC)


class Job(Value):
    """A spec that was submitted, and what became of it. Times are in UTC."""

    id: str
    spec: JobSpec
    backend: str
    profile: str
    status: JobStatus
    platform_status: str = Field("", description="The platform's own word for the status.")
    reason: str = Field("", description="Why the job ended as it did.")
    fix: str = Field("", description="What to do about it.")
    exit_code: int | None = Field(None, description="Of the command; 128 + n when signal n ended it.")
    remote_id: str = Field("", description="The platform's name for the job.")
    submitted_at: datetime
    started_at: datetime | None = None
    ended_at: datetime | None = None
    inputs: dict[str, str] = Field(
        {}, description="Input channels as the platform knows them, name to URI, where that is not as in the spec."
    )
    outputs: dict[str, str] = Field({}, description="Output channels: name to URI.")
    output_parameters: dict[str, str] = Field({}, description="Files of /ml/output/output_parameters: name to text.")
    notes: tuple[str, ...] = Field((), description="What the user should know: an option that was ignored.")
    console_url: str = ""
    python: str = Field("", description="The interpreter that the job runs with, on the local backend.")
    source_digest: str = Field("", description="SHA-256 of the code that was packed.")
    source_files: int = 0
    source_bytes: int = 0
    rerun_of: str = Field("", description="The job whose spec and code this one took.")
    resumed_from: str = Field("", description="The job whose checkpoints are the input `checkpoints` of this one.")
    pinned: bool = Field(False, description="Neither deleted nor pruned until it is unpinned.")
    labels: Texts = Field({}, description="The spec's to begin with; the user changes them.")
    notebook: str = Field("", description="The notebook that it was submitted from, else the one that it runs: a path.")

    @model_validator(mode="before")
    @classmethod
    def _begin_labels(cls, value: object) -> object:
        """Also of a job that was stored when labels were the spec's alone."""
        if not isinstance(value, Mapping) or "labels" in value:
            return value
        spec = value.get("spec")
        labels = (
            spec.labels if isinstance(spec, JobSpec) else spec.get("labels", {}) if isinstance(spec, Mapping) else {}
        )
        return {**value, "labels": labels}

    @property
    def brought(self) -> JobSpec:
        """The spec with its inputs as the platform knows them: sent there, or fetched to this machine."""
        return self.spec.model_copy(update={"inputs": self.inputs}) if self.inputs else self.spec

    @computed_field  # type: ignore[prop-decorator]  # mypy knows no decorated properties
    @property
    def name(self) -> str:
        """The spec's."""
        return self.spec.name
