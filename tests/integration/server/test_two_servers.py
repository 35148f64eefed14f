"""Two servers on one state folder: each sees all jobs, one follows each, and either may go."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from jupyter_pai.core import filesystem
from jupyter_pai.jobs.state_dir import Home

from ...conftest import processes_of, until
from .real_server import RealServer

HALF = 1500


@pytest.fixture(params=["own disk", "network disk"])
def servers(
    request: pytest.FixtureRequest, home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[list[RealServer]]:
    if request.param == "network disk":
        monkeypatch.setenv(filesystem.VARIABLE, "1")
    root = tmp_path / "notebooks"
    root.mkdir()
    started = [RealServer(root), RealServer(root)]
    yield started
    for server in started:
        server.stop()


@pytest.mark.slow("cases", first=1)
def test_job_of_one_server_is_shown_and_stopped_by_the_other(
    servers: list[RealServer], home: Home, tmp_path: Path
) -> None:
    first, second = servers
    count = f"seq -f 'n %.0f' {HALF}"
    count = f"seq -f 'n %.0f' {HALF}"
    command = f"{count}; while [ ! -e {tmp_path}/go ]; do sleep 0.01; done; {count}"
    spec = {
        "name": "x",
        "command": command,
        "source": {"files": {"a": ""}},
        "metric_definitions": [{"name": "n", "regex": r"^n (\d+)"}],
    }
    job_id = first.rest("POST", "/pai/api/v1/jobs", {"spec": spec})["job"]["id"]
    until(lambda: "n" in second.job(job_id)["metrics"])
    until(lambda: second.job(job_id)["status"] == "running")
    first.kill()
    (tmp_path / "go").touch()
    job = until(lambda: result if (result := second.job(job_id))["ended_at"] else {})
    assert (job["status"], processes_of(job_id)) == ("succeeded", [])
    points = second.rest("GET", f"/pai/api/v1/jobs/{job_id}/metrics")["metrics"]["n"]["value"]
    assert points == [*range(1, HALF + 1)] * 2
    assert second.rest("GET", "/pai/api/v1/jobs")["total"] == 1


@pytest.mark.slow("cases")
def test_network_disk_warning_is_logged_once_per_server(servers: list[RealServer]) -> None:
    server = servers[0]
    expected = 1 if filesystem.network_kind(server.root) else 0
    until(lambda: server.log.read_text().count("does not use WAL") >= 2 * expected)
    for one in servers:
        one.rest("GET", "/pai/api/v1/jobs")
    assert server.log.read_text().count("does not use WAL") == 2 * expected  # Both write to one file.
