"""The jobs of DLC as tests use them."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

__all__ = ["DlcJobs"]


class _StandIn(Protocol):
    folder: Path

    def call(self, name: str, /, **arguments: Any) -> Any:
        """Call the process of the services."""


class DlcJobs:
    """The jobs of a stand-in: `pai.dlc.add(1000)`."""

    def __init__(self, pai: _StandIn) -> None:
        self._pai = pai

    @property
    def jobs(self) -> list[dict[str, Any]]:
        """All jobs: id, name, status, type, request (the body of their creation), priority, pip (what it is to
        install), pods (id, uid, type, status, lines: how many)."""
        result: list[dict[str, Any]] = self._pai.call("dlc_jobs")
        return result

    def add(self, count: int = 1, status: str = "Running", **fields: Any) -> list[str]:
        """Add jobs that are not executed, and return their ids. `fields` are those of CreateJob."""
        made: list[str] = self._pai.call("dlc_add", count=count, status=status, fields=fields)
        return made

    def set(self, job_id: str, status: str, code: str = "", message: str = "") -> None:
        """Set the status of a job that is not executed."""
        self._pai.call("dlc_set", job_id=job_id, status=status, code=code, message=message)

    def set_pod(self, job_id: str, status: str, sub_status: str = "", pod: int = 0) -> None:
        """Set the status of a pod, such as Failed with Evicted."""
        self._pai.call("dlc_set_pod", job_id=job_id, status=status, sub_status=sub_status, pod=pod)

    def restart_pod(self, job_id: str, pod: int = 0) -> str:
        """Replace a pod by a new one, and return the unique id of that; the earlier one is kept with its log."""
        made: str = self._pai.call("dlc_restart_pod", job_id=job_id, pod=pod)
        return made

    def add_lines(self, job_id: str, *lines: str, count: int = 1, pod: int = 0, over: float = 0.0) -> None:
        """Append lines to a pod's log, `count` times, with times of the last `over` seconds; `{number}` in them is the
        line's number."""
        self._pai.call("dlc_add_lines", job_id=job_id, lines=lines, count=count, pod=pod, over=over)

    def add_events(self, job_id: str, *texts: str, pod: int | None = None) -> None:
        """Add events of a job, or of one of its pods."""
        self._pai.call("dlc_add_events", job_id=job_id, texts=texts, pod=pod)

    def expire_log(self, job_id: str) -> None:
        """Delete the logs of a job's pods."""
        self._pai.call("dlc_expire_log", job_id=job_id)

    def remove(self, job_id: str) -> None:
        """Delete a job, as its owner can in the console."""
        self._pai.call("dlc_remove", job_id=job_id)

    def age(self, job_id: str, seconds: float) -> None:
        """Move a job's creation into the past."""
        self._pai.call("dlc_age", job_id=job_id, seconds=seconds)

    def fail_next(self, status: str = "Failed", code: str = "JobFailed", message: str = "it was to fail") -> None:
        """Let the next created job end with a status instead of running."""
        self._pai.call("dlc_fail_next", status=status, code=code, message=message)

    def shared(self, uri: str) -> Path:
        """Return the folder behind a URI of NAS or CPFS."""
        split = urlsplit(uri)
        path = self._pai.folder / "jobs/filesystems" / split.netloc / split.path.strip("/")
        path.mkdir(parents=True, exist_ok=True)
        return path
