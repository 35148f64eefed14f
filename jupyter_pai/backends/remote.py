"""The base class of platforms whose jobs run on other machines."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, final

from ..core.errors import Conflict, NotFound
from ..core.i18n import _
from ..jobs.instances import Instance
from ..jobs.job import Job, JobStatus
from ..jobs.state_dir import JobFolder
from .base import Backend, Finding, Prepared
from .findings import checked, examined
from .private_folder import PrivateFolder, SharedFolderSettings, folder_uri, path_of
from .reports import LogPiece, RemoteJob, Report, elsewhere

# The most jobs of a platform that are searched for one of ours. The newest come first.
_MOST_SEARCHED = 1000


class Candidate(NamedTuple):
    """A job of the platform that may be ours. `job_id`: our id in its label or name, as the platform returned it; empty
    if it has none. `name`: that for users."""

    remote_id: str
    job_id: str
    submitted_at: datetime
    name: str = ""


def check_is_same(found: RemoteJob, remote_id: str, job_id: str = "") -> None:
    """Check that the platform returned the job that is meant, before anything is done to it.

    `job_id`: our id, which its label must have; without one, it was submitted elsewhere and must have this remote id.

    Raises:
        Conflict: if it is another job.
    """
    if (found.job_id == job_id) if job_id else (found.remote_id == remote_id):
        return
    if not job_id:
        text = _("The platform returned the job {other} in place of {id}.").format(other=found.remote_id, id=remote_id)
        raise Conflict(text, fix=_("List the jobs of the platform: %pai adopt"))
    label = found.job_id or _("none")
    raise Conflict(
        _("The job {id} of the platform is not {job}, as its label is {label}. It was not changed.").format(
            id=remote_id, job=job_id, label=label
        ),
        fix=_("Change it on the platform, if it is yours. To remove {job} here only: %pai delete --force {job}").format(
            job=job_id
        ),
    )


def channel_uris(job: Job, base: str) -> dict[str, str]:
    """Return the folders of a job's output channels: those of the spec, and all others in a folder; none without."""
    others = {channel: f"{base}{channel}/" for channel in job.spec.channels} if base else {}
    return others | {channel: folder_uri(uri) for channel, uri in job.spec.outputs.items()}


