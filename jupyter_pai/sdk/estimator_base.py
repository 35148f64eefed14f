"""`EstimatorBase`: what all estimators share: their hyperparameters, their jobs and the outputs of these."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..client.job import JobHandle
from ..core.errors import Conflict, Unsupported
from ..core.i18n import N_, _
from .job.training_job import TrainingJob
from .run import INTERVAL
from .session import BACKEND
from .target import Target

if TYPE_CHECKING:
    from .model import Model
    from .tensorboard import TensorBoard

__all__ = ["EstimatorBase", "NoJob"]

_DEPLOY = N_(
    "Deploy the model in the PAI console, or by the PAI SDK: its URI is Estimator.model_data(). To register it: "
    "Estimator.create_model().register('NAME')"
)


class NoJob(Conflict, RuntimeError):
    """An estimator that has not submitted a job."""


class EstimatorBase(ABC):
    """Hyperparameters, the submitted jobs, and their outputs."""

    hyperparameters: dict[str, Any]
    _jobs: list[TrainingJob]

    @property
    def latest_job(self) -> TrainingJob | None:
        """The job of the last `fit`; None before the first one."""
        return self._jobs[-1] if self._jobs else None

    def set_hyperparameters(self, **hyperparameters: Any) -> None:
        """Update hyperparameters."""
        self.hyperparameters |= hyperparameters

    def wait(
        self,
        interval: float = INTERVAL,
        show_logs: bool = True,
        all_jobs: bool = False,
        *,
        timeout: float | None = None,
    ) -> TrainingJob:
        """Wait until the latest job has ended, and return it. With `all_jobs`, wait for all jobs of this estimator
        instead, without their logs, and print a table of them.

        Without a log, a shorter `interval` than 5 seconds polls the platform every second or two. `timeout` is in
        seconds, for each job.

        Raises:
            NoJob: before the first `fit`. A `RuntimeError` too.
            JobUnsuccessful: if the job failed; not with `all_jobs`.
            TimeoutError: after the timeout.
        """
        latest = self._latest()
        if not all_jobs:
            return latest.wait(interval, show_logs, timeout=timeout)
        from .common.utils import print_table

        for job in self._jobs:
            JobHandle.wait(job, timeout, refresh=interval < INTERVAL)
        print_table(
            [_("name"), _("job"), _("status")], [[job.name, job.training_job_id, job.status] for job in self._jobs]
        )
        return latest

    def stop(self) -> JobHandle:
        """Request that the latest job stops."""
        return self._latest().stop()

    def model_data(self) -> str:
        """Return the location of the latest job's model: a URI, or a folder for a job on this machine."""
        return self._latest().output_path("model")

    def checkpoints_data(self) -> str:
        """Return the location of the latest job's checkpoints."""
        return self._latest().output_path("checkpoints")

    def tensorboard_data(self) -> str:
        """Return the location of the latest job's TensorBoard logs."""
        return self._latest().output_path("tensorboard")

    def tensorboard(self, wait: bool = True) -> TensorBoard:
        """Return a TensorBoard of the latest job: on PAI for a PAI job, else on the Jupyter server. With `wait`, return
        once it can be opened; for a job on this machine, once the job has written data for it.

        Raises:
            NotFound: if the job has written nothing.
            Unsupported: without a Jupyter server.
            QuotaExceeded: if the limit of TensorBoards on PAI is reached; the message names the running ones.
        """
        from .tensorboard import of_job

        job = self._latest()
        return of_job(job, self._target().client, platform=job.info["backend"] == BACKEND, wait=wait)

    def create_model(self, inference_spec: Mapping[str, Any] | None = None) -> Model:
        """Return the model of the latest job, to register it: ``create_model().register("name")``.

        `inference_spec` is a dict in the form of the service that deploys models. It is registered with the model.

        Raises:
            NoJob: before the first `fit`. A `RuntimeError` too.
        """
        from .model import Model

        job = self._latest()
        registers = job.info["registry"] and job.info["remote_id"]
        return Model(self.model_data(), inference_spec, getattr(self, "session", None), job=job if registers else None)

    def deploy(self, *_arguments: object, **_keywords: object) -> None:
        """Not supported.

        Raises:
            Unsupported: always.
        """
        raise Unsupported(_("Estimator.deploy is not supported."), fix=_(_DEPLOY))

    @abstractmethod
    def _target(self) -> Target:
        """Return the target of the next job."""

    def _latest(self) -> TrainingJob:
        if not self._jobs:
            raise NoJob(_("This estimator has not submitted a job."), fix=_("Call fit() first."))
        return self._jobs[-1]
