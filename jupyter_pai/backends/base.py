"""The seam to training platforms: the methods and capabilities of a backend.

A backend knows only its platform: neither storage nor database nor user interface.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, ClassVar, Literal, TypeVar

from pydantic import BaseModel, ValidationError

from ..config.settings import ProfileSettings
from ..core.errors import SpecError, Unsupported
from ..core.field_errors import validation_errors
from ..core.i18n import _
from ..core.secret import Secret
from ..jobs.instances import Instance
from ..jobs.job import Job
from ..jobs.spec import JobSpec
from ..jobs.state_dir import Home, JobFolder
from .capabilities import Capability
from .check import Check
from .job_files import JobFiles
from .platform_metrics import PlatformMetrics
from .registry import Registry
from .reports import EventPage, LogPiece, RemoteJob, Report, Sample
from .resources import Choice, Image, ImageQuery, InstanceType, Link, Quota, QuotaUser
from .tensorboards import Boards
from .terminals import Terminal, TerminalDialect

__all__ = ["Backend", "Caller", "Capability", "Finding", "Prepared", "Submission", "Trial", "parse_options"]

_Options = TypeVar("_Options", bound=BaseModel)


@dataclass(frozen=True)
class Caller:
    """The submitting process: the Python interpreter of the kernel or command line."""

    python: str = ""


@dataclass(frozen=True)
class Finding:
    """One result of `doctor`. `state` is ok, warn (jobs run with limits) or bad (jobs cannot run)."""

    state: Literal["ok", "warn", "bad"]
    what: str
    text: str
    fix: str = ""


@dataclass(frozen=True)
class Trial:
    """A manual check that needs a real account: the expected behaviour and the steps to see it."""

    name: str
    what: str
    how: str


@dataclass(frozen=True)
class Prepared:
    """A job that is ready to be submitted. `remote_id` is empty if the platform assigns it. `outputs` has the URIs of
    the channels that are known before the submit."""

    outputs: dict[str, str]
    notes: tuple[str, ...] = ()
    remote_id: str = ""


@dataclass(frozen=True)
class Submission:
    """A platform's reply to a submit. `outputs` has the URIs of the channels that are known only now."""

    remote_id: str
    console_url: str = ""
    outputs: Mapping[str, str] = field(default_factory=dict)


def parse_options(model: type[_Options], options: Mapping[str, Any]) -> _Options:
    """Parse a spec's `options` for a platform.

    Raises:
        SpecError: naming each invalid field.
    """
    try:
        return model.model_validate(dict(options))
    except ValidationError as error:
        faults = validation_errors(error, "options", fields=model.model_fields)
        raise SpecError("\n".join(f"{field}: {message}" for field, message in faults.items()), faults=faults) from None


