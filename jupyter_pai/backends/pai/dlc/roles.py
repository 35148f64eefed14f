"""The roles of a job in the types of jobs, and the order of their ranks.

Source: JobSpec in Alibaba Cloud's reference of PAI-DLC. It names no roles of the types MPIJob, SlurmJob and
DataJuicerJob: any role is sent to them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ....core.errors import SpecError
from ....core.i18n import _
from ....jobs.spec import JobSpec, Role

__all__ = ["UNRANKED", "JobRole", "check_roles", "default_type", "place_of", "roles_of", "with_role_names"]

_WITH_MASTER = ("Master", "Worker")
_ROLES: dict[str, tuple[str, ...]] = {
    "PyTorchJob": _WITH_MASTER,
    "TFJob": ("Chief", "Master", "Worker", "PS", "Evaluator", "GraphLearn"),
    "XGBoostJob": _WITH_MASTER,
    "OneFlowJob": _WITH_MASTER,
    "ElasticBatchJob": _WITH_MASTER,
    "RayJob": ("Head", "Worker"),
}
UNRANKED = ("TFJob",)
"""The types of jobs in which the platform gives no ranks. They are those of the order of the roles."""

# The order of the ranks, and the roles with one instance.
_ORDER = ("chief", "master", "head", "launcher", "driver", "worker")
_LATER = ("ps", "evaluator", "graphlearn")
_SINGLE = ("chief", "master", "head")
# The platform's names of roles; all others begin with a capital letter.
_NAMES = {"ps": "PS", "graphlearn": "GraphLearn"}
# The types of jobs by roles that no other type has.
_TYPES = {"ps": "TFJob", "chief": "TFJob", "evaluator": "TFJob", "graphlearn": "TFJob", "head": "RayJob"}
# The first instance of a job of this type starts the processes of the others.
_LED = {"RayJob": "head"}


@dataclass(frozen=True)
class JobRole:
    """A role of a job. `type`: its name on the platform. `first`: the rank of its first instance. `spec` has its image
    and sizes."""

    type: str
    count: int
    first: int
    spec: JobSpec


def place_of(role: str) -> int:
    """Return the place of a role in the order of the ranks."""
    name = role.lower()
    if name in _LATER:
        return len(_ORDER) + _LATER.index(name)
    return _ORDER.index(name) if name in _ORDER else _ORDER.index("worker")


def default_type(spec: JobSpec) -> str:
    """Return the type of a job by the names of its roles."""
    types = [_TYPES[role.name.lower()] for role in spec.roles if role.name.lower() in _TYPES]
    return types[0] if types else "PyTorchJob"


def check_roles(spec: JobSpec, job_type: str) -> None:
    """Check that a type of jobs has the roles of a spec.

    Raises:
        SpecError: naming the role.
    """
    known = _ROLES.get(job_type)
    for number, role in enumerate(spec.roles):
        name = role.name.lower()
        is_group = job_type == "RayJob" and re.fullmatch(r"worker-[a-z0-9-]+", name)
        if known and name not in map(str.lower, known) and not is_group:
            raise SpecError(
                _("roles.{number}.name: jobs of the type {type} do not have the role `{role}`.").format(
                    number=number, type=job_type, role=role.name
                ),
                fix=_("They have: {names}. Other types: --option job_type=…").format(names=", ".join(known)),
            ).at(f"roles.{number}.name")
        if name in _SINGLE and role.count != 1:
            raise SpecError(
                _("roles.{number}.count: a job has one instance of the role `{role}`.").format(
                    number=number, role=role.name
                ),
                fix=_("Request the other instances in the role `worker`."),
            ).at(f"roles.{number}.count")
    names = {role.name.lower() for role in spec.roles}
    if names and job_type in _LED and _LED[job_type] not in names:
        text = _("roles: a job of the type {type} needs the role `{role}`.")
        raise SpecError(text.format(type=job_type, role=_LED[job_type])).at("roles")
    if names and names <= {*_LATER}:
        text = _("roles: a job of the type {type} needs the role `{role}`.")
        raise SpecError(text.format(type=job_type, role="worker")).at("roles")


def with_role_names(spec: JobSpec, job_type: str) -> JobSpec:
    """Return a spec whose roles are in the order of the platform's ranks, with names in lower case. A type in which one
    instance leads the others has a role for it."""
    roles = [role.model_copy(update={"name": role.name.lower()}) for role in spec.roles]
    if not roles and job_type in _LED:
        roles = [Role(name=_LED[job_type])]
        if spec.instance_count > 1:
            roles.append(Role(name="worker", count=spec.instance_count - 1))
    ordered = tuple(roles if job_type in UNRANKED else sorted(roles, key=lambda role: place_of(role.name)))
    return spec.model_copy(update={"roles": ordered}) if ordered != spec.roles else spec


def roles_of(spec: JobSpec) -> list[JobRole]:
    """Return the roles of a job, in the order of their ranks."""
    found, first = [], 0
    for name, one in spec.by_role.items():
        found.append(JobRole(_NAMES.get(name, name[:1].upper() + name[1:]), one.instance_count, first, one))
        first += one.instance_count
    return found