class RemoteBackend(Backend):
    """A platform reached over a network. The engine polls it rarely, for many jobs in one call, and fetches job data.

    Some methods that `Backend` documents with a default are required here. Never claims `Capability.RUNS_HERE`.
    """

    # Submit.

    async def prepare(self, job: Job, folder: JobFolder) -> Prepared:
        """By default, each output channel is a folder below `output_uri`."""
        return Prepared(channel_uris(job, await self.output_uri(job)))

    @abstractmethod
    async def output_uri(self, job: Job) -> str:
        """Return the storage folder for a job's outputs: the spec's `output_path` if set; empty if they are not
        kept."""

    @abstractmethod
    async def input_uri(self) -> str:
        """Return the storage folder for uploaded inputs; empty if the platform has none."""

    @abstractmethod
    def candidates(self, job_id: str) -> AsyncIterator[Candidate]:
        """Yield the jobs of the platform that may have our id, newest first: an async generator. With an empty id, all
        jobs of the account.

        A filter of the platform makes this short, and need not be trusted: `find` compares the ids.
        """

    @final
    async def find(self, job_id: str) -> str:
        """Return the platform's id of the job whose label or name has our id, the oldest if there are several, as of a
        copy that was made in the console; empty if there is none."""
        return next((remote_id for remote_id, _time in await self.copies(job_id)), "")

    @final
    async def copies(self, job_id: str) -> Sequence[tuple[str, datetime]]:
        found = [candidate async for candidate in self._newest(job_id) if candidate.job_id == job_id]
        # Of one second, the later candidate is the older job.
        times = {one.remote_id: one.submitted_at for one in reversed(found)}
        return sorted(times.items(), key=lambda one: one[1])

    async def _newest(self, job_id: str = "") -> AsyncIterator[Candidate]:
        searched = 0
        async for candidate in self.candidates(job_id):
            yield candidate
            searched += 1
            if searched == _MOST_SEARCHED:
                break

    # Follow.

    def poll_interval(self, jobs: int, *, watched: bool) -> float:
        """By default, a second if a user watches a job, otherwise five, and more for more than 500 jobs."""
        return 1.0 if watched else max(5.0, jobs / 100)

    @abstractmethod
    async def log(self, remote_id: str, instance: str, cursor: str) -> LogPiece:
        """Fetch the next part of an instance's log."""

    async def instances(self, remote_id: str) -> Sequence[Instance]:
        """By default, a started job has one instance, with the state that `poll` returns."""
        report = (await self.poll([remote_id])).get(remote_id)
        if report is None or report.status is JobStatus.QUEUED:
            return ()
        only = Instance(
            "worker-0",
            rank=0,
            status=report.status,
            platform_status=report.platform_status,
            exit_code=report.exit_code,
            started_at=report.started_at,
            ended_at=report.ended_at,
        )
        return [only]

    # Query.

    async def jobs(self, before: datetime | None = None, limit: int = 50) -> Sequence[RemoteJob]:
        """By default, the `candidates` without an id, with names and states only."""
        found: list[Candidate] = []
        async for one in self._newest():
            if before is None or one.submitted_at < before:
                found.append(one)
            if len(found) == limit:
                break
        reports = await self.poll([one.remote_id for one in found])
        return [_remote_job(one, reports[one.remote_id]) for one in found if one.remote_id in reports]

    async def job(self, remote_id: str) -> RemoteJob:
        """By default, like one of `jobs`."""
        async for one in self._newest():
            if one.remote_id == remote_id and (report := (await self.poll([remote_id])).get(remote_id)):
                return _remote_job(one, report)
        raise NotFound(_("The platform does not have the job {id}.").format(id=remote_id))

    def examine(self) -> list[Finding]:
        """By default, the platform is asked for its instance types."""

        async def request() -> Finding:
            names = ", ".join(one.name for one in await self.instance_types())
            return Finding("ok", _("instance types"), names or _("none"))

        fix = _("Check the settings of the profile, and that the platform is running.")
        return examined(checked(_("instance types"), request(), fix=fix))


class SharedFolderBackend(RemoteBackend):
    """A platform whose machines see a folder of this machine at the same path: code, inputs and outputs are in it.

    Below the folder are ``code/<digest>/source.tar.gz``, ``inputs/<digest>/`` and ``outputs/<id>/<channel>/``.
    """

    settings: SharedFolderSettings

    @cached_property
    def shared(self) -> PrivateFolder:
        """The folder: by default, that of the settings."""
        return PrivateFolder(self.settings.folder, "folder")

    async def prepare(self, job: Job, folder: JobFolder) -> Prepared:
        """Create the folder for the outputs, unless the user names one."""
        if not job.spec.output_path:
            self.shared.create("outputs", job.id)
        return await super().prepare(job, folder)

    async def code_uri(self, digest: str, size: int) -> str:
        self.shared.create("code", digest)
        return self.shared.uri("code", digest)

    async def output_uri(self, job: Job) -> str:
        return folder_uri(job.spec.output_path) if job.spec.output_path else self.shared.uri("outputs", job.id)

    async def input_uri(self) -> str:
        self.shared.create("inputs")
        return self.shared.uri("inputs")

    def can_read(self, uri: str) -> bool:
        path = path_of(uri)
        return bool(path) and Path(os.path.realpath(path)).is_relative_to(os.path.realpath(self.shared.path))


def _remote_job(found: Candidate, report: Report) -> RemoteJob:
    """Return a job of which the platform returns name and state only."""
    spec = elsewhere(found.name or found.remote_id)
    return RemoteJob(found.remote_id, spec, report, found.submitted_at, job_id=found.job_id)
