"""Builds the request body of CreateTrainingJob (PaiStudio 2022-01-12) from a job.

Empty fields are omitted: the service has its own defaults. All members of `InstanceSpec` are strings.

The command is a job script (`backends/runtime/job_script.py`), which completes the training contract. PAI itself
provides hyperparameters, inputs, outputs and requirements; see its reference of training jobs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from ...jobs.datasets import DataSet, is_dataset
from ...jobs.job import Job
from ...jobs.spec import JobSpec
from ..runtime import job_script
from .api import filled
from .options import PaiOptions, options_of
from .site import HOME_LABEL, JOB_LABEL

# Properties of output channels.
_PROPERTIES = {"tensorboard": {"ossAppendable": "true"}}
# PAI's older service unpacks a file of this name; the newer one does not. The script supports both.
ARCHIVE = "source.tar.gz"


@dataclass(frozen=True)
class Destination:
    """Workspace and code folder of a job, the id of the state folder, the maximum run time in seconds, and the limits
    for the files beside the code. `import_paths` are the folders of the project's packages. `short`
    has the URIs that we made, without the endpoint if PAI knows it."""

    workspace_id: str
    code_uri: str
    home_id: str
    max_run_time: int | None = None
    kept: job_script.KeptFiles = field(default_factory=job_script.KeptFiles)
    import_paths: tuple[str, ...] = ()
    short: Mapping[str, str] = field(default_factory=dict)


def request_body(job: Job, target: Destination) -> dict[str, Any]:
    """Return the body that creates a job; `job.outputs` has the URI of each channel."""
    spec, options = job.staged_spec, options_of(job.spec)
    return filled(
        {
            "TrainingJobName": spec.name,
            "TrainingJobDescription": options.description,
            "WorkspaceId": target.workspace_id,
            **(options.algorithm.as_fields() if options.algorithm else _algorithm(job, options, target)),
            "ComputeResource": _compute(spec, options),
            "ResourceType": options.resource_type.replace("General", ""),
            "HyperParameters": [{"Name": name, "Value": value} for name, value in spec.hyperparameters.items()],
            "InputChannels": [_input(name, target.short.get(uri, uri), options) for name, uri in spec.inputs.items()],
            "OutputChannels": [
                filled(
                    {
                        "Name": name,
                        "OutputUri": target.short.get(uri, uri),
                        "RoleArn": options.output_roles.get(name),
                    }
                )
                for name, uri in job.outputs.items()
            ],
            "Environments": dict(spec.environment),
            "PythonRequirements": list(spec.requirements),
            "Scheduler": filled({"MaxRunningTimeInSeconds": target.max_run_time}),
            "Labels": [
                {"Key": key, "Value": value}
                for key, value in (spec.labels | {JOB_LABEL: job.id, HOME_LABEL: target.home_id}).items()
            ],
            "UserVpc": options.user_vpc and options.user_vpc.as_field(),
            "ExperimentConfig": filled({"ExperimentId": options.experiment and options.experiment.experiment_id}),
            "RoleArn": options.role_arn,
            "Priority": options.priority,
            "Settings": options.settings,
            "AssignNodeSpec": options.assign_node and options.assign_node.as_field(),
            "CredentialConfig": options.credential_config,
        }
    )


def _algorithm(job: Job, options: PaiOptions, target: Destination) -> dict[str, Any]:
    """Return the field with the definition of the algorithm: the command and the code of the job."""
    spec = job.staged_spec
    algorithm = filled(
        {
            "Command": ["sh", "-c", script_of(job, target)],
            "Image": spec.image,
            "JobType": options.job_type,
            "SupportsDistributedTraining": True,
            "CodeDir": _code_dir(target.code_uri) if target.code_uri else None,
            "InputChannels": [{"Name": name, "Required": True} for name in spec.inputs],
            # Without the property, appended TensorBoard data appears only at the job's end.
            "OutputChannels": [
                filled({"Name": name, "Required": name == "model", "Properties": _PROPERTIES.get(name)})
                for name in job.outputs
            ],
            "MetricDefinitions": [{"Name": one.name, "Regex": one.regex} for one in spec.metric_definitions],
            "ProgressDefinitions": filled(
                {
                    "OverallProgress": filled({"Regex": options.progress.overall_progress}),
                    "RemainingTime": filled({"Regex": options.progress.remaining_time}),
                }
            ),
        }
    )
    return {"AlgorithmSpec": algorithm}


def _code_dir(uri: str) -> dict[str, Any]:
    """Return the code location for ``oss://bucket.endpoint/key``."""
    parts = urlsplit(uri)
    bucket, _dot, endpoint = parts.netloc.partition(".")
    value = filled({"Bucket": bucket, "Key": parts.path.lstrip("/"), "Endpoint": endpoint})
    return {"LocationType": "oss", "LocationValue": value}


def _compute(spec: JobSpec, options: PaiOptions) -> dict[str, Any]:
    if share := options.instance_spec:
        amounts = {
            "CPU": share.cpu,
            "Memory": share.memory,
            "GPU": share.gpu or "0",  # PAI's SDK cannot list a job without it.
            "GPUType": share.gpu_type,
            "SharedMemory": share.shared_memory,
        }
        return filled(
            {
                "ResourceId": options.resource_id,
                "InstanceCount": spec.instance_count,
                "InstanceSpec": {name: str(amount) for name, amount in amounts.items() if amount},
                "UseSpotInstance": options.use_spot_instance,
            }
        )
    return filled(
        {
            "EcsSpec": spec.instance_type,
            "EcsCount": spec.instance_count,
            "SpotSpec": options.spot and options.spot.as_field(),
            "UseSpotInstance": options.use_spot_instance,
        }
    )


def _input(name: str, uri: str, options: PaiOptions) -> dict[str, Any]:
    source = {"InputUri": uri}
    if is_dataset(uri):
        dataset = DataSet.parse(uri)
        source = {"DatasetId": dataset.id, "VersionName": dataset.version}
    access = {"Options": options.input_options.get(name), "RoleArn": options.input_roles.get(name)}
    return filled({"Name": name, **source, **access})


def script_of(job: Job, target: Destination) -> str:
    """Return the script that ``sh -c`` runs for a job, in /ml/usercode/."""
    return job_script.build(job, job_script.Mounted(ARCHIVE), target.import_paths, target.kept)
