"""Inputs by the SDK's names: file systems that are mounted into a job, data sets of the workspace."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..jobs.datasets import DataSet
from ..source.dataframes import is_frame
from .target import Place, absolute

__all__ = ["CpfsFileSystemInput", "DatasetConfig", "FileSystemInput", "FileSystemInputBase", "Input", "uris_of"]


class FileSystemInputBase(ABC):
    """A file system of a region."""

    @abstractmethod
    def to_input_uri(self, region_id: str = "") -> str:
        """The URI of an input channel; in the default session's region, if none is given.

        Raises:
            SettingsError: if there is no session.
        """


@dataclass(frozen=True)
class FileSystemInput(FileSystemInputBase):
    """A folder of a NAS file system; all of it without a folder."""

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
        place = f"{self.protocol_service_id}/{self.export_id}"
        return f"cpfs://{self.file_system_id}.{region_id or _region()}/{place}/"


@dataclass(frozen=True)
class DatasetConfig:
    """A data set of the workspace, by its id; the platform's default version of it, if none is named.

    The SDK has its other names for what its answers hold; they say nothing here.
    """

    dataset_id: str
    name: str | None = None
    dataset_name: str | None = None
    version_name: str | None = None

    @property
    def uri(self) -> str:
        """The URI of an input channel."""
        return DataSet(self.dataset_id, self.version_name or "").uri


Input = Any  # str, Path, FileSystemInputBase, DatasetConfig, or a data frame of whatever library.


def uris_of(inputs: Mapping[str, Input] | None, place: Place) -> dict[str, str]:
    """Each channel's URI, or absolute path; file systems are those of the place's region."""
    return {channel: _uri(given, place) for channel, given in (inputs or {}).items()}


def _uri(given: Input, place: Place) -> Any:
    """A frame stays one: it is saved when the job is submitted."""
    if isinstance(given, FileSystemInputBase):
        return given.to_input_uri(place.region())
    if isinstance(given, DatasetConfig):
        return given.uri
    return given if is_frame(given) else absolute(given)


def _region() -> str:
    from .session import default_session

    return default_session().region_id
