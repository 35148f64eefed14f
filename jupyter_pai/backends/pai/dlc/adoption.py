"""Jobs as the platform lists them, also jobs of other clients, with what it returns of their specs."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Mapping
from datetime import datetime
from typing import Any

from ....jobs.datasets import DataSet
from ....jobs.job import now
from ....jobs.spec import JobSpec
from ...remote import Candidate
from ...reports import RemoteJob, newest, spec_of_parts
from ..replies import moment
from ..site import HOME_LABEL, JOB_LABEL
from .api import LARGEST_LIST, DlcApi
from .data_sources import OUTPUT
from .job_response import report_of
from .pods import pods_of
from .request_body import our_id, own_name
from .roles import place_of

__all__ = ["candidates", "job", "jobs"]

_LONGEST, _MOST_LABELS = 128, 50
_MOUNTED = "/ml/mount"
_OPTIONS = {"JobType": "job_type", "ResourceId": "resource_id"}

# Returns the console's page of a job.
Page = Callable[[str], str]


async def jobs(api: DlcApi, page: Page, before: datetime | None, limit: int) -> list[RemoteJob]:
    """Return the jobs of the workspace, newest first; with `before`, older ones only."""
    rows = api.jobs({}, until=before, size=min(limit, LARGEST_LIST))
    return await newest((_remote(row, page) async for row in rows), None, limit)


async def candidates(api: DlcApi, job_id: str) -> AsyncIterator[Candidate]:
    """Yield the jobs that may have our id, newest first."""
    # The filter by name finds parts of names. That by tags may be unknown to a service.
    for query in ({"DisplayName": job_id}, {"Tags": {JOB_LABEL: job_id}}):
        async for row in api.jobs(query):
            yield Candidate(str(row.get("JobId") or ""), _our_id(row), _submitted_at(row))


async def job(api: DlcApi, page: Page, remote_id: str) -> RemoteJob:
    """Return a job with a spec of its fields.

    Raises:
        NotFound: if the platform does not have it.
    """
    return _remote(await api.get(remote_id), page)


def _remote(row: Mapping[str, Any], page: Page) -> RemoteJob:
    remote_id = str(row.get("JobId") or "")
    url = page(remote_id)
    spec = _spec(row)
    return RemoteJob(
        remote_id,
        spec,
        report_of(row, pods_of(row), url),
        _submitted_at(row),
        user=str(row.get("Username") or row.get("UserId") or ""),
        console_url=url,
        outputs=_outputs(row, spec),
        job_id=_our_id(row),
    )


def _submitted_at(row: Mapping[str, Any]) -> datetime:
    return moment(row.get("GmtCreateTime")) or now()


def _our_id(row: Mapping[str, Any]) -> str:
    """Return our id in the tag of a job, or else in its name; empty if it has none."""
    return _tags(row).get(JOB_LABEL) or our_id(str(row.get("DisplayName") or ""))


def _is_ours(row: Mapping[str, Any]) -> bool:
    return bool(_our_id(row))


def _tags(row: Mapping[str, Any]) -> dict[str, str]:
    tags = (row.get("Settings") or {}).get("Tags")
    return {str(name): str(value) for name, value in tags.items()} if isinstance(tags, Mapping) else {}


def _spec(row: Mapping[str, Any]) -> JobSpec:
    """Return the spec of a job, without those of its fields that are not valid here."""
    display = str(row.get("DisplayName") or row.get("JobId") or "")
    name = "".join(filter(str.isprintable, own_name(display) if _is_ours(row) else display)).strip()[:_LONGEST] or "job"
    labels = {key: value for key, value in _tags(row).items() if key not in (JOB_LABEL, HOME_LABEL) and key}
    labels = {key[:_LONGEST]: value[:_LONGEST] for key, value in [*labels.items()][:_MOST_LABELS]}
    # The command of our own jobs is packed.
    command = f"# {name}" if _is_ours(row) else str(row.get("UserCommand") or "").strip() or f"# {name}"
    fields: dict[str, Any] = {"name": name, "command": f"# {name}"}
    environment = {str(key): str(value) for key, value in (row.get("Envs") or {}).items()}
    parts: tuple[dict[str, Any], ...] = (
        {"command": command},
        _machines(row),
        {"labels": labels},
        {"environment": environment},
        {"requirements": tuple(map(str, row.get("ThirdpartyLibs") or ()))},
        {"inputs": _mounts(row, is_output=False)},
        {"options": _options(row)},
    )
    return spec_of_parts(fields, parts)


def _options(row: Mapping[str, Any]) -> dict[str, Any]:
    texts = {name: str(row[key]) for key, name in _OPTIONS.items() if row.get(key)}
    return texts | ({"priority": row["Priority"]} if row.get("Priority") and row.get("ResourceId") else {})


def _machines(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return image, machines and roles."""
    specs = [spec for spec in row.get("JobSpecs") or () if isinstance(spec, Mapping)]
    specs.sort(key=lambda spec: place_of(str(spec.get("Type") or "")))
    if len(specs) == 1:
        return {"instance_count": int(specs[0].get("PodCount") or 1), **_machine(specs[0])}
    return {
        "roles": [
            {"name": str(spec.get("Type") or "").lower(), "count": int(spec.get("PodCount") or 1), **_machine(spec)}
            for spec in specs
        ],
    }


def _machine(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return the image of a role, and its instance type or its sizes in a quota."""
    sizes = spec.get("ResourceConfig") or {}
    memory = str(sizes.get("Memory") or "").removesuffix("B").removesuffix("i")
    found = {
        "image": str(spec.get("Image") or ""),
        "instance_type": str(spec.get("EcsSpec") or ""),
        "cpu": float(sizes["CPU"]) if re.fullmatch(r"\d+(\.\d+)?", str(sizes.get("CPU"))) else None,
        "memory": f"{memory}iB" if memory else "",
        "gpu": int(float(sizes["GPU"])) if re.fullmatch(r"\d+(\.\d+)?", str(sizes.get("GPU"))) else None,
    }
    return {name: value for name, value in found.items() if value}


def _outputs(row: Mapping[str, Any], spec: JobSpec) -> dict[str, str]:
    """Return where the outputs are. One mount has the standard channels of a job that was submitted here."""
    sources = [one for one in row.get("DataSources") or () if isinstance(one, Mapping)]
    base = next((str(one["Uri"]) for one in sources if one.get("MountPath") == OUTPUT and one.get("Uri")), "")
    channels = spec.channels if _is_ours(row) else ()
    own = _mounts(row, is_output=True)
    if base and not channels:
        return {"output": base, **own}
    return {channel: f"{base.rstrip('/')}/{channel}/" for channel in channels if base} | own


def _mounts(row: Mapping[str, Any], *, is_output: bool) -> dict[str, str]:
    """Return the URIs of inputs or outputs by the last part of their paths. Mounts at other places are inputs."""
    found: dict[str, str] = {}
    for one in row.get("DataSources") or ():
        path = str(one.get("MountPath") or "").rstrip("/")
        uri = str(one.get("Uri") or "")
        if not uri and one.get("DataSourceId"):
            uri = DataSet(str(one["DataSourceId"]), str(one.get("DataSourceVersion") or "")).uri
        if not uri or path == OUTPUT or path.startswith(f"{_MOUNTED}/code"):
            continue
        if path.startswith(f"{OUTPUT}/") == is_output:
            name = re.sub(r"[^\w.-]", "_", path.rpartition("/")[2]) or "data"
            while name in found:
                name += "_"
            found[name] = uri
    return found
