"""A name for the state of code and tests, under which results of long runs are kept."""

from __future__ import annotations

import hashlib
import subprocess

from ..conftest import ROOT

__all__ = ["code_digest"]


def code_digest(*folders: str) -> str:
    """Return the digest of the files of folders. `tests/mutants` changes no result."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", *folders]
    names = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
    digest = hashlib.sha256()
    for name in sorted(filter(None, names)):
        if (ROOT / name).is_file() and not name.startswith("tests/mutants/"):
            digest.update(name.encode() + b"\0" + (ROOT / name).read_bytes())
    return digest.hexdigest()[:16]
