"""`TrainingJob` of the PAI SDK: a `JobHandle` that has the SDK's names too."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, Any, ClassVar

from ...client.base import Client
from ...client.job import JobHandle
from ...core.errors import Conflict, NotFound
from ...core.i18n import N_, _
from ..absent import no_such_attribute
from ..run import INTERVAL, local_path, wait_for
from ..session import BACKEND, target_of
from ..status import SdkStatus, status_by
from ..target import Target

if TYPE_CHECKING:
    from ..session import Session

__all__ = ["NoSuchOutput", "TrainingJob", "TrainingJobStatus"]

_ABSENT = {
    "algorithm_spec": N_("The spec of the job: job.spec"),
    "compute_resource": N_("The spec of the job: job.spec['instance_type'], job.spec['instance_count']"),
    "hyperparameters": N_("The spec of the job: job.spec['hyperparameters']"),
    "inputs": N_("The spec of the job: job.spec['inputs']"),
    "reason_code": N_("The reason as text: job.reason"),
}


# Jobs of PAI in a request of a list.
_PAGE = 100


class NoSuchOutput(Conflict, RuntimeError):
    """A job has no output channel of that name."""


class TrainingJobStatus:
    """The statuses of a `TrainingJob`: PAI's words, which equal those of this product too."""

    # The usual word for a status of this product comes first.
    Submitted: ClassVar = SdkStatus("Submitted", "queued")
    Created: ClassVar = SdkStatus("Created", "queued")
    Initializing: ClassVar = SdkStatus("Initializing", "starting")
    Creating: ClassVar = SdkStatus("Creating", "starting")
    Running: ClassVar = SdkStatus("Running", "running")
    Succeed: ClassVar = SdkStatus("Succeed", "succeeded")
    Failed: ClassVar = SdkStatus("Failed", "failed")
    CreateFailed: ClassVar = SdkStatus("CreateFailed", "failed")
    InitializeFailed: ClassVar = SdkStatus("InitializeFailed", "failed")
    Terminated: ClassVar = SdkStatus("Terminated", "stopped")

    @classmethod
    def completed_status(cls) -> list[SdkStatus]:
        """Return the statuses of ended jobs."""
        return [*cls.failed_status(), cls.Succeed, cls.Terminated, SdkStatus("lost", "lost")]

    @classmethod
    def failed_status(cls) -> list[SdkStatus]:
        """Return the statuses of failed jobs."""
        return [cls.InitializeFailed, cls.Failed, cls.CreateFailed]


