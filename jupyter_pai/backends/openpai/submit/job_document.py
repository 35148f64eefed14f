"""The document of a job, generated from its spec.

What is the user's is in base64: the server renders commands as templates, and bash ends at the first unset variable.
Each role unpacks the same script from the parameters of the document.
"""

from __future__ import annotations

import base64
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ....core.text import parse_size
from ....jobs.job import Job, JobStatus, now
from ....jobs.spec import JobSpec
from ....jobs.state_dir import JobFolder, Packing, read_manifest
from ...base import parse_options
from ...job_files import Document
from ...private_folder import path_of
from ...runtime import packed_script
from .. import own_document
from ..names import BOARD, MASTER, OWN, job_name, role_extras, role_names
from ..options import Completion, OpenPaiOptions, OpenPaiSettings
from ..protocol.check import LIMIT
from ..protocol.problems import entry
from ..protocol.reader import parse
from ..protocol.references import Cluster
from ..protocol.writer import write
from . import locations
from .cluster import cluster_of
from .instance_script import Routes, instance_script, routes
from .sizes import Size, size_of

if TYPE_CHECKING:
    from ..client import OpenPaiClient

__all__ = [
    "AT_SUBMIT",
    "CODE",
    "SCRIPT",
    "document_of",
    "generated",
    "is_generated",
    "preview",
    "room_for_code",
    "secret_key",
    "unpacking",
    "virtual_cluster",
    "waits",
]

# Parameters of a document: the script of each instance, and the archive of the code.
SCRIPT, CODE = "jupyter_pai_script", "jupyter_pai_code"
AT_SUBMIT = "added at the submit"
"""Stands for such a parameter in a preview. It may be sent so: the submit puts the value in its place."""

_MIB = 1 << 20


def is_generated(options: OpenPaiOptions) -> bool:
    """Return whether the document of a job is a generated one, or one that was edited."""
    return not options.document or waits(options.document, SCRIPT)


def waits(text: str, parameter: str) -> bool:
    """Return whether a parameter of a document is to be added at the submit."""
    return entry(parse(text).value, "parameters", parameter) == AT_SUBMIT


def virtual_cluster(settings: OpenPaiSettings, options: OpenPaiOptions) -> str:
    """Return the virtual cluster of a job, or of its own document."""
    if options.document:
        return str(entry(parse(options.document).value, "defaults", "virtualCluster") or "default")
    return options.virtual_cluster or settings.virtual_cluster or "default"


def secret_key(variable: str) -> str:
    """Return the name of a secret in a document: its value is in base64, so that it may have quotes and line ends."""
    return f"{variable}_base64"


async def preview(spec: JobSpec, settings: OpenPaiSettings, client: OpenPaiClient) -> Document:
    """Return the document of a resolved spec, with placeholders for script, code and secrets, or its own document."""
    options = parse_options(OpenPaiOptions, spec.options)
    if options.document:
        return own_document.as_document(options.document, Path(options.document_file).name)
    return own_document.as_document(
        generated(spec, settings, await cluster_of(client, virtual_cluster(settings, options)))
    )


def generated(spec: JobSpec, settings: OpenPaiSettings, cluster: Cluster) -> str:
    """Return the document of a resolved spec, with placeholders for script, code and secrets."""
    options, job = parse_options(OpenPaiOptions, spec.options), _job(spec, settings)
    has_code = bool(spec.source.folder or spec.source.files)
    found = routes(job, settings, "-" if has_code else "")
    document = _document(job, settings, options, cluster, found, has_code=has_code)
    document["name"] = job_name(spec.name, "").rstrip("_") or "job"  # The submit adds the id.
    document["parameters"] = dict.fromkeys(document["parameters"], AT_SUBMIT)
    if "outputs" in document["extras"].get(OWN, {}):
        document["extras"][OWN]["outputs"] = AT_SUBMIT
    return write(document)


def _job(spec: JobSpec, settings: OpenPaiSettings) -> Job:
    """Return a job for a spec that was not submitted yet, without the inputs that are to be uploaded."""
    inputs = {name: uri for name, uri in spec.inputs.items() if not _is_uploaded(uri, settings)}
    return Job(
        id="idididid",
        spec=spec.model_copy(update={"inputs": inputs}),
        backend="openpai",
        profile=spec.profile,
        status=JobStatus.STARTING,
        submitted_at=now(),
    )


def _is_uploaded(uri: str, settings: OpenPaiSettings) -> bool:
    return bool(path_of(uri)) and not locations.can_read(settings, uri)


def room_for_code(spec: JobSpec, settings: OpenPaiSettings, cluster: Cluster) -> int:
    """Return about how many bytes of packed code fit into the document of a spec. Inputs that are to be uploaded do not
    count."""
    job = _job(spec, settings)
    options = parse_options(OpenPaiOptions, spec.options)
    found = routes(job, settings, "-")
    document = _document(job, settings, options, cluster, found, has_code=True)
    document["parameters"][SCRIPT] = packed_script.packed(instance_script(job, settings, options, "-"))
    return (LIMIT - len(write(document).encode("utf-8", "surrogateescape"))) // 4 * 3


def document_of(job: Job, folder: JobFolder, settings: OpenPaiSettings, cluster: Cluster, code: str) -> str:
    """Return the document of a job, in which secrets are masked.

    `code`: the URI of the folder with its code; `-` if it is in the document, empty for none. May block.

    Raises:
        SpecError: if an instance type is not one of the cluster.
    """
    options = parse_options(OpenPaiOptions, job.spec.options)
    found = routes(job, settings, code)
    document = _document(job, settings, options, cluster, found, has_code=code == "-")
    names = _packed_names(folder)
    script = instance_script(
        job,
        settings,
        options,
        code,
        Packing.read(folder).import_paths,
        has_requirements="requirements.txt" in names,
    )
    document["parameters"][SCRIPT] = packed_script.packed(script)
    if code == "-":
        document["parameters"][CODE] = base64.b64encode(folder.source.read_bytes()).decode()
    return write(document)


