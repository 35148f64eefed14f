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
        return {channel.get("Name", ""): self._place(channel) for channel in channels}

    def _place(self, channel: dict[str, Any]) -> str:
        uri, wanted = channel.get("InputUri"), channel.get("DatasetId")
        if bool(uri) == bool(wanted):
            message = f"Input channel {channel.get('Name')} needs either InputUri or DatasetId."
            raise Refusal(400, "InvalidInputChannels", message)
        if uri:
            return str(uri)
        versions = self._versions.get(wanted or "")
        if versions is None:
            raise Refusal(404, "DATASET_NOT_FOUND", f"Dataset {wanted} is not found.")
        version = channel.get("VersionName") or list(versions)[-1]
        if version not in versions:
            raise Refusal(404, "DATASET_VERSION_NOT_FOUND", f"Version {version} of dataset {wanted} is not found.")
        return versions[version]
