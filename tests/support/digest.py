"""A name for the state of code and tests, under which results of long runs are kept."""

from __future__ import annotations

import hashlib
import subprocess

from ..conftest import ROOT

__all__ = ["code_digest"]


def code_digest() -> str:
    """Return the digest of the package and its tests. `tests/mutants` changes no result."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "jupyter_pai", "tests"]
    names = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
    digest = hashlib.sha256()
    for path in (ROOT / name for name in sorted(filter(None, names)) if not name.startswith("tests/mutants/")):
        if path.is_file():
            digest.update(str(path).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]
