"""The `pai` backend: training jobs on Alibaba Cloud's PAI.

Modules that an idle server does not need are imported on first use.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import BaseModel

from ...cloud.alibaba.account import AlibabaAccount, AliyunCredentials, discover
from ...config.settings import ProfileSettings
from ...core.errors import Conflict, NotFound, Refused, SpecError, Unsupported
from ...core.field_errors import fields
from ...core.i18n import N_, _
from ...core.secret import Secret
from ...jobs.events import PlatformEvent
from ...jobs.instances import Instance
from ...jobs.job import Job, JobStatus
from ...jobs.spec import JobSpec
from ...jobs.state_dir import Home, JobFolder, Packing
from ..base import Caller, Capability, Finding, Prepared, Submission, Trial
from ..check import Check
from ..instance_choice import missing_type
from ..pages import Page, Pages, fetch_page, has_more
from ..remote import Candidate, RemoteBackend
from ..reports import EventPage, LogPiece, PointPage, RemoteJob, Report, Sample, newest
from ..resources import Choice, Image, ImageQuery, InstanceType, Link, Quota, QuotaUser
from ..terminals import TerminalDialect, TerminalSocket
from . import logs
from .api import RUNNING, PaiApi
from .job_response import instances_of, our_id, points_of, remote_job, report_of, submitted_at
from .models import PaiRegistry
from .options import PaiOptions, check_input, check_outputs, options_of
from .replies import remedy
from .request_body import Destination, request_body
from .site import HOME_LABEL, JOB_LABEL, PaiSettings, Site
from .tensorboards import PaiBoards
from .terminal_dialect import PaiDialect
from .usage import samples

if TYPE_CHECKING:
    from .catalog import InstanceCatalog

# Up to this many jobs are fetched one by one: a job's own reply has more fields than a list.
_FEW = 3
_LIST = 100
# Maximum events per page of the service.
_EVENTS = 2000


class PaiBackend(RemoteBackend):
    """The training jobs of one workspace."""

    name: ClassVar[str] = "pai"
    capabilities: ClassVar[frozenset[Capability]] = frozenset(
        {
            Capability.MULTI_NODE,
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
    title: ClassVar[str] = N_("Alibaba Cloud PAI")
    settings_model: ClassVar[type[ProfileSettings]] = PaiSettings
    credentials_model: ClassVar[type[BaseModel] | None] = AliyunCredentials
    options_model: ClassVar[type[BaseModel] | None] = PaiOptions
    preloaded: ClassVar[Sequence[str]] = ("httpx", "stamina", "aiolimiter", "oss2", "anycrc", f"{__package__}.resolve")
    job_label: ClassVar[str] = JOB_LABEL
    keeps_samples: ClassVar[bool] = True
    terminal_dialects: ClassVar[Mapping[str, type[TerminalDialect]]] = {"pai": PaiDialect}
    settings: PaiSettings

    def __init__(self, settings: ProfileSettings, home: Home) -> None:
        super().__init__(settings, home)
        self.account = AlibabaAccount.of(self.settings)
        self.api = PaiApi(self.account)
        self.site = Site(self.settings, self.account)
        self.boards = PaiBoards(self.account)
        self.registry = PaiRegistry(self.account, self.api)
        # Instances and last own reply of polled jobs.
        self._instances: dict[str, list[Instance]] = {}
        self._reports: dict[str, Report] = {}
        # The size of a page of a kind of list.
        self._sizes: dict[str, int] = {}

    @cached_property
    def catalog(self) -> InstanceCatalog:
        """Instance types and spot discounts, cached."""
        from .catalog import InstanceCatalog

        return InstanceCatalog(self.account)

    @classmethod
    def discover(cls) -> dict[str, Any]:
        return discover()

    @classmethod
    def trials(cls) -> Sequence[Trial]:
        from . import checks

        return checks.TRIALS

    # Submitting.

    async def check(self, spec: JobSpec, caller: Caller) -> Check:
        options = options_of(spec)
        if not spec.image:
            raise SpecError(
                _("image: required, since PAI runs jobs in containers."),
                fix=_("Name one with --image, or as the profile's default_image. To list images: %pai images"),
            ).at("image")
        # The profile's default applies only to jobs without a choice.
        if options.resource_id and spec.instance_type not in ("", self.settings.default_instance_type):
            raise SpecError(
                _("options.resource_id: set either a quota or an instance type, not both."),
                fix=_("Omit --instance-type or the option."),
            ).at("options.resource_id", "instance_type")
        if not spec.instance_type and not options.resource_id and not spec.is_sized:
            raise missing_type()
        if spec.runs_notebook:
            raise Unsupported(
                _("PAI cannot run notebooks cell by cell."), fix=_("Run it as a script: add --as-script.")
            ).at("entry_point")
        for channel, uri in spec.inputs.items():
            with fields(f"inputs.{channel}"):
                check_input(channel, uri)
        check_outputs(spec.outputs)
        notes = []
        if spec.python:
            notes.append(_("PAI uses the Python of the image and ignores {name}.").format(name="python"))
        if spec.is_sized and options.resource_id and "instance_spec" in spec.options:
            notes.append(_("Sizes are ignored, since options.instance_spec is set."))
        elif spec.is_sized and not options.resource_id and spec.instance_type:
            notes.append(_("Sizes are ignored, since the instance type {name} is set.").format(name=spec.instance_type))
        return Check(tuple(notes))

    async def resolve(self, spec: JobSpec, check: Check) -> tuple[JobSpec, Check]:
        from .resolve import resolve

        return await resolve(spec, check, lambda: self.catalog, self.settings, self.allows)

    async def prepare(self, job: Job, folder: JobFolder) -> Prepared:
        uris = await self.site.channel_uris(job)
        if algorithm := options_of(job.spec).algorithm:
            base = await self.site.output_uri(job)
            uris = {channel: uris.get(channel, f"{base}{channel}/") for channel in algorithm.outputs}
        return Prepared(dict(uris))

    async def submit(self, job: Job, folder: JobFolder, secrets: Mapping[str, Secret]) -> Submission:
        target = Destination(
            await self.account.workspace_id(),
            await self.code_uri(job.source_digest, folder.source.stat().st_size) if job.source_files else "",
            self.home.id,
            self.run_time_limit(job.spec) or None,
            self.settings.kept_files,
            Packing.read(folder).import_paths,
            self._short_uris(job),
        )
        try:
            remote_id = await self.api.create(request_body(job, target))
        except (Refused, NotFound) as error:
            error.fix = error.fix or remedy(error.message)
            raise
        return Submission(remote_id, self.site.page(target.workspace_id, f"training/jobs/{remote_id}"))

    def _short_uris(self, job: Job) -> dict[str, str]:
        """Return the URIs that the user did not name, as PAI reads them."""
        named = {*job.spec.inputs.values(), *job.spec.outputs.values()}
        made = [*job.inputs.values(), *(() if job.spec.output_path else job.outputs.values())]
        return {uri: self.account.without_endpoint(uri) for uri in made if uri not in named}

    async def code_uri(self, digest: str, size: int) -> str:
        return await self.site.code_uri(digest)

    async def output_uri(self, job: Job) -> str:
        return await self.site.output_uri(job)

    async def input_uri(self) -> str:
        return await self.site.input_uri()

    async def candidates(self, job_id: str) -> AsyncIterator[Candidate]:
        async for job in self.api.jobs(labels={JOB_LABEL: job_id}):
            yield Candidate(str(job.get("TrainingJobId") or ""), our_id(job), submitted_at(job))

    async def lists_any(self, remote_ids: Collection[str]) -> bool:
        async for job in self.api.jobs(labels={HOME_LABEL: self.home.id}):
            if str(job["TrainingJobId"]) in remote_ids:
                return True
        return False

    # Following.

    async def poll(self, remote_ids: Sequence[str]) -> dict[str, Report]:
        missing = set(remote_ids)
        reports: dict[str, Report] = {}
        # Imported jobs do not have our label.
        for query in ({"labels": {HOME_LABEL: self.home.id}}, {"status": RUNNING}):
            if len(missing) > _FEW:
                reports |= await self._listed(missing, **query)
                missing -= reports.keys()
        return reports | {remote_id: report for remote_id in missing if (report := await self._report(remote_id))}

    async def _listed(self, remote_ids: set[str], **query: Any) -> dict[str, Report]:
        """Return the reports of those jobs that the list query returns."""
        reports: dict[str, Report] = {}
        async for job in self.api.jobs(**query):
            if (remote_id := str(job.get("TrainingJobId"))) in remote_ids:
                report = report_of(job)
                if not self._instances.get(remote_id):
                    self._instances.pop(remote_id, None)  # Only the job's own reply has them.
                # Only the job's own reply has the reason of its end.
                reports[remote_id] = (await self._report(remote_id) or report) if report.status.ended else report
            if len(reports) == len(remote_ids):
                break
        return reports

    async def _report(self, remote_id: str) -> Report | None:
        """Return the report of one job; None if the platform does not have it."""
        try:
            job = await self.api.get(remote_id)
        except NotFound:
            return None
        report = report_of(job)
        self._instances[remote_id] = instances_of(job) or self._instances.get(remote_id, [])
        self._reports[remote_id] = report
        if report.status is JobStatus.FAILED:
            report = report_of(job, await self.api.error_info(remote_id))
        return report

    async def instances(self, remote_id: str) -> Sequence[Instance]:
        if remote_id not in self._instances:
            await self._report(remote_id)
        return self._instances.get(remote_id, [])

    async def log(self, remote_id: str, instance: str, cursor: str) -> LogPiece:
        async def pages(number: int, size: int) -> tuple[list[str], int | None]:
            return await self.api.logs(remote_id, instance, number, size)

        return await logs.read_log(pages, cursor)

    async def events(self, remote_id: str, cursor: str) -> EventPage:
        """The cursor is the number of known events; earlier ones never change."""
        known = int(cursor or 0)
        page = await self._page(self.api.pages(remote_id, "Events"), "Events", known, _EVENTS)
        events = [PlatformEvent(str(text)) for text in page.items[known - page.begin :]]
        return EventPage(events, str(page.end), has_more(page.end, len(events), page.total))

    async def samples(self, remote_id: str, after: float) -> Sequence[Sample]:
        report = await self._known(remote_id)
        instances = len(await self.instances(remote_id))

        async def fetch(query: Mapping[str, object]) -> Sequence[Mapping[str, Any]]:
            return await self.api.items(remote_id, "InstanceMetrics", once=True, **query)

        return await samples(fetch, after, report.started_at, report.ended_at, instances)

    async def metric_names(self, remote_id: str) -> Collection[str]:
        return list((await self._known(remote_id)).metrics)

    async def _known(self, remote_id: str) -> Report:
        """Return the last own report of a job, which may be older than that of a list."""
        if remote_id not in self._reports:
            await self._report(remote_id)
        return self._reports.get(remote_id) or Report(JobStatus.LOST)

    async def points(self, remote_id: str, name: str, known: int) -> PointPage:
        pages = self.api.pages(remote_id, "Metrics", Name=name, Order="ASC")
        page = await self._page(pages, "Metrics", known, _LIST)
        points = points_of(page.items)[known - page.begin :]
        return PointPage(points, has_more(page.end, len(points), page.total))

    async def _page(self, pages: Pages[Any], kind: str, first: int, largest: int) -> Page[Any]:
        """Return the page of a list that has an item. The service may have a smaller size of pages than `largest`."""
        if first and kind not in self._sizes:
            self._sizes[kind] = (await fetch_page(pages, 0, largest)).size
        page = await fetch_page(pages, first, self._sizes.get(kind, largest))
        self._sizes[kind] = page.size
        return page

    async def terminal(self, remote_id: str, instance: str) -> TerminalSocket:
        return TerminalSocket(await self.api.terminal(remote_id, instance), "pai")

    # Changing.

    async def stop(self, remote_id: str) -> None:
        if not await self._is_active(remote_id):
            return
        try:
            await self.api.stop(remote_id)
        except (Conflict, Refused):
            if await self._is_active(remote_id):  # Otherwise, it has ended in the meantime.
                raise

    async def _is_active(self, remote_id: str) -> bool:
        report = await self._report(remote_id)
        return report is not None and not report.status.ended

    async def delete(self, remote_id: str) -> None:
        with suppress(NotFound):  # Deleted already, in the console or by the platform.
            await self.api.delete(remote_id)

    # Looking around.

    async def jobs(self, before: datetime | None = None, limit: int = 50) -> Sequence[RemoteJob]:
        found = self.api.jobs(until=before, size=min(limit, _LIST))
        return await newest((await self.site.with_endpoints(remote_job(job)) async for job in found), None, limit)

    async def job(self, remote_id: str) -> RemoteJob:
        return await self.site.with_endpoints(remote_job(await self.api.get(remote_id)))

    async def instance_types(self) -> list[InstanceType]:
        return await self.catalog.instance_types(refresh=True)

    async def quotas(self) -> list[Quota]:
        from . import catalog

        return await catalog.list_quotas(self.account)

    async def quota_users(self, quota_id: str) -> Sequence[QuotaUser]:
        from . import catalog

        return await catalog.list_quota_users(self.account, quota_id)

    async def choices(self, name: str) -> Sequence[Choice]:
        if name == "quotas":
            return [Choice(quota.id, quota.name) for quota in await self.quotas()]
        return await super().choices(name)

    def links(self) -> Sequence[Link]:
        return [Link(_("PAI console"), self.site.page(self.settings.workspace_id, "training/jobs"))]

    async def images(self, query: ImageQuery) -> list[Image]:
        from . import images

        return await images.list_images(self.account, query)

    def examine(self) -> list[Finding]:
        from . import checks

        return checks.examine(self.account, checks.TRAINING_JOBS)
