"""The `tione` backend: training tasks of one Tencent Cloud account in one region.

Modules that an idle server does not need are imported on first use.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import BaseModel

from ...cloud.tencent.account import TencentAccount, TencentCredentials, discover
from ...config.settings import ProfileSettings
from ...core.errors import SpecError
from ...core.i18n import N_
from ...core.secret import Secret
from ...jobs.events import MetricPoint
from ...jobs.instances import Instance
from ...jobs.job import Job
from ...jobs.spec import JobSpec
from ...jobs.state_dir import JobFolder
from ..base import Caller, Capability, Finding, Prepared, Submission, Trial, parse_options
from ..check import Check
from ..remote import Candidate, RemoteBackend
from ..reports import EventPage, LogPiece, PointPage, RemoteJob, Report
from ..resources import Choice, Image, ImageQuery, InstanceType, Link, Quota
from ..terminals import TerminalPage
from .api import TioneApi
from .options import TioneOptions, TioneSettings

if TYPE_CHECKING:
    from .catalog import Catalog
    from .follow.follower import Follower
    from .metrics import TaskMetrics
    from .models import TioneRegistry


class TioneBackend(RemoteBackend):
    """The training tasks of one account."""

    name: ClassVar[str] = "tione"
    title: ClassVar[str] = N_("Tencent Cloud TI-ONE")
    capabilities: ClassVar[frozenset[Capability]] = frozenset(
        {
            Capability.MULTI_NODE,
            Capability.ROLES,
            Capability.SECRETS,
            Capability.SIZES,
            Capability.IMAGES,
            Capability.PAID,
            Capability.DELETE,
            Capability.DATASETS,
            Capability.TERMINAL,
            Capability.REGISTRY,
            Capability.CODE_LAYOUT,
            Capability.OUTPUT_PARAMETERS,
            Capability.OUTPUT_FOLDERS,
        }
    )
    settings_model: ClassVar[type[ProfileSettings]] = TioneSettings
    credentials_model: ClassVar[type[BaseModel] | None] = TencentCredentials
    options_model: ClassVar[type[BaseModel] | None] = TioneOptions
    preloaded: ClassVar[Sequence[str]] = ("httpx", "stamina", "aiolimiter", f"{__package__}.submit.resolve")
    settings: TioneSettings

    @cached_property
    def account(self) -> TencentAccount:
        """Keys, hosts and bucket."""
        return TencentAccount.of(self.settings)

    @cached_property
    def api(self) -> TioneApi:
        """The actions of TI-ONE."""
        return TioneApi(self.account, self.settings)

    @cached_property
    def catalog(self) -> Catalog:
        """Instance types, prices, images and resource groups, cached."""
        from .catalog import Catalog

        return Catalog(self.api)

    @cached_property
    def follower(self) -> Follower:
        """The state of the tasks that are followed."""
        from .follow.follower import Follower

        return Follower(self.api)

    @cached_property
    def task_metrics(self) -> TaskMetrics:
        """The metric points of the tasks on the platform."""
        from .metrics import TaskMetrics

        return TaskMetrics(self.api)

    @cached_property
    def registry(self) -> TioneRegistry:  # type: ignore[override]
        """The models of the workspace."""
        from .models import TioneRegistry

        return TioneRegistry(self.api, self.catalog)

    @classmethod
    def discover(cls) -> dict[str, Any]:
        return discover()

    @classmethod
    def trials(cls) -> Sequence[Trial]:
        from . import checks

        return checks.TRIALS

    # Submit.

    async def check(self, spec: JobSpec, caller: Caller) -> Check:
        from .submit import resolve

        return resolve.check(spec, self.settings)

    async def resolve(self, spec: JobSpec, check: Check) -> tuple[JobSpec, Check]:
        from .submit import resolve

        return await resolve.resolve(spec, check, self.settings, self.catalog, self.allows)

    async def prepare(self, job: Job, folder: JobFolder) -> Prepared:
        from .submit import submission

        return await submission.prepare(job, folder, self.settings, self.account)

    async def submit(self, job: Job, folder: JobFolder, secrets: Mapping[str, Secret]) -> Submission:
        from .submit import submission

        return await submission.submit(job, folder, secrets, self.api, self.catalog, self.run_time_limit(job.spec))

    async def code_uri(self, digest: str, size: int) -> str:
        from .submit import locations

        return locations.code_uri(self.settings, self.account, digest)

    async def output_uri(self, job: Job) -> str:
        from .submit import locations

        return locations.output_uri(self.settings, self.account, job)

    async def input_uri(self) -> str:
        from .submit import locations

        return locations.input_uri(self.settings, self.account)

    async def candidates(self, job_id: str) -> AsyncIterator[Candidate]:
        from .follow import adoption

        async for candidate in adoption.candidates(self.api, job_id):
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

    async def metric_names(self, remote_id: str) -> Collection[str]:
        return await self.task_metrics.names(remote_id)

    async def points(self, remote_id: str, name: str, known: int) -> PointPage:
        return await self.task_metrics.points(remote_id, name, known)

    def publishes(self, spec: JobSpec) -> bool:
        try:
            return parse_options(TioneOptions, spec.options).push_metrics
        except SpecError:  # `check` refuses it, and a job that was submitted elsewhere pushes none.
            return False

    async def publish(self, remote_id: str, points: Sequence[MetricPoint], *, again: bool) -> None:
        await self.task_metrics.publish(remote_id, points, again=again)

    async def terminal(self, remote_id: str, instance: str) -> TerminalPage:
        return await self.follower.terminal(remote_id, instance)

    # Change.

    async def stop(self, remote_id: str) -> None:
        await self.follower.stop(remote_id)

    async def delete(self, remote_id: str) -> None:
        await self.follower.delete(remote_id)

    # Query.

    async def jobs(self, before: datetime | None = None, limit: int = 50) -> Sequence[RemoteJob]:
        from .follow import adoption

        return await adoption.jobs(self.api, before, limit)

    async def job(self, remote_id: str) -> RemoteJob:
        from .follow import adoption

        return await adoption.job(self.api, remote_id)

    async def instance_types(self) -> list[InstanceType]:
        return await self.catalog.instance_types(refresh=True)

    async def quotas(self) -> list[Quota]:
        return await self.catalog.quotas()

    async def choices(self, name: str) -> Sequence[Choice]:
        from . import choices

        return await choices.choices(name, self.api, self.catalog)

    def links(self) -> Sequence[Link]:
        from . import console

        return console.links(self.settings)

    async def images(self, query: ImageQuery) -> list[Image]:
        from . import images

        return await images.images(self.catalog, query)

    def examine(self) -> list[Finding]:
        from . import checks

        return checks.examine(self.account, self.settings)
