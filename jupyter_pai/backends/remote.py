"""The base class of platforms whose jobs run on other machines."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from typing import NamedTuple, final

from ..core.errors import Conflict
from ..core.i18n import _
from ..jobs.instances import Instance
from ..jobs.job import Job
from .base import Backend
from .reports import EventPage, LogPiece, RemoteJob, Sample

# The most jobs of a platform that are searched for one of ours. The newest come first.
_MOST_SEARCHED = 1000


class Candidate(NamedTuple):
    """A job of the platform that may be ours. `job_id`: our id in its label or name, as the platform returned it; empty
    if it has none."""

    remote_id: str
    job_id: str
    submitted_at: datetime


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


class RemoteBackend(Backend):
    """A platform reached over a network. The engine polls it rarely, for many jobs in one call, and fetches job data.

    Methods that `Backend` documents with a default are required here. Never claims `Capability.RUNS_HERE`.
    """

    @abstractmethod
    def poll_interval(self, jobs: int, *, watched: bool) -> float:
        """Return the seconds until the next poll."""

    @abstractmethod
    async def code_uri(self, digest: str, size: int) -> str:
        """Return the storage folder for packed code; empty if `submit` sends it."""

    @abstractmethod
    async def output_uri(self, job: Job) -> str:
        """Return the storage folder for a job's outputs: the spec's `output_path` if set; empty if they are not
        kept."""

    @abstractmethod
    async def input_uri(self) -> str:
        """Return the storage folder for uploaded inputs; empty if the platform has none."""

    @abstractmethod
    def candidates(self, job_id: str) -> AsyncIterator[Candidate]:
        """Yield the jobs of the platform that may have our id, newest first: an async generator.

        A filter of the platform makes this short, and need not be trusted: `find` compares the ids.
        """

    @final
    async def find(self, job_id: str) -> str:
        """Return the platform's id of the job whose label or name has our id, the oldest if there are several, as of a
        copy that was made in the console; empty if there is none."""
        return next((remote_id for remote_id, _time in await self.copies(job_id)), "")

    @final
    async def copies(self, job_id: str) -> Sequence[tuple[str, datetime]]:
        found: list[Candidate] = []
        searched = 0
        async for candidate in self.candidates(job_id):
            if candidate.job_id == job_id:
                found.append(candidate)
            searched += 1
            if searched == _MOST_SEARCHED:
                break
        # Of one second, the later candidate is the older job.
        times = {one.remote_id: one.submitted_at for one in reversed(found)}
        return sorted(times.items(), key=lambda one: one[1])

    @abstractmethod
    async def log(self, remote_id: str, instance: str, cursor: str) -> LogPiece:
        """Fetch the next part of an instance's log."""

    @abstractmethod
    async def instances(self, remote_id: str) -> Sequence[Instance]:
        """Return the instances of a job."""

    @abstractmethod
    async def events(self, remote_id: str, cursor: str) -> EventPage:
        """Fetch the platform's events of a job after a cursor."""

    @abstractmethod
    async def samples(self, remote_id: str, after: float) -> Sequence[Sample]:
        """Fetch the resource usage of a job."""

    @abstractmethod
    async def jobs(self, before: datetime | None = None, limit: int = 50) -> Sequence[RemoteJob]:
        """List the jobs of the account."""

    @abstractmethod
    async def job(self, remote_id: str) -> RemoteJob:
        """Fetch one job of the platform."""
