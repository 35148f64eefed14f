"""Checks of a request for a task, with the codes of the service."""

from __future__ import annotations

import re
from typing import Any

from ..alibaba.buckets import Bucket
from .catalogue import ENVIRONMENTS, GROUPS, SPECS, needs_of
from .requests import Request, refuse
from .settings import Settings
from .tasks import Task, command_of

__all__ = ["check"]

_NAME = re.compile(r"[一-鿿A-Za-z0-9][一-鿿A-Za-z0-9_-]*\Z")
_ROLES = {
    "PS_WORKER": ({"PS", "WORKER"}, {"WORKER"}),
    "SPARK": ({"DRIVER", "EXECUTOR"},),
    "RAY": ({"HEAD", "WORKER"}, {"HEAD"}),
}
_SOURCES = {
    "COS": "COSSource", "COSFS": "COSSource", "CFS": "CFSSource", "CFSTurbo": "CFSTurboSource", "HDFS": "HDFSSource",
    "GooseFS": "GooseFSSource", "GooseFSx": "GooseFSSource", "DATASET": "DataSetSource", "HostPath": "HostPathSource",
    "LOCAL_DISK": "LocalDiskSource", "CBS": "CBSSource", "PublicDataSource": "PublicDataSource",
}  # fmt: skip


def check(request: Request, tasks: dict[str, Task], buckets: dict[str, Bucket], settings: Settings) -> None:
    """Raises Refusal."""
    body = request.body
    _check_name(body, request, tasks)
    _check_image(body, settings)
    _check_roles(body)
    _check_money(body, settings)
    _check_commands(body)
    _check_data(body, request.region, buckets)
    for name, most in (("TuningParameters", 2048), ("Remark", 1024)):
        if len(body.get(name) or "") > most:
            refuse("InvalidParameterValue.ParamLengthExceedLimit", f"{name} is longer than {most} characters.")
    if body.get("LogEnable") and not body.get("LogConfig"):
        refuse("InvalidParameterValue.ClsConfigRequired", "LogConfig is required with LogEnable.")
    for row in body.get("CodeRepos") or []:
        refuse("InvalidParameterValue.CodeRepoNotFound", f"The code repository {row['Id']} does not exist.")


def _check_name(body: dict[str, Any], request: Request, tasks: dict[str, Task]) -> None:
    name = body["Name"]
    if not _NAME.match(name) or len(name) > 60:
        refuse("InvalidParameterValue.BadName", f"The name {name!r} is invalid.")
    for task in tasks.values():
        if (task.name, task.project, task.region) == (name, request.project, request.region):
            if task.status == "SUBMITTING":
                refuse("FailedOperation.DuplicateNameTaskIsCreating", f"A task {name} is being created.")
            refuse("FailedOperation.DuplicateName", f"The name {name} exists already.")


def _check_image(body: dict[str, Any], settings: Settings) -> None:
    environment, image, mode = body.get("FrameworkEnvironment"), body.get("ImageInfo"), body.get("TrainingMode")
    if environment:
        framework, version, modes = ENVIRONMENTS.get(environment, ("", "", ()))
        asked = (body.get("FrameworkName") or framework, body.get("FrameworkVersion") or version)
        if not framework or asked != (framework, version) or (mode and mode not in modes):
            message = f"{environment} is not offered for {body.get('FrameworkName')} and {mode}."
            refuse("InvalidParameterValue.FrameworkVersionNotSupport", message)
    elif not image or not image.get("ImageUrl"):
        refuse("MissingParameter", "The request is missing a required parameter `FrameworkName` or `ImageInfo`.")
    elif image.get("ImageType") not in ("TCR", "CCR", "CUSTOM", "PreSet"):
        refuse("InvalidParameterValue.ImageIllegal", f"The image type {image.get('ImageType')} is unknown.")
    elif image["ImageUrl"] in settings.missing_images:
        refuse("InvalidParameterValue.ImageNotFound", f"The image {image['ImageUrl']} is not found.")


