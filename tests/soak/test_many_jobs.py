"""A server that runs many jobs one after another keeps its descriptors and its memory."""

from __future__ import annotations

import os
from functools import partial

import pytest

from ..conftest import until
from ..integration.server.conftest import server  # noqa: F401  a fixture
from ..integration.server.real_server import RealServer

pytestmark = pytest.mark.soak

# The first jobs start threads and fill caches of fixed size.
FIRST, JOBS = 500, 3000
GROWTH = 1.05


def has_succeeded(server: RealServer, job_id: str) -> bool:  # noqa: F811
    return bool(server.job(job_id)["status"] == "succeeded")


def descriptors_of(server: RealServer) -> int:  # noqa: F811
    """Return the number of the server's descriptors."""
    return len(os.listdir(f"/proc/{server.process.pid}/fd"))


def run_jobs(server: RealServer, count: int) -> int:  # noqa: F811
    """Run jobs one after another. Return the server's memory in KiB."""
    spec = {"name": "job", "command": "echo 1", "source": {"files": {"a": "1"}}}
    for _ in range(count):
        job = server.rest("POST", "/pai/api/v1/jobs", {"spec": spec})["job"]
        until(partial(has_succeeded, server, job["id"]))
    with open(f"/proc/{server.process.pid}/status") as status:
        (memory,) = (int(line.split()[1]) for line in status if line.startswith("VmRSS:"))
    return memory


def test_descriptors_and_memory_stay(server: RealServer) -> None:  # noqa: F811
    memory, descriptors = run_jobs(server, FIRST), descriptors_of(server)
    grown, later = run_jobs(server, JOBS - FIRST), descriptors_of(server)
    print(f"\nafter {FIRST} and {JOBS} jobs: {descriptors} and {later} descriptors, {memory} and {grown} KiB")
    until(lambda: descriptors_of(server) <= descriptors)  # A connection that is served has one too.
    assert grown <= memory * GROWTH
