"""Slow metric patterns are disabled and named, and do not delay other jobs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import websocket

from jupyter_pai.jobs.state_dir import Home

from ...conftest import PATIENCE, until
from .real_server import RealServer

# Behind each of these in the log stand 50 MB more.
BLOWING = {
    "at once": r"(?:a|aa|aaa)+([0-9])$",
    "in alternatives": r"(?:a|a|a|aa)+([0-9])",
    "without a letter": r"(?:=|==)+([0-9])",
    "a little in each line": r"(?:b|bb)+([0-9])",
}
WRITE = """
import sys
line = "a" * 30 + "!" + "b" * 16 + "!b1" + "=" * 400 + "\\n"
for n in range(50_000_000 // len(line)):
    sys.stdout.write(line)
print("loss=0.5")
"""


def submit(server: RealServer, command: str, **spec: Any) -> str:
    fields = {"name": "x", "command": command, "source": {"files": {"write.py": WRITE}}} | spec
    return str(server.rest("POST", "/pai/api/v1/jobs", {"spec": fields})["job"]["id"])


def ended(server: RealServer, job: str) -> dict[str, Any]:
    return until(lambda: (result := server.job(job))["ended_at"] and result)


def metric(name: str, pattern: str) -> dict[str, str]:
    return {"name": name, "regex": pattern}


@pytest.mark.slow("server")
def test_exploding_patterns_do_not_delay_other_jobs(server: RealServer, home: Home, tmp_path: Path) -> None:
    metrics = [metric(name, pattern) for name, pattern in BLOWING.items()] + [metric("loss", r"^loss=([0-9.]+)")]
    events = _events(server)
    # As many as there are threads that read logs, and one more.
    bad = [submit(server, "python write.py", metric_definitions=metrics) for _ in range(5)]
    command = f"echo n=1; while [ ! -e {tmp_path}/go ]; do sleep 0.01; done; echo n=2; exit 3"
    other = submit(server, command, metric_definitions=[metric("n", r"n=(\d)")])
    until(lambda: "n" in server.job(other)["metrics"])
    (tmp_path / "go").touch()
    assert ended(server, other)["metrics"]["n"]["value"] == 2
    for job in bad:
        result = ended(server, job)
        assert (result["status"], result["metrics"]["loss"]["value"]) == ("succeeded", 0.5)
        for name, pattern in BLOWING.items():
            assert any(f"`{name}`" in note and pattern in note for note in result["notes"]), (name, result["notes"])
        assert not any("`loss`" in note for note in result["notes"])
    # The other job, the last to come, did not wait for those whose patterns were being tried.
    order = _ends(events)
    assert order.index(other) < order.index(bad[-1])
    assert "Traceback" not in server.log.read_text()


def _events(server: RealServer) -> websocket.WebSocket:
    url = f"{server.url.replace('http', 'ws')}/pai/api/v1/stream?token={server.token}"
    socket = websocket.create_connection(url, timeout=PATIENCE)
    socket.send(json.dumps({"type": "subscribe", "id": 1, "topic": "jobs", "after": 0}))
    return socket


def _ends(socket: websocket.WebSocket) -> list[str]:
    """The jobs in the order in which they ended, of the six that there are."""
    results: list[str] = []
    while len(results) < 6:
        for job in json.loads(socket.recv())["jobs"]:
            if job["ended_at"] and job["id"] not in results:
                results.append(job["id"])
    socket.close()
    return results


@pytest.mark.slow("server")
def test_number_of_metrics_is_limited(server: RealServer, home: Home) -> None:
    write = """for n in range(10_000): print('[pai] {"metric": "m%d", "value": 1}' % n)"""
    job = submit(server, "python write.py", source={"files": {"write.py": write}})
    result = ended(server, job)
    assert len(result["metrics"]) == 1_000
    assert any("1000" in note or "1,000" in note for note in result["notes"])
    assert len(list(home.job(job).series.iterdir())) == 1_001
