"""Job files of a neighbour: `NAME.neighbour.json` with `run`, a command, and `nice`."""

from __future__ import annotations

import json
from pathlib import Path

from jupyter_pai import Document, JobFile, JobSpec, errors

__all__ = ["GLOB", "document", "read"]

GLOB = "*.neighbour.json"


def read(path: Path, text: str) -> JobFile:
    """Return the spec of a job file. Its command runs in the folder of the file."""
    try:
        fields = json.loads(text)
    except json.JSONDecodeError as error:
        raise errors.SpecError(f"Line {error.lineno}: {error.msg}.", fix="Correct the JSON.") from None
    if not isinstance(fields, dict) or not isinstance(fields.get("run"), str):
        raise errors.SpecError(f"{path.name} has no command.", fix='Add it: {"run": "python train.py"}')
    options = {"nice": fields["nice"]} if "nice" in fields else {}
    spec = {"command": fields["run"], "options": options, "source": {"folder": str(path.parent)}}
    ignored = sorted(fields.keys() - {"run", "nice"})
    return JobFile(spec, (f"Ignored: {', '.join(ignored)}.",) if ignored else ())


def document(spec: JobSpec) -> Document:
    """Return what the neighbour is sent for a job, without the code and the values of secrets."""
    body = spec.model_dump(mode="json", exclude_defaults=True, exclude={"source", "name", "profile"})
    return Document("job.json", json.dumps(body, indent=2, ensure_ascii=False), "json")
