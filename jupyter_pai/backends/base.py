"""The seam to a platform that jobs run on: few verbs, stated capabilities.

A backend knows its platform and nothing of storage, database or windows. Callers ask for a capability, never for a
platform's name. What platforms have beyond it whose jobs run elsewhere is in `remote`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Any, ClassVar, Literal, TypeVar

from pydantic import BaseModel, ValidationError

from ..config.settings import ProfileSettings
from ..core.errors import SpecError, Unsupported
from ..core.field_errors import of_validation
from ..core.i18n import _
from ..core.secret import Secret
from ..jobs.events import MetricPoint
from ..jobs.job import Job, JobSpec, JobStatus
from ..jobs.state_dir import Home, JobFolder
from . import pricing as cost
from .tensorboards import Boards

__all__ = [
    "Backend",
    "Caller",
    "Capability",
    "Check",
    "Finding",
    "Image",
    "ImageQuery",
    "InstanceType",
    "Prepared",
    "Quota",
    "Report",
    "Submission",
    "Trial",
    "parse_options",
]

_Options = TypeVar("_Options", bound=BaseModel)


class Capability(StrEnum):
    """What a backend may be able to do beyond the verbs."""

    RUNS_HERE = "runs_here"  # jobs are processes of this machine: it must stay up for them
    CODE_LAYOUT = "code_layout"  # knows the layout of PAI's older CustomJob, with the code in /ml/code
    TTY = "tty"
    SECRETS = "secrets"  # gives jobs secrets, and masks them in logs
    MULTI_NODE = "multi_node"
    IMAGES = "images"  # knows images that jobs can run in
    PAID = "paid"  # what runs there costs money
    BOARDS = "boards"  # runs TensorBoards itself
    SIZES = "sizes"  # picks an instance type for a job that says what it needs by sizes
    DATASETS = "datasets"  # jobs can read data sets that the platform keeps
    TERMINAL = "terminal"  # opens terminals in instances that run
    NOTEBOOKS = "notebooks"  # runs notebooks, cell by cell; elsewhere their code runs as a script
    OUTPUT_MODELS = "output_models"  # notes which models a job has made


@dataclass(frozen=True)
class Caller:
    """Who submits: the interpreter of the kernel or of the command line."""

    python: str = ""


@dataclass(frozen=True)
class Check:
    """What is to be said before a job is submitted. `cost`: on which machines it runs, and their price, where that is
    to be paid. `questions` are for the user to agree to; the cost may be one of them."""

    notes: tuple[str, ...] = ()
    python: str = ""
    questions: tuple[str, ...] = ()
    cost: str = ""

    def paid(self, spec: JobSpec) -> Check:
        """The same for what is to be paid: the cost is told, and for how long."""
        price = self.cost or cost.unpriced(cost.machines(spec.instance_type, spec.instance_count))
        told = f"{price} {cost.lasting()}"
        questions = tuple(told if question == self.cost else question for question in self.questions)
        return replace(self, cost=told, questions=questions)


@dataclass(frozen=True)
class Finding:
    """Something that `doctor` looked at. `state` is ok, warn (jobs run, but) or bad (jobs do not run)."""

    state: Literal["ok", "warn", "bad"]
    what: str
    text: str
    fix: str = ""


@dataclass(frozen=True)
class Trial:
    """Something that only a person with an account can see, once: what is to be seen, and how."""

    name: str
    what: str
    how: str


@dataclass(frozen=True)
class InstanceType:
    """A kind of machine that jobs can ask for by name: cores, bytes of memory, GPUs with so many bytes each.

    `available`: whether a job would start at once; None where the platform does not tell. `price` is that of an hour,
    None where the platform publishes none; `spot_discount` the share of it that a machine costs which may be taken
    away, None where there are no such. `pool` is the platform's name for where it comes from.
    """

    name: str
    cpu: float
    memory: int
    gpu: int = 0
    gpu_name: str = ""
    available: bool | None = None
    gpu_memory: int = 0
    price: float | None = None
    spot_discount: float | None = None
    pool: str = ""


@dataclass(frozen=True)
class Quota:
    """A share of machines that is the account's own: cores, bytes of memory and GPUs, in all and free by now."""

    id: str
    name: str
    status: str
    cpu: float
    memory: int
    gpu: int
    free_cpu: float
    free_memory: int
    free_gpu: int
    gpu_name: str = ""


