"""Submitting and awaiting the jobs of estimators and custom jobs."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from ..client import summary
from ..client.base import Client, progress_printer
from ..client.interrupts import explain_submit, new_key
from ..client.job import JobHandle, wait_for_success
from ..client.parameters import program
from ..client.printing import print_line
from ..core import file_uri
from ..core.errors import JobFailed
from ..core.i18n import _
from .exception import JobUnsuccessful
from .target import Target

__all__ = ["INTERVAL", "local_path", "run", "timestamped", "wait_for"]

# Seconds between two polls of a job, by default.
INTERVAL = 5.0


def run(target: Target, spec: dict[str, Any]) -> tuple[dict[str, Any], Client]:
    """Submit a spec, print the job with its run-time limit, and return it with its client. A submit from code counts as
    confirmation of the cost."""
    client, spec = target.client, spec | {"profile": target.profile}
    progress, key = progress_printer(print_line), new_key()
    try:
        reply = client.submit(spec, backend=target.backend, confirmed=True, anyway=True, progress=progress, key=key)
        if url := reply["job"]["console_url"]:
            print_line(url)
        print_line(summary.line(reply["job"]))
        return reply["job"], client
    except KeyboardInterrupt as interrupt:
        explain_submit(interrupt, client.call, key)
        raise


def wait_for(handle: JobHandle, interval: float, timeout: float | None, show_logs: bool) -> None:
    """Wait until a job has ended. An interrupt leaves it running and prints how to stop it. For a stopped job, the
    reason is printed. Without the log, its platform is polled every `INTERVAL` seconds, and for a shorter `interval`
    more often.

    Raises:
        JobUnsuccessful: if the job failed.
    """
    stop = f"latest_job.stop(), or {program()} stop {handle.id}"
    try:
        allowed, refresh = ("succeeded", "stopped"), interval < INTERVAL
        wait_for_success(handle, stop, timeout, logs=show_logs, allowed=allowed, refresh=refresh)
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
