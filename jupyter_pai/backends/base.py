"""The seam to a platform that jobs run on: few verbs, stated capabilities.

A backend knows its platform and nothing of storage, database or windows. Callers ask for a capability, never for a
platform's name. More verbs (logs, metrics and events of platforms that keep them) come with the first platform that
needs them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import ClassVar, Literal

from ..home import Home, JobFolder
from ..job import Job, JobSpec, JobStatus
from ..secret import Secret
from ..settings import ProfileSettings

__all__ = [
    "Backend",
    "Caller",
    "Capability",
    "Check",
    "Finding",
    "InstanceType",
    "Prepared",
    "Report",
    "Submission",
]


class Capability(StrEnum):
    """What a backend may be able to do beyond the verbs."""

    RUNS_HERE = "runs_here"  # jobs are processes of this machine: it must stay up for them
    CODE_LAYOUT = "code_layout"  # knows the layout of PAI's older CustomJob, with the code in /ml/code
    TTY = "tty"
    SECRETS = "secrets"  # gives jobs secrets, and masks them in logs
    MULTI_NODE = "multi_node"


@dataclass(frozen=True)
class Caller:
    """Who submits: the interpreter of the kernel or of the command line."""

    python: str = ""


@dataclass(frozen=True)
class Check:
    """What is to be said before a job is submitted."""

    notes: tuple[str, ...] = ()
    python: str = ""


@dataclass(frozen=True)
class Finding:
    """Something that `doctor` looked at. `state` is ok, warn (jobs run, but) or bad (jobs do not run)."""

    state: Literal["ok", "warn", "bad"]
    what: str
    text: str
    fix: str = ""


@dataclass(frozen=True)
class InstanceType:
    """A kind of machine that jobs can ask for by name: cores, bytes of memory, GPUs.

    `available`: whether a job would start at once; None where the platform does not tell.
    """

    name: str
    cpu: float
    memory: int
    gpu: int = 0
    gpu_name: str = ""
    available: bool | None = None


@dataclass(frozen=True)
class Prepared:
    """What is known of a job that is ready to be submitted. `remote_id` is empty where the platform gives it."""

    outputs: dict[str, str]
    notes: tuple[str, ...] = ()
    remote_id: str = ""


@dataclass(frozen=True)
class Submission:
    """What a platform answered to a submit."""

    remote_id: str
    console_url: str = ""


@dataclass(frozen=True)
class Report:
    """Where a job stands on its platform. `exit_code` is 128 + n where signal n ended the command.

    `instance`: of a job of several, the one that failed first. `elsewhere`: only an engine on another host can tell how
    the job ends. `silent`: nothing is heard from there.
    """

    status: JobStatus
    platform_status: str = ""
    reason: str = ""
    fix: str = ""
    exit_code: int | None = None
    instance: str = ""
    started_at: datetime | None = None
    ended_at: datetime | None = None
    output_parameters: dict[str, str] = field(default_factory=dict)
    elsewhere: bool = False
    silent: bool = False


class Backend(ABC):
    """One platform with one profile's settings."""

    name: ClassVar[str]
    capabilities: ClassVar[frozenset[Capability]]
    settings_model: ClassVar[type[ProfileSettings]] = ProfileSettings

    def __init__(self, settings: ProfileSettings, home: Home) -> None:
        self.settings = settings
        self.home = home

    @abstractmethod
    async def check(self, spec: JobSpec, caller: Caller) -> Check:
        """Look at a spec before anything is packed. Contacts nobody.

        Raises:
            BadInput: for what the platform cannot run.
        """

    @abstractmethod
    async def prepare(self, job: Job, folder: JobFolder) -> Prepared:
        """Make ready all that can be before the job is stored; its code is ``folder.source``. Nothing runs yet.

        Raises:
            PaiError: if it cannot be run; then nothing of it is kept.
        """

    @abstractmethod
    async def submit(self, job: Job, folder: JobFolder, secrets: Mapping[str, Secret]) -> Submission:
        """Start a job that is prepared and stored. At most once for a job's id.

        It gets `secrets` as environment variables. Their values are written nowhere, and masked in its log.

        Raises:
            BackendError: if the platform did not take it.
        """

    @abstractmethod
    async def poll(self, remote_ids: Sequence[str]) -> dict[str, Report]:
        """Where each of these jobs stands: one call for many."""

    @abstractmethod
    async def stop(self, remote_id: str) -> None:
        """Ask for the job's end. Returns at once; `poll` tells when it has ended. Does nothing if it has."""

    @abstractmethod
    async def delete(self, remote_id: str) -> None:
        """Forget a job that has ended, on the platform."""

    @abstractmethod
    async def instance_types(self) -> list[InstanceType]:
        """The kinds of machine that jobs of this profile can ask for."""

    @abstractmethod
    def examine(self) -> list[Finding]:
        """Check what jobs of this profile need, by trying it. May block."""
