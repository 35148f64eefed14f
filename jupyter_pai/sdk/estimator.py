"""`Estimator` of the PAI SDK: configure a training job, then `fit` it to data.

The examples of PAI's documentation run with the import changed from ``pai.estimator`` to ``jupyter_pai.sdk.estimator``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import KW_ONLY, dataclass, field, fields
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..client.connect import connect
from ..client.parameters import check_names
from ..client.printing import print_line
from ..client.submit import spec_of
from ..core.errors import SpecError, Unsupported
from ..core.i18n import N_, _
from .absent import absent_names
from .estimator_base import EstimatorBase, NoJob
from .exception import sdk_errors
from .git import cloned
from .inputs import (
    CpfsFileSystemInput,
    DatasetConfig,
    FileSystemInput,
    FileSystemInputBase,
    Input,
    folders_of,
    uris_of,
)
from .job.training_job import TrainingJob
from .options import ExperimentConfig, InstanceSpec, ResourceType, SpotSpec, UserVpcConfig, non_empty, share_of
from .run import run, timestamped
from .session import BACKEND, get_default_session, target_of
from .target import Target, code_folder

if TYPE_CHECKING:
    from .job.algorithm_spec import AlgorithmSpec, Channel, HyperParameterDefinition
    from .session import Session

__all__ = [
    "AlgorithmEstimator",
    "CpfsFileSystemInput",
    "DatasetConfig",
    "Estimator",
    "EstimatorBase",
    "ExperimentConfig",
    "FileSystemInput",
    "FileSystemInputBase",
    "NoAlgorithm",
    "NoJob",
    "ResourceType",
    "SpotSpec",
    "TrainingJob",
    "UserVpcConfig",
]

# Instance types that select the `local` backend, regardless of the default profile.
_LOCAL = ("local", "local_gpu")
# The names that parameters of `jupyter_pai.submit` have here.
_NAMES = {"environment": "environments", "image": "image_uri", "name": "base_job_name", "source": "source_dir"}


_ABSENT = {
    "HyperParameterType": N_("The type of a hyperparameter is the text `type` of its definition."),
    "LocalTrainingJob": N_("A job on this machine is a TrainingJob too: Estimator(instance_type='local').fit()"),
}


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
class Estimator(EstimatorBase):
    """A training job that can run on different data.

    Args:
        image_uri: The image. Default: the profile's image.
        command: The shell command to run in the code's folder. A list is quoted, so the shell does not interpret it.
        source_dir: The folder of code. Default: none if a command is set, else the current folder. An ``oss://`` URI of
            a folder or a ``.tar.gz`` is downloaded first. A table as for `jupyter_pai.submit` also selects files:
            ``{"exclude": ["*.csv"]}``.
        git_config: A repository to clone for the code, in which `source_dir` is a folder: ``{"repo": "https://…"}``,
            optionally with `branch`, `commit`, and `username`, `password` or `token`.
        entry_point: The script to run, unless a command is set. All hyperparameters are passed as ``--name value``.
        hyperparameters: Name to value, which is passed as `str` writes it. ``docs/contract.md`` describes how the
            script receives them.
        environments: Environment variables of the job.
        requirements: Packages to install, in addition to the code's requirements.txt.
        instance_type: The instance type; ``local`` runs on this machine. Default: the profile's instance type.
        resource_id: A quota to run in, instead of an instance type. `instance_spec` is the share of each instance:
            ``{"cpu": 8, "memory": 32, "gpu": 1}``.
        cpu: The required CPU cores, instead of an instance type; `gpu` the GPUs, `memory` the memory: ``"16GiB"``.
        max_run_time: Maximum run time in seconds. Default: that in the profile's file or the policy, else none.
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
    git_config: Mapping[str, str] | None = field(default=None, repr=False)
    job_type: str | None = None
    hyperparameters: dict[str, Any] = field(default_factory=dict)
    environments: Mapping[str, str] | None = None
    requirements: Sequence[str] | None = None
    base_job_name: str | None = None
    max_run_time: int | None = None
    checkpoints_path: str | None = None
    output_path: str | None = None
    metric_definitions: Sequence[Mapping[str, str]] | None = None
    instance_type: str | None = None
    instance_count: int | None = None
    user_vpc_config: UserVpcConfig | None = None
    experiment_config: ExperimentConfig | None = None
    resource_id: str | None = None
    session: Session | None = None
    by_name: KW_ONLY
    instance_spec: InstanceSpec | Mapping[str, Any] | None = None
    resource_type: str | None = None
    spot_spec: SpotSpec | None = None
    settings: Mapping[str, Any] | None = None
    labels: Mapping[str, str] | None = None
    entry_point: str = ""
    secrets: Mapping[str, str] | None = None
    cpu: float | None = None
    gpu: int | None = None
    memory: str = ""
    priority: int | None = None
    python: str = ""
    profile: str = ""

    def __post_init__(self) -> None:
        self.hyperparameters = dict(self.hyperparameters or {})
        self._jobs: list[TrainingJob] = []

    def fit(
        self,
        inputs: Mapping[str, Input] | None = None,
        outputs: Mapping[str, Input] | bool | None = None,
        wait: bool = True,
        show_logs: bool | str = True,
        job_name: str | None = None,
    ) -> TrainingJob:
        """Submit a job on these inputs: channel to URI, local path, file system or data set. With `wait`, print the log
        until the job has ended. `outputs` maps channels to their own locations.

        Older versions of the SDK have no `outputs`: a boolean there is `wait`, followed by `show_logs` and `job_name`.
        An interrupt leaves the job running and prints how to stop it.

        Raises:
            BadInput: naming the invalid parameter and the fix. A `ValueError` too.
            JobUnsuccessful: if `wait` is set and the job failed; with its reason and last lines.
        """
        if isinstance(outputs, bool):
            job_name = show_logs if isinstance(show_logs, str) else job_name
            wait, show_logs = outputs, wait and bool(show_logs)
            outputs = None
        with sdk_errors(_NAMES):
            job = self._submit(inputs, job_name, outputs)
            self._jobs.append(job)
            return job.wait(show_logs=bool(show_logs)) if wait else job

    def _submit(
        self, inputs: Mapping[str, Input] | None, job_name: str | None, outputs: Mapping[str, Input] | None
    ) -> TrainingJob:
        target = self._target()
        fields = {
            "name": job_name or timestamped(self.base_job_name or "estimator"),
            "inputs": uris_of(inputs, target),
            "outputs": folders_of(dict(outputs or {}) | non_empty({"checkpoints": self.checkpoints_path}), target),
            "options": self._supported_options(target),
        }
        source = dict(self.source_dir) if isinstance(self.source_dir, Mapping) else {"folder": self.source_dir}
        with ExitStack() as stack:
            if self.git_config:
                folder = stack.enter_context(cloned(self.git_config, str(source.get("folder") or "")))
            elif self.source_dir is None and self.command:
                folder = ""
            else:
                folder = stack.enter_context(code_folder(source.get("folder"), target))
            spec = self._spec() | fields | {"source": {**source, "folder": folder}}
            return TrainingJob(*run(target, spec_of("", spec)))

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
            # As the SDK writes them: None is `None`, and a dict is Python's text.
            "hyperparameters": {name: str(value) for name, value in self.hyperparameters.items()},
            "environment": dict(self.environments or {}),
            "secrets": dict(self.secrets or {}),
            "requirements": list(self.requirements or ()),
            # A spec has lower-case keys.
            "metric_definitions": [
                {name.lower(): value for name, value in definition.items() if name.lower() != "description"}
                for definition in self.metric_definitions or ()
            ],
            # The SDK sets no limit by default.
            "max_run_time": self.max_run_time or 0,
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
                "resource_type": str(self.resource_type or ""),
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


