"""Builds the request body of CreateJob (PAI-DLC 2020-12-03) from a job. Empty fields are omitted: the service has its
own defaults."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ....core.errors import SpecError
from ....core.i18n import _
from ....core.text import parse_size
from ....jobs.job import Job
from ....jobs.spec import JobSpec
from ...kept_files import KeptFiles
from ..api import filled
from ..site import HOME_LABEL, JOB_LABEL
from .command import command_of
from .data_sources import WithEndpoint, mounts_of
from .options import DlcOptions, options_of
from .roles import JobRole, roles_of, with_role_names

__all__ = ["LARGEST", "Destination", "check_size", "our_id", "own_name", "request_body"]

LARGEST = 65_536
"""Bytes of a request that creates a job."""

_GIB = 1 << 30
_LONGEST_NAME = 256
_OURS = re.compile(r"(.*)-([a-z2-7]{8})", re.DOTALL)
# The fields of a spec that may be large.
_PARTS = (
    "command", "requirements", "roles", "hyperparameters", "args", "inputs", "outputs", "environment",
    "metric_definitions", "labels", "options",
)  # fmt: skip


@dataclass(frozen=True)
class Destination:
    """Workspace of a job, folder of its code (empty for none) and of its outputs as URIs, the id of the state folder,
    the maximum run time in seconds (0 for none), the function that adds the endpoint to a URI, and the limits for the
    files beside the code. `import_paths` are the folders of the project's packages."""

    workspace_id: str
    code_uri: str
    output_uri: str
    home_id: str
    endpoint: WithEndpoint
    max_run_time: int = 0
    kept: KeptFiles | None = None
    import_paths: tuple[str, ...] = ()


def request_body(job: Job, target: Destination) -> dict[str, Any]:
    """Return the body that creates a job."""
    options = options_of(job.spec)
    job = job.model_copy(update={"spec": with_role_names(job.spec, options.job_type)})
    spec, roles = job.staged_spec, roles_of(job.spec)
    mounts = mounts_of(job, options, target.output_uri, target.code_uri, target.endpoint)
    command = command_of(
        job, roles, mounts, limit=target.max_run_time, import_paths=target.import_paths, kept=target.kept
    )
    return filled(
        {
            "DisplayName": display_name(spec.name, job.id),
            "Description": options.description,
            "JobType": options.job_type,
            "JobSpecs": [_job_spec(role, options) for role in roles],
            "UserCommand": command,
            "WorkspaceId": target.workspace_id,
            "ResourceId": options.resource_id,
            "Priority": options.priority,
            "CodeSource": _code_source(options),
            "DataSources": mounts.sources,
            # The job script sets them, too. Some are for the platform.
            "Envs": dict(spec.environment),
            "ThirdpartyLibs": list(options.thirdparty_libs),
            "ThirdpartyLibDir": options.thirdparty_lib_dir,
            "UserVpc": options.user_vpc and options.user_vpc.as_field(),
            # The job script ends the command at the second. This ends a job whose script cannot.
            "JobMaxRunningTimeMinutes": math.ceil(target.max_run_time / 60) + 1 if target.max_run_time else None,
            "SuccessPolicy": options.success_policy,
            "SchedulingStrategy": options.scheduling_strategy,
            "Accessibility": options.accessibility,
            "Options": options.mount_options,
            "Settings": _settings(spec, options, job.id, target.home_id),
            "ElasticSpec": options.elastic_spec,
            "CredentialConfig": options.credential_config,
            "TemplateId": options.template_id,
        }
    )


def _job_spec(role: JobRole, options: DlcOptions) -> dict[str, Any]:
    own = next((fields for name, fields in options.role_fields.items() if name.lower() == role.type.lower()), {})
    return filled(
        {
            "Type": role.type,
            "Image": role.spec.image,
            "PodCount": role.count,
            **_machine(role.spec, options),
            "RestartPolicy": options.restart_policy,
            "SpotSpec": options.spot and options.spot.as_field(),
            "UseSpotInstance": options.use_spot_instance,
            "AssignNodeSpec": options.assign_node and options.assign_node.as_field(),
            **own,
        }
    )


def _machine(spec: JobSpec, options: DlcOptions) -> dict[str, Any]:
    """Return the instance type of a role, or its sizes in a quota: numbers as text."""
    if not options.resource_id:
        return {"EcsSpec": spec.instance_type}
    sizes = {
        "CPU": f"{spec.cpu:g}" if spec.cpu else "",
        "Memory": f"{math.ceil(parse_size(spec.memory) / _GIB)}Gi" if spec.memory else "",
        "GPU": str(spec.gpu) if spec.gpu else "",
        "GPUType": options.gpu_type if spec.gpu else "",
        "SharedMemory": f"{options.shared_memory}Gi" if options.shared_memory else "",
    }
    return {"ResourceConfig": filled(sizes)}


def _code_source(options: DlcOptions) -> dict[str, Any]:
    source = options.code_source
    fields = source and {
        "CodeSourceId": source.code_source_id,
        "Branch": source.branch,
        "Commit": source.commit,
        "MountPath": source.mount_path,
    }
    return filled(fields or {})


def _settings(spec: JobSpec, options: DlcOptions, job_id: str, home_id: str) -> dict[str, Any]:
    """Return the settings, with tags by which the job is found. Without the other one, data that is appended to a file
    in OSS appears only at the job's end."""
    tags = {**spec.labels, **options.settings.get("Tags", {}), JOB_LABEL: job_id, HOME_LABEL: home_id}
    return {"EnableOssAppend": True, **options.settings, "Tags": tags}


def display_name(name: str, job_id: str) -> str:
    """Return the name of a job on the platform, which ends with our id."""
    clean = re.sub(r"[^A-Za-z0-9_.-]+", "_", name).strip("_-.") or "job"
    return f"{clean[: _LONGEST_NAME - len(job_id) - 1]}-{job_id}"


def our_id(name: str) -> str:
    """Return what is our id of a job if we submitted it: the last part of its name; empty if there is none."""
    match = _OURS.fullmatch(name)
    return match[2] if match else ""


def own_name(name: str) -> str:
    """Return the name of a job without our id."""
    match = _OURS.fullmatch(name)
    return match[1] if match else name


def check_size(body: Mapping[str, Any], spec: JobSpec) -> None:
    """Check that the platform takes a body.

    Raises:
        SpecError: if it is too large; it names the largest fields of the spec.
    """
    size = len(json.dumps(body))
    if size <= LARGEST:
        return
    fields = spec.model_dump(mode="json", include={*_PARTS})
    sizes = {name: len(json.dumps(value)) for name, value in fields.items() if value}
    largest = sorted(sizes, key=lambda name: -sizes[name])[:3]
    raise SpecError(
        _("The job is too large for PAI-DLC: the request has {n} bytes, and {most} are allowed.").format(
            n=f"{size:,}", most=f"{LARGEST:,}"
        )
        + " "
        + _("The largest fields are: {names}.").format(
            names=", ".join(_("{field} ({n} bytes)").format(field=name, n=f"{sizes[name]:,}") for name in largest)
        ),
        fix=_("Put large values into a file of the code or of an input."),
    ).at(*largest[:1])
