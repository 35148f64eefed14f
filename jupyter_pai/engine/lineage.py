"""Values that a job takes from an earlier one: its spec with changes, its checkpoints, files of its folder."""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Mapping, Set
from operator import attrgetter
from pathlib import Path
from typing import Any

from ..backends.base import Capability
from ..config.settings import ProfileSettings
from ..core.errors import Conflict, SpecError
from ..core.file_uri import local_path, uri_of
from ..core.i18n import _
from ..core.text import closest
from ..jobs import names as job_name
from ..jobs.job import Job, now
from ..jobs.spec import JobSpec, parse_spec
from ..jobs.state_dir import Home
from ..jobs.store.store import Store
from .data.channels import open_channel
from .data.storages import Storages
from .profiles import Profiles
from .requests import Rerun, SubmitRequest

# The output channel that is the input of a resumed job.
CHANNEL = "checkpoints"


def changed(spec: JobSpec, changes: Mapping[str, Any]) -> JobSpec:
    """Return the spec with a merge patch (RFC 7396): tables are merged by name, None removes a name or resets a field.

    Raises:
        SpecError: naming each invalid field, and names to remove that do not exist.
    """
    return parse_spec(_merged(spec.model_dump(mode="json"), changes, ""))


def _merged(value: object, change: object, place: str) -> object:
    if not isinstance(change, Mapping):
        return change
    merged = dict(value) if isinstance(value, dict) else {}
    for name, inner in change.items():
        where = f"{place}.{name}" if place else str(name)
        if inner is not None:
            merged[name] = _merged(merged.get(name), inner, where)
        elif name in merged:
            del merged[name]
        else:
            near = closest(str(name), merged)
            fix = _("Did you mean `{name}`?").format(name=near) if near else ""
            raise SpecError(_("{place} does not exist.").format(place=where), fix=fix, fields=[where])
    return merged


def checkpoints(job: Job, storages: Storages) -> str:
    """Return the URI of a finished job's checkpoints. May block.

    Raises:
        NotFound: if the job has replaced their folder by a link.
        Conflict: if the job is active or has no checkpoints.
    """
    if not job.status.ended:
        raise Conflict(
            _("Job {job} is active, so its checkpoints may be incomplete.").format(job=job.id),
            fix=_("Stop it first: %pai stop {job}").format(job=job.id),
        )
    place = open_channel(storages, job, CHANNEL) if CHANNEL in job.outputs else None
    if place is None or not place.storage.list(place.uri):
        fix = _("Write them to the folder in PAI_OUTPUT_CHECKPOINTS. To start over: %pai rerun {job}")
        if job.resumed_from:
            fix = _("Resume the job before it: %pai rerun {job} --resume")
        raise Conflict(
            _("Job {job} has no checkpoints in {place}.").format(job=job.id, place=place.uri if place else "-"),
            fix=fix.format(job=job.resumed_from or job.id),
        )
    return place.uri


def rerun_request(earlier: Job, rerun: Rerun, profiles: Profiles) -> SubmitRequest:
    """Return the request for an earlier job's spec with changes, without the values that its profile filled in.

    An instance type that was selected by size is dropped for other sizes or another profile.

    Raises:
        SpecError: naming each invalid field.
    """
    changes = {"name": job_name.generate_name(job_name.base_name(earlier.name))} | rerun.changes
    profile = "" if rerun.backend else earlier.profile
    spec = changed(earlier.spec.model_copy(update={"profile": profile}), changes)
    before = profiles.settings().profiles.get(earlier.profile)
    update = unfilled(
        spec, earlier.name, before.settings if before else None, all_of_them=spec.profile != earlier.profile
    )
    update = {field: value for field, value in update.items() if field not in changes}
    needs = attrgetter("profile", "cpu", "gpu", "memory")
    selects = spec.is_sized and Capability.SIZES in profiles.capabilities(earlier.backend)
    if selects and needs(spec) != needs(earlier.spec) and "instance_type" not in changes:
        update["instance_type"] = ""
    return SubmitRequest(
        spec=spec.model_copy(update=update),
        backend=rerun.backend,
        python=earlier.python,
        key=rerun.key,
        confirmed=rerun.confirmed,
        anyway=rerun.anyway,
    )


