"""What is asked of the engine in one call: to submit, or to look at what would be submitted."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from .job import Job, JobSpec

__all__ = ["Preview", "SubmitRequest", "Submitted"]


class SubmitRequest(BaseModel):
    """A spec, and what is not part of it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    spec: JobSpec
    backend: str = Field("", description="Use this backend's default profile.")
    python: str = Field("", description="The interpreter of the kernel or command line that submits.")
    key: str = Field("", max_length=200, description="A submit that is repeated with the same key makes no second job.")
    attach: bool = Field(False, description="Attach to a job of the same spec that runs or has succeeded.")

    @property
    def attach_key(self) -> str:
        """What makes two submits of a cell the same: all of the spec but the name, which has the time in it."""
        if not self.attach:
            return ""
        text = json.dumps(self.spec.model_dump(mode="json", exclude={"name"}), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()


class Submitted(BaseModel):
    """The answer to a submit. `attached`: the job was there before; `changed` names files that changed since."""

    job: Job
    attached: bool = False
    changed: tuple[str, ...] = ()


class Preview(BaseModel):
    """What would be submitted and packed; nobody is contacted."""

    spec: JobSpec
    backend: str
    profile: str
    command: str
    python: str
    notes: tuple[str, ...]
    files: int
    bytes: int
    biggest: list[dict[str, Any]] = Field(description="The largest files: path and bytes.")
    left_out: list[dict[str, str]] = Field(description="What is not taken along: path and why.")
