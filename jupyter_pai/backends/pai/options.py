"""PAI's fields of a spec's `options`.

The names are those of the platform's fields in snake case; `request_body` maps them to the API.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from ...config.settings import picked_from
from ...config.toml_file import suggestion
from ...core.errors import SpecError
from ...core.field_errors import FieldError
from ...core.i18n import N_, _
from ...core.text import parse_size
from ...jobs import datasets
from ...jobs.spec import JobSpec
from ..base import parse_options
from .api import filled

# URI schemes of the service's input channels, as in its reference.
_INPUTS = ("oss", "nas", "cpfs", "bmcpfs", "odps", datasets.SCHEME, "file")


class PlatformOptions(BaseModel):
    """Options of a job, or a part of them."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class Spot(PlatformOptions):
    """Spot instances: cheaper, and may be reclaimed."""

    strategy: Literal["SpotWithPriceLimit", "SpotAsPriceGo"] = Field(
        "SpotAsPriceGo", title=N_("Strategy"), description=N_("Pay the current price, or only up to a limit.")
    )
    discount_limit: float | None = Field(
        None,
        gt=0,
        le=1,
        title=N_("Maximum price"),
        description=N_("Maximum price as a share of the regular price; 0.5 is half of it."),
    )

    @model_validator(mode="after")
    def _check(self) -> Spot:
        if (self.strategy == "SpotWithPriceLimit") != (self.discount_limit is not None):
            raise FieldError(
                "discount_limit", _("discount_limit requires the strategy SpotWithPriceLimit, and vice versa.")
            )
        return self

    def as_field(self) -> dict[str, Any]:
        """Return the field of a request."""
        return filled({"SpotStrategy": self.strategy, "SpotDiscountLimit": self.discount_limit})


class InstanceSpec(PlatformOptions):
    """The resources of each instance in a quota."""

    cpu: int = Field(gt=0, title=N_("Cores"), description=N_("Cores."))
    memory: int = Field(gt=0, title=N_("Memory"), description=N_("In GiB."))
    gpu: int = Field(0, ge=0, title=N_("GPUs"), description=N_("Number of GPUs."))
    gpu_type: str = Field("", title=N_("GPU type"), description=N_("GPU type as named by the quota."))
    shared_memory: int | None = Field(None, gt=0, title=N_("Shared memory"), description=N_("In GiB."))


class UserVpc(PlatformOptions):
    """The network of the job's instances."""

    vpc_id: str = Field(min_length=1, title=N_("VPC"), description=N_("Id of the network."))
    switch_id: str = Field("", title=N_("Switch"), description=N_("Id of a switch in the network."))
    security_group_id: str = Field(
        "", title=N_("Security group"), description=N_("Id of a security group in the network.")
    )
    extended_cidrs: tuple[str, ...] = Field(
        (), title=N_("Additional networks"), description=N_("Additional reachable networks in CIDR notation.")
    )
    default_route: Literal["", "eth0", "eth1"] = Field(
        "", title=N_("Default route"), description=N_("Network interface used for all other traffic.")
    )

    def as_field(self) -> dict[str, Any]:
        """Return the field of a request."""
        return filled(
            {
                "VpcId": self.vpc_id,
                "SwitchId": self.switch_id,
                "SecurityGroupId": self.security_group_id,
                "ExtendedCIDRs": list(self.extended_cidrs),
                "DefaultRoute": self.default_route,
            }
        )


class Experiment(PlatformOptions):
    """The experiment of the job. The platform then stores TensorBoard files with it."""

    experiment_id: str = Field(
        min_length=1, title=N_("Experiment"), description=N_("Id of the experiment in the workspace.")
    )


class ProgressDefinitions(PlatformOptions):
    """Patterns for progress in the log; each has one capture group."""

    overall_progress: str = Field("", title=N_("Progress"), description=N_("Matches a number from 0 to 1."))
    remaining_time: str = Field("", title=N_("Remaining time"), description=N_("Matches a number of seconds."))


