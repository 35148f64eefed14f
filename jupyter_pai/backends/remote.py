"""The base class of platforms whose jobs run on other machines."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from datetime import datetime

from ..jobs.instances import Instance
from ..jobs.job import Job
from .base import Backend
from .reports import EventPage, LogPiece, RemoteJob, Sample


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
    async def find(self, job_id: str) -> str:
        """Return the platform's id of a job by our id, or an empty string."""

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