class Backend(JobFiles, PlatformMetrics, ABC):
    """One platform with the settings of one profile.

    Methods that are not abstract have a default, which fits jobs on this machine. Platforms reached over a network
    inherit from `RemoteBackend`.
    """

    name: ClassVar[str]
    # Display name; empty: `name`.
    title: ClassVar[str] = ""
    capabilities: ClassVar[frozenset[Capability]]
    settings_model: ClassVar[type[ProfileSettings]] = ProfileSettings
    # Credentials that a profile may have of its own, for `credentials.own_credentials`. The first field that is not a
    # password identifies them to users. None if the platform needs none.
    credentials_model: ClassVar[type[BaseModel] | None] = None
    # What users type to log in, if `log_in` exchanges it for other credentials. None: the credentials themselves.
    login_model: ClassVar[type[BaseModel] | None] = None
    # Fields of a spec's `options`, for forms and `parse_options`. None if there are none or they are not known.
    options_model: ClassVar[type[BaseModel] | None] = None
    # Slow modules of a first submit, imported in a thread when a page or kernel connects and a profile exists.
    preloaded: ClassVar[Sequence[str]] = ()
    job_label: ClassVar[str] = ""  # That with our id of a job on the platform; empty if the id stands elsewhere.
    keeps_samples: ClassVar[bool] = False  # Of ended jobs: they are fetched when a user first looks at them.
    boards: Boards | None = None  # TensorBoards run by the platform; None if it runs none.
    registry: Registry | None = None  # The platform's registry of models; None if it has none.
    # The dialects of the WebSockets that `terminal` returns, by name; empty if it returns pages or commands.
    terminal_dialects: ClassVar[Mapping[str, type[TerminalDialect]]] = {}
    # Functions that write a workflow in a format of the platform, by its name: backend, workflow, code folders by step.
    workflow_formats: ClassVar[Mapping[str, Callable[[Any, Any, Mapping[str, str]], Awaitable[str]]]] = {}
    # Whether the platform has a place for inputs of this machine, and for outputs. Without one, `input_uri` or
    # `output_uri` is empty.
    stores_inputs: bool = True
    stores_outputs: bool = True
    # Whether jobs can write outputs to the URIs that a spec names (`output_path`, `outputs`).
    writes_to_uris: bool = True

    def __init__(self, settings: ProfileSettings, home: Home) -> None:
        self.settings = settings
        self.home = home
        # The administrator's rule on instance types, for backends that select one.
        self.allows: Callable[[str], bool] = lambda instance_type: True
        # Times of the monotonic clock before the last submits, and ids of the jobs. Kept by the engine.
        self.submits: deque[tuple[float, str]] = deque(maxlen=100)

    @classmethod
    def discover(cls) -> dict[str, Any]:
        """Return the settings of a profile found on this machine. The profile has the backend's name; settings files
        override these values. Sends no requests."""
        return {}

    @classmethod
    async def log_in(cls, settings: Any, login: Any) -> BaseModel:
        """Return the credentials to store for what a user typed, as in a token for a password. May send requests.

        `login` is of `login_model`, the result of `credentials_model`. By default, the login is stored.

        Raises:
            SpecError: naming the wrong field by `at`.
        """
        credentials: BaseModel = login
        return credentials

    @classmethod
    async def profile_notes(cls, settings: Any, changed: Collection[str]) -> Sequence[str]:
        """Return what users should know of the platform of a profile that they have changed, such as its version and
        how to log in. May send requests without credentials. `changed`: names of the changed keys.

        Raises:
            PaiError: if the platform does not respond; the profile is stored nevertheless.
        """
        return ()

    @classmethod
    def is_here(cls, folder: JobFolder) -> bool:
        """Return whether this host runs an active job. Hosts may share a state folder. Only for `RUNS_HERE`."""
        return True

    def exit_of(self, remote_id: str) -> int | None:
        """Return a descriptor that is readable after the end of a job, if there is one. The caller closes it."""
        return None

    @classmethod
    def trials(cls) -> Sequence[Trial]:
        """Return the manual checks that no automated test can replace."""
        return ()

    # Submit.

    @abstractmethod
    async def check(self, spec: JobSpec, caller: Caller) -> Check:
        """Check a spec before the code is packed. Sends no requests.

        Raises:
            BadInput: if the platform cannot run it.
        """

    async def resolve(self, spec: JobSpec, check: Check) -> tuple[JobSpec, Check]:
        """Resolve the fields that only the platform knows, such as instance type and price, before the code is packed.

        Returns the completed spec and check. A backend with `Capability.SIZES` fills in the instance type of a spec
        that has sizes and no instance type.

        Raises:
            BadInput: if no instance type fits.
            PaiError: if the platform does not respond.
        """
        return spec, check

    def run_time_limit(self, spec: JobSpec) -> int:
        """Return the seconds after which a job is stopped: those of the spec, else of the profile; 0 for no limit."""
        own = getattr(self.settings, "max_run_time", None)
        return (own if spec.max_run_time is None else spec.max_run_time) or 0

    @abstractmethod
    async def prepare(self, job: Job, folder: JobFolder) -> Prepared:
        """Do all work that precedes storing the job; its code is ``folder.source``. Nothing runs yet.

        Raises:
            PaiError: if the job cannot run; nothing of it is kept then.
        """

    @abstractmethod
    async def submit(self, job: Job, folder: JobFolder, secrets: Mapping[str, Secret]) -> Submission:
        """Start a prepared and stored job, at most once per job id.

        The job receives `secrets` as environment variables. Their values are stored nowhere. The engine masks them in
        the data of remote jobs; a `RUNS_HERE` backend masks them itself.

        Raises:
            BackendError: if the platform rejects it.
            ReplyLost: if it is unknown whether the platform has it. The caller calls `find`, then submits it again.
        """

    async def code_uri(self, digest: str, size: int) -> str:
        """Return the storage folder from which the platform reads packed code; its last name is the content's digest.

        `size`: bytes of the archive. Empty if `submit` takes the archive from ``folder.source``.
        """
        return ""

    async def code_place(self, job: Job, folder: JobFolder) -> str:
        """Return `code_uri` for the code of a job, which is ``folder.source``. For platforms on which it depends on the
        rest of the job whether `submit` takes the archive."""
        return await self.code_uri(job.source_digest, folder.source.stat().st_size)

    async def input_uri(self) -> str:
        """Return the storage folder for inputs uploaded from this machine; empty if jobs read inputs here, or if the
        platform has no storage for them."""
        return ""

    async def output_uri(self, job: Job) -> str:
        """Return the folder for a job's outputs; empty if they stay in the job's folder or, for a remote platform, if
        it keeps none. Users must agree to the latter."""
        return ""

    def can_read(self, uri: str) -> bool:
        """Return whether jobs can read a file or folder of this machine (path or ``file://`` URI) without a copy.

        Other files are uploaded below `input_uri`. Sends no requests.
        """
        return False

    def sees(self, path: str, spec: JobSpec) -> bool:
        """Return whether a job sees a file or folder of this machine at the same path: by default, if it runs here or
        can read it without a copy. Sends no requests. May block."""
        return Capability.RUNS_HERE in self.capabilities or self.can_read(path)

    async def find(self, job_id: str) -> str:
        """Return the platform's id of a job by our id; empty if the platform does not have it."""
        return job_id

    async def copies(self, job_id: str) -> Sequence[tuple[str, datetime]]:
        """Return ids and times of the platform's jobs with our id, oldest first: repeated submits may make several."""
        return ()

    async def lists_any(self, remote_ids: Collection[str]) -> bool:
        """Return whether the platform lists one of these jobs, which this process submitted, and would therefore list
        an earlier one. May always be False: a submit without a reply is then repeated later."""
        return False

    # Follow.

    def poll_interval(self, jobs: int, *, watched: bool) -> float:
        """Return the seconds between two polls for this number of jobs; fewer if a user watches one. 0: no limit."""
        return 0.0

    @abstractmethod
    async def poll(self, remote_ids: Sequence[str]) -> dict[str, Report]:
        """Fetch the state of these jobs, in one request where possible."""

    async def log(self, remote_id: str, instance: str, cursor: str) -> LogPiece:
        """Fetch the part of an instance's log after `cursor`; the first part if `cursor` is empty.

        With the times of its lines, if the platform keeps them: a job that ended yesterday then shows them. The same
        bytes follow an earlier cursor when it is used again.
        """
        return LogPiece(b"", cursor)

    async def instances(self, remote_id: str) -> Sequence[Instance]:
        """Return the instances of a job in the order of their ranks, as of the last `poll`; empty before it starts."""
        return ()

    async def events(self, remote_id: str, cursor: str) -> EventPage:
        """Fetch the platform's events of a job after `cursor`, which is of the backend's own format; the first ones if
        it is empty."""
        return EventPage((), cursor)

    async def samples(self, remote_id: str, after: float) -> Sequence[Sample]:
        """Fetch the resource usage of a job after a Unix time, in order."""
        return ()

    # Change.

    @abstractmethod
    async def stop(self, remote_id: str) -> None:
        """Request the end of a job and return at once; `poll` reports its end. Does nothing to an ended job."""

    async def delete(self, remote_id: str) -> None:
        """Delete an ended job on the platform. For `Capability.DELETE`."""
        raise Unsupported(_("The backend `{name}` cannot delete jobs.").format(name=self.name))

    # Query.

    async def jobs(self, before: datetime | None = None, limit: int = 50) -> Sequence[RemoteJob]:
        """List the account's jobs, newest first, also those submitted elsewhere; with `before`, older ones only.

        Raises:
            Unsupported: if the engine's own list has all jobs.
        """
        raise self._has_no_other_jobs()

    async def job(self, remote_id: str) -> RemoteJob:
        """Fetch one job of the platform.

        Raises:
            NotFound: if the platform has no job of this id.
            Unsupported: if the engine's own list has all jobs.
        """
        raise self._has_no_other_jobs()

    def _has_no_other_jobs(self) -> Unsupported:
        return Unsupported(
            _("All jobs of the backend `{name}` are listed already.").format(name=self.name),
            fix=_("Select the profile of a remote platform: --profile, --backend."),
        )

    @abstractmethod
    async def instance_types(self) -> list[InstanceType]:
        """List the instance types that jobs of this profile can request."""

    async def quotas(self) -> list[Quota]:
        """List the resource quotas that jobs of this profile can use, with their free share."""
        return []

    async def quota_users(self, quota_id: str) -> Sequence[QuotaUser]:
        """List the users whose jobs are in a quota. By default, they are not known."""
        return ()

    async def choices(self, name: str) -> Sequence[Choice]:
        """List the platform's values for the fields that are marked by ``picked_from(name)``."""
        return [Choice(kind.name) for kind in await self.instance_types()] if name == "instance_types" else ()

    def links(self) -> Sequence[Link]:
        """Return the platform's pages for this profile, such as its console. Sends no requests."""
        return ()

    async def images(self, query: ImageQuery) -> list[Image]:
        """List the images that jobs of this profile can use, newest version first. For `Capability.IMAGES`.

        Raises:
            ImageError: if no image has the framework or version; it lists the existing ones.
        """
        raise Unsupported(_("The backend `{name}` does not list images.").format(name=self.name))

    async def terminal(self, remote_id: str, instance: str) -> Terminal:
        """Return a new terminal in a running instance: a page, a command or a WebSocket. It is stored nowhere. For
        `Capability.TERMINAL`."""
        raise Unsupported(_("The backend `{name}` does not support terminals.").format(name=self.name))

    async def try_jobs(self) -> Sequence[Finding]:
        """Run a short job on each part of the platform, such as a queue, and return how they ended. For `doctor --live`
        with a profile; takes a minute at most. By default, no jobs."""
        return ()

    @abstractmethod
    def examine(self) -> list[Finding]:
        """Check the requirements of this profile's jobs by trying them. May block."""
