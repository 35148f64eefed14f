"""The administrator's settings in `/etc/jupyter`, through command line, server, kernel and Hub."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from jupyter_pai.jobs.state_dir import Home

from ...conftest import PATIENCE, until
from ...fakes.jupyterhub import Hub
from ...support.system_file import HUB, command
from .real_server import RealServer
from .test_jupyterhub import HubServer

CLOSED = "[policy]\nlocal = false\ncontact = 'ml-ops@example.com'\n"
SPEC = {"name": "x", "command": "sleep 1000", "source": {"files": {"a": ""}}}

Write = Callable[[str], None]


@pytest.fixture
def system(home: Home, tmp_path: Path) -> Path:
    """The folder that is `/etc/jupyter` for the programs of a test."""
    if os.getuid() != 0:
        pytest.skip("only root can mount a file system")
    folder = tmp_path / "system"
    folder.mkdir()
    return folder


@pytest.fixture
def rules(system: Path) -> Write:
    """Writes the administrator's settings."""

    def write(text: str) -> None:
        (system / "jupyter_pai.toml").write_text(text)

    return write


@pytest.fixture
def managed(system: Path, tmp_path: Path) -> Iterator[RealServer]:
    """A real Jupyter server on such a machine."""

    class Managed(RealServer):
        program = (*command(system)[1:], "-m", "jupyter_server")

    root = tmp_path / "notebooks"
    root.mkdir()
    server = Managed(root)
    yield server
    server.stop()


def refused(server: RealServer, body: object) -> tuple[int, dict[str, Any]]:
    """Status and body of the answer to a submit that is refused."""
    headers = {"Authorization": f"token {server.token}", "Content-Type": "application/json"}
    request = Request(f"{server.url}/pai/api/v1/jobs", json.dumps(body).encode(), headers)
    with pytest.raises(HTTPError) as caught:
        urlopen(request, timeout=PATIENCE)
    with caught.value as answer:
        return answer.code, dict(json.loads(answer.read()))


