"""The user mapping of containers: makes the user own the files of a job. The first one that works is taken.

Podman without subordinate ids (`/etc/subuid`) or without `newuidmap` rejects `keep-id` with exit code 125. It then maps
root of the container to the user, and no other user of an image.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from functools import cache
from pathlib import Path
from typing import NamedTuple

_TIME_OUT = 10
# Options of rootless podman, best first.
_PODMAN = (("--userns", "keep-id"), ("--user", "0:0"))


class UserMapping(NamedTuple):
    """The `options` of a container engine, and the `failures` of better ones, each with its options and error."""

    options: tuple[str, ...]
    failures: tuple[str, ...] = ()
    works: bool = True


# The mappings that work, by the path of the engine.
_known: dict[str, UserMapping] = {}


def of(engine: str, *, again: bool = False) -> UserMapping:
    """Return the user mapping of an engine, given by its path. Creates and removes a container. A mapping that works is
    remembered; `again` tries anew.
    """
    if again or engine not in _known:
        mapping = _found(engine)
        if not mapping.works:
            return mapping
        _known[engine] = mapping
    return _known[engine]


def _found(engine: str) -> UserMapping:
    if os.getuid() == 0:
        return UserMapping(())
    if Path(engine).name != "podman":
        return UserMapping(() if _is_rootless(engine) else ("--user", f"{os.getuid()}:{os.getgid()}"))
    failures: list[str] = []
    for options in _PODMAN:
        if not (error := _error_with(engine, options)):
            return UserMapping(options, tuple(failures))
        failures.append(f"{' '.join(options)}: {error}")
    return UserMapping(_PODMAN[0], tuple(failures), works=False)


def _error_with(podman: str, options: tuple[str, ...]) -> str:
    """Return the error of creating a container with these options; empty if it was created."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        reply = run(podman, "create", *options, "--network", "host", "--rootfs", folder, "true")
        if reply.returncode == 0:
            run(podman, "rm", "--force", reply.stdout.strip())
            return ""
        return last_line(reply)


@cache
def _is_rootless(docker: str) -> bool:
    return "rootless" in run(docker, "info", "--format", "{{.SecurityOptions}}").stdout


def run(engine: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a command of a container engine for a limited time, and return its output."""
    try:
        return subprocess.run([engine, *words], check=False, capture_output=True, text=True, timeout=_TIME_OUT)
    except (OSError, subprocess.TimeoutExpired) as error:
        return subprocess.CompletedProcess([engine], 1, "", str(error))


def last_line(reply: subprocess.CompletedProcess[str]) -> str:
    """Return the last line that a failed command wrote as its error."""
    return (reply.stderr.strip().splitlines() or [f"exit code {reply.returncode}"])[-1]
