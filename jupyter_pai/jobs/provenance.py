"""Provenance of a job: git state of its code, interpreter, packages, version of jupyter-pai.

Collected after the job has started, so that no job waits for it. Unavailable facts are omitted and never raise an
error.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import os
import re
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from .. import __version__
from ..core.errors import DAMAGED
from ..core.filesystem import modified, replace_file
from ..core.programs import output
from .git_state import Git, git_state
from .job import Job
from .state_dir import Home

_NICE = 10


class Provenance(BaseModel):
    """The provenance of a job. `packages` maps names, normalized as in PEP 503, to versions. `environment` is the
    folder of the environment that adds the job's requirements to the interpreter."""

    jupyter_pai: str = ""
    git: Git | None = None
    source_digest: str = ""
    python: str = ""
    python_version: str = ""
    environment: str = ""
    packages: dict[str, str] = {}


def read(folder: Path) -> Provenance | None:
    """Read the provenance of the job in a folder. Returns None if it is not collected yet."""
    try:
        provenance = Provenance.model_validate_json((folder / _FILE).read_bytes())
    except DAMAGED:
        return None
    with contextlib.suppress(*DAMAGED):
        layered = json.loads((folder / "environment.json").read_bytes())
        packages = provenance.packages | {_canonical(name): str(text) for name, text in layered["packages"].items()}
        provenance = provenance.model_copy(update={"environment": str(layered["path"]), "packages": packages})
    return provenance


_FILE = "provenance.json"


class ProvenanceRecorder:
    """Collects provenance in a low-priority thread, one job at a time.

    A command that submits a job waits for it when it exits, usually for less than a second.
    """

    def __init__(self, home: Home) -> None:
        self.home = home
        self._pool = ThreadPoolExecutor(1, "jupyter-pai provenance", _lower_priority)

    def close(self) -> None:
        """Discard queued work. Does not wait for the current item."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def record(self, job: Job, code_of: str = "") -> None:
        """Write the `provenance.json` of a job. `code_of` is the earlier job whose code it runs."""
        self.run_later(partial(self._record, job, code_of))

    def run_later(self, chore: Callable[[], object]) -> None:
        """Queue a function for the same thread: when the running event loop is idle, because starting a thread takes
        milliseconds and a submit responds first. The work is optional: its errors are dropped."""
        try:
            asyncio.get_running_loop().call_soon(self._submit, chore)
        except RuntimeError:
            self._submit(chore)

    def _submit(self, chore: Callable[[], object]) -> None:
        with contextlib.suppress(RuntimeError):  # Closed meanwhile.
            self._pool.submit(chore)

    def _record(self, job: Job, code_of: str) -> None:
        folder = self.home.job(job.id).path
        if code_of:
            earlier = read(self.home.job(code_of).path)
            git = earlier and earlier.git
        else:
            git = git_state(job.spec.source.folder) if job.spec.source.folder else None
        version, packages = interpreter(job.python, self.home.interpreters) if job.python else ("", {})
        provenance = Provenance(
            jupyter_pai=__version__,
            git=git,
            source_digest=job.source_digest,
            python=job.python,
            python_version=version,
            packages=packages,
        )
        # The job was deleted, or the disk is full.
        with contextlib.suppress(OSError), replace_file(folder / _FILE) as file:
            file.write(provenance.model_dump_json(indent=1))


def _lower_priority() -> None:
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICE)


_TELL = """
import json, sys
sys.path = [path for path in sys.path if path]
packages = {}
try:
    from importlib.metadata import distributions
    for found in distributions():
        metadata = found.metadata
        if metadata["Name"]:
            packages.setdefault(metadata["Name"], metadata["Version"])
except ImportError:
    pass
print(json.dumps([".".join(map(str, sys.version_info[:3])), sys.path, packages]))
"""


# Variables that decide which packages an interpreter finds.
_IDENTITY = "LD_LIBRARY_PATH PYTHONPATH PYTHONUSERBASE PYTHONNOUSERSITE".split()


def interpreter(python: str, cache: Path) -> tuple[str, dict[str, str]]:
    """Return the version and packages of an interpreter. Cached until one of its package folders changes."""
    identity = "\0".join([python, *(os.environ.get(name, "") for name in _IDENTITY)])
    name = hashlib.sha256(identity.encode("utf-8", "surrogateescape")).hexdigest()
    path = cache / f"{name[:32]}.json"
    with contextlib.suppress(*DAMAGED):
        noted: dict[str, Any] = json.loads(path.read_bytes())
        if noted["times"] == {folder: modified(folder) for folder in noted["times"]}:
            return str(noted["version"]), dict(noted["packages"])
    reply = output([python, "-c", _TELL], ["PATH", "HOME", "XDG_CONFIG_HOME", *_IDENTITY])
    try:
        version, folders, packages = json.loads(reply or "")
    except DAMAGED:
        return "", {}
    packages = {_canonical(name): str(text) for name, text in sorted(packages.items())}
    times = {folder: modified(folder) for folder in [python, *folders]}
    with contextlib.suppress(OSError), replace_file(path) as file:
        file.write(json.dumps({"version": version, "times": times, "packages": packages}))
    return str(version), packages


def _canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
