"""What estimators and custom jobs share: a spec of theirs is submitted, and waited for."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from ..client.job import JobHandle, job_failed
from ..client.transfers import progress_printer
from ..core.i18n import _
from .target import Place

__all__ = ["named", "run", "waited"]


def run(place: Place, spec: dict[str, Any]) -> JobHandle:
    """Submit a spec, and say so. Who calls this from code has agreed to what it costs."""
    client, asked = place.client, spec | {"profile": place.profile}
    submitted = client.submit(asked, backend=place.backend, confirmed=True, progress=progress_printer(print))
    handle = JobHandle(submitted["job"], client)
    print(handle.info["console_url"] or repr(handle))
    return handle


def waited(handle: JobHandle, timeout: float | None, show_logs: bool) -> JobHandle:
    """Wait for a job. Interrupting leaves it alone, and says how to stop it.

    Raises:
        JobFailed: if it did not succeed.
    """
    try:
        handle.wait(timeout, logs=show_logs)
    except KeyboardInterrupt:
        print(_("\nThe job {job} goes on. Stop it: latest_job.stop(), or %pai stop {job}").format(job=handle.id))
        raise
    if handle.status != "succeeded":
        raise job_failed(handle)
    return handle


def named(base: str) -> str:
    """A job's name: what it begins with, and the time."""
    return f"{base}_{datetime.now():%Y%m%d-%H%M%S}"