@dataclass(frozen=True)
class Image:
    """An image that jobs can run in. `uri` is what a job names; the rest is empty where the platform does not tell.

    `accelerator` is CPU or GPU. `created` is an ISO time.
    """

    uri: str
    name: str
    framework: str = ""
    version: str = ""
    accelerator: str = ""
    python: str = ""
    cuda: str = ""
    description: str = ""
    created: str = ""


@dataclass(frozen=True)
class ImageQuery:
    """Which images are wanted. `version` may be ``latest``: the newest one alone. An empty word leaves it open.

    `scope` is what they are for: training, develop, inference; or own, those of the workspace.
    """

    framework: str = ""
    version: str = ""
    accelerator: str = ""
    scope: str = "training"


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
    the job ends. `silent`: nothing is heard from there. `progress` (0 to 1) and the newest point of each metric: where
    the platform reads them itself.
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
    console_url: str = ""
    progress: float | None = None
    metrics: Mapping[str, MetricPoint] = field(default_factory=dict)


def parse_options(model: type[_Options], options: Mapping[str, Any]) -> _Options:
    """What a spec's `options` say to a platform that has these.

    Raises:
        SpecError: naming each field that is wrong, so that forms show it there.
    """
    try:
        return model.model_validate(dict(options))
    except ValidationError as error:
        faults = of_validation(error, "options", fields=model.model_fields)
        raise SpecError("\n".join(f"{place}: {said}" for place, said in faults.items()), faults=faults) from None


class Backend(ABC):
    """One platform with one profile's settings."""

    name: ClassVar[str]
    # As people call it; the name where nothing is said.
    title: ClassVar[str] = ""
    capabilities: ClassVar[frozenset[Capability]]
    settings_model: ClassVar[type[ProfileSettings]] = ProfileSettings
    # What a profile may log in with, if it is to have credentials of its own (`credentials.own`); None for a platform
    # that wants none. Its first field that is no password tells people which they are.
    credentials_model: ClassVar[type[BaseModel] | None] = None
    # What a spec's `options` may have: forms draw it, `parse_options` reads it. None where there are none, or nobody
    # says which.
    options_model: ClassVar[type[BaseModel] | None] = None
    # The TensorBoards that the platform runs itself; None where it runs none.
    boards: Boards | None = None

    def __init__(self, settings: ProfileSettings, home: Home) -> None:
        self.settings = settings
        self.home = home
        # Whether the administrator lets jobs have an instance type: for backends that pick one.
        self.allows: Callable[[str], bool] = lambda instance_type: True

    @classmethod
    def discover(cls) -> dict[str, Any]:
        """The keys of a profile that needs no file, because they lie ready on this machine. It is named like the
        backend; what the files say of a profile of that name goes above. Asks nobody."""
        return {}

    @classmethod
    def is_here(cls, folder: JobFolder) -> bool:
        """Whether a job that has not ended is this machine's, for those with `Capability.RUNS_HERE`: several machines
        may share a state folder."""
        return True

    @classmethod
    def trials(cls) -> Sequence[Trial]:
        """What a person should try once, since no test can prove it."""
        return ()

    @abstractmethod
    async def check(self, spec: JobSpec, caller: Caller) -> Check:
        """Look at a spec before anything is packed. Contacts nobody.

        Raises:
            BadInput: for what the platform cannot run.
        """

    async def settle(self, spec: JobSpec, check: Check) -> tuple[JobSpec, Check]:
        """Settle what only the platform can tell of a spec that was checked: the spec with that filled in, and the
        check with what is to be said and asked. Before anything is packed, so that a refusal costs nothing.

        A backend with `Capability.SIZES` fills in the instance type of a spec that names sizes and none of its own.

        Raises:
            BadInput: if the platform has nothing that fits.
            PaiError: if it has to be asked and does not answer.
        """
        return spec, check

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

    async def quotas(self) -> list[Quota]:
        """The shares of machines that jobs of this profile can run in; none where there is no such thing."""
        return []

    async def images(self, wanted: ImageQuery) -> list[Image]:
        """The images that jobs of this profile can run in, newest version first. For those with `Capability.IMAGES`.

        Raises:
            ImageError: if there is none of the framework or version that is named; it says which there are.
        """
        raise Unsupported(_("The backend `{name}` lists no images.").format(name=self.name))

    @abstractmethod
    def examine(self) -> list[Finding]:
        """Check what jobs of this profile need, by trying it. May block."""
