"""The seam to platforms whose jobs run elsewhere: what they keep of a job is brought here, piece by piece.

A cursor is the backend's own: text that says how far something was read. It is stored with what was read, so whoever
reads on, in whatever process, misses nothing and has nothing twice.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from ..core.errors import Unsupported
from ..core.i18n import _
from ..jobs.events import MetricPoint
from ..jobs.job import Job, JobSpec
from .base import Backend, Report

__all__ = ["LogPiece", "OutputModel", "PointPage", "RemoteBackend", "RemoteJob", "Sample"]


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


class PointPage(NamedTuple):
    """What comes next of a metric that the platform reads itself; steps say nothing. `more`: there is more at once."""

    points: Sequence[MetricPoint]
    more: bool = False


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


@dataclass(frozen=True)
class OutputModel:
    """A model that a job has made, as its platform notes it: where it lies, the output channel that it is, and what
    the platform says of it. `metrics` are plain JSON values."""

    uri: str
    channel: str
    labels: dict[str, str] = field(default_factory=dict)
    metrics: dict[str, object] = field(default_factory=dict)


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

    async def metric_names(self, remote_id: str) -> Collection[str]:
        """The metrics of which the platform keeps points itself; none where there is no such thing."""
        return ()

    async def points(self, remote_id: str, name: str, known: int) -> PointPage:
        """The points of such a metric after the first `known` ones, oldest first."""
        return PointPage(())

    @abstractmethod
    async def jobs(self, before: datetime | None = None, limit: int = 50) -> Sequence[RemoteJob]:
        """The account's own jobs, newest first, wherever they were submitted; with `before`, older ones."""

    @abstractmethod
    async def job(self, remote_id: str) -> RemoteJob:
        """A job of the platform.

        Raises:
            NotFound: if there is none of that name.
        """

    async def output_models(self, remote_id: str) -> Sequence[OutputModel]:
        """The models that a job has made so far. For those with `Capability.OUTPUT_MODELS`."""
        raise Unsupported(_("The backend `{name}` notes no models of its jobs.").format(name=self.name))

    async def terminal(self, remote_id: str, instance: str) -> str:
        """The address of a terminal in an instance that runs: a page's, or a WebSocket's. Whoever has it is let in, for
        a moment: it is made for each question, and kept nowhere. For those with `Capability.TERMINAL`."""
        raise Unsupported(_("The backend `{name}` opens no terminals.").format(name=self.name))
