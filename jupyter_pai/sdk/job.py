"""`CustomJob`, by the name of the PAI SDK's older document: a script in ``/ml/code``, with its inputs as arguments."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..client.connect import connect
from ..client.job import JobHandle
from .inputs import DatasetConfig
from .options import ExperimentConfig, InstanceSpec, ResourceType, SpotSpec, SpotStrategy, UserVpcConfig
from .run import named, run, waited
from .target import Place, absolute, code_of

__all__ = [
    "CustomJob",
    "DatasetConfig",
    "ExperimentConfig",
    "InstanceSpec",
    "ResourceType",
    "SpotSpec",
    "SpotStrategy",
    "UserVpcConfig",
]


class CustomJob:
    """A script that is called ``python ENTRY_POINT --parameter value … --input path …``.

    Its code is in ``/ml/code``, its inputs below ``/ml/input/data``, and the whole output path is ``/ml/output``.
    Files that it writes to ``/ml/output/output_parameters`` are the job's `output_parameters`.
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
    ) -> JobHandle:
        """Run the job on this machine; with `wait`, print its log and return at its end.

        Raises:
            JobFailed: if it was waited for and did not succeed.
        """
        spec = self.spec | {
            "name": name or named(self.base_job_name),
            "inputs": {channel: absolute(uri) for channel, uri in (inputs or {}).items()},
            "output_path": absolute(output_path) if output_path else "",
        }
        place = Place(connect(), backend="local")
        with code_of(self.source_code, place) as folder:
            job = run(place, spec | {"source": {"folder": folder}})
        return waited(job, None, True) if wait else job
