"""What the verbs answer, as models: for the OpenAPI document, and for tests that hold the answers to it."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from .job import Job
from .request import Submitted as _Submitted

__all__ = [
    "About",
    "Downloaded",
    "Error",
    "Events",
    "Findings",
    "JobView",
    "Jobs",
    "Metrics",
    "Profiles",
    "Submitted",
]

# JSON has no NaN: these texts stand for it.
Number = float | Literal["NaN", "Infinity", "-Infinity"]


class _Reply(BaseModel):
    model_config = ConfigDict(extra="forbid")


class About(_Reply):
    version: str
    backends: list[str]
    home: str


class LatestPoint(_Reply):
    value: Number
    step: int
    time: float


class JobView(Job):
    """A job with what is read from its files: progress, 0 to 1, and the latest point of each metric."""

    progress: float | None
    metrics: dict[str, LatestPoint]
    instances: list[str] = []


class Jobs(_Reply):
    """A page of jobs; `total` counts all that fit."""

    jobs: list[JobView]
    total: int


class Submitted(_Submitted):
    """`attached`: the job was there before; `changed` names the files that changed since."""

    job: JobView


class Points(_Reply):
    """Columns of points. `start` is the index of the first, `time` in seconds since 1970."""

    start: int
    step: list[int]
    value: list[Number]
    time: list[float]


class Metrics(_Reply):
    metrics: dict[str, Points]


class Event(_Reply):
    """`time` is in seconds since 1970."""

    id: int
    job_id: str
    time: float
    kind: str
    data: dict[str, Any]


class Events(_Reply):
    events: list[Event]


class Downloaded(_Reply):
    folder: str
    files: int


class ProfileView(_Reply):
    """`file` is empty for a profile that needs none."""

    name: str
    file: str
    settings: dict[str, Any]


class Profiles(_Reply):
    default: str
    profiles: list[ProfileView]


class FindingView(_Reply):
    state: Literal["ok", "warn", "bad"]
    what: str
    text: str
    fix: str


class Findings(_Reply):
    findings: list[FindingView]


class Error(_Reply):
    """What happened, and what to do."""

    code: str
    message: str
    fix: str
    details: dict[str, Any]
