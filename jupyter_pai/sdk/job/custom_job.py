"""`CustomJob` of older PAI SDK documentation: a script in ``/ml/code`` that receives its inputs as arguments."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...client.connect import connect
from ...client.parameters import parameter_names
from ..run import run, timestamped
from ..target import Target, absolute, code_folder
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
        base_job_name: str = "custom-job",
    ) -> None:
        self.base_job_name = base_job_name
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
            JobFailed: if `wait` is set and the job did not succeed.
        """
        spec = self.spec | {
            "name": name or timestamped(self.base_job_name),
            "inputs": {channel: absolute(uri) for channel, uri in (inputs or {}).items()},
            "output_path": absolute(output_path) if output_path else "",
        }
        target = Target(connect(), backend="local")
        with parameter_names(_NAMES):
            with code_folder(self.source_code, target) as folder:
                job = TrainingJob(*run(target, spec | {"source": {"folder": folder}}))
            return job.wait() if wait else job
