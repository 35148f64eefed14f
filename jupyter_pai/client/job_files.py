"""Job files of platforms, such as batch scripts: the engine reads them as a spec."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from .base import Client

# Files that are no job files, so that the engine need not be asked.
_CODE = (".py", ".ipynb")


class JobFile(NamedTuple):
    """The spec of a job file, and notes on what is different here."""

    spec: dict[str, Any]
    notes: list[str]


def read(client: Client, path: Path, *, profile: str = "", backend: str = "") -> JobFile | None:
    """Return the spec of a job file; None for other files and folders. The spec names the profile that runs it.

    Raises:
        BadInput: naming the line that cannot be meant, or for a file that cannot be submitted.
    """
    if path.suffix in _CODE or not path.is_file():
        return None
    form = client.call("form", path=str(path), profile=profile, backend="" if profile else backend)
    return JobFile(form["request"]["spec"], form["notes"]) if form["kind"] == "job_file" else None
