"""The seam to platforms whose jobs run elsewhere: what they keep of a job is brought here, piece by piece.

A cursor is the backend's own: text that says how far something was read. It is stored with what was read, so whoever
reads on, in whatever process, misses nothing and has nothing twice.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from ..job import Job, JobSpec
from .base import Backend, Report

__all__ = ["LogPiece", "RemoteBackend", "RemoteJob", "Sample"]


class LogPiece(NamedTuple):
    """What comes next of an instance's log. `more`: there is more at once."""

    data: bytes
    cursor: str
    more: bool = False


class Sample(NamedTuple):
    """What a job used of its machines at a time (seconds since 1970): cores, bytes, percent of a GPU, bytes of GPU
    memory; NaN where the platform does not tell."""

    time: float
    cpu: float
    memory: float
    gpu: float
    gpu_memory: float


@dataclass(frozen=True)
class RemoteJob:
    """A job as its platform knows it, whoever submitted it. `spec` is what of it can be told from there."""

    remote_id: str
    spec: JobSpec
    report: Report
    submitted_at: datetime
    user: str = ""
    console_url: str = ""
    outputs: dict[str, str] = field(default_factory=dict)


class RemoteBackend(Backend):
    """A platform that is reached over a network, and billed or shared: it is asked seldom, for many jobs at once."""

    @abstractmethod
    def pace(self, jobs: int, *, watched: bool) -> float:
        """Seconds between two questions after so many jobs; less where somebody waits for news."""

    @abstractmethod
    async def code_uri(self, digest: str) -> str:
        """The folder in a storage where the platform takes packed code from; its name is the digest of the content."""

    @abstractmethod
    async def output_uri(self, job: Job) -> str:
        """The folder in a storage for a job's outputs, unless its spec names one."""

    @abstractmethod
    async def input_uri(self) -> str:
        """The folder in a storage for inputs that are of this machine."""

    def sees(self, uri: str) -> bool:
        """Whether jobs can read a file or folder of this machine, a path or ``file://`` URI, where it lies. What they
        cannot is brought to `input_uri`. Asks nobody."""
        return False

    @abstractmethod
    async def find(self, job_id: str) -> str:
        """The platform's name for a job that was submitted under an id of ours; empty if it has none.

        For a submit whose answer was lost: it is looked for before anything is sent again.
        """

    @abstractmethod
    async def log(self, remote_id: str, instance: str, cursor: str) -> LogPiece:
        """A piece of an instance's log after `cursor`, the first one after an empty text."""

    @abstractmethod
    async def instances(self, remote_id: str) -> Sequence[str]:
        """The instances of a job by their names, in the order of their ranks; none before it has begun."""

    @abstractmethod
    async def events(self, remote_id: str, known: int) -> Sequence[str]:
        """What the platform tells of a job's life, after the first `known` messages."""

    @abstractmethod
    async def samples(self, remote_id: str, after: float) -> Sequence[Sample]:
        """What a job used of its machines after a time."""

    @abstractmethod
    async def jobs(self, before: datetime | None = None, limit: int = 50) -> Sequence[RemoteJob]:
        """The account's own jobs, newest first, wherever they were submitted; with `before`, older ones."""

    @abstractmethod
    async def job(self, remote_id: str) -> RemoteJob:
        """A job of the platform.

        Raises:
            NotFound: if there is none of that name.
        """
