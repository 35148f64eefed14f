"""The roles of a task in its training mode, and the command that the platform starts in each."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ....core.errors import SpecError
from ....core.i18n import _
from ....core.text import parse_size
from ....jobs.spec import JobSpec, Role
from ..options import TioneOptions, TioneSettings

__all__ = [
    "TaskRole",
    "check_roles",
    "resource_configs",
    "resource_group",
    "roles_of",
    "training_mode",
    "with_role_names",
]

_MIB = 1 << 20
# The roles of each training mode, in the order of their ranks where the platform starts only the first one.
_ROLES: dict[str, tuple[str, ...]] = {
    "PS_WORKER": ("PS", "WORKER"),
    "RAY": ("HEAD", "WORKER"),
    "SPARK": ("DRIVER", "EXECUTOR"),
}
# The modes in which the platform runs a command in one instance, which starts the processes of the others.
_STARTED_BY_FIRST = ("RAY", "SPARK")
# The modes of roles that no other mode has.
_MODES = {"PS": "PS_WORKER", "HEAD": "RAY", "DRIVER": "SPARK", "EXECUTOR": "SPARK"}


@dataclass(frozen=True)
class TaskRole:
    """A role of a task. `role`: that of the platform. `first`: the rank of its first instance. `spec` has its sizes.
    `command`: the field of the request for its command; empty if it runs none."""

    role: str
    count: int
    first: int
    spec: JobSpec
    command: str


def training_mode(spec: JobSpec, options: TioneOptions, modes: Sequence[str] = ()) -> str:
    """Return the training mode of a spec. `modes`: those of its image; empty if they are not known.

    Raises:
        SpecError: if the image does not have the mode.
    """
    named = [_MODES[role.name.upper()] for role in spec.roles if role.name.upper() in _MODES]
    default = "DDP" if not modes or "DDP" in modes else modes[0]
    mode = options.training_mode or (named[0] if named else default)
    if modes and mode not in modes:
        raise SpecError(
            _("options.training_mode: the image {image} does not have the mode {mode}.").format(
                image=next(iter(spec.by_role.values())).image, mode=mode
            ),
            fix=_("It has: {names}.").format(names=", ".join(modes)),
        ).at("options.training_mode")
    return mode


def check_roles(spec: JobSpec, mode: str) -> None:
    """Check that the roles of a spec are those of a training mode.

    Raises:
        SpecError: naming the role.
    """
    known = _ROLES.get(mode, ("WORKER",))
    names = [role.name.upper() for role in spec.roles]
    for number, name in enumerate(names):
        if name not in known:
            raise SpecError(
                _("roles.{number}.name: the training mode {mode} does not have the role {role}.").format(
                    number=number, mode=mode, role=name
                ),
                fix=_("It has: {names}. Other modes: --option training_mode=…").format(names=", ".join(known)),
            ).at(f"roles.{number}.name")
    if mode in _STARTED_BY_FIRST:
        _check_first(spec, mode, known)
    if names and mode == "PS_WORKER" and "WORKER" not in names:
        raise SpecError(_("roles: the training mode {mode} needs the role WORKER.").format(mode=mode)).at("roles")


def _check_first(spec: JobSpec, mode: str, known: tuple[str, ...]) -> None:
    """Check the roles of a mode in which the first instance runs the command."""
    if not spec.roles:
        if mode == "SPARK" and spec.instance_count < 2:
            raise SpecError(
                _("instance_count: the training mode {mode} needs a driver and an executor.").format(mode=mode),
                fix=_("Request two instances or more: --instance-count 2"),
            ).at("instance_count")
        return
    first, *others = spec.roles
    if first.name.upper() != known[0] or first.count != 1:
        raise SpecError(
            _("roles: in the training mode {mode}, the first role is {role}, with one instance.").format(
                mode=mode, role=known[0]
            )
        ).at("roles.0.name", "roles.0.count")
    for number, role in enumerate(others, 1):
        if role.command.strip():
            raise SpecError(
                _("roles.{number}.command: in the training mode {mode}, only {role} runs a command.").format(
                    number=number, mode=mode, role=known[0]
                ),
                fix=_("Leave it empty: the platform starts the other instances."),
            ).at(f"roles.{number}.command")


def with_role_names(spec: JobSpec, mode: str) -> JobSpec:
    """Return a spec whose instances have the names of the pods: with roles in lower case, and with the roles of a mode
    in which the first instance starts the others."""
    roles = tuple(role.model_copy(update={"name": role.name.lower()}) for role in spec.roles)
    if not roles and mode in _STARTED_BY_FIRST:
        first, others = (name.lower() for name in _ROLES[mode])
        roles = (Role(name=first),)
        if spec.instance_count > 1:
            roles += (Role(name=others, count=spec.instance_count - 1),)
    return spec.model_copy(update={"roles": roles}) if roles != spec.roles else spec


def roles_of(spec: JobSpec, mode: str) -> list[TaskRole]:
    """Return the roles of a task, in the order of their ranks."""
    field = "StartCmd" if mode == "SPARK" else "WorkerStartCmd"
    found, first = [], 0
    for number, (name, one) in enumerate(with_role_names(spec, mode).by_role.items()):
        role, count = name.upper(), one.instance_count
        runs = mode not in _STARTED_BY_FIRST or number == 0
        found.append(TaskRole(role, count, first, one, "PsStartCmd" if role == "PS" else field if runs else ""))
        first += count
    return found


def resource_group(spec: JobSpec, settings: TioneSettings, options: TioneOptions) -> str:
    """Return the resource group of a job; empty for pay as you go. One that names an instance type of its own is not in
    the group of the profile."""
    own = {one.instance_type for one in spec.by_role.values()} - {"", settings.default_instance_type}
    return options.resource_group_id or ("" if own else settings.resource_group)


def resource_configs(roles: Sequence[TaskRole], options: TioneOptions, group: str) -> list[dict[str, Any]]:
    """Return the resources of each role: an instance type, or its sizes in a resource group: thousandths of a core,
    MiB, and hundredths of a GPU."""
    rdma = {"RDMAConfig": {"Enable": True}} if options.rdma else {}
    return [
        {
            "Role": role.role,
            **(_sizes(role.spec, options) if group else {"InstanceType": role.spec.instance_type}),
            "InstanceNum": role.count,
            **rdma,
        }
        for role in roles
    ]


def _sizes(spec: JobSpec, options: TioneOptions) -> Mapping[str, Any]:
    gpu = {"Gpu": spec.gpu * 100, "GpuType": options.gpu_type or None} if spec.gpu else {}
    memory = parse_size(spec.memory) if spec.memory else 0
    return {"Cpu": math.ceil((spec.cpu or 0) * 1000), "Memory": -(-memory // _MIB), **gpu}
