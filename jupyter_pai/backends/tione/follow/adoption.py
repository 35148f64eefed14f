"""Tasks that were submitted elsewhere, for their list and for an import with what the platform returns of them."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Mapping
from datetime import datetime
from typing import Any

from ....cloud.tencent.reading import number_of, rows_of, text_of, time_of
from ....core import contract
from ....core.errors import NotFound
from ....core.i18n import _
from ....jobs.job import now
from ....jobs.spec import JobSpec, parse_spec
from ...remote import Candidate
from ...reports import RemoteJob, newest, spec_of_parts
from ..api import TioneApi
from ..console import task_url
from ..names import our_id
from ..submit.locations import MODEL, OUTPUT
from .task_replies import report_of, role_configs

__all__ = ["candidates", "job", "jobs"]

_PAGE, _LONGEST, _MOST_TAGS = 50, 128, 50
_NEWEST_FIRST = {"Order": "DESC", "OrderField": "CreateTime"}
# The scheme of a URI by the field with its source, and the fields of a source that may have the path.
_SCHEMES = {
    "CFSSource": "cfs",
    "CFSTurboSource": "cfsturbo",
    "HDFSSource": "emr",
    "GooseFSSource": "goosefs",
    "DataSetSource": "dataset",
}
_PATHS = ("Path", "NameSpace")


_OPTIONS = {
    "TrainingMode": "training_mode",
    "ResourceGroupId": "resource_group_id",
    "VpcId": "vpc_id",
    "SubnetId": "subnet_id",
    "Remark": "remark",
}


async def jobs(api: TioneApi, before: datetime | None = None, limit: int = 50) -> list[RemoteJob]:
    """Return the tasks of the workspace, newest first; with `before`, older ones only."""
    pages = api.pages("DescribeTrainingTasks", "TrainingTaskSet", _NEWEST_FIRST, size=_PAGE)
    return await newest((_remote(api, row, _bare(row)) async for rows in pages for row in rows), before, limit)


async def candidates(api: TioneApi, job_id: str) -> AsyncIterator[Candidate]:
    """Yield the tasks whose names may end with our id, newest first."""
    named = {"Filters": [{"Name": "Name", "Values": [job_id], "Fuzzy": True}]}
    # The platform may not search for parts of names: the newest tasks are candidates, too.
    for query, most in ((named, None), ({}, _PAGE)):
        count = 0
        async for rows in api.pages("DescribeTrainingTasks", "TrainingTaskSet", query | _NEWEST_FIRST, size=_PAGE):
            for row in rows:
                yield Candidate(text_of(row.get("Id")), our_id(text_of(row.get("Name"))), _submitted_at(row))
            count += len(rows)
            if most and count >= most:
                break


async def job(api: TioneApi, remote_id: str) -> RemoteJob:
    """Return a task with a spec of its fields. The values of private variables are not among them.

    Raises:
        NotFound: if the platform does not have it.
    """
    detail = (await api.call("DescribeTrainingTask", {"Id": remote_id})).get("TrainingTaskDetail")
    if not isinstance(detail, Mapping) or not detail:
        raise NotFound(_("The platform does not have the task {id}.").format(id=remote_id))
    # Only rows have the variables.
    query = {"Filters": [{"Name": "Id", "Values": [remote_id]}], "Limit": 1}
    rows = rows_of(await api.call("DescribeTrainingTasks", query), "TrainingTaskSet")
    row = next((row for row in rows if text_of(row.get("Id")) == remote_id), {})
    return _remote(api, detail, _spec({"Envs": row.get("Envs"), **detail}))


def _remote(api: TioneApi, task: Mapping[str, Any], spec: JobSpec) -> RemoteJob:
    """Return a task of a row or a detail."""
    remote_id = text_of(task.get("Id"))
    page = task_url(api.settings, remote_id)
    user = text_of(task.get("SubUinName")) or text_of(task.get("SubUin"))
    return RemoteJob(
        remote_id,
        spec,
        report_of(task, console_url=page),
        _submitted_at(task),
        user=user,
        console_url=page,
        outputs=_outputs(task, remote_id, spec),
        job_id=our_id(text_of(task.get("Name"))),
    )


def _submitted_at(task: Mapping[str, Any]) -> datetime:
    return time_of(task.get("CreateTime")) or now()


def _is_ours(task: Mapping[str, Any]) -> bool:
    return bool(our_id(text_of(task.get("Name"))))


def _bare(task: Mapping[str, Any]) -> JobSpec:
    """Return a spec with name and labels only."""
    name = text_of(task.get("Name"))
    name = name.removesuffix(f"-{our_id(name)}") if our_id(name) else name
    shown = "".join(filter(str.isprintable, name)).strip()[:_LONGEST] or "job"
    tags = {text_of(tag.get("TagKey")): text_of(tag.get("TagValue")) for tag in rows_of(task, "Tags")[:_MOST_TAGS]}
    labels = {key[:_LONGEST]: value[:_LONGEST] for key, value in tags.items() if key}
    return parse_spec({"name": shown, "command": f"# {shown}", "labels": labels})


def _spec(task: Mapping[str, Any]) -> JobSpec:
    """Return the spec of a task; without those of its fields that are not valid here."""
    bare = _bare(task)
    fields: dict[str, Any] = {"name": bare.name, "labels": bare.labels, "command": bare.command}
    image = task.get("ImageInfo")
    more: dict[str, Any] = {
        "image": text_of(image.get("ImageUrl") if isinstance(image, Mapping) else "")
        or text_of(task.get("FrameworkEnvironment")),
        "environment": _variables(task),
        "hyperparameters": _hyperparameters(text_of(task.get("TuningParameters"))),
        "inputs": _data(task, is_output=False),
        "options": _options(task),
    }
    machines = _machines(task, bare.command)
    first = machines | ({"command": bare.command} if _is_ours(task) else {})
    return spec_of_parts(fields, [first, *({name: value} for name, value in more.items() if value)])


def _options(task: Mapping[str, Any]) -> dict[str, str]:
    return {name: text for field, name in _OPTIONS.items() if (text := text_of(task.get(field)))}


def _machines(task: Mapping[str, Any], command: str) -> dict[str, Any]:
    """Return command, machines and roles."""
    commands = task.get("StartCmdInfo")
    commands = commands if isinstance(commands, Mapping) else {}
    common = text_of(commands.get("WorkerStartCmd")) or text_of(commands.get("StartCmd")) or command
    roles = []
    for config in role_configs(task):
        name, own = text_of(config.get("Role")).lower() or "worker", ""
        if name == "ps":
            own = text_of(commands.get("PsStartCmd"))
        count = int(number_of(config.get("InstanceNum")) or 1)
        roles.append({"name": name, "count": count, "command": own, **_machine(config)})
    if len(roles) == 1:
        (only,) = roles
        sizes = {name: value for name, value in only.items() if name not in ("name", "count", "command")}
        return {"command": common, "instance_count": only["count"], **sizes}
    return {"command": common, "roles": roles}


def _machine(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the instance type of a role, or its sizes in a resource group: thousandths of a core, MB, hundredths of a
    GPU."""
    if kind := text_of(config.get("InstanceType")):
        return {"instance_type": kind}
    cpu, memory, gpu = (number_of(config.get(name)) for name in ("Cpu", "Memory", "Gpu"))
    sizes = {"cpu": cpu and cpu / 1000, "memory": memory and f"{int(memory)}MiB", "gpu": gpu and int(gpu // 100)}
    return {name: value for name, value in sizes.items() if value}


def _variables(task: Mapping[str, Any]) -> dict[str, str]:
    rows = [row for row in rows_of(task, "Envs") if row.get("IsPrivate") is not True and text_of(row.get("Name"))]
    return {text_of(row.get("Name")): text_of(row.get("Value")) for row in rows}


def _hyperparameters(text: str) -> dict[str, str]:
    """Return hyperparameters of a text that need not be JSON."""
    try:
        values = json.loads(text)
    except ValueError:
        return {}
    pairs = values.items() if isinstance(values, dict) else ()
    texts = {name: contract.text(value) for name, value in pairs}
    return {name: value for name, value in texts.items() if value is not None}


def _data(task: Mapping[str, Any], *, is_output: bool) -> dict[str, str]:
    """Return the URIs of the inputs or outputs by a name that the last part of their path gives."""
    found: dict[str, str] = {}
    for row in rows_of(task, "DataConfigs"):
        if (uri := _uri(row)) and (row.get("DataSourceUsage") == "OUTPUT") == is_output:
            last = text_of(row.get("MappingPath")).rstrip("/").rpartition("/")[2]
            name = re.sub(r"[^A-Za-z0-9_]", "_", last) or "data"
            while name in found:
                name += "_"
            found[name] = uri
    return found


def _uri(row: Mapping[str, Any]) -> str:
    if uri := _cos_uri(row.get("COSSource")):
        return uri
    for field, scheme in _SCHEMES.items():
        source = row.get(field)
        if isinstance(source, Mapping) and (place := text_of(source.get("Id"))):
            scheme = "goosefsx" if source.get("Type") == "GooseFSx" else scheme
            path = next((text for name in _PATHS if (text := text_of(source.get(name)).strip("/"))), "")
            return f"{scheme}://{place}" if scheme == "dataset" else f"{scheme}://{place}/{path}"
    return ""


def _cos_uri(place: object) -> str:
    """Return the URI of the first path of a place in COS; empty for an empty place."""
    if not isinstance(place, Mapping):
        return ""
    bucket, paths = text_of(place.get("Bucket")), place.get("Paths")
    first = text_of(paths[0]) if isinstance(paths, list) and paths else ""
    return f"cos://{bucket}/{first.lstrip('/')}" if bucket and paths else ""


def _outputs(task: Mapping[str, Any], remote_id: str, spec: JobSpec) -> dict[str, str]:
    """Return where the outputs of a task are. The platform joins path and id as they are."""
    base, own = _cos_uri(task.get("Output")), _data(task, is_output=True)
    if not base:
        return own
    folder = f"{base}{remote_id}/"
    channels = spec.channels if _is_ours(task) else ()
    standard = {channel: f"{folder}{OUTPUT}/{channel}/" for channel in channels} or {OUTPUT: f"{folder}{OUTPUT}/"}
    return standard | {MODEL: f"{folder}{MODEL}/"} | own
