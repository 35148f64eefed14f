"""The `openpai` backend: jobs of one user on an OpenPAI cluster.

Modules that an idle server does not need are imported on first use.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import BaseModel

from ...config.settings import ProfileSettings
from ...core.secret import Secret
from ...jobs.instances import Instance
from ...jobs.job import Job
from ...jobs.spec import JobSpec
from ...jobs.state_dir import Home, JobFolder
from ..base import Caller, Capability, Finding, Prepared, Submission, Trial, parse_options
from ..check import Check
from ..job_files import Document, JobFile
from ..remote import Candidate, RemoteBackend
from ..reports import EventPage, LogPiece, RemoteJob, Report
from ..resources import Choice, InstanceType, Link, Quota
from ..terminals import TerminalCommand
from .options import OpenPaiCredentials, OpenPaiLogin, OpenPaiOptions, OpenPaiSettings

if TYPE_CHECKING:
    from .client import OpenPaiClient
    from .follow.follower import Follower


class OpenPaiBackend(RemoteBackend):
    """The jobs of one user on one cluster."""

    name: ClassVar[str] = "openpai"
    title: ClassVar[str] = "OpenPAI"
    capabilities: ClassVar[frozenset[Capability]] = frozenset(
        {
            Capability.MULTI_NODE,
            Capability.ROLES,
            Capability.SECRETS,
            Capability.SIZES,
            Capability.TERMINAL,
            Capability.CODE_LAYOUT,
            Capability.OUTPUT_PARAMETERS,
        }
    )
    settings_model: ClassVar[type[ProfileSettings]] = OpenPaiSettings
    credentials_model: ClassVar[type[BaseModel] | None] = OpenPaiCredentials
    login_model: ClassVar[type[BaseModel] | None] = OpenPaiLogin
    options_model: ClassVar[type[BaseModel] | None] = OpenPaiOptions
    preloaded: ClassVar[Sequence[str]] = ("httpx", "stamina", "aiolimiter", f"{__package__}.submit.resolve")
    job_files: ClassVar[Sequence[str]] = ("*.pai.yaml", "*.pai.yml", "*.pai.json")
    settings: OpenPaiSettings

    def __init__(self, settings: ProfileSettings, home: Home) -> None:
        super().__init__(settings, home)
        self.stores_inputs = bool(self.settings.shared_storage or self.settings.hdfs)

    @cached_property
    def client(self) -> OpenPaiClient:
        """The calls of the REST API."""
        from .client import OpenPaiClient

        return OpenPaiClient(self.settings)

    @cached_property
    def follower(self) -> Follower:
        """The state of the jobs that are followed."""
        from .follow.follower import Follower

        return Follower(self.client)

    @classmethod
    async def log_in(cls, settings: Any, login: Any) -> BaseModel:
        from .login import log_in

        return await log_in(settings, login)

    @classmethod
    async def profile_notes(cls, settings: Any, changed: Collection[str]) -> Sequence[str]:
        from .notes import profile_notes

        return await profile_notes(settings, changed)

    @classmethod
    def trials(cls) -> Sequence[Trial]:
        from . import checks

        return checks.TRIALS

    # Job files.

    @classmethod
    def read_job_file(cls, path: Path, text: str) -> JobFile:
        from . import job_files

        return job_files.read(path, text)

    @classmethod
    def job_file_secrets(cls, spec: JobSpec) -> Mapping[str, Secret]:
        from . import own_document

        file = parse_options(OpenPaiOptions, spec.options).document_file
        return own_document.secrets_of(Path(file)) if file else {}

    async def document(self, spec: JobSpec) -> Document | None:
        from .submit import job_document

        return await job_document.preview(spec, self.settings, self.client)

    # Submit.

    async def check(self, spec: JobSpec, caller: Caller) -> Check:
        from .submit import resolve

        return resolve.check(spec, self.settings)

    async def resolve(self, spec: JobSpec, check: Check) -> tuple[JobSpec, Check]:
        from .submit import resolve

        return await resolve.resolve(spec, check, self.settings, self.client, self.allows)

    async def prepare(self, job: Job, folder: JobFolder) -> Prepared:
        from .submit import submission

        return await submission.prepare(job, folder, self.settings, self.client)

    async def submit(self, job: Job, folder: JobFolder, secrets: Mapping[str, Secret]) -> Submission:
        from .submit import submission

        return await submission.submit(job, folder, secrets, self.settings, self.client)

    async def code_uri(self, digest: str, size: int) -> str:
        from .submit import locations

        return locations.code_uri(self.settings, digest)

    async def code_place(self, job: Job, folder: JobFolder) -> str:
        from .submit import submission

        return await submission.code_place(job, folder, self.settings, self.client)

    async def output_uri(self, job: Job) -> str:
        from .submit import locations

        return locations.output_uri(self.settings, job)

    async def input_uri(self) -> str:
        from .submit import locations

        return locations.input_uri(self.settings)

    def can_read(self, uri: str) -> bool:
        from .submit import locations

        return locations.can_read(self.settings, uri)

    def sees(self, path: str, spec: JobSpec) -> bool:
        storages = parse_options(OpenPaiOptions, spec.options).storages
        names = filter(None, (*storages, self.settings.shared_storage))
        return any(Path(path).is_relative_to(f"/mnt/{name}") for name in names)

    async def candidates(self, job_id: str) -> AsyncIterator[Candidate]:
        from .follow import adoption

        async for candidate in adoption.candidates(self.client, job_id):
            yield candidate

    async def lists_any(self, remote_ids: Collection[str]) -> bool:
        return await self.follower.lists_any(remote_ids)

    # Follow.

    def poll_interval(self, jobs: int, *, watched: bool) -> float:
        from .follow.follower import poll_interval

        return poll_interval(jobs, watched=watched)

    async def poll(self, remote_ids: Sequence[str]) -> dict[str, Report]:
        return await self.follower.poll(remote_ids)

    async def log(self, remote_id: str, instance: str, cursor: str) -> LogPiece:
        return await self.follower.log(remote_id, instance, cursor)

    async def instances(self, remote_id: str) -> Sequence[Instance]:
        return await self.follower.instances(remote_id)

    async def events(self, remote_id: str, cursor: str) -> EventPage:
        return await self.follower.events(remote_id, cursor)

    async def terminal(self, remote_id: str, instance: str) -> TerminalCommand:
        return await self.follower.terminal(remote_id, instance)

    # Change.

    async def stop(self, remote_id: str) -> None:
        await self.follower.stop(remote_id)

    # Query.

    async def jobs(self, before: datetime | None = None, limit: int = 50) -> Sequence[RemoteJob]:
        from .follow import adoption

        return await adoption.jobs(self.client, before, limit)

    async def job(self, remote_id: str) -> RemoteJob:
        from .follow import adoption

        return await adoption.job(self.client, remote_id)

    async def instance_types(self) -> list[InstanceType]:
        from . import machines

        return await machines.skus(self.client)

    async def quotas(self) -> list[Quota]:
        from . import machines

        return await machines.quotas(self.client)

    async def choices(self, name: str) -> Sequence[Choice]:
        from . import machines

        if name in ("virtual_clusters", "storages"):
            return await machines.choices(self.client, name)
        return await super().choices(name)

    def links(self) -> Sequence[Link]:
        from . import machines

        return machines.links(self.settings)

    async def try_jobs(self) -> Sequence[Finding]:
        from . import trial_jobs

        return await trial_jobs.try_jobs(self.settings, self.client)

    def examine(self) -> list[Finding]:
        from . import checks

        return checks.examine(self.settings)
