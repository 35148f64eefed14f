"""What profiles and specs may say to the local backend."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from ...config.settings import ProfileSettings
from ...core.i18n import N_
from ...jobs.spec import SIZE

__all__ = ["LocalOptions", "LocalSettings"]


class LocalSettings(ProfileSettings):
    """What a profile of the local backend may set."""

    python: str = Field(
        "",
        title=N_("Interpreter"),
        description=N_("Interpreter of jobs that name none; else the submitting kernel's own."),
    )
    max_run_time: int | None = Field(
        None, gt=0, title=N_("Longest run time"), description=N_("Seconds after which any job is stopped.")
    )
    grace_time: float = Field(
        10, ge=0, title=N_("Time to end"), description=N_("Seconds from SIGTERM to SIGKILL when a job is stopped.")
    )
    container: Literal["", "auto", "podman", "docker", "none"] = Field(
        "",
        title=N_("Container engine"),
        description=N_("The container engine to run images by; `auto` for the one that is there, `none` for none."),
    )
    max_cpu: float | None = Field(
        None, gt=0, title=N_("Most cores"), description=N_("Cores that jobs may use together; else all.")
    )
    max_memory: str = Field(
        "",
        pattern=SIZE,
        title=N_("Most memory"),
        description=N_("Memory that jobs may use together: `64GiB`; else all."),
    )
    max_gpu: int | None = Field(
        None, ge=0, title=N_("Most GPUs"), description=N_("GPUs that jobs may use together; else all.")
    )


class LocalOptions(BaseModel):
    """What a spec's `options` may have here."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    container: Literal["", "auto", "podman", "docker", "none"] = Field(
        "", title=N_("Container engine"), description=N_("The container engine to run the job's image by.")
    )
