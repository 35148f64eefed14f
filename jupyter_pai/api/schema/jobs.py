"""What the verbs answer, as models: for the OpenAPI document, and for tests that hold the answers to it."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from pydantic import Field

from ...engine.requests import Submitted as _Submitted
from ...jobs.job import Job, JobStatus
from ...jobs.provenance import Git, Provenance
from ...source.hyperparameters import Hyperparameter
from .base import Reply as _Reply
from .data import DataFolder, DataSize, MadeFolder, Storages
from .outputs import Copies, CopyView, FileText, Outputs
from .page import Catalogue, EngineSettings, Tutorials
from .platforms import (
    Findings,
    Images,
    Instances,
    OutputModels,
    PlatformBoard,
    PlatformBoards,
    Profiles,
    TerminalLink,
    Trials,
)

__all__ = [
    "About",
    "Catalogue",
    "Code",
    "Comparison",
    "Copies",
    "CopyView",
    "DataFolder",
    "DataSize",
    "DiskUse",
    "EngineSettings",
    "Error",
    "Events",
    "FileText",
    "Findings",
    "Images",
    "Inspection",
    "Instances",
    "JobView",
    "Jobs",
    "LogHits",
    "LogPage",
    "MadeFolder",
    "Metrics",
    "OutputModels",
    "Outputs",
    "PlatformBoard",
    "PlatformBoards",
    "Profiles",
    "Provenance",
    "Pruned",
    "RemoteJobs",
    "Secrets",
    "Storages",
    "Submitted",
    "TensorBoardView",
    "TensorBoards",
    "TerminalLink",
    "Texts",
    "Trials",
    "Tutorials",
]

# JSON has no NaN: these texts stand for it.
Number = float | Literal["NaN", "Infinity", "-Infinity"]


class About(_Reply):
    version: str
    backends: list[str]
    home: str


class LatestPoint(_Reply):
    value: Number
    step: int
    time: float


class JobView(Job):
    """A job with what is read from its files: progress, 0 to 1, and the latest point of each metric.

    `usage` are, while it runs, the latest samples of the machine's use: system/cpu in cores, system/memory in bytes,
    system/gpu in percent of a GPU, system/gpu_memory in bytes. `paid`: it costs money until it ends. `platform_boards`:
    its platform runs TensorBoards itself. `terminal`: the command line that opens a terminal in it, in one of the
    server's; empty where none can.
    """

    progress: float | None
    metrics: dict[str, LatestPoint]
    usage: dict[str, LatestPoint] = {}
    paid: bool = False
    platform_boards: bool = False
    terminal: str = ""
    instances: list[str] = []
    git: Git | None = None


class Jobs(_Reply):
    """A page of jobs; `total` counts all that fit."""

    jobs: list[JobView]
    total: int


class RemoteJobView(_Reply):
    """A job as its platform has it; `job_id` is ours, if it is in the list here."""

    remote_id: str
    name: str
    status: JobStatus
    platform_status: str
    submitted_at: datetime
    user: str
    console_url: str
    job_id: str


class RemoteJobs(_Reply):
    profile: str
    jobs: list[RemoteJobView]


class Code(_Reply):
    """A job's spec as what asks for it once more: the text of a cell, a command line, Python, and JSON for `--spec`."""

    cell: str
    cli: str
    python: str
    as_json: str = Field(alias="json")


class Submitted(_Submitted):
    """`attached`: the job was there before; `changed` names the files that changed since."""

    job: JobView


class InspectedFile(_Reply):
    """`problem` is empty for a file that could be read."""

    path: str
    problem: str


class Inspection(_Reply):
    """`closed`: the code takes no others. `notes` doubt names and values that the spec has."""

    hyperparameters: list[Hyperparameter]
    files: list[InspectedFile]
    closed: bool
    notes: list[str]


