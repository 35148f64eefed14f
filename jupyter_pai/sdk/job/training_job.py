"""`TrainingJob` of the PAI SDK: a `JobHandle` that has the SDK's names too."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, ClassVar

from ...client.job import JobHandle
from ...core.errors import Conflict, NotFound, Unsupported
from ...core.i18n import N_, _
from ..absent import no_such_attribute
from ..run import local_path, wait_for
from ..session import BACKEND, target_of

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


class NoSuchOutput(Conflict, RuntimeError):
    """A job has no output channel of that name."""


class TrainingJobStatus:
    """The statuses of a `TrainingJob`, by their names in the SDK. Several of PAI's statuses are one here; PAI's own
    word is ``job.info["platform_status"]``."""

    Creating = Initializing = "starting"
    Created = Submitted = "queued"
    Running = "running"
    Succeed = "succeeded"
    Failed = CreateFailed = InitializeFailed = "failed"
    Terminated = "stopped"

    _ENDED: ClassVar = [Succeed, Failed, Terminated, "lost"]

    @classmethod
    def completed_status(cls) -> list[str]:
        """Return the statuses of ended jobs."""
        return list(cls._ENDED)

    @classmethod
    def failed_status(cls) -> list[str]:
        """Return the statuses of failed jobs."""
        return [cls.Failed]


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
    def list(cls, *_arguments: object, **_keywords: object) -> None:
        """Not supported: `jupyter_pai.list_jobs` lists the jobs of this machine's engine.

        Raises:
            Unsupported: always.
        """
        raise Unsupported(
            _("TrainingJob.list is not supported."),
            fix=_("List jobs: jupyter_pai.list_jobs(), or %pai list. Import one of PAI: TrainingJob.get('ID')"),
        )

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
        return self.status == TrainingJobStatus.Succeed

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
        self, interval: float = 5, show_logs: bool = True, *, timeout: float | None = None
    ) -> TrainingJob:
        """Wait until the job has ended; with `show_logs`, print its log meanwhile. A stopped job raises no error.

        `interval` has no effect: the engine polls the platform.

        Raises:
            JobFailed: if the job failed.
            TimeoutError: if the job has not ended within `timeout` seconds.
        """
        wait_for(self, timeout, show_logs)
        return self

    def __getattr__(self, name: str) -> object:
        raise no_such_attribute("TrainingJob", name, _ABSENT)
