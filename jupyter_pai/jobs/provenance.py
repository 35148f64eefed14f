"""Where a job comes from: the state of its code in git, its interpreter and packages, our version.

Gathered after the job was started, so that no job waits for it. What cannot be known is left out, and is never an
error.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import logging
import os
import re
import signal
import subprocess
import threading
from collections import deque
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pydantic import BaseModel

from .. import __version__
from ..core.filesystem import replace_file
from .job import Job
from .state_dir import Home

__all__ = ["Git", "Provenance", "ProvenanceRecorder", "git_state", "interpreter", "public_url", "read"]

_log = logging.getLogger(__name__)

# Seconds: a repository on a slow disk, an interpreter that imports much when it starts.
_PATIENCE = 5.0
_NICE = 10


class Git(BaseModel):
    """The repository that holds the folder of code. `commit` is empty before the first, `branch` where none is checked
    out; `dirty`: files that git knows had changed; `remote` has no credentials."""

    commit: str = ""
    branch: str = ""
    dirty: bool = False
    untracked: bool = False
    remote: str = ""


class Provenance(BaseModel):
    """Where a job comes from. `packages`: {name: version}, names as in PEP 503; `environment` is the folder of the
    environment that was layered on the interpreter for its requirements."""

    jupyter_pai: str = ""
    git: Git | None = None
    source_digest: str = ""
    python: str = ""
    python_version: str = ""
    environment: str = ""
    packages: dict[str, str] = {}


def read(folder: Path) -> Provenance | None:
    """What is known of the job with that folder; None before it was gathered."""
    try:
        found = Provenance.model_validate_json((folder / _FILE).read_bytes())
    except (OSError, ValueError):
        return None
    with contextlib.suppress(OSError, ValueError, KeyError, AttributeError):
        layered = json.loads((folder / "environment.json").read_bytes())
        packages = found.packages | {_canonical(name): str(text) for name, text in layered["packages"].items()}
        found = found.model_copy(update={"environment": str(layered["path"]), "packages": packages})
    return found


_FILE = "provenance.json"


class ProvenanceRecorder:
    """Gathers provenance, one job after the other, in a thread that gives way to all others.

    The thread lives while there is something to do. It is no daemon: a command line that has submitted a job and ends
    waits for it, a second at most as a rule.
    """

    def __init__(self, home: Home) -> None:
        self.home = home
        self._lock = threading.Lock()
        self._chores: deque[Callable[[], object]] = deque()
        self._thread: threading.Thread | None = None

    def close(self) -> None:
        """Finish what is at hand, and no more. Does not wait for it."""
        with self._lock:
            self._chores.clear()

    def record(self, job: Job, code_of: str = "") -> None:
        """Write a job's `provenance.json`. `code_of`: the earlier job whose code it runs."""
        self.also(partial(self._record, job, code_of))

    def also(self, chore: Callable[[], object]) -> None:
        """Do something in the same thread, when it comes to it."""
        with self._lock:
            self._chores.append(chore)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="jupyter-pai provenance")
                _start_soon(self._thread)

    def _run(self) -> None:
        _give_way()
        while True:
            with self._lock:
                if not self._chores:
                    self._thread = None
                    return
                chore = self._chores.popleft()
            try:
                chore()
            except Exception as error:
                # Nothing that a job needs; and a process that ends takes the database away from under us.
                _log.debug("%s", error)

    def _record(self, job: Job, code_of: str) -> None:
        folder = self.home.job(job.id).path
        earlier = read(self.home.job(code_of).path) if code_of else None
        git = earlier.git if earlier else None
        if not code_of and job.spec.source.folder:
            git = git_state(job.spec.source.folder)
        version, packages = interpreter(job.python, self.home.interpreters) if job.python else ("", {})
        found = Provenance(
            jupyter_pai=__version__,
            git=git,
            source_digest=job.source_digest,
            python=job.python,
            python_version=version,
            packages=packages,
        )
        # It was deleted meanwhile, or the disk is full.
        with contextlib.suppress(OSError), replace_file(folder / _FILE) as file:
            file.write(found.model_dump_json(indent=1))


