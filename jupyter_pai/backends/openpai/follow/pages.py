"""The pages of a job: that of the portal, its charts in Grafana, and its TensorBoard."""

from __future__ import annotations

from urllib.parse import urlencode

from ..names import BOARD, split
from ..site import Site
from .reporting import Task

__all__ = ["board_page", "charts_page", "job_page"]


def job_page(site: Site, remote_id: str) -> str:
    """Return the page of a job in the portal; empty without the gateway."""
    username, name = split(remote_id)
    query = urlencode({"username": username, "jobName": name})
    return f"{site.origin}/job-detail.html?{query}" if site.origin else ""


def charts_page(site: Site, remote_id: str, begin: int, end: int | None) -> str:
    """Return the page with charts of a job's resource usage; empty without the gateway. `begin` and `end`: milliseconds
    since 1970, None for now."""
    query = urlencode({"var-job": remote_id, "from": begin, "to": end or "now"}, safe="~")
    return f"{site.origin}/grafana/dashboard/db/joblevelmetrics?{query}" if site.origin else ""


def board_page(task: Task) -> str:
    """Return the page of the TensorBoard in an instance; empty if it does not run or has no port for one."""
    if not (address := task.address(BOARD)):
        return ""
    host, port = address
    return f"http://{f'[{host}]' if ':' in host else host}:{port}/"