def _packed_names(folder: JobFolder) -> Collection[str]:
    try:
        return read_manifest(folder)
    except (OSError, ValueError):
        return ("requirements.txt",)  # It may be there.


def unpacking(*, has_code: bool) -> list[str]:
    """Return the commands that unpack script and code into a new folder, `$pai_here`."""
    lines = packed_script.unpacking(f"<% $parameters.{SCRIPT} %>")
    if has_code:
        lines.append(f"pai_decode <<'PAI_END' > \"$pai_here/source.tar.gz\"\n<% $parameters.{CODE} %>\nPAI_END")
    return lines


def _document(
    job: Job, settings: OpenPaiSettings, options: OpenPaiOptions, cluster: Cluster, found: Routes, *, has_code: bool
) -> dict[str, Any]:
    """Return the document with empty parameters. `has_code`: the code is one of them."""
    spec = job.spec
    names = role_names(spec)
    images = [*dict.fromkeys(one.image for one in spec.by_role.values())]
    image_names = {image: "image" if len(images) == 1 else f"image_{n}" for n, image in enumerate(images, 1)}
    sizes = {role: size_of(one, cluster.skus or {}) for role, one in spec.by_role.items()}
    document: dict[str, Any] = {
        "protocolVersion": 2,
        "name": job_name(spec.name, job.id),
        "type": "job",
        "jobRetryCount": options.job_retries,
        "prerequisites": [{"type": "dockerimage", "name": name, "uri": uri} for uri, name in image_names.items()],
        "parameters": {SCRIPT: "", **({CODE: ""} if has_code else {})},
    }
    if spec.secrets:
        document["secrets"] = {secret_key(name): own_document.MASK for name in spec.secrets}
    document["taskRoles"] = {}
    first = 0
    for role, one in spec.by_role.items():
        document["taskRoles"][names[role]] = {
            "instances": one.instance_count,
            **_completion(options.completion.get(role)),
            **({"taskRetryCount": options.task_retries} if options.task_retries else {}),
            "dockerImage": image_names[one.image],
            **_shared_memory(options),
            "resourcePerInstance": _resources(sizes[role]) | _ports(spec, options, is_first=not first),
            "commands": _commands(spec, first, has_code=has_code),
        }
        first += one.instance_count
    document["defaults"] = {"virtualCluster": virtual_cluster(settings, options)}
    document["extras"] = _extras(job, settings, options, found, {names[role]: size for role, size in sizes.items()})
    return document


def _commands(spec: JobSpec, first: int, *, has_code: bool) -> list[str]:
    """Return the commands of a role. `first`: the rank of its first instance."""
    secrets = [_secret(name) for name in spec.secrets]
    # The name ends with our id.
    job = 'export pai_job="${PAI_JOB_NAME##*_}"'
    return [*unpacking(has_code=has_code), *secrets, job, f'exec sh "$pai_here/script" {first} start']


def _secret(name: str) -> str:
    """Return the command that sets the variable of a secret. The dot keeps the line ends before it."""
    decoded = f"$(printf %s '<% $secrets.{secret_key(name)} %>' | pai_decode; echo .)"
    return f'{name}="{decoded}"\nexport {name}="${{{name}%.}}"'


def _completion(chosen: Completion | None) -> dict[str, Any]:
    if chosen is None:
        return {}
    limits = {"minFailedInstances": chosen.min_failed, "minSucceededInstances": chosen.min_succeeded}
    return {"completion": {name: value for name, value in limits.items() if value is not None}}


def _shared_memory(options: OpenPaiOptions) -> dict[str, Any]:
    size = parse_size(options.shared_memory) if options.shared_memory else 0
    return {"extraContainerOptions": {"shmMB": -(-size // _MIB)}} if size else {}


def _resources(size: Size) -> dict[str, Any]:
    return {"cpu": size.cpu, "memoryMB": size.memory, "gpu": size.gpu}


def _ports(spec: JobSpec, options: OpenPaiOptions, *, is_first: bool) -> dict[str, Any]:
    ports = dict(options.ports)
    if is_first:
        ports |= {MASTER: max(ports.get(MASTER, 1), 1)} if spec.instance_count > 1 else {}
        ports |= {BOARD: max(ports.get(BOARD, 1), 1)} if options.tensorboard else {}
    return {"ports": ports} if ports else {}


def _extras(
    job: Job, settings: OpenPaiSettings, options: OpenPaiOptions, found: Routes, sizes: Mapping[str, Size]
) -> dict[str, Any]:
    extras: dict[str, Any] = {"submitFrom": "jupyter-pai", **role_extras(job.spec)}
    if place := locations.place_of_outputs(settings, job):
        # By which an engine that adopts the job finds them.
        extras.setdefault(OWN, {})["outputs"] = place
    if storages := [*dict.fromkeys([*found.storages, *options.storages])]:
        extras["storages"] = [{"name": name} for name in storages]
    if options.task_retries:
        extras["gangAllocation"] = False
    if any(size.sku for size in sizes.values()):
        extras["hivedScheduler"] = {
            **({"jobPriorityClass": options.priority} if options.priority else {}),
            "taskRoles": {role: {"skuType": size.sku} for role, size in sizes.items()},
        }
    if options.ssh:
        # The keys of the user's profile are added by the server.
        ssh = {"jobssh": not options.task_retries}
        extras["com.microsoft.pai.runtimeplugin"] = [{"plugin": "ssh", "parameters": ssh}]
    return extras
