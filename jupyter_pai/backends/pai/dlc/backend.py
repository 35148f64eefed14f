"""The `dlc` backend: jobs on Alibaba Cloud's PAI-DLC, with the account, storage and registry of `pai`.

Modules that an idle server does not need are imported on first use.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import BaseModel

from ....cloud.alibaba.account import AlibabaAccount, AliyunCredentials, discover
from ....config.settings import ProfileSettings
from ....core.i18n import N_, _
from ....core.secret import Secret
from ....jobs.instances import Instance
from ....jobs.job import Job
from ....jobs.spec import JobSpec
from ....jobs.state_dir import Home, JobFolder
from ...base import Caller, Capability, Finding, Prepared, Submission, Trial, parse_options
from ...check import Check
from ...remote import Candidate, RemoteBackend
from ...reports import EventPage, LogPiece, RemoteJob, Report, Sample
from ...resources import Choice, Image, ImageQuery, InstanceType, Link, Quota, QuotaUser
from ...terminals import TerminalDialect, TerminalSocket
from ..models import PaiRegistry
from ..site import JOB_LABEL, PaiSettings, Site
from ..tensorboards import PaiBoards
from ..terminal_dialect import PaiDialect
from .api import DlcApi
from .options import DlcOptions

if TYPE_CHECKING:
    from ....jobs.workflows.workflow import Workflow
    from ..catalog import InstanceCatalog
    from .follower import Follower


async def _paiflow(backend: DlcBackend, workflow: Workflow, code: Mapping[str, str]) -> str:
    from . import paiflow

    return await paiflow.manifest(backend.account, workflow, code)


class DlcBackend(RemoteBackend):
    """The DLC jobs of one workspace."""

    name: ClassVar[str] = "dlc"
    title: ClassVar[str] = N_("Alibaba Cloud PAI-DLC")
    capabilities: ClassVar[frozenset[Capability]] = frozenset(
        {
            Capability.MULTI_NODE,
            Capability.ROLES,
            Capability.CODE_LAYOUT,
            Capability.IMAGES,
            Capability.PAID,
            Capability.BOARDS,
            Capability.SIZES,
            Capability.DELETE,
            Capability.DATASETS,
            Capability.REGISTRY,
            Capability.OUTPUT_PARAMETERS,
            Capability.TERMINAL,
        }
    )
    settings_model: ClassVar[type[ProfileSettings]] = PaiSettings
    credentials_model: ClassVar[type[BaseModel] | None] = AliyunCredentials
    options_model: ClassVar[type[BaseModel] | None] = DlcOptions
    preloaded: ClassVar[Sequence[str]] = (
        "httpx", "stamina", "aiolimiter", "oss2", "anycrc", f"{__package__}.submission", f"{__package__}.resolve",
    )  # fmt: skip
    job_label: ClassVar[str] = JOB_LABEL
    terminal_dialects: ClassVar[Mapping[str, type[TerminalDialect]]] = {"pai": PaiDialect}
    workflow_formats: ClassVar = {"paiflow": _paiflow}
    settings: PaiSettings

    def __init__(self, settings: ProfileSettings, home: Home) -> None:
        super().__init__(settings, home)
        self.account = AlibabaAccount.of(self.settings)
        self.api = DlcApi(self.account)
        self.site = Site(self.settings, self.account)
        self.boards = PaiBoards(self.account, "job")
        self.registry = PaiRegistry(self.account)

    @cached_property
    def catalog(self) -> InstanceCatalog:
        """Instance types and spot discounts, cached."""
        from ..catalog import InstanceCatalog

        return InstanceCatalog(self.account)

    @cached_property
    def follower(self) -> Follower:
        """The state of the jobs that are followed."""
        from .follower import Follower

        return Follower(self.api, self._page)

    def _page(self, remote_id: str) -> str:
        return self.site.page(self.settings.workspace_id, f"job/detail?jobId={remote_id}")

    @classmethod
    def discover(cls) -> dict[str, Any]:
        return discover()

    @classmethod
    def trials(cls) -> Sequence[Trial]:
        from . import checks

        return checks.TRIALS

    # Submit.

    async def check(self, spec: JobSpec, caller: Caller) -> Check:
        from . import resolve

        return resolve.check(spec, self.settings)

    async def resolve(self, spec: JobSpec, check: Check) -> tuple[JobSpec, Check]:
        from . import resolve

        return await resolve.resolve(spec, check, self.settings, lambda: self.catalog, self.quotas, self.allows)

    async def prepare(self, job: Job, folder: JobFolder) -> Prepared:
        from . import submission

        limit = self.run_time_limit(job.spec)
        return await submission.prepare(job, folder, self.api, self.settings, self.site, self.home.id, limit)

    async def submit(self, job: Job, folder: JobFolder, secrets: Mapping[str, Secret]) -> Submission:
        from . import submission

        limit = self.run_time_limit(job.spec)
        return await submission.submit(job, folder, self.api, self.settings, self.site, self.home.id, limit)

    async def code_uri(self, digest: str, size: int) -> str:
        return await self.site.code_uri(digest)

    async def output_uri(self, job: Job) -> str:
        return await self.site.output_uri(job)

    async def input_uri(self) -> str:
        return await self.site.input_uri()

    def sees(self, path: str, spec: JobSpec) -> bool:
        sources = parse_options(DlcOptions, spec.options).data_sources
        return any(PurePath(path).is_relative_to(one.mount_path) for one in sources)

    async def candidates(self, job_id: str) -> AsyncIterator[Candidate]:
        from . import adoption

        async for candidate in adoption.candidates(self.api, job_id):
            yield candidate

    async def lists_any(self, remote_ids: Collection[str]) -> bool:
        return await self.follower.lists_any(remote_ids)

    # Follow.

    async def poll(self, remote_ids: Sequence[str]) -> dict[str, Report]:
        return await self.follower.poll(remote_ids)

    async def log(self, remote_id: str, instance: str, cursor: str) -> LogPiece:
        return await self.follower.log(remote_id, instance, cursor)

    async def instances(self, remote_id: str) -> Sequence[Instance]:
        return await self.follower.instances(remote_id)

    async def events(self, remote_id: str, cursor: str) -> EventPage:
        return await self.follower.events(remote_id, cursor)

    async def samples(self, remote_id: str, after: float) -> Sequence[Sample]:
        return await self.follower.samples(remote_id, after)

    async def terminal(self, remote_id: str, instance: str) -> TerminalSocket:
        return await self.follower.terminal(remote_id, instance)

    # Change.

    async def stop(self, remote_id: str) -> None:
        await self.follower.stop(remote_id)

    async def delete(self, remote_id: str) -> None:
        await self.follower.delete(remote_id)

    # Query.

    async def jobs(self, before: datetime | None = None, limit: int = 50) -> Sequence[RemoteJob]:
        from . import adoption

        return await adoption.jobs(self.api, self._page, before, limit)

    async def job(self, remote_id: str) -> RemoteJob:
        from . import adoption

        return await self.site.with_endpoints(await adoption.job(self.api, self._page, remote_id))

    async def instance_types(self) -> list[InstanceType]:
        return await self.catalog.instance_types(refresh=True)

    async def quotas(self) -> list[Quota]:
        from .. import catalog

        return await catalog.list_quotas(self.account)

    async def quota_users(self, quota_id: str) -> Sequence[QuotaUser]:
        from .. import catalog

        return await catalog.list_quota_users(self.account, quota_id)

    async def choices(self, name: str) -> Sequence[Choice]:
        if name == "quotas":
            return [Choice(quota.id, quota.name) for quota in await self.quotas()]
        return await super().choices(name)

    def links(self) -> Sequence[Link]:
        return [Link(_("PAI console"), self.site.page(self.settings.workspace_id, "job"))]

    async def images(self, query: ImageQuery) -> list[Image]:
        from .. import images

        return await images.list_images(self.account, query)

    def examine(self) -> list[Finding]:
        from .. import checks
        from .checks import JOBS

        return checks.examine(self.account, JOBS)
