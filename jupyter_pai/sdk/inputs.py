"""Inputs of the PAI SDK: file systems that are mounted into a job, and data sets of the workspace."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..core.errors import SpecError
from ..core.i18n import _
from ..jobs.datasets import DataSet
from ..source.dataframes import is_frame
from .target import Target, absolute

__all__ = [
    "CpfsFileSystemInput",
    "DatasetConfig",
    "FileSystemInput",
    "FileSystemInputBase",
    "Input",
    "folders_of",
    "uris_of",
]


class FileSystemInputBase(ABC):
    """A file system in a region."""

    @abstractmethod
    def to_input_uri(self, region_id: str = "") -> str:
        """Return the URI of an input channel. Default region: that of the default session.

        Raises:
            SettingsError: without a session.
        """


@dataclass(frozen=True)
class FileSystemInput(FileSystemInputBase):
    """A folder of a NAS file system; without a folder, the whole file system."""

    file_system_id: str
    directory_path: str | None = None

    def to_input_uri(self, region_id: str = "") -> str:
        folder = (self.directory_path or "").lstrip("/")
        return f"nas://{self.file_system_id}.{region_id or _region()}/{folder}"


@dataclass(frozen=True)
class CpfsFileSystemInput(FileSystemInputBase):
    """An export of a CPFS file system."""

    file_system_id: str
    protocol_service_id: str
    export_id: str

    def to_input_uri(self, region_id: str = "") -> str:
        path = f"{self.protocol_service_id}/{self.export_id}"
        return f"cpfs://{self.file_system_id}.{region_id or _region()}/{path}/"


@dataclass(frozen=True)
class DatasetConfig:
    """A data set of the workspace, by its ID. Default version: the platform's default.

    The SDK fills the other fields from replies; they have no effect here.
    """

    dataset_id: str
    name: str | None = None
    dataset_name: str | None = None
    version_name: str | None = None

    @property
    def uri(self) -> str:
        """The URI of an input channel."""
        return DataSet(self.dataset_id, self.version_name or "").uri


Input = Any  # str, Path, FileSystemInputBase, DatasetConfig, or a data frame of any library.


def uris_of(inputs: Mapping[str, Input] | None, target: Target) -> dict[str, str]:
    """Return the URI or absolute path of each channel. File systems are in the target's region. A data frame is
    returned unchanged: it is saved when the job is submitted.
    """
    return {channel: _uri(value, target) for channel, value in (inputs or {}).items()}


def folders_of(outputs: Mapping[str, Input], target: Target) -> dict[str, str]:
    """Return the URI or absolute path of each output channel. As in the SDK, a URI is that of a folder, which ends with
    a slash."""
    uris = uris_of(outputs, target)
    return {channel: f"{uri}/" if "://" in uri and not uri.endswith("/") else uri for channel, uri in uris.items()}


def _uri(value: Input, target: Target) -> Any:
    if isinstance(value, FileSystemInputBase):
        return value.to_input_uri(target.region())
    if isinstance(value, DatasetConfig):
        return value.uri
    if is_frame(value):
        return value
    if not isinstance(value, str | os.PathLike):
        raise SpecError(
            _("Invalid value of a channel: {kind}.").format(kind=type(value).__name__),
            fix=_("Pass a URI, a path, a file system or a data set."),
        )
    return absolute(value)


def _region() -> str:
    from .session import default_session

    return default_session().region_id
