"""The mounts of a job: its code, inputs and outputs, and the folders that its options name.

Folders are mounted at their places below ``/ml``. The platform mounts folders only, so that an input that is a file is
a link to one in ``/ml/mount``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs

from ....core.contract import Layout
from ....core.errors import SpecError
from ....core.i18n import _
from ....jobs.datasets import DataSet, is_dataset
from ....jobs.job import Job
from ..api import filled
from .options import DlcOptions

__all__ = ["CODE", "OUTPUT", "SCHEMES", "Mounts", "check_mounts", "mounts_of", "place_of_uri"]

SCHEMES = ("oss", "nas", "cpfs", "bmcpfs", "dataset", "file")
"""Schemes of inputs."""
OUTPUT = "/ml/output"
CODE = "/ml/mount/code"
"""The folders of all outputs, and of the packed code."""

_FILES = "/ml/mount/input"
# The archive of the code in its folder.
_ARCHIVE = "source.tar.gz"
_QUERY = re.compile(r"(.*?)\?((?:endpoint|host|role_arn)=.*)", re.DOTALL)

# Returns a URI with the endpoint that the platform requires.
WithEndpoint = Callable[[str], str]


@dataclass(frozen=True)
class Mounts:
    """The mounts as fields of a request, the path of each input in the job, that of the code (empty for none), and the
    folders of outputs with their own location."""

    sources: list[dict[str, Any]]
    inputs: Mapping[str, str] = field(default_factory=dict)
    code: str = ""
    outputs: Mapping[str, str] = field(default_factory=dict)


def mounts_of(job: Job, options: DlcOptions, base: str, code_uri: str, endpoint: WithEndpoint) -> Mounts:
    """Return the mounts of a job. `base`: the folder of its outputs; `code_uri`: that of its code, or empty."""
    spec = job.staged_spec
    sources, inputs = list[dict[str, Any]](), dict[str, str]()
    if code_uri:
        sources.append(_source(code_uri, CODE, endpoint))
    for name, uri in spec.inputs.items():
        bare, role = place_of_uri(uri)
        folder, file = split_file(bare)
        path = f"{_FILES}/{name}" if file else Layout().input(name).rstrip("/")
        more: dict[str, Any] = {
            "Options": options.input_options.get(name),
            "RoleArn": options.input_roles.get(name) or role,
        }
        sources.append(_source(folder, path, endpoint, **more))
        inputs[name] = f"{path}/{file}" if file else path
    outputs = {name: f"{OUTPUT}/{name}" for name in spec.outputs}
    # All channels without a location of their own are in one mount, so that they have one role.
    role = next((arn for name, arn in options.output_roles.items() if name not in spec.outputs), "")
    sources.append(_source(base, OUTPUT, endpoint, access="RW", RoleArn=role))
    for name, uri in spec.outputs.items():
        more = {"RoleArn": options.output_roles.get(name)}
        sources.append(_source(f"{uri.rstrip('/')}/", outputs[name], endpoint, access="RW", **more))
    for mount in options.data_sources:
        uri = mount.uri or DataSet(mount.data_source_id, mount.data_source_version).uri
        more = {"Options": mount.options, "RoleArn": mount.role_arn, "EnableCache": mount.enable_cache}
        sources.append(_source(uri, mount.mount_path.rstrip("/"), endpoint, access=mount.mount_access, **more))
    return Mounts(sources, inputs, f"{CODE}/{_ARCHIVE}" if code_uri else "", outputs)


def _source(uri: str, path: str, endpoint: WithEndpoint, *, access: str = "RO", **more: Any) -> dict[str, Any]:
    """Return a data source."""
    common = {"MountPath": path, "MountAccess": access}
    if is_dataset(uri):
        dataset = DataSet.parse(uri)
        return filled({"DataSourceId": dataset.id, "DataSourceVersion": dataset.version, **common, **more})
    bare, role = place_of_uri(uri)
    return filled({"Uri": endpoint(bare), **common, **more, "RoleArn": more.get("RoleArn") or role})


def split_file(uri: str) -> tuple[str, str]:
    """Return the folder to mount, and the name of the file in it, which is empty for a folder. Only objects of OSS can
    be files: they have no slash at the end."""
    if not uri.startswith("oss://") or uri.endswith("/") or uri.count("/") < 3:
        return uri, ""
    folder, _slash, file = uri.rpartition("/")
    return f"{folder}/", file


def place_of_uri(uri: str) -> tuple[str, str]:
    """Return an ``oss://`` URI without a query, with the endpoint that the query names, and its RAM role."""
    match = _QUERY.fullmatch(uri) if uri.startswith("oss://") else None
    if match is None:
        return uri, ""
    query = parse_qs(match[2])
    endpoint = (query.get("endpoint") or query.get("host") or [""])[0].rpartition("://")[2]
    bucket, slash, key = match[1].removeprefix("oss://").partition("/")
    if endpoint and "." not in bucket:
        bucket = f"{bucket}.{endpoint.strip('/')}"
    return f"oss://{bucket}{slash}{key}", (query.get("role_arn") or [""])[0]


def check_mounts(options: DlcOptions, inputs: Mapping[str, str], outputs: Mapping[str, str]) -> None:
    """Check that no two mounts have one folder, and that outputs are folders that the platform mounts.

    Raises:
        SpecError: naming the field.
    """
    used = {OUTPUT, CODE, *_paths(inputs, outputs)}
    for number, one in enumerate(options.data_sources):
        path = one.mount_path.rstrip("/")
        if path in used or "/.." in path or path == "/ml":
            raise SpecError(
                _("options.data_sources.{number}.mount_path: {path} is already used by the job.").format(
                    number=number, path=path
                ),
                fix=_("Name another folder, such as /mnt/data."),
            ).at(f"options.data_sources.{number}.mount_path")
        used.add(path)
        scheme = one.uri.partition("://")[0]
        if one.uri and scheme not in SCHEMES[:4]:
            raise SpecError(
                _("options.data_sources.{number}.uri: PAI-DLC cannot mount {uri}.").format(number=number, uri=one.uri),
                fix=_("Known are: {names}.").format(names=", ".join(f"{name}://" for name in SCHEMES[:4])),
            ).at(f"options.data_sources.{number}.uri")


def _paths(inputs: Mapping[str, str], outputs: Mapping[str, str]) -> Iterator[str]:
    for name in inputs:
        yield Layout().input(name).rstrip("/")
        yield f"{_FILES}/{name}"
    for name in outputs:
        yield f"{OUTPUT}/{name}"
