"""Programs that report facts."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterable

__all__ = ["output"]

# Seconds, enough for a repository on a slow disk or an interpreter with a slow startup.
_PATIENCE = 5.0


def output(
    command: list[str], inherited: Iterable[str] = (), *, patience: float = _PATIENCE, **variables: str
) -> str | None:
    """Return the output of a program, or None if it fails, is missing or times out. Of the environment, it gets only
    the `inherited` variables."""
    environment = {name: os.environ[name] for name in inherited if name in os.environ}
    environment |= {"LC_ALL": "C.UTF-8"} | variables
    try:
        process = subprocess.Popen(
            command, env=environment, cwd="/", start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip
    except (OSError, ValueError):
        return None
    with process:
        try:
            text, _errors = process.communicate(timeout=patience)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return None
    return text.decode("utf-8", "replace") if process.returncode == 0 else None
