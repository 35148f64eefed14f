"""Default names of jobs: a base name and the time."""

from __future__ import annotations

import re
from datetime import datetime
from pathlib import PurePath

_STAMP = re.compile(r"_\d{8}-\d{6}$")


def generate_name(base: str) -> str:
    """Return a job name made of `base` and the current time."""
    clean = re.sub(r"[\x00-\x1f\x7f]", "", base).strip()[:112]
    return f"{clean or 'job'}_{datetime.now():%Y%m%d-%H%M%S}"


def base_name(name: str) -> str:
    """Return a name without its time suffix, if it has one."""
    return _STAMP.sub("", name)


def default_name(spec: dict[str, object], notebook: str) -> str:
    """Return the default name of a job: after the script or notebook that it runs, the notebook that submits it, or its
    folder."""
    source = spec.get("source")
    table = source if isinstance(source, dict) else {}
    entry, files, folder = spec.get("entry_point"), table.get("files"), table.get("folder")
    texts = (
        entry if isinstance(entry, str) and not (isinstance(files, dict) and entry in files) else "",
        notebook,
        folder if isinstance(folder, str) and not entry else "",
        entry if isinstance(entry, str) else "",
    )
    base = next(filter(None, (PurePath(text.strip()).stem for text in texts)), "")
    return generate_name(base.encode("utf-8", "replace").decode())