def _check_roles(body: dict[str, Any]) -> None:
    configs, mode = body["ResourceConfigInfos"], body.get("TrainingMode") or "DDP"
    roles = [config["Role"] for config in configs]
    if len(roles) != len(set(roles)) or set(roles) not in _ROLES.get(mode, ({"WORKER"},)):
        refuse("InvalidParameterValue.ResourceConfigIllegal", f"The mode {mode} does not have the roles {roles}.")
    for config in configs:
        count = config.get("InstanceNum") or 0
        if count < 1 or (config["Role"] in ("HEAD", "DRIVER") and count != 1):
            refuse(
                "InvalidParameterValue.ResourceConfigIllegal", f"InstanceNum {count} of {config['Role']} is invalid."
            )


def _check_money(body: dict[str, Any], settings: Settings) -> None:
    kind, configs = body["ChargeType"], body["ResourceConfigInfos"]
    if kind == "POSTPAID_BY_HOUR":
        for config in configs:
            if config.get("InstanceType") not in SPECS:
                message = f"The instance type {config.get('InstanceType')} does not exist."
                refuse("InvalidParameterValue.InvalidResourceSpec", message)
            if config["InstanceType"] in settings.sold_out:
                message = f"{config['InstanceType']} is sold out."
                refuse("OperationDenied.BillingStatusResourceInsufficient", message)
        if settings.balance <= 0:
            refuse("OperationDenied.BalanceInsufficient", "The balance of the account is insufficient.")
        return
    if kind != "PREPAID":
        refuse("InvalidParameterValue", f"ChargeType {kind} is invalid.")
    group = GROUPS.get(body.get("ResourceGroupId") or "")
    if group is None:
        refuse("ResourceNotFound", f"The resource group {body.get('ResourceGroupId')} does not exist.")
    for config in configs:
        needs = needs_of(config)
        has = (group.cpu * group.nodes, group.memory * group.nodes, group.gpus * group.nodes * 100)
        if any(need * config["InstanceNum"] > limit for need, limit in zip(needs, has, strict=True)):
            message = f"The resource group {group.name} is too small for {config['InstanceNum']} nodes."
            refuse("OperationDenied.ResourceGroupInsufficient", message)
        if not needs[0] or not needs[1]:
            refuse("InvalidParameterValue.ResourceConfigIllegal", "Cpu and Memory are required in a resource group.")


def _check_commands(body: dict[str, Any]) -> None:
    try:
        commands = command_of(body)
    except ValueError:
        refuse("InvalidParameterValue", "EncodedStartCmdInfo is not base64 of a JSON object.")
    name = "StartCmd" if body.get("TrainingMode") == "SPARK" else "WorkerStartCmd"
    if not commands.get(name) and not commands.get("StartCmd"):
        refuse("MissingParameter", f"The request is missing a required parameter `StartCmdInfo.{name}`.")


def _check_data(body: dict[str, Any], region: str, buckets: dict[str, Bucket]) -> None:
    configs = body.get("DataConfigs") or []
    if len(configs) > 10:
        refuse("InvalidParameterValue.DataConfigNumLimitExceeded", "There are more than 10 data configurations.")
    for config in configs:
        kind = config.get("DataSourceType") or ""
        source = config.get(_SOURCES.get(kind, ""))
        if not source or not (config.get("MappingPath") or "").startswith("/"):
            refuse("InvalidParameterValue", f"A data configuration of type {kind!r} lacks its source or MappingPath.")
        if kind.startswith("COS"):
            _check_path(source, region, buckets, must_exist=config.get("DataSourceUsage") != "OUTPUT")
        if kind in ("CFS", "CFSTurbo", "HDFS") and not (body.get("VpcId") and body.get("SubnetId")):
            refuse("InvalidParameterValue.SubnetNotFound", f"VpcId and SubnetId are required for {kind}.")
    if code := body.get("CodePackagePath"):
        _check_path(code, region, buckets)
    if output := body.get("Output"):
        _check_path(output, region, buckets, must_exist=False)


def _check_path(path: dict[str, Any], region: str, buckets: dict[str, Bucket], must_exist: bool = True) -> None:
    bucket = buckets.get(path["Bucket"])
    keys = path["Paths"]
    wrong = f"The path {path['Bucket']}/{','.join(keys)} does not exist in {path['Region']}."
    if bucket is None or bucket.region != path["Region"] or path["Region"] != region or not keys:
        refuse("InvalidParameterValue.CosPathNotExist", wrong)
    if must_exist and not all(bucket.below(key.lstrip("/")) for key in keys):
        refuse("InvalidParameterValue.CosPathNotExist", wrong)
