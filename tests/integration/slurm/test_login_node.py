"""The commands of Slurm are run on a login node, by a real OpenSSH server."""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.core.errors import CredentialsError, Unreachable
from jupyter_pai.jobs.state_dir import Home

from ...conftest import PATIENCE, submit, until
from ...support.slurm import SlurmCluster
from ...support.sshd import LoginNode
from .conftest import write_profile


@pytest.fixture
def login_node(
    lab: SlurmCluster, shared: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Iterator[LoginNode]:
    """A login node of the cluster. This machine does not find the controller itself."""
    with LoginNode(tmp_path_factory.mktemp("login"), {"SLURM_CONF": str(lab.config)}) as node:
        monkeypatch.setenv("SLURM_CONF", "/nowhere")
        for name, value in node.environment.items():
            monkeypatch.setenv(name, value)
        write_profile(shared, host="login")
        yield node


@pytest.mark.slow("cluster")
def test_job_runs_by_way_of_the_login_node(
    login_node: LoginNode, engine: EmbeddedClient, folder: Path, shared: Path
) -> None:
    login_node.add_key()
    (folder / "it's.txt").write_text("packed\n")
    job = submit(engine, 'cat "it\'s.txt"; echo "$0 $TOKEN"; sleep 1000', folder=folder, name="it's $HOME; x")
    until(lambda: "packed\n" in job.logs())
    command = engine.call("open_terminal", job=job.id)["command"]
    assert shlex.split(command)[:4] == ["ssh", "-t", "--", "login"]
    words = command.replace(" -t ", " ").replace("--pty ", "").replace("bash -i", "echo in the job")
    done = subprocess.run(words, shell=True, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.stdout == "in the job\n", done.stderr
    job.stop()
    assert job.wait(timeout=PATIENCE).status == "stopped"
    found = {one["what"]: one["text"] for one in engine.call("doctor", profile="lab")["findings"]}
    assert found["lab: commands"].endswith(" on login")


def test_commands_share_a_connection(
    login_node: LoginNode, home: Home, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """If the path of the state folder is short enough for a socket."""
    login_node.add_key()
    with tempfile.TemporaryDirectory(prefix="j", dir="/tmp") as short:
        os.chmod(short, 0o700)
        monkeypatch.setenv("JUPYTER_PAI_HOME", short)
        with closing(EmbeddedClient()) as engine:
            assert submit(engine, "true").wait(timeout=PATIENCE).status == "succeeded"
            engine.call("instances", profile="lab")
        assert (login_node.folder / "sshd.log").read_text().count("Accepted publickey") == 1
        (socket,) = Path(short, "ssh").iterdir()
        subprocess.run(["ssh", "-O", "exit", "-o", f"ControlPath={socket}", "login"], check=True, capture_output=True)


def test_login_without_a_key(login_node: LoginNode, engine: EmbeddedClient) -> None:
    with pytest.raises(CredentialsError, match=r"^login refuses the login by SSH: .*Permission denied") as caught:
        submit(engine, "true")
    assert "ssh-add" in caught.value.fix


def test_login_node_with_another_host_key(login_node: LoginNode, engine: EmbeddedClient) -> None:
    login_node.add_key()
    (login_node.folder / "known_hosts").write_text("")
    with pytest.raises(CredentialsError, match="The host key of login is not known") as caught:
        submit(engine, "true")
    assert "ssh login" in caught.value.fix


def test_login_node_that_does_not_respond(login_node: LoginNode, engine: EmbeddedClient) -> None:
    login_node.__exit__()
    with pytest.raises(Unreachable, match=r"^Cannot reach login by SSH: .*Connection refused") as caught:
        submit(engine, "true")
    assert "`host`" in caught.value.fix
    reply = engine.call("choices", profile="lab", name="accounts")
    assert (reply["choices"], "Cannot reach login by SSH" in reply["problem"]) == ([], True)


def test_login_node_without_slurm(
    login_node: LoginNode, engine: EmbeddedClient, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    login_node.add_key()
    text = (login_node.folder / "sshd_config").read_text()
    (login_node.folder / "sshd_config").write_text(text.replace("SetEnv ", f'SetEnv "PATH={tmp_path}" '))
    login_node.__exit__()
    (login_node.folder / "agent").unlink(missing_ok=True)
    with login_node:
        login_node.add_key()
        with pytest.raises(Unreachable, match="The command `sinfo` was not found on login"):
            submit(engine, "true")