class NoAlgorithm(SpecError, ValueError):
    """An estimator without an algorithm."""


class AlgorithmEstimator(Estimator):
    """A training job of an algorithm, whose definition has the image, the command and the code.

    Args:
        algorithm_spec: The definition: an `AlgorithmSpec`, or its JSON value.
        hyperparameters: Values in place of the definition's defaults.
        keywords: The other parameters of `Estimator`, without the ones in the definition.

    An algorithm that is registered with PAI is given by its name instead, with its version (default: the newest one)
    and its provider: `pai`, or by default the workspace. It runs on PAI only.

    Raises:
        NoSuchAlgorithm: if it is not registered. A `ValueError` too.
        SpecError: without a definition and a name. A `ValueError` too.
    """

    def __init__(
        self,
        algorithm_name: str | None = None,
        algorithm_version: str | None = None,
        algorithm_provider: str | None = None,
        algorithm_spec: AlgorithmSpec | Mapping[str, Any] | None = None,
        hyperparameters: Mapping[str, Any] | None = None,
        **keywords: Any,
    ) -> None:
        from .job.algorithm_spec import AlgorithmSpec

        self._registered = None
        if algorithm_name:
            from .job.registered_algorithm import find_algorithm

            session = keywords.get("session")
            self._registered = find_algorithm(algorithm_name, algorithm_version, algorithm_provider, session)
            algorithm_spec = self._registered.spec
        elif algorithm_spec is None:
            raise NoAlgorithm(_("An AlgorithmEstimator requires `algorithm_spec`, or the name of an algorithm."))
        self.algorithm_spec = spec = AlgorithmSpec.model_validate(algorithm_spec)
        defaults = {one.name: one.default_value for one in spec.hyperparameter_definitions if one.default_value}
        # `sh -c` runs the command, as on PAI, and expands the variables in it.
        is_shell = spec.command[:2] == ["sh", "-c"] and len(spec.command) == 3
        super().__init__(
            image_uri=spec.image,
            command=spec.command[2] if is_shell else spec.command,
            source_dir=spec.code_dir.uri if spec.code_dir and not self._registered else None,
            job_type=spec.job_type,
            metric_definitions=spec.metric_definitions,
            hyperparameters=defaults | dict(hyperparameters or {}),
            **keywords,
        )

    @property
    def hyperparameter_definitions(self) -> list[HyperParameterDefinition]:
        return self.algorithm_spec.hyperparameter_definitions

    @property
    def input_channel_definitions(self) -> list[Channel]:
        return self.algorithm_spec.input_channels

    @property
    def output_channel_definitions(self) -> list[Channel]:
        return self.algorithm_spec.output_channels

    @property
    def supported_instance_types(self) -> list[str] | None:
        """The instance types for the algorithm; None if any will do."""
        return self.algorithm_spec.supported_instance_types

    def get_outputs_data(self) -> dict[str, str]:
        """Return the location of each output channel of the latest job.

        Raises:
            NoJob: before the first `fit`. A `RuntimeError` too.
        """
        job = self._latest()
        return {channel: job.output_path(channel) for channel in job.outputs}

    def _submit(
        self, inputs: Mapping[str, Input] | None, job_name: str | None, outputs: Mapping[str, Input] | None
    ) -> TrainingJob:
        required = (one.name for one in self.input_channel_definitions if one.required)
        missing = [name for name in required if name not in (inputs or {})]
        if missing:
            raise SpecError(_("The algorithm requires the input channel `{name}`.").format(name=missing[0]))
        return super()._submit(inputs, job_name, outputs)

    def _supported_options(self, target: Target) -> dict[str, Any]:
        """Raises Unsupported for a registered algorithm on another backend."""
        if not self._registered:
            return super()._supported_options(target)
        if (backend := target.backend_name()) != BACKEND:
            raise Unsupported(
                _("The backend `{name}` cannot run the registered algorithm {algorithm}.").format(
                    name=backend, algorithm=self._registered.name
                ),
                fix=_("Run its definition: AlgorithmEstimator(algorithm_spec=estimator.algorithm_spec, …)"),
            )
        algorithm = {
            "name": self._registered.name,
            "version": self._registered.version,
            "provider": self._registered.provider,
            "outputs": [one.name for one in self.output_channel_definitions],
        }
        return super()._supported_options(target) | {"algorithm": algorithm}


__getattr__ = absent_names(__name__, _ABSENT)
