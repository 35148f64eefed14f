"""The `slurm` backend: jobs on a Slurm cluster. State, logs and outputs of a job are files of a shared folder.

Modules that an idle server does not need are imported on first use.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from pydantic import BaseModel

from ...config.settings import ProfileSettings
from ...core.errors import NotFound, PaiError, ReplyLost
from ...core.i18n import _
from ...core.secret import Secret
from ...core.text import show_memory
from ...jobs.events import PlatformEvent
from ...jobs.instances import Instance
from ...jobs.job import Job
from ...jobs.spec import JobSpec
from ...jobs.state_dir import Home, JobFolder, Packing
from ..base import Caller, Capability, Finding, Prepared, Submission, Trial, parse_options
from ..check import Check
from ..job_files import Document, JobFile
from ..private_folder import path_of
from ..remote import Candidate, SharedFolderBackend
from ..reports import EventPage, LogPiece, RemoteJob, Report, elsewhere
from ..resources import Choice, InstanceType, Quota
from ..terminals import TerminalCommand
from .options import SlurmOptions, SlurmSettings

if TYPE_CHECKING:
    from .batch import Component
    from .client import Client
    from .cluster import Partition
    from .job_queue import JobQueue, Known
    from .job_records import SlurmJob
    from .shared_folder import JobFiles, SharedFolder

# Seconds for which a list of partitions is used.
_PARTITIONS_AGE = 10.0
# Longest path of a folder for the sockets of SSH, whose names may have 108 characters in all.
_SOCKET_FOLDER = 45


class SlurmBackend(SharedFolderBackend):
    """The jobs of this user on one cluster."""

    name: ClassVar[str] = "slurm"
    title: ClassVar[str] = "Slurm"
    capabilities: ClassVar[frozenset[Capability]] = frozenset(
        {
            Capability.MULTI_NODE,
            Capability.ROLES,
            Capability.SECRETS,
            Capability.SIZES,
            Capability.DELETE,
            Capability.TERMINAL,
            Capability.CODE_LAYOUT,
            Capability.OUTPUT_PARAMETERS,
        }
    )
    settings_model: ClassVar[type[ProfileSettings]] = SlurmSettings
    options_model: ClassVar[type[BaseModel] | None] = SlurmOptions
    job_label: ClassVar[str] = "jupyter-pai"
    job_files: ClassVar[Sequence[str]] = ("*.sbatch", "*.slurm")
    settings: SlurmSettings

    def __init__(self, settings: ProfileSettings, home: Home) -> None:
        super().__init__(settings, home)
        # The partitions, and the time of the monotonic clock at which they were listed.
        self._listed: tuple[float, list[Partition]] = (float("-inf"), [])

    @cached_property
    def shared(self) -> SharedFolder:
        """The files of jobs."""
        from .shared_folder import SharedFolder

        return SharedFolder(self.settings.folder)

    @cached_property
    def client(self) -> Client:
        """The commands of Slurm."""
        from .client import Client

        control = self.home.path / "ssh"
        if not self.settings.host or len(str(control)) >= _SOCKET_FOLDER:
            return Client(self.settings.host)
        control.mkdir(mode=0o700, exist_ok=True)
        return Client(self.settings.host, control)

    @cached_property
    def queue(self) -> JobQueue:
        """The jobs that Slurm knows."""
        from .job_queue import JobQueue

        return JobQueue(self.client, self.shared)

    @classmethod
    def trials(cls) -> Sequence[Trial]:
        from . import checks

        return checks.TRIALS

    # Job files.

    @classmethod
    def is_job_file(cls, path: Path) -> bool:
        from . import job_files

        return super().is_job_file(path) or job_files.has_directives(path)

    @classmethod
    def read_job_file(cls, path: Path, text: str) -> JobFile:
        from . import job_files

        return job_files.read(path, text)

    async def document(self, spec: JobSpec) -> Document | None:
        from . import batch
        from .document import document

        options = batch.choose(self.settings, parse_options(SlurmOptions, spec.options))
        parts = batch.components(spec, options, await self._partitions_of(spec))
        return document(spec, options, parts, self.run_time_limit(spec))

    # Submit.

    async def check(self, spec: JobSpec, caller: Caller) -> Check:
        from . import resolve

        return resolve.check(spec, caller.python, self.settings, self.shared)

    async def resolve(self, spec: JobSpec, check: Check) -> tuple[JobSpec, Check]:
        from . import batch, resolve

        options = batch.choose(self.settings, parse_options(SlurmOptions, spec.options))
        found = await self._partitions()
        return resolve.resolve(spec, check, options, found, self.run_time_limit(spec), self.allows)

    async def prepare(self, job: Job, folder: JobFolder) -> Prepared:
        self.shared.create("jobs", job.id)
        return await super().prepare(job, folder)

    async def submit(self, job: Job, folder: JobFolder, secrets: Mapping[str, Secret]) -> Submission:
        from . import batch

        options = batch.choose(self.settings, parse_options(SlurmOptions, job.spec.options))
        parts = batch.components(job.staged_spec, options, await self._partitions_of(job.spec))
        arguments = batch.sbatch_arguments(job, options, parts, self.run_time_limit(job.spec))
        files = await asyncio.to_thread(self._write, job, folder, secrets, options, parts)
        try:
            output = await self.client.run("sbatch", *arguments, stdin=files.batch)
        except ReplyLost:
            raise
        except PaiError:
            await asyncio.to_thread(self.shared.remove, job.id)
            raise
        slurm_id = output.strip().split(";")[0]  # `4711`, or `4711;cluster`
        await asyncio.to_thread(self.shared.record_id, slurm_id, job.id)
        self.queue.expire()
        return Submission(slurm_id)

    async def _partitions_of(self, spec: JobSpec) -> dict[str, Partition]:
        """Return the partition of each role that has an instance type."""
        from .cluster import partition_of

        names = {role: partition_of(one.instance_type) for role, one in spec.by_role.items() if one.instance_type}
        known = {one.name: one for one in await self._partitions()} if names else {}
        return {role: known[name] for role, name in names.items() if name in known}

    async def _partitions(self) -> list[Partition]:
        """Return the partitions; forms and submits use a list for some seconds."""
        from . import cluster

        time_, found = self._listed
        if time.monotonic() > time_ + _PARTITIONS_AGE:
            found = await cluster.partitions(self.client)
            self._listed = time.monotonic(), found
        return found

    def _write(
        self,
        job: Job,
        folder: JobFolder,
        secrets: Mapping[str, Secret],
        options: SlurmOptions,
        parts: Sequence[Component],
    ) -> JobFiles:
        """Write the files of a job into the shared folder."""
        from . import batch

        files = self.shared.job(job.id)
        self.shared.create("jobs", job.id, "log")
        self.shared.create("jobs", job.id, "ranks")
        self.shared.create("environments")
        # Those that are read in place are files of the user.
        copied = (uri for channel, uri in job.inputs.items() if uri != job.spec.inputs.get(channel))
        self.shared.make_private(path_of(uri) for uri in copied)
        code = str(self.shared.path / "code" / job.source_digest / "source.tar.gz") if job.source_files else ""
        texts = {
            "script": batch.job_script_of(job, self.settings, self.shared, code, Packing.read(folder).import_paths),
            "rank": batch.rank_script(job, self.settings, self.shared, job.python),
            "batch": batch.batch_script(job, self.settings, options, self.shared, parts),
        }
        if job.spec.roles:
            texts["names"] = "".join(f"{name}\n" for name in job.spec.instance_names)
        if secrets:
            texts["secrets"] = batch.secrets_file(secrets)
        for name, text in texts.items():
            files.write(name, text)
        files.write_submitted(job)
        return files

    def can_read(self, uri: str) -> bool:
        path = path_of(uri)
        return bool(path) and self.shared.sees(path)

    async def candidates(self, job_id: str) -> AsyncIterator[Candidate]:
        async for candidate in self.queue.candidates(job_id):
            yield candidate

    async def lists_any(self, remote_ids: Collection[str]) -> bool:
        return any(job.id in remote_ids for job in (await self.queue.jobs(0)).values())

    # Follow.

    def poll_interval(self, jobs: int, *, watched: bool) -> float:
        from .job_queue import FEW, list_age

        # While a user watches, ends are seen in the shared folder, without a new list.
        return 0.5 if watched and jobs <= FEW else list_age(jobs)

    async def poll(self, remote_ids: Sequence[str]) -> dict[str, Report]:
        if not remote_ids:
            return {}
        return await asyncio.to_thread(self._reports, await self.queue.of_ids(remote_ids))

    def _reports(self, known: Mapping[str, Known]) -> dict[str, Report]:
        from .reporting import report_of

        reports: dict[str, Report] = {}
        for slurm_id, (job, files) in known.items():
            if report := report_of(job, files):
                reports[slurm_id] = report
                if files and report.status.ended:
                    files.secrets.unlink(missing_ok=True)  # A job that did not start has not removed it.
        return reports

    async def log(self, remote_id: str, instance: str, cursor: str) -> LogPiece:
        from .reporting import log_piece

        files = await asyncio.to_thread(self.shared.of_slurm_id, remote_id)
        return await asyncio.to_thread(log_piece, files, instance, cursor, self.queue.output_of(remote_id))

    async def instances(self, remote_id: str) -> Sequence[Instance]:
        from .reporting import instances_of

        return await asyncio.to_thread(instances_of, *await self.queue.of_id(remote_id, fresh=False))

    async def events(self, remote_id: str, cursor: str) -> EventPage:
        """Why a job waits is an event that is replaced when it changes. The cursor is its last text."""
        job, _files = await self.queue.of_id(remote_id, fresh=False)
        text = job.waiting if job else ""
        if not text or text == cursor:
            return EventPage((), cursor)
        return EventPage([PlatformEvent(text, warning=bool(job and job.is_stuck), key="waits")], text)

    async def terminal(self, remote_id: str, instance: str) -> TerminalCommand:
        job, _files = await self.queue.of_id(remote_id, fresh=True)
        if job is None or job.status.ended:
            raise NotFound(_("The job does not run any more."))
        node = next((one.node for one in await self.instances(remote_id) if one.name == instance), "")
        words = ["srun", "--overlap", "--pty", f"--jobid={remote_id}", *([f"--nodelist={node}"] if node else [])]
        return TerminalCommand(self.client.terminal([*words, "--nodes=1", "--ntasks=1", "bash", "-i"]))

    # Change.

    async def stop(self, remote_id: str) -> None:
        job, files = await self.queue.of_id(remote_id, fresh=True)
        if job is None or job.status.ended:
            return
        if files:
            await asyncio.to_thread(files.request_stop)
        await self.client.run("scancel", remote_id)
        self.queue.expire()

    async def delete(self, remote_id: str) -> None:
        if files := await asyncio.to_thread(self.shared.of_slurm_id, remote_id):
            await asyncio.to_thread(self.shared.remove, files.path.name)

    # Query.

    async def jobs(self, before: datetime | None = None, limit: int = 50) -> Sequence[RemoteJob]:
        from .job_queue import Known

        jobs = [job for job in await self.queue.own() if job.submitted_at and (not before or job.submitted_at < before)]
        jobs.sort(key=lambda job: (job.submitted_at, int(job.id)), reverse=True)
        known = (Known(job, self.shared.of_slurm_id(job.id)) for job in jobs[:limit])
        return await asyncio.to_thread(lambda: [remote for one in known if (remote := _remote_job(*one))])

    async def job(self, remote_id: str) -> RemoteJob:
        remote = await asyncio.to_thread(_remote_job, *await self.queue.of_id(remote_id, fresh=True))
        if remote is None:
            raise NotFound(_("The cluster has no job {id}.").format(id=remote_id))
        return remote

    async def instance_types(self) -> list[InstanceType]:
        from . import cluster

        return [kind for one in await cluster.partitions(self.client) for kind in one.types()]

    async def quotas(self) -> list[Quota]:
        from . import cluster

        return [one.quota() for one in await cluster.partitions(self.client)]

    async def choices(self, name: str) -> Sequence[Choice]:
        from . import cluster

        if name == "partitions":
            return [one.choice() for one in await cluster.partitions(self.client)]
        if name in ("accounts", "qos"):
            return await cluster.accounts(self.client, {"accounts": "account"}.get(name, name))
        if name == "reservations":
            return await cluster.reservations(self.client)
        if name == "instance_types":
            return [
                Choice(kind.name, _("{n:g} cores, {memory}").format(n=kind.cpu, memory=show_memory(kind.memory)))
                for kind in await self.instance_types()
            ]
        return ()

    async def try_jobs(self) -> Sequence[Finding]:
        from . import checks

        return await checks.try_partitions(self.shared, self.client)

    def examine(self) -> list[Finding]:
        from . import checks

        return checks.examine(self.settings, self.shared, self.client)


def _remote_job(job: SlurmJob | None, files: JobFiles | None) -> RemoteJob | None:
    from .job_records import our_id
    from .reporting import report_of

    report = report_of(job, files)
    if report is None or job is None or not job.submitted_at:
        return None
    spec, outputs = (files.submitted() if files else None) or (elsewhere(job.name or job.id), {})
    return RemoteJob(job.id, spec, report, job.submitted_at, user=job.user, outputs=outputs, job_id=our_id(job))