def unfilled(spec: JobSpec, name: str, profile: ProfileSettings | None, *, all_of_them: bool = True) -> dict[str, Any]:
    """Return the fields of a spec as the user set them, which were filled in for a job of that name. `profile` are the
    settings of its profile, if it still exists. Without `all_of_them`, only the output path."""
    update: dict[str, Any] = {}
    if base := base_of(spec.output_path, name):
        default = profile.default_output if profile else ""
        update["output_path"] = "" if base.rstrip("/") == default.rstrip("/") else base
    for field in ("image", "instance_type") if profile and all_of_them else ():
        if getattr(spec, field) == getattr(profile, f"default_{field}"):
            update[field] = ""
    return update


def as_given(job: Job, profiles: Profiles) -> JobSpec:
    """Return the spec of a job with the output path of its user."""
    profile = profiles.settings().profiles.get(job.profile)
    update = unfilled(job.spec, job.name, profile.settings if profile else None, all_of_them=False)
    return job.spec.model_copy(update=update)


def own_output_path(spec: JobSpec, default: str, capabilities: Set[Capability]) -> str:
    """Return the folder for the outputs of a new job: one of its own in the output path of the spec, or in the default
    one. Empty without either. In the layout `code`, and where the platform itself makes such a folder, it is the output
    path of the spec."""
    if spec.output_path and (spec.layout == "code" or Capability.OUTPUT_FOLDERS in capabilities):
        return spec.output_path
    base, stamp = spec.output_path or default, f"{now():%Y%m%d%H%M%S}-{secrets.token_hex(3)}"
    return f"{base.rstrip('/')}/{_path_name(spec.name)}-{stamp}/" if base else ""


def base_of(output_path: str, name: str) -> str:
    """Return the folder that has the own output folder of a job of that name; empty if the path is another one."""
    found = re.search(rf"/{re.escape(_path_name(name))}-\d{{14}}-[0-9a-f]{{6}}/$", output_path)
    return output_path[: found.start() + 1] if found else ""


def overwritten(spec: JobSpec, store: Store, workflow: str, capabilities: Set[Capability]) -> str:
    """Return the question whether the outputs of an earlier job may be overwritten, as the user named their folder for
    both jobs; empty if there is none. Jobs of the same run of a workflow may share a folder. Blocks."""
    named = [*spec.outputs.values()]
    if spec.layout == "code" and spec.output_path and Capability.OUTPUT_FOLDERS not in capabilities:
        named += [f"{spec.output_path.rstrip('/')}/{channel}" for channel in spec.channels]
    folders = {uri_of(uri) if os.path.isabs(uri) else uri for uri in named}
    if not folders or not (job := store.jobs.with_outputs([uri.rstrip("/") for uri in folders], workflow)):
        return ""
    shared = next(uri for uri in job.outputs.values() if uri.rstrip("/") in {one.rstrip("/") for one in folders})
    text = _("The outputs of {job} are in {uri}, and may be overwritten.")
    return text.format(job=job.id, uri=shared)


def _path_name(name: str) -> str:
    """Return a job's name as a path segment."""
    return re.sub(r"[^\w.-]+", "_", name).strip(".") or "job"


def used_jobs(spec: JobSpec, home: Home) -> set[str]:
    """Return the jobs whose folders have inputs or outputs of a spec. They cannot be deleted while it runs."""
    jobs: set[str] = set()
    for uri in filter(None, (*spec.inputs.values(), *spec.outputs.values(), spec.output_path)):
        path = local_path(uri)
        # Both the path and its target: a link in a job's folder is removed with the folder.
        for place, root in ((os.path.normpath(path), home.jobs), (os.path.realpath(path), os.path.realpath(home.jobs))):
            if Path(place).is_relative_to(root):
                jobs.update(Path(place).relative_to(root).parts[:1])
    return jobs
