"""`CustomJob` of older PAI SDK documentation: a script in ``/ml/code`` that receives its inputs as arguments."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ...client.connect import connect
from ..exception import sdk_errors
from ..operator import CustomJobOperator
from ..pipeline.types import Variable
from ..run import run, timestamped
from ..target import Target, absolute, code_folder
from .common import JobConfig
from .platform import custom_job_target, print_ignored, spec_fields
from .training_job import TrainingJob

__all__ = ["CustomJob"]

# The names that parameters of `jupyter_pai.submit` have here.
_NAMES = {
    "environment": "environments",
    "hyperparameters": "parameters",
    "image": "image_uri",
    "source": "source_code",
}


class CustomJob:
    """A script that is run as ``python ENTRY_POINT --parameter value … --input path …``.

    Its code is in ``/ml/code`` and its inputs are in ``/ml/input/data``. The output path is ``/ml/output``; files in
    ``/ml/output/output_parameters`` become the job's `output_parameters`.
    """

    def __init__(
        self,
        entry_point: str,
        source_code: str | Path | None = None,
        image_uri: str = "",
        parameters: Mapping[str, Any] | None = None,
        *,
        environments: Mapping[str, str] | None = None,
        job_type: str | None = None,
        base_job_name: str = "custom-job",
    ) -> None:
        self.base_job_name = base_job_name
        self.job_type = str(job_type or "")
        self.source_code = source_code
        self.spec: dict[str, Any] = {
            "layout": "code",
            "entry_point": entry_point,
            "image": image_uri,
            "hyperparameters": dict(parameters or {}),
            "environment": dict(environments or {}),
        }

    def local_run(
        self,
        inputs: Mapping[str, str | Path] | None = None,
        output_path: str | Path | None = None,
        *,
        name: str | None = None,
        wait: bool = True,
    ) -> TrainingJob:
        """Run the job on this machine. With `wait`, print the log and return when the job has ended.

        Raises:
            JobUnsuccessful: if `wait` is set and the job failed.
        """
        target = Target(connect(), backend="local")
        return self._submit(target, {}, inputs, output_path, name, wait)

    def run(
        self,
        name: str | None = None,
        job_config: JobConfig | Mapping[str, Any] | None = None,
        output_path: str | Path | None = None,
        inputs: Mapping[str, str | Path] | None = None,
        wait: bool = True,
    ) -> TrainingJob:
        """Run the job on PAI-DLC, or where the default profile runs jobs. With `wait`, print the log and return when
        the job has ended. Its files in ``/ml/output/output_parameters`` are then its `output_parameters`.

        Without a `job_config`, the job has one instance of the profile's instance type.

        Raises:
            BadInput: naming the invalid parameter and the fix. A `ValueError` too.
            JobUnsuccessful: if `wait` is set and the job failed.
        """
        target = custom_job_target()
        config = JobConfig.of(job_config) if job_config is not None else None
        fields, ignored = spec_fields(config, self.job_type, target)
        print_ignored(target, ignored)
        return self._submit(target, fields, inputs, output_path, name, wait)

    def as_component(
        self, inputs: Iterable[Variable] | None = None, outputs: Iterable[Variable] | None = None
    ) -> CustomJobOperator:
        """Return a component of this job, which runs with other values of its inputs, and as a step of a pipeline. Its
        inputs are those given, the job's parameters, `job_config` and `output_path`.

        Raises:
            SpecError: if a name is used twice.
        """
        return CustomJobOperator(
            entry_point=self.spec["entry_point"],
            image_uri=self.spec["image"],
            source_code=self.source_code,
            parameters=self.spec["hyperparameters"],
            job_type=self.job_type,
            inputs=inputs,
            outputs=outputs,
            environments=self.spec["environment"],
        )

    def _submit(
        self,
        target: Target,
        fields: Mapping[str, Any],
        inputs: Mapping[str, str | Path] | None,
        output_path: str | Path | None,
        name: str | None,
        wait: bool,
    ) -> TrainingJob:
        spec = {
            **self.spec,
            **fields,
            "name": name or timestamped(self.base_job_name),
            "inputs": {channel: absolute(uri) for channel, uri in (inputs or {}).items()},
            "output_path": absolute(output_path) if output_path else "",
        }
        with sdk_errors(_NAMES):
            with code_folder(self.source_code, target) as folder:
                job = TrainingJob(*run(target, spec | {"source": {"folder": folder}}))
            return job.wait() if wait else job