class NodeAssignment(PlatformOptions):
    """Nodes of a quota for instances, and excluded nodes."""

    nodes: tuple[str, ...] = Field((), title=N_("Nodes"), description=N_("Run on these nodes only."))
    avoid: tuple[str, ...] = Field((), title=N_("Excluded nodes"), description=N_("Never run on these nodes."))

    def as_field(self) -> dict[str, Any]:
        """Return the field of a request."""
        return filled(
            {
                "EnableAssignNode": True,
                "NodeNames": ",".join(self.nodes),
                "AntiAffinityNodeNames": ",".join(self.avoid),
            }
        )


class Algorithm(PlatformOptions):
    """An algorithm that is registered with the platform: it has the image, the command and the code. `outputs` are its
    output channels."""

    name: str = Field(min_length=1, title=N_("Algorithm"), description=N_("Name of the algorithm."))
    version: str = Field(min_length=1, title=N_("Version"), description=N_("Version of the algorithm."))
    provider: str = Field("", title=N_("Provider"), description=N_("Its provider. Default: the account."))
    outputs: tuple[str, ...] = Field(
        ("model",), title=N_("Output channels"), description=N_("Output channels of the algorithm.")
    )

    def as_fields(self) -> dict[str, str]:
        """Return the fields of a request."""
        return {"AlgorithmName": self.name, "AlgorithmVersion": self.version, "AlgorithmProvider": self.provider}


class PaiOptions(PlatformOptions):
    """Options of a training job. `settings` and `credential_config` are passed to the API unchanged."""

    resource_id: str = Field(
        "",
        title=N_("Quota"),
        description=N_("Quota for the job, instead of an instance type of the public pool."),
        json_schema_extra=picked_from("quotas"),
    )
    instance_spec: InstanceSpec | None = Field(
        None, title=N_("Resources in the quota"), description=N_("Resources of each instance in the quota.")
    )
    priority: int | None = Field(
        None, ge=1, le=9, title=N_("Priority"), description=N_("Priority within a quota; 9 is the highest.")
    )
    spot: Spot | None = Field(None, title=N_("Spot"), description=N_("Spot instances: cheaper, and may be reclaimed."))
    use_spot_instance: bool = Field(
        False,
        title=N_("Spot in Lingjun"),
        description=N_("Spot instances of Lingjun; `spot` is for ECS."),
    )
    resource_type: Literal["", "General", "Lingjun"] = Field(
        "", title=N_("Kind of machines"), description=N_("`Lingjun` for its instance types. Default: General.")
    )
    user_vpc: UserVpc | None = Field(None, title=N_("Network"), description=N_("Network of the job's instances."))
    experiment: Experiment | None = Field(
        None, title=N_("Experiment"), description=N_("Experiment of the workspace for this job.")
    )
    job_type: str = Field(
        "PyTorchJob", title=N_("Framework"), description=N_("PyTorchJob, TFJob, XGBoostJob, MPIJob, ElasticBatchJob.")
    )
    description: str = Field(
        "", max_length=1024, title=N_("Description"), description=N_("Description shown by the platform.")
    )
    role_arn: str = Field("", title=N_("Role"), description=N_("RAM role of the job."))
    input_roles: dict[str, str] = Field(
        {}, title=N_("Input roles"), description=N_("RAM role for reading each input channel.")
    )
    output_roles: dict[str, str] = Field(
        {}, title=N_("Output roles"), description=N_("RAM role for writing each output channel.")
    )
    input_options: dict[str, str] = Field(
        {},
        title=N_("Input mount options"),
        description=N_("Mount options of each input channel, in the JSON format of data sets."),
    )
    credential_config: dict[str, Any] = Field(
        {}, title=N_("Credentials in the job"), description=N_("Roles whose credentials the job receives.")
    )
    assign_node: NodeAssignment | None = Field(
        None, title=N_("Nodes"), description=N_("Nodes of a quota for instances, and excluded nodes.")
    )
    progress: ProgressDefinitions = Field(
        ProgressDefinitions(),
        title=N_("Progress in the log"),
        description=N_("Patterns for progress in the log; each has one capture group."),
    )
    algorithm: Algorithm | None = Field(
        None,
        title=N_("Registered algorithm"),
        description=N_("Run this registered algorithm, instead of the command and the code of the job."),
    )
    settings: dict[str, Any] = Field(
        {},
        title=N_("Platform settings"),
        description=N_("Settings of the platform, such as AdvancedSettings and EnableRDMA."),
    )

    @model_validator(mode="after")
    def _check(self) -> PaiOptions:
        if self.resource_id and not self.instance_spec:
            raise FieldError(
                "instance_spec", _("In a quota, each instance needs a size: set --cpu and --memory, or instance_spec.")
            )
        if self.instance_spec and not self.resource_id:
            raise FieldError("resource_id", _("instance_spec applies within a quota: set resource_id."))
        if self.spot and self.resource_id:
            raise FieldError("spot", _("spot applies to instance types, not to quotas: omit one of the two."))
        if self.priority and not self.resource_id:
            raise FieldError("priority", _("priority applies within a quota: set resource_id."))
        return self


