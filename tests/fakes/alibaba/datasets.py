"""Data sets of the workspace: ids for folders and files of the buckets, in versions."""

from __future__ import annotations

import secrets
from typing import Any

from .service_errors import Refusal

__all__ = ["Datasets"]


class Datasets:
    """The location of each version's data, the newest last."""

    def __init__(self) -> None:
        self._versions: dict[str, dict[str, str]] = {}

    def add(self, versions: dict[str, str]) -> str:
        """Add a data set from URIs by version, and return its id."""
        made = f"d-{secrets.token_hex(9)}"
        self._versions[made] = dict(versions)
        return made

    def places(self, channels: list[dict[str, Any]]) -> dict[str, str]:
        """Return the URI of each input channel. Raises Refusal."""
        return {
            channel.get("Name", ""): self.place(
                f"Input channel {channel.get('Name')}",
                "InvalidInputChannels",
                channel.get("InputUri"),
                channel.get("DatasetId"),
                channel.get("VersionName"),
            )
            for channel in channels
        }

    def place(self, what: str, code: str, uri: str | None, dataset: str | None, version: str | None) -> str:
        """Return the URI that is given, or that of a data set. Raises Refusal, with the code if there are both."""
        if bool(uri) == bool(dataset):
            raise Refusal(400, code, f"{what} needs either a URI or the id of a data set.")
        if uri:
            return str(uri)
        versions = self._versions.get(dataset or "")
        if versions is None:
            raise Refusal(404, "DATASET_NOT_FOUND", f"Dataset {dataset} is not found.")
        version = version or list(versions)[-1]
        if version not in versions:
            raise Refusal(404, "DATASET_VERSION_NOT_FOUND", f"Version {version} of dataset {dataset} is not found.")
        return versions[version]
