"""`JobConfig` of older PAI SDK documentation: the instances of a custom job."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from ...core.errors import SpecError
from ...core.i18n import _
from ..common.consts import JobType
from ..options import UserVpcConfig, non_empty

__all__ = ["InvalidJobConfig", "JobConfig", "JobSpec", "JobType", "WorkerType"]

_FORM = """JobConfig.create(worker_count=1, worker_instance_type="ecs.c6.large")"""
_FIELDS = ("JobSpecs", "ResourceId", "WorkspaceId", "Priority", "UserVPC")


class WorkerType(StrEnum):
    """The roles of instances."""

    PS = "PS"
    WORKER = "Worker"
    MASTER = "Master"
    CHIEF = "Chief"
    EVALUATOR = "Evaluator"


class InvalidJobConfig(SpecError, ValueError):
    """A configuration without instances, or with invalid fields."""


@dataclass(frozen=True)
class JobSpec:
    """The instances of a role."""

    type: str
    count: int
    instance_type: str | None = None
    image_uri: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return it as a field of the platform."""
        return {
            "Type": str(self.type),
            "PodCount": self.count,
            "EcsSpec": self.instance_type,
            "ImageUri": self.image_uri,
        }


@dataclass(frozen=True)
class JobConfig:
    """The instances of a job, its quota, network and priority.

    Args:
        job_specs: The instances of each role.
        resource_id: A quota to run in, instead of instance types.
        user_vpc: The network that the instances join: `UserVpcConfig`, or its fields.
        priority: The priority within a quota, 1 to 9.
        workspace_id: Has no effect: the workspace is that of the session.
    """

    job_specs: Sequence[JobSpec]
    resource_id: str | None = None
    user_vpc: UserVpcConfig | Mapping[str, Any] | None = None
    priority: int | None = None
    workspace_id: str | None = None

    @classmethod
    def create(
        cls,
        worker_count: int | None = None,
        worker_instance_type: str | None = None,
        ps_count: int | None = None,
        ps_instance_type: str | None = None,
        master_count: int | None = None,
        master_instance_type: str | None = None,
        resource_id: str | None = None,
        user_vpc: UserVpcConfig | Mapping[str, Any] | None = None,
        priority: int | None = None,
        workspace_id: str | None = None,
    ) -> JobConfig:
        """Return the configuration with these numbers of instances and instance types, by role.

        Raises:
            InvalidJobConfig: without an instance. A `ValueError` too.
        """
        roles = (
            ("worker", WorkerType.WORKER, worker_count, worker_instance_type),
            ("ps", WorkerType.PS, ps_count, ps_instance_type),
            ("master", WorkerType.MASTER, master_count, master_instance_type),
        )
        for prefix, _role, count, instance_type in roles:
            if instance_type and not count:
                raise InvalidJobConfig(
                    _("`{name}_instance_type` is set, but `{name}_count` is not.").format(name=prefix),
                    fix=f"JobConfig.create({prefix}_count=1, {prefix}_instance_type={instance_type!r})",
                )
        specs = [_job_spec(role, count, kind) for _prefix, role, count, kind in roles if count]
        if not specs:
            raise InvalidJobConfig(_("A job needs at least one worker, ps or master."), fix=_FORM)
        return cls(specs, resource_id, user_vpc, priority, workspace_id)

    @classmethod
    def of(cls, value: JobConfig | Mapping[str, Any]) -> JobConfig:
        """Return a configuration from the result of `to_dict`.

        Raises:
            InvalidJobConfig: naming the invalid field.
        """
        if isinstance(value, JobConfig):
            return value
        if not isinstance(value, Mapping) or not isinstance(value.get("JobSpecs"), list | tuple):
            raise InvalidJobConfig(_("job_config: expected a `JobConfig`, or the result of its to_dict()."), fix=_FORM)
        if unknown := next((name for name in value if name not in _FIELDS), ""):
            raise InvalidJobConfig(
                _("job_config: unknown field `{name}`.").format(name=unknown),
                fix=_("Valid names: {names}.").format(names=", ".join(_FIELDS)),
            )
        specs = [_from_dict(one) for one in value["JobSpecs"]]
        if not specs:
            raise InvalidJobConfig(_("A job needs at least one worker, ps or master."), fix=_FORM)
        more = [value.get(name) for name in ("ResourceId", "UserVPC", "Priority", "WorkspaceId")]
        return cls(specs, *more)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields of the platform, as the input `job_config` of a component."""
        optional = {
            "ResourceId": self.resource_id,
            "WorkspaceId": self.workspace_id,
            "Priority": self.priority,
            "UserVPC": _vpc_fields(self.user_vpc),
        }
        return {"JobSpecs": [one.to_dict() for one in self.job_specs]} | {
            name: value for name, value in optional.items() if value is not None
        }

    def machines(self) -> dict[str, Any]:
        """Return the fields of a spec that select the instances. A job with workers only has no roles."""
        if len(self.job_specs) == 1 and self.job_specs[0].type == WorkerType.WORKER:
            (workers,) = self.job_specs
            fields = {"instance_type": workers.instance_type, "image": workers.image_uri}
            return {"instance_count": workers.count, **non_empty(fields)}
        roles = [
            {"name": str(one.type).lower(), "count": one.count}
            | non_empty({"instance_type": one.instance_type, "image": one.image_uri})
            for one in self.job_specs
        ]
        return {"roles": roles}

    def options(self) -> dict[str, Any]:
        """Return the options of a spec."""
        vpc = self.user_vpc if isinstance(self.user_vpc, UserVpcConfig) else _vpc(self.user_vpc)
        return non_empty({"resource_id": self.resource_id, "user_vpc": vpc and vpc.option(), "priority": self.priority})


# The fields of a network on the platform, and in `UserVpcConfig`.
_VPC = {
    "VpcId": "vpc_id",
    "SecurityGroupId": "security_group_id",
    "SwitchId": "switch_id",
    "ExtendedCIDRs": "extended_cidrs",
    "DefaultRoute": "default_route",
}


def _vpc(value: Mapping[str, Any] | None) -> UserVpcConfig | None:
    """Return a network from its fields, as the platform or as `UserVpcConfig` names them."""
    if not value:
        return None
    fields = {_VPC.get(name, name): item for name, item in value.items()}
    if unknown := next((name for name in fields if name not in _VPC.values()), ""):
        raise InvalidJobConfig(
            _("user_vpc: unknown field `{name}`.").format(name=unknown),
            fix=_("Valid names: {names}.").format(names=", ".join(_VPC)),
        )
    if not fields.get("vpc_id"):
        raise InvalidJobConfig(_("user_vpc: `VpcId` is missing."))
    return UserVpcConfig(**fields)


def _vpc_fields(value: UserVpcConfig | Mapping[str, Any] | None) -> dict[str, Any] | None:
    vpc = value if isinstance(value, UserVpcConfig) else _vpc(value)
    if vpc is None:
        return None
    return {field: option for field, name in _VPC.items() if (option := vpc.option().get(name)) is not None}


def _job_spec(role: WorkerType, count: Any, instance_type: str | None) -> JobSpec:
    if not isinstance(count, int) or isinstance(count, bool) or count < 1:
        raise InvalidJobConfig(
            _("The number of instances of `{role}` must be a positive integer, got `{value}`.").format(
                role=role, value=count
            )
        )
    return JobSpec(role, count, instance_type)


def _from_dict(value: Any) -> JobSpec:
    if not isinstance(value, Mapping) or not value.get("Type"):
        raise InvalidJobConfig(_("job_config: an item of JobSpecs needs `Type` and `PodCount`."), fix=_FORM)
    role = _job_spec(value["Type"], value.get("PodCount"), value.get("EcsSpec"))
    return JobSpec(role.type, role.count, role.instance_type, value.get("ImageUri"))
