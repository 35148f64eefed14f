"""`Estimator` of the PAI SDK: configure a training job, then `fit` it to data.

The examples of PAI's documentation run with the import changed from ``pai.estimator`` to ``jupyter_pai.sdk.estimator``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, fields
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from ..client.connect import connect
from ..client.job import JobHandle
from ..client.parameters import check_names, parameter_names
from ..client.printing import print_line
from ..client.submit import spec_of
from ..core.errors import Conflict
from ..core.i18n import _
from .inputs import CpfsFileSystemInput, DatasetConfig, FileSystemInput, Input, uris_of
from .options import ExperimentConfig, InstanceSpec, SpotSpec, UserVpcConfig, non_empty, share_of
from .run import run, timestamped, wait_for
from .session import BACKEND, get_default_session, target_of
from .target import Target, code_folder

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

# Instance types that select the `local` backend, regardless of the default profile.
_LOCAL = ("local", "local_gpu")
# The names that parameters of `jupyter_pai.submit` have here.
_NAMES = {"environment": "environments", "image": "image_uri", "name": "base_job_name", "source": "source_dir"}


def _checks_names(kind: type[Estimator]) -> type[Estimator]:
    """Let a class reject unknown keywords with a suggestion, as `jupyter_pai.submit` does."""
    known = [field.name for field in fields(kind) if field.init]
    init = kind.__init__

    @wraps(init)
    def checked(self: Estimator, *args: Any, **keywords: Any) -> None:
        check_names(keywords, known, _NAMES)
        init(self, *args, **keywords)

    kind.__init__ = checked  # type: ignore[method-assign]
    return kind


@_checks_names
@dataclass(repr=False, eq=False)
class Estimator:
    """A training job that can run on different data.

    Args:
        image_uri: The image. Default: the profile's image.
        command: The shell command to run in the code's folder. A list is quoted, so the shell does not interpret it.
        source_dir: The folder of code. Default: the current folder. An ``oss://`` URI of a folder or a ``.tar.gz`` is
            downloaded first. A table as for `jupyter_pai.submit` also selects files: ``{"exclude": ["*.csv"]}``.
        entry_point: The script to run, unless a command is set. All hyperparameters are passed as ``--name value``.
        hyperparameters: Name to value. ``docs/contract.md`` describes how the script receives them.
        environments: Environment variables of the job.
        requirements: Packages to install, in addition to the code's requirements.txt.
        instance_type: The instance type; ``local`` runs on this machine. Default: the profile's instance type.
        resource_id: A quota to run in, instead of an instance type. `instance_spec` is the share of each instance:
            ``{"cpu": 8, "memory": 32, "gpu": 1}``.
        cpu: The required CPU cores, instead of an instance type; `gpu` the GPUs, `memory` the memory: ``"16GiB"``.
        max_run_time: Maximum run time in seconds.
        base_job_name: The prefix of the jobs' names; the time is appended.
        secrets: Secrets to pass as environment variables: variable to the name of the stored secret.
        output_path: The location of the outputs; `checkpoints_path` is that of the checkpoints alone.
        metric_definitions: ``[{"Name": …, "Regex": …}]``, with one capture group each.
        job_type: The kind of cluster: PyTorchJob, TFJob, XGBoostJob, MPIJob, ElasticBatchJob.
        priority: The priority within a quota, 1 to 9.
        settings: Settings of the platform, passed on unchanged.
        session: The session to run in. Default: the session that was set up, else the default profile.
        profile: The name of a settings profile, instead of a session.
    """

    image_uri: str = ""
    command: str | Sequence[str] | None = None
    source_dir: str | Path | Mapping[str, Any] | None = None
    by_name: KW_ONLY
    entry_point: str = ""
    hyperparameters: dict[str, Any] = field(default_factory=dict)
    environments: Mapping[str, str] | None = None
    secrets: Mapping[str, str] | None = None
    requirements: Sequence[str] | None = None
    instance_type: str | None = None
    instance_count: int | None = None
    instance_spec: InstanceSpec | Mapping[str, Any] | None = None
    resource_id: str | None = None
    resource_type: str | None = None
    spot_spec: SpotSpec | None = None
    cpu: float | None = None
    gpu: int | None = None
    memory: str = ""
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
        """Update hyperparameters."""
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
        """Submit a job on these inputs: channel to URI, local path, file system or data set. With `wait`, print the log
        until the job has ended. `outputs` maps channels to their own locations.

        An interrupt leaves the job running and prints how to stop it.

        Raises:
            BadInput: naming the invalid parameter and the fix.
            JobFailed: if `wait` is set and the job did not succeed; with its reason and last lines.
        """
        with parameter_names(_NAMES):
            self.latest_job = self._submit(inputs, job_name, outputs)
            return wait_for(self.latest_job, None, show_logs) if wait else self.latest_job

    def _submit(
        self, inputs: Mapping[str, Input] | None, job_name: str | None, outputs: Mapping[str, str | Path] | None
    ) -> JobHandle:
        target = self._target()
        fields = {
            "name": job_name or timestamped(self.base_job_name or "estimator"),
            "inputs": uris_of(inputs, target),
            "outputs": uris_of(non_empty({"checkpoints": self.checkpoints_path}) | dict(outputs or {}), target),
            "options": self._supported_options(target),
        }
        source = dict(self.source_dir) if isinstance(self.source_dir, Mapping) else {"folder": self.source_dir}
        with code_folder(source.get("folder"), target) as folder:
            return run(target, spec_of("", self._spec() | fields | {"source": {**source, "folder": folder}}))

    def wait(self, timeout: float | None = None, *, show_logs: bool = True) -> JobHandle:
        """Wait until the latest job has ended.

        Raises:
            JobFailed: if the job did not succeed.
        """
        return wait_for(self._latest(), timeout, show_logs)

    def stop(self) -> JobHandle:
        """Request that the latest job stops."""
        return self._latest().stop()

    def model_data(self) -> str:
        """Return the location of the latest job's model: a URI, or a folder for a job on this machine."""
        return self._output("model")

    def checkpoints_data(self) -> str:
        """Return the location of the latest job's checkpoints."""
        return self._output("checkpoints")

    def tensorboard_data(self) -> str:
        """Return the location of the latest job's TensorBoard logs."""
        return self._output("tensorboard")

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

    def _target(self) -> Target:
        """Return the target of the next job."""
        if self.instance_type in _LOCAL and not self.profile:
            return Target(connect(), backend="local")
        return Target(connect(), self.profile) if self.profile else target_of(self.session)

    def _spec(self) -> dict[str, Any]:
        return {
            "command": self.command or "",
            "entry_point": self.entry_point,
            "image": self.image_uri,
            "instance_type": self.instance_type or "",
            "instance_count": self.instance_count or 1,
            "cpu": self.cpu,
            "gpu": self.gpu,
            "memory": self.memory,
            "hyperparameters": dict(self.hyperparameters),
            "environment": dict(self.environments or {}),
            "secrets": dict(self.secrets or {}),
            "requirements": list(self.requirements or ()),
            # A spec has lower-case keys.
            "metric_definitions": [
                {name.lower(): value for name, value in definition.items() if name.lower() != "description"}
                for definition in self.metric_definitions or ()
            ],
            "max_run_time": self.max_run_time,
            "output_path": self.output_path,
            "labels": dict(self.labels or {}),
            "python": self.python,
        }

    def _supported_options(self, target: Target) -> dict[str, Any]:
        """Return the options of PAI. On another backend, print the ignored options instead."""
        options = non_empty(
            {
                "spot": self.spot_spec and self.spot_spec.option(),
                "user_vpc": self.user_vpc_config and self.user_vpc_config.option(),
                "experiment": self.experiment_config and self.experiment_config.option(),
                "instance_spec": self.instance_spec and share_of(self.instance_spec),
                "settings": self.settings and dict(self.settings),
                "resource_id": self.resource_id,
                "job_type": self.job_type,
                "priority": self.priority,
            }
        )
        elsewhere = self.instance_type and self.instance_type not in _LOCAL and not target.profile
        if not (options or elsewhere) or (backend := target.backend_name()) == BACKEND:
            return options
        if options:
            print_line(_("Ignored by the backend {name}: {options}").format(name=backend, options=", ".join(options)))
        if elsewhere and (session := get_default_session()):
            text = _(
                "The default profile runs this job on the backend {name}. "
                "To run it on PAI: Estimator(…, profile='{profile}')"
            )
            print_line(text.format(name=backend, profile=session.profile))
        return {}

    def _output(self, channel: str) -> str:
        uri = self._latest().outputs[channel]
        return unquote(urlsplit(uri).path) if uri.startswith("file://") else uri

    def _latest(self) -> JobHandle:
        if self.latest_job is None:
            raise Conflict(_("This estimator has not submitted a job."), fix=_("Call fit() first."))
        return self.latest_job
