"""`Estimator`, by the PAI SDK's own name: configure a training job, then `fit` it to data.

With the import changed (``pai.estimator`` to ``jupyter_pai.sdk.estimator``), the examples of PAI's documents run here.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from ..client.connect import connect
from ..client.job import JobHandle
from ..core.errors import Conflict
from ..core.i18n import _
from .inputs import CpfsFileSystemInput, DatasetConfig, FileSystemInput, Input, uris_of
from .options import ExperimentConfig, InstanceSpec, SpotSpec, UserVpcConfig, filled, share_of
from .run import named, run, waited
from .session import BACKEND, get_default_session, place_of
from .target import Place, absolute, code_of

if TYPE_CHECKING:
    from .session import Session
    from .tensorboard import TensorBoard

__all__ = [
    "CpfsFileSystemInput",
    "DatasetConfig",
    "Estimator",
    "ExperimentConfig",
    "FileSystemInput",
    "SpotSpec",
    "UserVpcConfig",
]

# Instance types that mean this machine, whatever the default profile is.
_LOCAL = ("local", "local_gpu")


@dataclass(repr=False, eq=False)
class Estimator:
    """A training job that can be run on different data.

    Args:
        image_uri: The image; the profile's default one if empty.
        command: What to run, by a shell, in the code's folder; a list is a command without a shell's meaning.
        source_dir: The folder of code; the current one if it is not given. ``oss://`` of a folder or a ``.tar.gz`` is
            fetched first.
        entry_point: The script to run when there is no command: with all hyperparameters as ``--name value``.
        hyperparameters: Name to value; see ``docs/contract.md`` for how the script gets them.
        environments: Environment variables of the job.
        requirements: Packages to install beside those of the code's requirements.txt.
        instance_type: ``local`` runs on this machine; without one, the profile's default counts.
        resource_id: A quota to run in, in place of an instance type; `instance_spec` says what each instance gets of
            it: ``{"cpu": 8, "memory": 32, "gpu": 1}``.
        max_run_time: In seconds.
        base_job_name: What the jobs' names begin with; the time is added.
        output_path: Where outputs go; `checkpoints_path` likewise, for that channel.
        metric_definitions: ``[{"Name": …, "Regex": …}]``, with one capture group each.
        job_type: The kind of cluster: PyTorchJob, TFJob, XGBoostJob, MPIJob, ElasticBatchJob.
        priority: Within a quota, 1 to 9.
        settings: The platform's own, passed on as they are.
        session: Where to run; else the session that was set up, else the default profile.
        profile: Or a settings profile by its name.
    """

    image_uri: str = ""
    command: str | Sequence[str] | None = None
    source_dir: str | Path | None = None
    by_name: KW_ONLY
    entry_point: str = ""
    hyperparameters: dict[str, Any] = field(default_factory=dict)
    environments: Mapping[str, str] | None = None
    requirements: Sequence[str] | None = None
    instance_type: str | None = None
    instance_count: int | None = None
    instance_spec: InstanceSpec | Mapping[str, Any] | None = None
    resource_id: str | None = None
    resource_type: str | None = None
    spot_spec: SpotSpec | None = None
    max_run_time: int | None = None
    base_job_name: str | None = None
    output_path: str | None = None
    checkpoints_path: str | None = None
    metric_definitions: Sequence[Mapping[str, str]] | None = None
    job_type: str | None = None
    priority: int | None = None
    user_vpc_config: UserVpcConfig | None = None
    experiment_config: ExperimentConfig | None = None
    settings: Mapping[str, Any] | None = None
    labels: Mapping[str, str] | None = None
    session: Session | None = None
    python: str = ""
    profile: str = ""
    latest_job: JobHandle | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self.hyperparameters = dict(self.hyperparameters or {})

    def set_hyperparameters(self, **hyperparameters: Any) -> None:
        """Set some of the hyperparameters; the others stay."""
        self.hyperparameters |= hyperparameters

    def fit(
        self,
        inputs: Mapping[str, Input] | None = None,
        wait: bool = True,
        show_logs: bool = True,
        job_name: str | None = None,
        *,
        outputs: Mapping[str, str | Path] | None = None,
    ) -> JobHandle:
        """Submit a job on these inputs (channel to URI, local path, file system or data set); with `wait`, print its
        log until it has ended. `outputs` are channels that go to places of their own.

        Interrupting leaves the job alone and says how to stop it.

        Raises:
            JobFailed: if the job was waited for and did not succeed: with its reason and last lines.
        """
        place = self._place()
        given = {
            "name": job_name or named(self.base_job_name or "estimator"),
            "inputs": uris_of(inputs, place),
            "outputs": uris_of(self._outputs(outputs), place),
            "options": self._options_for(place),
        }
        with code_of(self.source_dir, place) as folder:
            self.latest_job = run(place, self._spec(folder) | given)
        return waited(self.latest_job, None, show_logs) if wait else self.latest_job

    def wait(self, timeout: float | None = None, *, show_logs: bool = True) -> JobHandle:
        """Wait for the latest job.

        Raises:
            JobFailed: if it did not succeed.
        """
        return waited(self._latest(), timeout, show_logs)

    def stop(self) -> JobHandle:
        """Ask for the latest job's end."""
        return self._latest().stop()

    def model_data(self) -> str:
        """Where the latest job's model is: a URI; a folder for a job of this machine."""
        return self._output("model")

    def checkpoints_data(self) -> str:
        """Where the latest job's checkpoints are."""
        return self._output("checkpoints")

    def tensorboard_data(self) -> str:
        """Where the latest job's TensorBoard logs are."""
        return self._output("tensorboard")

    def tensorboard(self, wait: bool = True) -> TensorBoard:
        """A TensorBoard of the latest job: PAI's own for a job of PAI's, else one that our server shows. With `wait` it
        can be opened; a job of this machine is given the time to write something for it.

        Raises:
            NotFound: if the job has written nothing.
            Unsupported: where there is no Jupyter server that could show one.
            QuotaExceeded: if no more of them may run on PAI; it names those that do.
        """
        from .tensorboard import of_job

        job = self._latest()
        return of_job(job, self._place().client, platform=job.info["backend"] == BACKEND, wait=wait)

    def _place(self) -> Place:
        """Where the next job goes."""
        if self.instance_type in _LOCAL and not self.profile:
            return Place(connect(), backend="local")
        return Place(connect(), self.profile) if self.profile else place_of(self.session)

    def _spec(self, folder: str) -> dict[str, Any]:
        command = self.command
        return {
            "command": command if isinstance(command, str) else shlex.join(command or ()),
            "entry_point": self.entry_point,
            "source": {"folder": folder},
            "image": self.image_uri,
            "instance_type": self.instance_type or "",
            "instance_count": self.instance_count or 1,
            "hyperparameters": dict(self.hyperparameters),
            "environment": dict(self.environments or {}),
            "requirements": list(self.requirements or ()),
            "metric_definitions": [_metric(definition) for definition in self.metric_definitions or ()],
            "max_run_time": self.max_run_time,
            "output_path": absolute(self.output_path) if self.output_path else "",
            "labels": dict(self.labels or {}),
            "python": self.python,
        }

    def _outputs(self, outputs: Mapping[str, str | Path] | None) -> dict[str, str | Path]:
        return filled({"checkpoints": self.checkpoints_path}) | dict(outputs or {})

    def _options_for(self, place: Place) -> dict[str, Any]:
        """What of PAI's own counts there; what does not is said."""
        options = self._options()
        elsewhere = self.instance_type and self.instance_type not in _LOCAL and not place.profile
        if not (options or elsewhere) or (kind := place.kind()) == BACKEND:
            return options
        if options:
            print(_("Ignored by the backend {name}: {options}").format(name=kind, options=", ".join(options)))
        if elsewhere and (session := get_default_session()):
            text = _(
                "This runs on the backend {name}, by the default profile. On PAI: Estimator(…, profile='{profile}')"
            )
            print(text.format(name=kind, profile=session.profile))
        return {}

    def _options(self) -> dict[str, Any]:
        """What is PAI's own, as a spec's `options` call it."""
        given = {
            "spot": self.spot_spec and self.spot_spec.option(),
            "user_vpc": self.user_vpc_config and self.user_vpc_config.option(),
            "experiment": self.experiment_config and self.experiment_config.option(),
            "instance_spec": self.instance_spec and share_of(self.instance_spec),
            "settings": self.settings and dict(self.settings),
        }
        plain = {"resource_id": self.resource_id, "job_type": self.job_type, "priority": self.priority}
        return filled(given | plain)

    def _output(self, channel: str) -> str:
        uri = self._latest().outputs[channel]
        return unquote(urlsplit(uri).path) if uri.startswith("file://") else uri

    def _latest(self) -> JobHandle:
        if self.latest_job is None:
            raise Conflict(_("This estimator has no job yet."), fix=_("Call fit() first."))
        return self.latest_job


def _metric(definition: Mapping[str, str]) -> dict[str, str]:
    """A metric definition in PAI's spelling or ours."""
    return {name.lower(): value for name, value in definition.items() if name.lower() != "description"}