def audit(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_command_line_obeys_the_policy(system: Path, rules: Write, folder: Path) -> None:
    (folder / "a").touch()

    def line(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command(system, "-m", "jupyter_pai", *words), cwd=folder, capture_output=True, text=True, check=False
        )

    rules(CLOSED)
    for words in (["submit", "--command", "true"], ["submit", "--command", "true", "--dry-run"], ["instances"]):
        done = line(*words)
        assert (done.returncode, done.stdout) == (2, ""), words
        assert "Error: Jobs are not allowed on this machine." in done.stderr
        assert "Rule `local` in /etc/jupyter/jupyter_pai.toml. Contact: ml-ops@example.com." in done.stderr
    assert "local: Jobs are not allowed on this machine." in line("profile", "list").stdout
    assert "/etc/jupyter/jupyter_pai.toml: local = false" in line("doctor").stdout
    rules("")
    assert line("submit", "--command", "echo hi", "--wait").stdout.startswith("hi\n")


@pytest.mark.slow("server")
def test_pages_and_kernels_obey_the_reloaded_policy(managed: RealServer, rules: Write) -> None:
    notebook = managed.notebook()
    notebook.run("%pai submit --command 'echo up' --as job --wait")
    rules(CLOSED)
    status, reply = refused(managed, {"spec": SPEC})
    assert (status, reply["code"]) == (400, "NotAllowed")
    assert (reply["details"]["rule"], reply["details"]["contact"]) == ("local", "ml-ops@example.com")
    assert reply["details"]["faults"].keys() == {"profile"}
    for line in ("%pai submit --command true", "%pai rerun last", "job.rerun()"):
        message = notebook.run(line, check=False).error
        assert "NotAllowed: Jobs are not allowed on this machine." in message, line
        assert "Contact: ml-ops@example.com." in message, line
    assert managed.rest("GET", "/pai/api/v1/jobs")["total"] == 1
    rules("")
    managed.rest("POST", "/pai/api/v1/jobs", {"spec": SPEC})


@pytest.mark.slow("server")
def test_audit_log_records_users_and_verbs(managed: RealServer, rules: Write, tmp_path: Path) -> None:
    file = tmp_path / "audit.jsonl"
    rules(f"[policy]\naudit_file = '{file}'\njobs_at_a_time = 1\n")
    notebook = managed.notebook()
    spec = SPEC | {"hyperparameters": {"lr": "0.123456"}, "environment": {"TOKEN": "hush"}, "labels": {"team": "x"}}
    job = managed.rest("POST", "/pai/api/v1/jobs", {"spec": spec})["job"]
    notebook.run("try:\n    %pai submit --command 'echo second' --name second\nexcept Exception: pass")
    managed.rest("POST", f"/pai/api/v1/jobs/{job['id']}/stop", {})
    until(lambda: managed.job(job["id"])["ended_at"])
    again = managed.rest("POST", f"/pai/api/v1/jobs/{job['id']}/rerun", {"changes": {"command": "true"}})["job"]
    until(lambda: managed.job(again["id"])["ended_at"])
    managed.rest("DELETE", f"/pai/api/v1/jobs/{job['id']}")
    managed.rest("POST", "/pai/api/v1/prune", {"older_than": 0})
    managed.rest("POST", "/pai/api/v1/jobs/nowhere/stop", {})
    lines = audit(file)
    assert [(line["verb"], line["job"], line["result"]) for line in lines] == [
        ("submit", job["id"], "ok"),
        ("submit", "", "NotAllowed"),
        ("stop", job["id"], "ok"),
        ("rerun", again["id"], "ok"),
        ("delete", job["id"], "ok"),
        ("delete", again["id"], "ok"),
        ("stop", "nowhere", "NotFound"),
    ]
    assert lines[1]["rule"] == "jobs_at_a_time"
    assert lines[1]["name"] == "second"
    first = lines[0]
    assert first["time"].endswith("+00:00")
    assert (first["user"], first["hub_user"], first["name"], first["backend"], first["profile"]) == (
        "root", "", "x", "local", "local",
    )  # fmt: skip
    assert (first["instance_type"], first["count"]) == ("", 1)
    for word in ("0.123456", "hush", "TOKEN", "sleep", "echo", managed.token):
        assert word not in file.read_text()
    assert file.stat().st_mode & 0o777 == 0o600


@pytest.mark.slow("server")
def test_audit_log_follows_logging_configuration(system: Path, managed: RealServer, tmp_path: Path) -> None:
    managed.stop()
    file = tmp_path / "routed.jsonl"
    logging = {
        "formatters": {"line": {"format": "%(message)s"}},
        "handlers": {"audit": {"class": "logging.FileHandler", "filename": str(file), "formatter": "line"}},
        "loggers": {"jupyter_pai.audit": {"level": "INFO", "handlers": ["audit"]}},
    }
    (system / "jupyter_server_config.json").write_text(json.dumps({"ServerApp": {"logging_config": logging}}))
    managed.start()
    managed.rest("POST", "/pai/api/v1/jobs", {"spec": SPEC | {"command": "true"}})
    assert [(line["verb"], line["result"]) for line in audit(file)] == [("submit", "ok")]


@pytest.mark.slow("cases", first=1)
@pytest.mark.parametrize("required", [True, False])
def test_unwritable_audit_file_blocks_only_if_required(
    managed: RealServer, rules: Write, tmp_path: Path, required: bool
) -> None:
    file = tmp_path / "nowhere" / "audit.jsonl"
    job = managed.rest("POST", "/pai/api/v1/jobs", {"spec": SPEC})["job"]
    rules(f"[policy]\naudit_file = '{file}'\naudit_required = {str(required).lower()}\ncontact = 'ops'\n")
    if required:
        _status, reply = refused(managed, {"spec": SPEC})
        assert f"{file} cannot be written: No such file or directory." in reply["message"]
        assert "Rule `audit_required`" in reply["fix"]
    else:
        managed.rest("POST", "/pai/api/v1/jobs", {"spec": SPEC})
    # A stop is never refused.
    managed.rest("POST", f"/pai/api/v1/jobs/{job['id']}/stop", {})
    assert managed.rest("GET", "/pai/api/v1/jobs")["total"] == (1 if required else 2)
    assert f"{file} cannot be written" in managed.log.read_text()
    checks = {f["what"]: f for f in managed.rest("GET", "/pai/api/v1/doctor")["findings"]}
    assert checks["audit log"]["state"] == ("bad" if required else "warn")
    # Deferred entries are written in order once the file is writable.
    file.parent.mkdir()
    managed.rest("POST", "/pai/api/v1/jobs", {"spec": SPEC})
    kinds = [line["verb"] + " " + line["result"] for line in audit(file)]
    assert kinds == ["submit NotAllowed" if required else "submit ok", "stop ok", "submit ok"]


# Under a Hub.


@pytest.fixture
def hub(system: Path) -> Iterator[Hub]:
    """A Hub whose address is on another host."""
    there = Hub("gpu", HUB)
    yield there
    there.close()


@pytest.fixture
def in_hub(hub: Hub, system: Path, tmp_path: Path) -> Iterator[Callable[..., HubServer]]:
    """Starts a named server of a Hub."""

    class Managed(HubServer):
        program = (*command(system)[1:], "-m", "jupyterhub.singleuser")

    root = tmp_path / "notebooks"
    root.mkdir()
    started: list[HubServer] = []

    def start(**environment: str) -> HubServer:
        started.append(Managed(root, hub, **environment))
        return started[-1]

    yield start
    for server in started:
        server.stop()


@pytest.mark.slow("server")
def test_hub_receives_activity_and_audit_has_the_hub_user(
    hub: Hub, in_hub: Callable[..., HubServer], rules: Write, tmp_path: Path
) -> None:
    """The Hub's culler uses the activity reported by servers."""
    rules(f"[policy]\naudit_file = '{tmp_path / 'audit.jsonl'}'\n")
    server = in_hub(JUPYTERHUB_ACTIVITY_INTERVAL="1", KUBERNETES_SERVICE_HOST="10.0.0.1")
    assert server.url.endswith("/user/ada/gpu")
    job = server.rest("POST", "/pai/api/v1/jobs", {"spec": SPEC})["job"]
    assert "ends when the server is stopped" in job["notes"][-1]
    until(lambda: server.job(job["id"])["status"] == "running")
    before = hub.activity[-1]["last_activity"] if hub.activity else ""
    until(lambda: hub.activity and hub.activity[-1]["last_activity"] > before)
    assert list(hub.activity[-1]["servers"]) == ["gpu"]
    assert audit(tmp_path / "audit.jsonl")[0]["hub_user"] == "ada"
    # A rule that is written later counts as well: from then on nothing moves.
    rules("[policy]\njobs_keep_server = false\n")
    last = len(hub.activity)
    until(lambda: len(hub.activity) >= last + 16)
    assert len({reply["last_activity"] for reply in hub.activity[-8:]}) == 1
    server.rest("POST", f"/pai/api/v1/jobs/{job['id']}/stop", {})


@pytest.mark.slow("server")
def test_job_outliving_its_server_has_no_warning(home: Home, tmp_path: Path) -> None:
    """The Hub is on this host: it starts servers as processes beside itself."""
    hub = Hub()
    root = tmp_path / "notebooks"
    root.mkdir()
    server = HubServer(root, hub)
    try:
        job = server.rest("POST", "/pai/api/v1/jobs", {"spec": SPEC})["job"]
        assert job["notes"] == []
    finally:
        server.stop()
        hub.close()
