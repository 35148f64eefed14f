"""The ways of code, inputs and outputs between this machine and jobs: the document itself, a storage of the cluster
that is mounted here too, or HDFS.

Below the folder of a storage or of HDFS are ``code/<digest>/``, ``inputs/<digest>/`` and ``outputs/<id>/``.
"""

from __future__ import annotations

import os
import pwd
import re
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from urllib.parse import urlsplit

from ....core import file_uri
from ....core.i18n import _
from ....jobs.job import Job
from ...private_folder import PrivateFolder, folder_uri, path_of
from ..options import OpenPaiSettings

__all__ = [
    "Share",
    "can_read",
    "code_uri",
    "has_place",
    "hdfs_folder",
    "input_uri",
    "is_hdfs",
    "is_web",
    "output_uri",
    "place_name",
    "place_of_outputs",
    "seen_at",
    "share",
    "uri_of_outputs",
]

_FOLDER = "jupyter-pai"


@dataclass(frozen=True)
class Share:
    """A storage of the cluster that is mounted here: `name` on the cluster, `local` path here. Jobs see it at `inside`.

    Our own folder in it has the login name of this process, since several users may share the storage.
    """

    name: str
    local: Path

    @property
    def inside(self) -> PurePosixPath:
        return PurePosixPath("/mnt", self.name)

    @property
    def folder(self) -> PrivateFolder:
        return PrivateFolder(self.local / _own_name(), f"mounts.{self.name}")

    @property
    def folder_inside(self) -> PurePosixPath:
        return self.inside / _own_name()


def _own_name() -> str:
    try:
        return f"{_FOLDER}-{pwd.getpwuid(os.getuid()).pw_name}"
    except KeyError:
        return f"{_FOLDER}-{os.getuid()}"


def share(settings: OpenPaiSettings) -> Share | None:
    """Return the storage for code, inputs and outputs; None if there is none that is mounted here."""
    name = settings.shared_storage
    return Share(name, Path(settings.mounts[name])) if name else None


def hdfs_folder(settings: OpenPaiSettings) -> str:
    """Return our folder in HDFS as a URI; empty without HDFS. An address of HDFS without a path means the home
    folder."""
    if not settings.hdfs:
        return ""
    parts = urlsplit(settings.hdfs)
    path = parts.path.rstrip("/") if parts.scheme == "hdfs" else ""
    return f"hdfs://{parts.netloc.lower()}{path or f'/user/{settings.hdfs_login}'}/{_FOLDER}/"


def has_place(settings: OpenPaiSettings) -> bool:
    """Return whether a profile has a place for inputs and outputs."""
    return bool(share(settings) or settings.hdfs)


def place_name(settings: OpenPaiSettings) -> str:
    """Return the name of that place for messages; empty if there is none."""
    if found := share(settings):
        return _("the storage {name} ({path})").format(name=found.name, path=found.folder.path)
    if settings.hdfs:
        return _("HDFS ({uri})").format(uri=hdfs_folder(settings))
    return ""


def code_uri(settings: OpenPaiSettings, digest: str) -> str:
    """Return the folder for packed code; empty if it can only be in the document. Creates it in a storage."""
    return _uri(settings, "code", digest)


def input_uri(settings: OpenPaiSettings) -> str:
    """Return the folder for inputs of this machine; empty without a place. Creates it in a storage."""
    return _uri(settings, "inputs")


def _uri(settings: OpenPaiSettings, *names: str) -> str:
    if found := share(settings):
        found.folder.create(*names)
        return found.folder.uri(*names)
    base = hdfs_folder(settings)
    return f"{base}{'/'.join(names)}/" if base else ""


def output_uri(settings: OpenPaiSettings, job: Job) -> str:
    """Return the folder for the outputs of a job, which ends with ``/``; empty without a place."""
    path = job.spec.output_path
    if path:
        return folder_uri(path)
    if found := share(settings):
        return found.folder.uri("outputs", job.id)
    base = hdfs_folder(settings)
    return f"{base}outputs/{job.id}/" if base else ""


def place_of_outputs(settings: OpenPaiSettings, job: Job) -> str:
    """Return where jobs see the folder for the outputs: a path or a URI of HDFS; empty without a place."""
    uri = output_uri(settings, job)
    place = seen_at(settings, uri)
    return f"{place[1]}/" if place else uri


def uri_of_outputs(settings: OpenPaiSettings, place: str) -> str:
    """Return the URI of the folder that `place_of_outputs` describes; empty if this machine does not see it."""
    if is_hdfs(place):
        return place
    for name, mount in settings.mounts.items():
        inside = PurePosixPath("/mnt", name)
        path = PurePosixPath(os.path.normpath(place))
        if path.is_relative_to(inside):
            return file_uri.uri_of(Path(mount, path.relative_to(inside)), folder=True)
    return ""


def is_hdfs(uri: str) -> bool:
    """Return whether a URI is one of HDFS."""
    return uri.lower().startswith("hdfs://")


def is_web(uri: str) -> bool:
    """Return whether jobs fetch a URI by HTTP."""
    return re.match(r"https?://", uri) is not None


def can_read(settings: OpenPaiSettings, uri: str) -> bool:
    """Return whether jobs see a path or URI of this machine: it is in a mounted storage."""
    return seen_at(settings, uri) is not None


def seen_at(settings: OpenPaiSettings, uri: str) -> tuple[str, str] | None:
    """Return the storage of a path or URI of this machine, and where jobs see it; None if they do not see it."""
    if not (path := path_of(uri)):
        return None
    for found in map(Path, dict.fromkeys([os.path.normpath(path), os.path.realpath(path)])):
        for name, mount in settings.mounts.items():
            for top in dict.fromkeys([mount, os.path.realpath(mount)]):
                if found.is_relative_to(top):
                    return name, str(PurePosixPath("/mnt", name, *found.relative_to(top).parts))
    return None
