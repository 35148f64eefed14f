"""The platform of custom jobs: the backend `dlc` for an account of PAI, otherwise that of the default profile."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ...client.parameters import offered
from ...client.printing import print_line
from ...core.i18n import _
from ..session import BACKEND, default_session, target_of
from ..target import Target
from .common import InvalidJobConfig, JobConfig, JobType

__all__ = ["custom_job_target", "print_ignored", "spec_fields"]

_DLC = "dlc"
# The type of custom jobs in the SDK. It has all roles of `JobConfig`.
_JOB_TYPE = JobType.TFJob


def custom_job_target() -> Target:
    """Return the target of custom jobs. For the session that code has set up, or a default profile of training jobs, it
    is a profile of the backend `dlc` with the same settings, which is stored if there is none."""
    target = target_of(None)
    if target.backend_name() != BACKEND:
        return target
    session = default_session()
    return Target(session.client, session.keep(backend=_DLC))


def spec_fields(config: JobConfig | None, job_type: str, target: Target) -> tuple[dict[str, Any], list[str]]:
    """Return the fields of a spec for the instances of a custom job, and the names of the ignored options. Instance
    types and options are those of one platform; the numbers of instances are not."""
    fields = config.machines() if config else {}
    options = config.options() if config else {}
    if target.backend_name() == _DLC:
        if config and config.resource_id:
            fields = _sized(fields, target)
        return fields | {"options": options | {"job_type": job_type or str(_JOB_TYPE)}}, []
    ignored = [*options, *(["job_type"] if job_type else [])]
    for role in (fields, *fields.get("roles", ())):
        if role.pop("instance_type", ""):
            ignored.insert(0, f"{role.get('name', 'worker')}_instance_type")
    return fields, ignored


def _sized(fields: dict[str, Any], target: Target) -> dict[str, Any]:
    """Return fields with the sizes of the instance types: instances in a quota have no instance type.

    Raises:
        InvalidJobConfig: for an unknown instance type, or without one.
    """
    kinds = target.client.call("instances", profile=target.profile, backend=target.backend)["instances"]
    sizes = {
        kind["name"]: {"cpu": kind["cpu"], "memory": f"{kind['memory'] // (1 << 30)}GiB", "gpu": kind["gpu"]}
        for kind in kinds
    }

    def sized(role: dict[str, Any]) -> dict[str, Any]:
        name = role.get("instance_type", "")
        if name not in sizes:
            raise InvalidJobConfig(
                _("In a quota, each instance needs the size of an instance type, got `{name}`.").format(
                    name=name or "-"
                ),
                fix=offered(_("List the instance types: %pai instances")),
            )
        return {key: value for key, value in role.items() if key != "instance_type"} | sizes[name]

    if "roles" in fields:
        return {"roles": [sized(role) for role in fields["roles"]]}
    return sized(fields)


def print_ignored(target: Target, names: Iterable[str]) -> None:
    """Print the ignored options, each once."""
    if options := ", ".join(dict.fromkeys(names)):
        print_line(_("Ignored by the backend {name}: {options}").format(name=target.backend_name(), options=options))
