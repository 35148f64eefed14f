"""What a spec's `options` may say to PAI, beyond what it may say to every backend.

The names are those of the platform's own fields, in our spelling; `body` puts them where the wire has them.
"""

from __future__ import annotations

import math
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from ...config.toml_file import suggestion
from ...core.errors import SpecError
from ...core.field_errors import FieldError
from ...core.i18n import N_, _
from ...core.sizes import parse_size
from ...jobs import datasets
from ...jobs.spec import JobSpec
from ..base import parse_options

__all__ = [
    "Experiment",
    "InstanceSpec",
    "NodeAssignment",
    "PaiOptions",
    "ProgressDefinitions",
    "Spot",
    "UserVpc",
    "check_input",
    "options_of",
]

# What the service mounts, or tells a job where to read: its reference of input channels.
_INPUTS = ("oss", "nas", "cpfs", "bmcpfs", "odps", datasets.SCHEME, "file")


class _Options(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Spot(_Options):
    """Machines that are cheaper and may be taken away."""

    strategy: Literal["SpotWithPriceLimit", "SpotAsPriceGo"] = Field(
        "SpotAsPriceGo", title=N_("Strategy"), description=N_("Pay the price of the moment, or only up to a limit.")
    )
    discount_limit: float | None = Field(
        None,
        gt=0,
        le=1,
        title=N_("Most to pay"),
        description=N_("The most to pay, as a share of the usual price: 0.5 is half of it."),
    )

    @model_validator(mode="after")
    def _check(self) -> Spot:
        if (self.strategy == "SpotWithPriceLimit") != (self.discount_limit is not None):
            raise FieldError(
                "discount_limit", _("discount_limit goes with the strategy SpotWithPriceLimit, and with no other.")
            )
        return self


class InstanceSpec(_Options):
    """The share of a quota that each instance gets."""

    cpu: int = Field(gt=0, title=N_("Cores"), description=N_("Cores."))
    memory: int = Field(gt=0, title=N_("Memory"), description=N_("In GiB."))
    gpu: int = Field(0, ge=0, title=N_("GPUs"), description=N_("How many."))
    gpu_type: str = Field("", title=N_("Kind of GPU"), description=N_("As the quota calls it."))
    shared_memory: int | None = Field(None, gt=0, title=N_("Shared memory"), description=N_("In GiB."))


class UserVpc(_Options):
    """The network that the job's instances are part of."""

    vpc_id: str = Field(min_length=1, title=N_("VPC"), description=N_("The network's id."))
    switch_id: str = Field("", title=N_("Switch"), description=N_("The id of a switch of the network."))
    security_group_id: str = Field(
        "", title=N_("Security group"), description=N_("The id of a security group of the network.")
    )
    extended_cidrs: tuple[str, ...] = Field(
        (), title=N_("Further networks"), description=N_("Networks in CIDR notation that are reached as well.")
    )
    default_route: Literal["", "eth0", "eth1"] = Field(
        "", title=N_("Default route"), description=N_("The interface that all else goes by.")
    )


class Experiment(_Options):
    """The experiment of the workspace that the job is noted in. The platform then keeps TensorBoard's files with it."""

    experiment_id: str = Field(min_length=1, title=N_("Experiment"), description=N_("Its id in the workspace."))


class ProgressDefinitions(_Options):
    """Patterns by which the platform reads progress from the log; each has one capture group."""

    overall_progress: str = Field("", title=N_("Progress"), description=N_("Its match is a number from 0 to 1."))
    remaining_time: str = Field("", title=N_("Remaining time"), description=N_("Its match is in seconds."))


class NodeAssignment(_Options):
    """The nodes of a quota that instances go to, or keep away from."""

    nodes: tuple[str, ...] = Field((), title=N_("Nodes"), description=N_("Only these."))
    avoid: tuple[str, ...] = Field((), title=N_("Not on"), description=N_("Not on these nodes."))


class PaiOptions(_Options):
    """Options of a training job. `settings` and `credential_config` are passed on as they are."""

    resource_id: str = Field(
        "", title=N_("Quota"), description=N_("The quota to run in, in place of an instance type of the public pool.")
    )
    instance_spec: InstanceSpec | None = Field(
        None, title=N_("Share of the quota"), description=N_("What each instance gets of the quota.")
    )
    priority: int | None = Field(
        None, ge=1, le=9, title=N_("Priority"), description=N_("Within a quota; 9 comes first.")
    )
    spot: Spot | None = Field(
        None, title=N_("Spot"), description=N_("Machines that are cheaper and may be taken away.")
    )
    use_spot_instance: bool = Field(
        False,
        title=N_("Spot in Lingjun"),
        description=N_("Lingjun's machines that may be taken away: `spot` is ECS's."),
    )
    user_vpc: UserVpc | None = Field(
        None, title=N_("Network"), description=N_("The network that the job's instances are part of.")
    )
    experiment: Experiment | None = Field(
        None, title=N_("Experiment"), description=N_("The experiment of the workspace that the job is noted in.")
    )
    job_type: str = Field(
        "PyTorchJob", title=N_("Framework"), description=N_("PyTorchJob, TFJob, XGBoostJob, MPIJob, ElasticBatchJob.")
    )
    description: str = Field(
        "", max_length=1024, title=N_("Description"), description=N_("What the platform shows beside the job.")
    )
    role_arn: str = Field("", title=N_("Role"), description=N_("The RAM role that the job runs with."))
    input_roles: dict[str, str] = Field(
        {}, title=N_("Roles of inputs"), description=N_("Input channel to the RAM role that it is read with.")
    )
    output_roles: dict[str, str] = Field(
        {}, title=N_("Roles of outputs"), description=N_("Output channel to the RAM role that it is written with.")
    )
    input_options: dict[str, str] = Field(
        {},
        title=N_("How inputs are mounted"),
        description=N_("Input channel to how it is mounted: JSON, as of data sets."),
    )
    credential_config: dict[str, Any] = Field(
        {}, title=N_("Credentials in the job"), description=N_("Which roles' credentials the job is given.")
    )
    assign_node: NodeAssignment | None = Field(
        None, title=N_("Nodes"), description=N_("The nodes of a quota that instances go to, or keep away from.")
    )
    progress: ProgressDefinitions = Field(
        ProgressDefinitions(),
        title=N_("Progress in the log"),
        description=N_("Patterns by which the platform reads progress from the log; each has one group."),
    )
    settings: dict[str, Any] = Field(
        {},
        title=N_("Settings of the platform"),
        description=N_("The platform's own settings: AdvancedSettings, EnableRDMA, …"),
    )

    @model_validator(mode="after")
    def _check(self) -> PaiOptions:
        if bool(self.resource_id) != bool(self.instance_spec):
            raise FieldError(
                "instance_spec" if self.resource_id else "resource_id",
                _("resource_id and instance_spec go together: a quota, and each instance's share."),
            )
        if self.spot and self.resource_id:
            raise FieldError("spot", _("spot counts on an instance type, not in a quota: leave out one of the two."))
        if self.priority and not self.resource_id:
            raise FieldError("priority", _("priority counts within a quota: name it with resource_id."))
        return self


def options_of(spec: JobSpec) -> PaiOptions:
    """The options of a spec. Its sizes are each instance's share of a quota, unless `instance_spec` says that.

    Raises:
        SpecError: naming the field that is wrong.
    """
    options = parse_options(PaiOptions, spec.options | _share(spec))
    outputs = {*spec.channels, *spec.outputs}
    for field, channels in (("input_roles", spec.inputs), ("input_options", spec.inputs), ("output_roles", outputs)):
        for channel in getattr(options, field):
            if channel not in channels:
                text = _("options.{field}: the job has no channel `{name}`.")
                refusal = SpecError(text.format(field=field, name=channel), fix=suggestion(channel, channels))
                raise refusal.at(f"options.{field}.{channel}")
    return options


def _share(spec: JobSpec) -> dict[str, Any]:
    """What the sizes of a spec ask for in its quota: whole cores and GiB there."""
    if not spec.options.get("resource_id") or "instance_spec" in spec.options or not spec.is_sized:
        return {}
    if not spec.cpu or not spec.memory:
        raise SpecError(
            _("options.resource_id: how many cores and how much memory of the quota does each instance get?"),
            fix=_("Say both: --cpu and --memory, beside --gpu."),
        ).at("options.resource_id", *(name for name in ("cpu", "memory") if not getattr(spec, name)))
    share = {"cpu": spec.cpu, "memory": parse_size(spec.memory) / (1 << 30), "gpu": spec.gpu or 0}
    return {"instance_spec": {name: math.ceil(value) for name, value in share.items()}}


def check_input(channel: str, uri: str) -> None:
    """A path of this machine is brought to the bucket; what else the platform mounts it says by its URI.

    Raises:
        SpecError: for what it cannot read.
    """
    scheme, _sep, rest = uri.partition("://")
    if rest and scheme not in _INPUTS:
        raise SpecError(
            _("inputs.{name}: PAI reads nothing from {scheme}://.").format(name=channel, scheme=scheme),
            fix=_("Known are: {names}.").format(names=", ".join(f"{name}://" for name in _INPUTS)),
        )
    if scheme == datasets.SCHEME:
        datasets.DataSet.parse(uri)
