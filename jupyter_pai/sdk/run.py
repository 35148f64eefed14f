"""Submitting and awaiting the jobs of estimators and custom jobs."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from ..client.base import Client, progress_printer
from ..client.interrupts import explain_submit, new_key
from ..client.job import JobHandle, wait_for_success
from ..client.printing import print_line
from ..core import file_uri
from ..core.errors import JobFailed
from ..core.i18n import _
from .exception import JobUnsuccessful
from .target import Target

__all__ = ["local_path", "run", "timestamped", "wait_for"]


def run(target: Target, spec: dict[str, Any]) -> tuple[dict[str, Any], Client]:
    """Submit a spec, print the job with its run-time limit, and return it with its client. A submit from code counts as
    confirmation of the cost."""
    client, spec = target.client, spec | {"profile": target.profile}
    progress, key = progress_printer(print_line), new_key()
    try:
        reply = client.submit(spec, backend=target.backend, confirmed=True, anyway=True, progress=progress, key=key)
        handle = JobHandle(reply["job"], client)
        if url := handle.info["console_url"]:
            print_line(url)
        print_line(repr(handle))
        return reply["job"], client
    except KeyboardInterrupt as interrupt:
        explain_submit(interrupt, client.call, key)
        raise


def wait_for(handle: JobHandle, timeout: float | None, show_logs: bool) -> None:
    """Wait until a job has ended. An interrupt leaves it running and prints how to stop it. For a stopped job, the
    reason is printed.

    Raises:
        JobUnsuccessful: if the job failed.
    """
    stop = f"latest_job.stop(), or %pai stop {handle.id}"
    try:
        wait_for_success(handle, stop, timeout, logs=show_logs, allowed=("succeeded", "stopped"))
    except JobFailed as error:
        failure = JobUnsuccessful(error.message, handle.status, fix=error.fix)
        failure.details = error.details
        raise failure from None
    if handle.status == "stopped":
        print_line(handle.reason or _("The job was stopped."))


def timestamped(prefix: str) -> str:
    """Return a job's name: a prefix and the current time."""
    return f"{prefix}_{datetime.now():%Y%m%d-%H%M%S}"


def local_path(uri: str) -> str:
    """Return the path of a ``file://`` URI, and other URIs unchanged."""
    return file_uri.local_path(uri) or uri
