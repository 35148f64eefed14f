"""A job's spec as the body of CreateTrainingJob (PaiStudio 2022-01-12): its fields, spelt as the wire spells them.

Nothing that is empty is sent: the service has defaults of its own. All members of `InstanceSpec` are strings there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from ...jobs.datasets import DataSet, is_dataset
from ...jobs.job import Job
from ...jobs.spec import JobSpec
from .entry_script import script_of

if TYPE_CHECKING:
    from .options import InstanceSpec, PaiOptions

__all__ = ["HOME_LABEL", "JOB_LABEL", "Target", "body_of"]

# By these labels of ours jobs are found again: one job, and all that were submitted from one state folder.
JOB_LABEL, HOME_LABEL = "jupyter-pai-job", "jupyter-pai-home"


@dataclass(frozen=True)
class Target:
    """Where a job goes: its workspace, the folder of its code (`bucket`, `key` that ends in a slash, `endpoint`
    without a scheme), the id of the state folder, seconds that it may run."""

    workspace_id: str
    code_uri: str
    home_id: str
    max_run_time: int | None = None


def body_of(job: Job, target: Target) -> dict[str, Any]:
    """The body that creates a job. Its outputs are known: `job.outputs` has the URI of each channel."""
    from .options import options_of

    spec, options = job.staged_spec, options_of(job.spec)
    return _filled(
        {
            "TrainingJobName": spec.name,
            "TrainingJobDescription": options.description,
            "WorkspaceId": target.workspace_id,
            "AlgorithmSpec": _algorithm(spec, options, job.outputs, target.code_uri),
            "ComputeResource": _compute(spec, options),
            "HyperParameters": [{"Name": name, "Value": value} for name, value in spec.hyperparameters.items()],
            "InputChannels": [_input(name, uri, options) for name, uri in spec.inputs.items()],
            "OutputChannels": [
                _filled({"Name": name, "OutputUri": uri, "RoleArn": options.output_roles.get(name)})
                for name, uri in job.outputs.items()
            ],
            "Environments": dict(spec.environment),
            "PythonRequirements": list(spec.requirements),
            "Scheduler": _filled({"MaxRunningTimeInSeconds": target.max_run_time}),
            "Labels": _labels(job, target.home_id),
            "UserVpc": _vpc(options),
            "ExperimentConfig": _filled({"ExperimentId": options.experiment and options.experiment.experiment_id}),
            "RoleArn": options.role_arn,
            "Priority": options.priority,
            "Settings": options.settings,
            "AssignNodeSpec": _nodes(options),
            "CredentialConfig": options.credential_config,
        }
    )


def _algorithm(spec: JobSpec, options: PaiOptions, outputs: Mapping[str, str], code_uri: str) -> dict[str, Any]:
    return _filled(
        {
            "Command": ["sh", "-c", script_of(spec)],
            "Image": spec.image,
            "JobType": options.job_type,
            "CodeDir": _code_dir(code_uri) if code_uri else None,
            "InputChannels": [{"Name": name, "Required": True} for name in spec.inputs],
            "OutputChannels": [_output(name) for name in outputs],
            "MetricDefinitions": [{"Name": one.name, "Regex": one.regex} for one in spec.metric_definitions],
            "ProgressDefinitions": _filled(
                {
                    "OverallProgress": _filled({"Regex": options.progress.overall_progress}),
                    "RemainingTime": _filled({"Regex": options.progress.remaining_time}),
                }
            ),
        }
    )


def _output(name: str) -> dict[str, Any]:
    """A channel as the algorithm declares it. Without the property, what TensorBoard's writers append does not show
    before the job's end."""
    properties = {"ossAppendable": "true"} if name == "tensorboard" else {}
    return _filled({"Name": name, "Required": name == "model", "Properties": properties})


def _code_dir(uri: str) -> dict[str, Any]:
    """An ``oss://bucket.endpoint/key`` as the wire names a place of code."""
    parts = urlsplit(uri)
    bucket, _dot, endpoint = parts.netloc.partition(".")
    value = _filled({"Bucket": bucket, "Key": parts.path.lstrip("/"), "Endpoint": endpoint})
    return {"LocationType": "oss", "LocationValue": value}


def _compute(spec: JobSpec, options: PaiOptions) -> dict[str, Any]:
    if options.instance_spec:
        return _filled(
            {
                "ResourceId": options.resource_id,
                "InstanceCount": spec.instance_count,
                "InstanceSpec": _share(options.instance_spec),
                "UseSpotInstance": options.use_spot_instance,
            }
        )
    spot = options.spot and _filled(
        {"SpotStrategy": options.spot.strategy, "SpotDiscountLimit": options.spot.discount_limit}
    )
    return _filled(
        {
            "EcsSpec": spec.instance_type,
            "EcsCount": spec.instance_count,
            "SpotSpec": spot,
            "UseSpotInstance": options.use_spot_instance,
        }
    )


def _share(share: InstanceSpec) -> dict[str, str]:
    given = {
        "CPU": share.cpu,
        "Memory": share.memory,
        "GPU": share.gpu,
        "GPUType": share.gpu_type,
        "SharedMemory": share.shared_memory,
    }
    return {name: str(value) for name, value in given.items() if value}


def _input(name: str, uri: str, options: PaiOptions) -> dict[str, Any]:
    place = {"InputUri": uri}
    if is_dataset(uri):
        wanted = DataSet.parse(uri)
        place = {"DatasetId": wanted.id, "VersionName": wanted.version}
    how = {"Options": options.input_options.get(name), "RoleArn": options.input_roles.get(name)}
    return _filled({"Name": name, **place, **how})


def _labels(job: Job, home_id: str) -> list[dict[str, str]]:
    labels = job.spec.labels | {JOB_LABEL: job.id, HOME_LABEL: home_id}
    return [{"Key": key, "Value": value} for key, value in labels.items()]


def _vpc(options: PaiOptions) -> dict[str, Any]:
    if not (vpc := options.user_vpc):
        return {}
    return _filled(
        {
            "VpcId": vpc.vpc_id,
            "SwitchId": vpc.switch_id,
            "SecurityGroupId": vpc.security_group_id,
            "ExtendedCIDRs": list(vpc.extended_cidrs),
            "DefaultRoute": vpc.default_route,
        }
    )


def _nodes(options: PaiOptions) -> dict[str, Any]:
    if not (nodes := options.assign_node):
        return {}
    return _filled(
        {
            "EnableAssignNode": True,
            "NodeNames": ",".join(nodes.nodes),
            "AntiAffinityNodeNames": ",".join(nodes.avoid),
        }
    )


def _filled(values: Mapping[str, Any]) -> dict[str, Any]:
    """Those that are not empty."""
    return {name: value for name, value in values.items() if value not in (None, "", [], {}) and value is not False}
