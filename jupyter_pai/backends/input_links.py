"""Inputs that come from the folder of the code: a job has them at their own paths in it, too, by links."""

from __future__ import annotations

import os

from ..core.file_uri import local_path
from ..jobs.spec import JobSpec

__all__ = ["input_links"]


def input_links(spec: JobSpec) -> dict[str, str]:
    """Return the paths in the code of the inputs that are below the packed folder, and where their
    data is: the channel, with the name of a single file. `spec` has the inputs of the user."""
    links = {}
    for channel, uri in spec.inputs.items():
        path = local_path(uri)
        inner = os.path.relpath(path, spec.source.folder) if path and spec.source.folder else ".."
        if inner != "." and inner.split("/")[0] != "..":
            is_folder = path.endswith("/") or os.path.isdir(path)
            links[inner] = channel if is_folder else f"{channel}/{os.path.basename(path)}"
    return {
        path: place for path, place in sorted(links.items()) if not any(path.startswith(f"{outer}/") for outer in links)
    }