class TrainingJob(JobHandle):
    """A submitted job, on PAI or on this machine."""

    @classmethod
    def get(cls, training_job_id: str, session: Session | None = None) -> TrainingJob:
        """Return a job by its ID on PAI, or by its ID here. A job that was submitted elsewhere is imported.

        Raises:
            NotFound: if neither has it.
        """
        target = target_of(session)
        with suppress(NotFound):
            return cls(target.client.call("show", job=training_job_id), target.client)
        body = {"remote_id": training_job_id, "profile": target.profile, "backend": "" if target.profile else BACKEND}
        return cls(target.client.call("adopt", body=body), target.client)

    @classmethod
    def list(
        cls, status: str | None = None, session: Session | None = None, page_size: int = 50, page_number: int = 1
    ) -> Sequence[TrainingJob]:
        """Return a page of the workspace's jobs on PAI, newest first; with `status`, of the jobs of this status. A job
        that was submitted elsewhere is imported when more than its name, status and page is needed.

        Raises:
            PaiError: if PAI refuses the list.
        """
        target = target_of(session)
        jobs = (_ListedJob(item, target.client, session) for item in _listed(target))
        chosen = (job for job in jobs if status is None or job.status == status)
        return [*islice(chosen, page_size * (page_number - 1), page_size * page_number)]

    @property
    def status(self) -> SdkStatus:
        """The status, one of `TrainingJobStatus`: PAI's word, which equals the word of this product too."""
        return _status(self._current())

    @property
    def training_job_id(self) -> str:
        """The ID on PAI; on this machine, the job's own ID."""
        return str(self.info["remote_id"] or self.id)

    @property
    def training_job_name(self) -> str:
        return self.name

    @property
    def training_job_url(self) -> str:
        """The page of the job in PAI's console; empty on this machine."""
        return str(self.info["console_url"])

    @property
    def console_uri(self) -> str:
        """The page of the job in PAI's console; empty on this machine."""
        return self.training_job_url

    @property
    def reason_message(self) -> str:
        """The reason for the job's final status."""
        return self.reason

    def is_succeeded(self) -> bool:
        """Return whether the job has succeeded."""
        return self.ended and self.status == TrainingJobStatus.Succeed

    def is_completed(self) -> bool:
        """Return whether the job has ended."""
        return self.ended

    def output_path(self, channel_name: str = "model") -> str:
        """Return the location of an output channel: a URI, or a folder for a job on this machine.

        Raises:
            NoSuchOutput: if the job has no such channel. A `RuntimeError` too.
        """
        outputs = self.outputs
        if channel_name not in outputs:
            raise NoSuchOutput(
                _("Job {job} has no output channel `{name}`.").format(job=self.id, name=channel_name),
                fix=_("Its channels: {names}.").format(names=", ".join(outputs) or "-"),
            )
        return local_path(outputs[channel_name])

    def wait(  # type: ignore[override]  # The parameters of the SDK.
        self, interval: float = INTERVAL, show_logs: bool = True, *, timeout: float | None = None
    ) -> TrainingJob:
        """Wait until the job has ended; with `show_logs`, print its log meanwhile. A stopped job raises no error.

        Without the log, a shorter `interval` than 5 seconds polls the platform every second or two.

        Raises:
            JobUnsuccessful: if the job failed.
            TimeoutError: if the job has not ended within `timeout` seconds.
        """
        wait_for(self, interval, timeout, show_logs)
        return self

    def __getattr__(self, name: str) -> object:
        raise no_such_attribute("TrainingJob", name, _ABSENT)


class _ListedJob(TrainingJob):
    """A job of a list, with the values of the list. It is imported when more is needed."""

    def __init__(self, item: Mapping[str, Any], client: Client, session: Session | None) -> None:
        super().__init__({**item}, client)
        self._session = session

    @property
    def _is_imported(self) -> bool:
        return "id" in self._job

    def _current(self, *, complete: bool = False, refresh: bool = True, wait: int = 0) -> dict[str, Any]:
        if not self._is_imported:
            self._job = TrainingJob.get(self._job["remote_id"], self._session)._job
        return super()._current(complete=complete, refresh=refresh, wait=wait)

    @property
    def id(self) -> str:
        return str(self._current()["id"])

    @property
    def status(self) -> SdkStatus:
        """The status in the list, until the job is imported."""
        return super().status if self._is_imported else _status(self._job)

    @property
    def ended(self) -> bool:
        return self.status in TrainingJobStatus.completed_status() or super().ended

    @property
    def training_job_id(self) -> str:
        return str(self._job["remote_id"])

    @property
    def training_job_url(self) -> str:
        return str(self._job["console_url"])

    def __repr__(self) -> str:
        return super().__repr__() if self._is_imported else f"<{self.training_job_id} {self.name}, {self.status}>"


def _listed(target: Target) -> Iterator[Mapping[str, Any]]:
    """Yield the jobs of PAI, newest first, each once. Pages are fetched on demand."""
    backend, before, known = "" if target.profile else BACKEND, "", set[str]()
    while True:
        query = {"profile": target.profile, "backend": backend, "before": before, "limit": _PAGE}
        page = target.client.call("remote_jobs", **query)["jobs"]
        new = [item for item in page if item["remote_id"] not in known]
        yield from new
        if len(page) < _PAGE or not new:
            return
        known |= {item["remote_id"] for item in new}
        before = page[-1]["submitted_at"]


def _status(job: Mapping[str, Any]) -> SdkStatus:
    return status_by(TrainingJobStatus, str(job["status"]), str(job["platform_status"]))