def _start_soon(thread: threading.Thread) -> None:
    """On an event loop, once what runs now has come to a pause: to start one takes some ms, and a submit is answered
    first."""
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        thread.start()
    else:
        loop.call_soon(thread.start)


def _give_way() -> None:
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICE)


def git_state(folder: str, patience: float = _PATIENCE) -> Git | None:
    """The state of the repository that holds a folder; None if there is none, or git cannot or may not tell."""
    status = _git(patience, folder, "status", "--porcelain=v2", "--branch", "--untracked-files=normal")
    if status is None:
        return None
    head = dict(re.findall(r"^# (branch\.\w+) (.*)$", status, re.MULTILINE))
    changes = {line[0] for line in status.splitlines() if line and not line.startswith("#")}
    commit, branch = head.get("branch.oid", ""), head.get("branch.head", "")
    return Git(
        commit="" if commit.startswith("(") else commit,
        branch="" if branch == "(detached)" else branch,
        dirty=bool(changes - {"?"}),
        untracked="?" in changes,
        remote=public_url((_git(patience, folder, "config", "--get", "remote.origin.url") or "").strip()),
    )


def _git(patience: float, folder: str, *words: str) -> str | None:
    """What git prints; None if it fails, is not installed, or takes too long. It locks nothing, asks nobody, and starts
    no program that the repository names."""
    return _output(["git", "-c", "core.fsmonitor=false", "-C", folder, *words], patience)


def _output(command: list[str], patience: float = _PATIENCE) -> str | None:
    """What a program prints; None if it fails or takes too long. Of our variables it sees those that it needs."""
    environment = {name: os.environ[name] for name in _VARIABLES if name in os.environ}
    environment |= {"GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C.UTF-8"}
    try:
        process = subprocess.Popen(
            command, env=environment, cwd="/", start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip
    except (OSError, ValueError):
        return None
    with process:
        try:
            output, _errors = process.communicate(timeout=patience)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return None
    return output.decode("utf-8", "replace") if process.returncode == 0 else None


_VARIABLES = "PATH HOME XDG_CONFIG_HOME LD_LIBRARY_PATH PYTHONPATH PYTHONUSERBASE PYTHONNOUSERSITE".split()


def public_url(url: str) -> str:
    """The address of a repository without user, password and query; empty if it cannot be told what of it is secret."""
    if "://" in url:
        try:
            parts = urlsplit(url)
            host = (parts.hostname or "") + (f":{parts.port}" if parts.port else "")
        except ValueError:
            return ""
        return f"{parts.scheme}://{host}{parts.path}"
    # As ssh has it (user@host:path), or a path.
    return url.rpartition("@")[2]


_TELL = """
import json, sys
sys.path = [path for path in sys.path if path]
packages = {}
try:
    from importlib.metadata import distributions
    for found in distributions():
        name = found.metadata["Name"]
        if name:
            packages.setdefault(name, found.version)
except ImportError:
    pass
print(json.dumps([".".join(map(str, sys.version_info[:3])), sys.path, packages]))
"""


def interpreter(python: str, cache: Path) -> tuple[str, dict[str, str]]:
    """An interpreter's version and packages. It is asked once, and again when a folder of its packages has changed."""
    asked = "\0".join([python, *(os.environ.get(name, "") for name in _VARIABLES[3:])])
    name = hashlib.sha256(asked.encode("utf-8", "surrogateescape")).hexdigest()
    path = cache / f"{name[:32]}.json"
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        noted: dict[str, Any] = json.loads(path.read_bytes())
        if noted["times"] == _times(noted["times"]):
            return str(noted["version"]), dict(noted["packages"])
    told = _output([python, "-c", _TELL])
    try:
        version, folders, packages = json.loads(told or "")
    except ValueError:
        return "", {}
    packages = {_canonical(name): str(text) for name, text in sorted(packages.items())}
    with contextlib.suppress(OSError):
        with replace_file(path) as file:
            file.write(json.dumps({"version": version, "times": _times([python, *folders]), "packages": packages}))
    return str(version), packages


def _times(paths: Any) -> dict[str, int]:
    """When each of these was last changed, in nanoseconds; 0 for what is not there."""
    return {path: os.stat(path).st_mtime_ns if os.path.exists(path) else 0 for path in paths}


def _canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
