"""Settings and options of the local backend."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from ...cloud.hadoop import HdfsSettings
from ...core.i18n import N_
from ...jobs.spec import SIZE


class LocalSettings(HdfsSettings):
    """Settings of a local profile."""

    python: str = Field(
        "",
        title=N_("Interpreter"),
        description=N_("Default interpreter of jobs. Default: the submitting kernel's."),
    )
    max_run_time: int | None = Field(
        None, gt=0, title=N_("Maximum run time"), description=N_("Seconds after which every job is stopped.")
    )
    grace_time: float = Field(
        10, ge=0, title=N_("Grace time"), description=N_("Seconds between SIGTERM and SIGKILL when a job is stopped.")
    )
    container: Literal["", "auto", "podman", "docker", "none"] = Field(
        "",
        title=N_("Container engine"),
        description=N_("Container engine for images: `auto` selects an installed one, `none` disables containers."),
    )
    max_cpu: float | None = Field(
        None, gt=0, title=N_("Maximum cores"), description=N_("Cores for all jobs together. Default: all.")
    )
    max_memory: str = Field(
        "",
        pattern=SIZE,
        title=N_("Maximum memory"),
        description=N_("Memory for all jobs together, such as `64GiB`. Default: all."),
    )
    max_gpu: int | None = Field(
        None, ge=0, title=N_("Maximum GPUs"), description=N_("GPUs for all jobs together. Default: all.")
    )


class LocalOptions(BaseModel):
    """Fields of a spec's `options` for this backend."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    container: Literal["", "auto", "preferred", "podman", "docker", "none"] = Field(
        "",
        title=N_("Container engine"),
        description=N_(
            "Container engine that runs the job's image. `preferred`: without one, the job runs without its image."
        ),
    )
