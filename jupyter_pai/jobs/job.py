"""`Job`, a submitted spec with its state, and `JobStatus`."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated

from pydantic import (
    AfterValidator,
    Field,
    PlainSerializer,
    SerializationInfo,
    ValidatorFunctionWrapHandler,
    WithJsonSchema,
    WrapValidator,
    computed_field,
    model_validator,
)

from ..core.i18n import Message, text_from_json, text_to_json, translated
from .spec import STORED, JobSpec, Texts, Value


class JobStatus(StrEnum):
    """The status of a job. `lost` means that its platform no longer has it."""

    QUEUED = "queued"
    STARTING = "starting"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    STOPPED = "stopped"
    LOST = "lost"

    @property
    def ended(self) -> bool:
        """True if the status is final."""
        return self not in (JobStatus.QUEUED, JobStatus.STARTING, JobStatus.RUNNING)

    def __str__(self) -> str:
        return self.value


def now() -> datetime:
    """Return the current time in UTC."""
    return datetime.now(UTC)


def _read(value: object, check: ValidatorFunctionWrapHandler) -> str:
    if isinstance(value, Message):
        return value
    return text_from_json(value) if isinstance(value, Mapping) else str(check(value))


def _write(text: str, info: SerializationInfo) -> object:
    return text_to_json(text) if info.context is STORED else translated(text)


# A text for the user. A `Message` is stored with its original, and is else written in the current language.
UserText = Annotated[
    str, WrapValidator(_read), PlainSerializer(_write, when_used="json"), WithJsonSchema({"type": "string"})
]


def _in_utc(time: datetime) -> datetime:
    return time if time.tzinfo else time.replace(tzinfo=UTC)


# A damaged record may have lost the zone. Times with and without one cannot be compared.
Time = Annotated[datetime, AfterValidator(_in_utc)]
# Fields that items of a list lack: their sizes have no small limit.
UNLISTED = {"spec", "inputs", "output_parameters", "notes"}


class Job(Value):
    """A submitted spec and its state. Times are in UTC."""

    id: str
    spec: JobSpec
    backend: str
    profile: str
    status: JobStatus
    platform_status: UserText = Field("", description="The platform's own name of the status.")
    reason: UserText = Field("", description="Reason for the final status.")
    fix: UserText = Field("", description="Suggested fix.")
    exit_code: int | None = Field(None, description="Exit code of the command; 128 + n if it was killed by signal n.")
    remote_id: str = Field("", description="The platform's id of the job.")
    submitted_at: Time
    started_at: Time | None = None
    ended_at: Time | None = None
    inputs: dict[str, str] = Field(
        {}, description="Input channels as resolved for the platform, name to URI, if they differ from the spec."
    )
    outputs: dict[str, str] = Field({}, description="Output channels: name to URI.")
    output_parameters: dict[str, str] = Field({}, description="Files of /ml/output/output_parameters: name to text.")
    notes: tuple[UserText, ...] = Field((), description="Messages for the user, such as an ignored option.")
    console_url: str = ""
    run_time_limit: int | None = Field(
        None, description="Seconds after the start at which the job is stopped; 0 for no limit, null if unknown."
    )
    python: str = Field("", description="The Python interpreter of the job, on the local backend.")
    source_digest: str = Field("", description="SHA-256 of the packed code.")
    source_files: int = 0
    source_bytes: int = 0
    rerun_of: str = Field("", description="Id of the job from which the spec and code were taken.")
    resumed_from: str = Field("", description="Id of the job whose checkpoints are the input `checkpoints`.")
    workflow: str = Field("", description="Id of the workflow's run to which the job belongs.")
    step: str = Field("", description="Name of the workflow's step whose job it is.")
    pinned: bool = Field(False, description="True if the job is protected from deletion and pruning.")
    labels: Texts = Field({}, description="Labels of the job, initially those of the spec.")
    notebook: str = Field(
        "", description="Path of the notebook that submitted the job, or of the notebook that it runs."
    )
    form: str = Field("", description="Path of the script or folder whose form submitted the job.")

    @model_validator(mode="before")
    @classmethod
    def _begin_labels(cls, value: object) -> object:
        """Fill in `labels` for jobs stored when only the spec had labels."""
        if not isinstance(value, Mapping) or "labels" in value:
            return value
        spec = value.get("spec")
        labels = (
            spec.labels if isinstance(spec, JobSpec) else spec.get("labels", {}) if isinstance(spec, Mapping) else {}
        )
        return {**value, "labels": labels}

    @property
    def staged_spec(self) -> JobSpec:
        """The spec with its inputs as resolved for the platform, after upload or download."""
        return self.spec.model_copy(update={"inputs": self.inputs}) if self.inputs else self.spec

    @property
    def is_imported(self) -> bool:
        """True if it was submitted elsewhere, so that the platform has no label of ours for it."""
        return not self.source_digest

    @computed_field  # type: ignore[prop-decorator]  # mypy knows no decorated properties
    @property
    def name(self) -> str:
        """The name in the spec."""
        return self.spec.name
