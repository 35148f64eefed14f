"""The body of CreateTrainingTask (tione 2021-11-11), with the fields of the public API only.

Fields that are None are omitted by the client.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ....core import contract
from ....core.secret import Secret
from ....jobs.job import Job
from ....jobs.spec import JobSpec
from ...base import parse_options
from ...kept_files import KeptFiles
from ..names import task_name
from ..options import TioneOptions
from .images import TaskImage
from .inputs import data_of
from .locations import CosPath
from .roles import resource_configs, roles_of, training_mode
from .task_script import commands_of

__all__ = ["Destination", "task_body", "tuning_parameters"]

# Characters of TuningParameters.
_LONGEST = 2048


@dataclass(frozen=True)
class Destination:
    """Region and resource group of a task (empty for pay as you go), the folders of code and outputs as URIs (the code
    may be empty), the run-time limit in seconds (0 for none), and the limits for the files beside the code.
    `import_paths` are the folders of the project's packages."""

    region: str
    resource_group: str
    code_uri: str
    output_uri: str
    max_run_time: int = 0
    kept: KeptFiles | None = None
    import_paths: tuple[str, ...] = ()


def task_body(
    job: Job, image: TaskImage, target: Destination, secrets: Mapping[str, Secret] | None = None
) -> dict[str, Any]:
    """Return the body that creates the task of a job.

    Raises:
        SpecError: if the image does not have the training mode.
    """
    spec = job.staged_spec
    options = parse_options(TioneOptions, spec.options)
    mode = training_mode(spec, options, image.modes)
    roles = roles_of(spec, mode)
    data = data_of(spec, target.region)
    commands = commands_of(
        job, mode, roles, data, limit=target.max_run_time, import_paths=target.import_paths, kept=target.kept
    )
    group = target.resource_group
    supply = options.supply
    return {
        "Name": task_name(spec.name, job.id),
        "ChargeType": "PREPAID" if group else "POSTPAID_BY_HOUR",
        "ResourceGroupId": group or None,
        "ResourceConfigInfos": resource_configs(roles, options, group),
        "ResourceSupplyAttribute": supply
        and {"SupplyType": supply.supply_type, "ClusterType": supply.cluster_type or None},
        "Queues": [*options.queues] or None,
        **image.fields,
        "TrainingMode": mode,
        "CodePackagePath": CosPath.parse(target.code_uri).as_field(target.region) if target.code_uri else None,
        "CodeRepos": [{"Id": key, "TargetPath": path} for key, path in options.code_repos.items()] or None,
        "EncodedStartCmdInfo": {"StartCmdInfo": _encoded(commands)},
        "DataConfigs": data.configs or None,
        "DataSource": data.source,
        "Output": CosPath.parse(target.output_uri).as_field(target.region),
        "TuningParameters": tuning_parameters(spec) or None,
        "Envs": _variables(spec, options, secrets or {}) or None,
        "VpcId": options.vpc_id or None,
        "SubnetId": options.subnet_id or None,
        "Tags": [{"TagKey": name, "TagValue": value} for name, value in options.tags.items()] or None,
        "Remark": options.remark or None,
        "CallbackUrl": options.callback_url or None,
        **_logs(options),
        **_monitors(options),
    }


def _encoded(commands: Mapping[str, str]) -> str:
    return base64.b64encode(json.dumps(commands).encode()).decode()


def tuning_parameters(spec: JobSpec) -> str:
    """Return the hyperparameters for the console; empty if there are none, or if they are too long for it."""
    values = {name: contract.typed(value) for name, value in spec.hyperparameters.items()}
    text = json.dumps(values, ensure_ascii=False)
    return text if values and len(text) <= _LONGEST else ""


def _variables(spec: JobSpec, options: TioneOptions, secrets: Mapping[str, Secret]) -> list[dict[str, Any]]:
    """Return the variables of the job. The job script sets those without a secret, too, since the platform may have
    some of these names itself."""
    plain = [{"Name": name, "Value": value} for name, value in spec.environment.items()]
    private = [
        {"Name": name, "Value": value.open(), "IsPrivate": True}
        for name, value in secrets.items()
        if name != options.image_password
    ]
    return plain + private


def _logs(options: TioneOptions) -> dict[str, Any]:
    if not options.log_logset_id:
        return {}
    return {"LogEnable": True, "LogConfig": {"LogsetId": options.log_logset_id, "TopicId": options.log_topic_id}}


def _monitors(options: TioneOptions) -> dict[str, Any]:
    """Return the fields for SSH, ports and the hang monitor."""
    exposed, ports, hang = dict[str, Any](), options.exposed_ports, options.hang_monitor
    if options.ssh_public_key:
        exposed["SSHConfig"] = {"Enable": True, "PublicKey": options.ssh_public_key}
    if ports:
        names = {"VpcId": ports.vpc_id, "ClbId": ports.clb_id, "ClbHost": ports.clb_host}
        exposed["ExposePortConfig"] = {"Enable": True, **{name: value or None for name, value in names.items()}}
    monitor = hang and {
        "EnableHangMonitor": True,
        "HangMonitorNodes": [*hang.nodes] or None,
        "LogHangTimeoutInMinute": hang.log_hang_timeout,
    }
    return {"ExposeNetworkConfig": exposed or None, "TrainToolConfig": monitor or None}