class LogPage(_Reply):
    """Lines of a log, the first being number `line` (from 0 on) of `lines` that there are by now.

    `long` has the length in bytes of those that are not given whole, by their number. `instances` has the instance of
    each line, if they are of several. `ends` is where to go on by the stream: for each instance the byte after what is
    shown; `open`: the last line has no end yet.
    """

    line: int
    lines: int
    texts: list[str]
    long: dict[str, int]
    instances: list[str]
    ends: dict[str, int]
    open: bool


class LogHit(_Reply):
    """A line that has what was looked for, and text around the first place in it."""

    line: int
    instance: str
    text: str


class LogHits(_Reply):
    """`total` counts the lines that have it, as far as was looked by now; `complete`: to the end. The same request
    looks further. `first` is how many of them come before the first one given."""

    total: int
    complete: bool
    first: int
    hits: list[LogHit]


class Points(_Reply):
    """Columns of points: those from index `start` up to `end`, or fewer that stand for them. `time` is in seconds
    since 1970."""

    start: int
    end: int
    step: list[int]
    value: list[Number]
    time: list[float]


class Metrics(_Reply):
    metrics: dict[str, Points]


class Text(_Reply):
    """A text that a job wrote for TensorBoard. `time` is in seconds since 1970."""

    tag: str
    step: int
    time: float
    text: str


class Texts(_Reply):
    texts: list[Text]


class Event(_Reply):
    """`time` is in seconds since 1970."""

    id: int
    job_id: str
    time: float
    kind: str
    data: dict[str, Any]


class Events(_Reply):
    events: list[Event]


class Difference(_Reply):
    """A value of the first job and of the second; null where there is none."""

    name: str
    a: Any
    b: Any


class FileDifference(_Reply):
    """`lines` is a unified difference; `why` says why there is none, or not all of it."""

    path: str
    change: Literal["added", "removed", "changed"]
    lines: list[str]
    why: str


class Comparison(_Reply):
    """How two jobs differ; `results` has what became of them side by side, also what is the same."""

    spec: list[Difference]
    files: list[FileDifference]
    provenance: list[Difference]
    packages: list[Difference]
    results: list[Difference]


class CandidateView(_Reply):
    """A job, an environment, or data that was brought here for jobs, that may go. `used_at`, in seconds since 1970, is
    when a job ended. The name of data is the URI that it came from."""

    id: str
    used_at: float
    bytes: int
    name: str
    status: str
    has_model: bool


class Pruned(_Reply):
    """`jobs` and `environments` went, or would go; `kept` were to go and did not: id to why. `bytes` is the room that
    gives, `sources` what of it is packed code."""

    jobs: list[CandidateView]
    environments: list[CandidateView]
    sources: int
    bytes: int
    kept: dict[str, str]


class DiskPart(_Reply):
    what: Literal["jobs", "running", "environments", "inputs", "sources", "database"]
    count: int
    bytes: int


class LargeJob(_Reply):
    id: str
    name: str
    status: str
    bytes: int
    pinned: bool


class DiskUse(_Reply):
    """What takes room in the state folder, in bytes as they are allocated; `limit` is where warnings begin."""

    path: str
    bytes: int
    limit: int
    free: int
    parts: list[DiskPart]
    largest: list[LargeJob]


class SecretView(_Reply):
    name: str
    place: Literal["keyring", "file"]


class Secrets(_Reply):
    """`file` is where secrets are kept that are in no keyring: only its user can read it, and it is not encrypted."""

    secrets: list[SecretView]
    file: str


class TensorBoardJob(_Reply):
    id: str
    name: str


class TensorBoardView(_Reply):
    """`address` is a path on the server. `started_at` is in seconds since 1970; nobody looking for `idle_timeout`
    seconds, it ends."""

    id: str
    jobs: list[TensorBoardJob]
    address: str
    started_at: float
    idle_timeout: float


class TensorBoards(_Reply):
    tensorboards: list[TensorBoardView]


class Error(_Reply):
    """What happened, and what to do."""

    code: str
    message: str
    fix: str
    details: dict[str, Any]