def options_of(spec: JobSpec) -> PaiOptions:
    """Parse the options of a spec. In a quota, its sizes are the resources of each instance, unless `instance_spec` is
    set.

    Raises:
        SpecError: naming the invalid field.
    """
    options = parse_options(PaiOptions, spec.options | _share(spec))
    check_channels(spec, options)
    return options


def check_channels(spec: JobSpec, options: PlatformOptions) -> None:
    """Check that the job has the channels in the options that are mappings of channels.

    Raises:
        SpecError: naming the option.
    """
    outputs = {*spec.channels, *spec.outputs}
    for field, channels in (("input_roles", spec.inputs), ("input_options", spec.inputs), ("output_roles", outputs)):
        for channel in getattr(options, field):
            if channel not in channels:
                raise SpecError(
                    _("options.{field}: the job has no channel `{name}`.").format(field=field, name=channel),
                    fix=suggestion(channel, channels),
                ).at(f"options.{field}.{channel}")


def _share(spec: JobSpec) -> dict[str, Any]:
    """Return the `instance_spec` for the sizes of a spec: whole cores and GiB."""
    if not spec.options.get("resource_id") or "instance_spec" in spec.options or not spec.is_sized:
        return {}
    if not spec.cpu or not spec.memory:
        raise SpecError(
            _("options.resource_id: the cores and the memory of each instance are required."),
            fix=_("Set both --cpu and --memory, in addition to --gpu."),
        ).at("options.resource_id", *(name for name in ("cpu", "memory") if not getattr(spec, name)))
    share = {"cpu": spec.cpu, "memory": parse_size(spec.memory) / (1 << 30), "gpu": spec.gpu or 0}
    return {"instance_spec": {name: math.ceil(value) for name, value in share.items()}}


def check_input(channel: str, uri: str, schemes: Sequence[str] = _INPUTS) -> None:
    """Check that PAI can read an input. Paths of this machine are uploaded to the bucket. `schemes`: the schemes
    that the service of the jobs supports.

    Raises:
        SpecError: if it cannot.
    """
    scheme, _sep, rest = uri.partition("://")
    if rest and scheme not in schemes:
        raise SpecError(
            _("inputs.{name}: PAI does not support {scheme}://.").format(name=channel, scheme=scheme),
            fix=_("Known are: {names}.").format(names=", ".join(f"{name}://" for name in schemes)),
        )
    if scheme == datasets.SCHEME:
        datasets.DataSet.parse(uri)


def check_outputs(outputs: Mapping[str, str]) -> None:
    """Check that PAI can write the outputs of a job.

    Raises:
        SpecError: for a data set.
    """
    for channel, uri in outputs.items():
        if datasets.is_dataset(uri):
            raise SpecError(
                _("outputs.{name}: data sets can only be inputs.").format(name=channel),
                fix=_("Pass a folder: oss://bucket/key/"),
            ).at(f"outputs.{channel}")
