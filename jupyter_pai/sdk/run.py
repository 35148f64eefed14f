"""Submitting and awaiting the jobs of estimators and custom jobs."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from ..client.base import progress_printer
from ..client.job import JobHandle, wait_for_success
from ..client.printing import print_line
from .target import Target

__all__ = ["run", "timestamped", "wait_for"]


def run(target: Target, spec: dict[str, Any]) -> JobHandle:
    """Submit a spec and print the job. A submit from code counts as confirmation of the cost."""
    client, spec = target.client, spec | {"profile": target.profile}
    progress = progress_printer(print_line)
    reply = client.submit(spec, backend=target.backend, confirmed=True, anyway=True, progress=progress)
    handle = JobHandle(reply["job"], client)
    print_line(handle.info["console_url"] or repr(handle))
    return handle


def wait_for(handle: JobHandle, timeout: float | None, show_logs: bool) -> JobHandle:
    """Wait until a job has ended. An interrupt leaves it running and prints how to stop it.

    Raises:
        JobFailed: if the job did not succeed.
    """
    stop = f"latest_job.stop(), or %pai stop {handle.id}"
    return wait_for_success(handle, stop, timeout, logs=show_logs)


def timestamped(prefix: str) -> str:
    """Return a job's name: a prefix and the current time."""
    return f"{prefix}_{datetime.now():%Y%m%d-%H%M%S}"
