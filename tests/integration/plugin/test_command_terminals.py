"""A terminal that is a command: the one of the example plug-in, which opens a shell in the folder of its job."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.client.job import JobHandle
from jupyter_pai.commands import remote_shell
from jupyter_pai.core.errors import Unsupported

from ...conftest import submit, until
from ...support.user_terminal import UserTerminal


@pytest.fixture
def job(engine: EmbeddedClient) -> JobHandle:
    """A running job that waits for the file `go` in its folder."""
    job = submit(engine, "until test -e go; do sleep 0.02; done; cat go", profile="den")
    until(lambda: job.status == "running")
    return job


def test_command_is_printed_for_a_notebook_and_works(
    engine: EmbeddedClient, job: JobHandle, cli: Callable[..., Any]
) -> None:
    command = job.terminal()
    done = cli("terminal", job.id, "--json")
    assert done.returncode == 0, done.stderr
    reply = json.loads(done.stdout)
    assert reply == {"instance": "worker-0", "kind": "command", "url": "", "command": command, "dialect": ""}
    # As in a notebook, standard input is not a terminal.
    assert f"worker-0:\n{command}\n" in cli("terminal", job.id).stdout
    assert engine.call("open_terminal", job=job.id) == reply
    subprocess.run(shlex.split(command), input=b"echo typed > go; exit\n", check=True)
    assert job.wait().status == "succeeded"
    assert job.logs() == "typed\n"


@pytest.mark.slow("platform")
def test_command_runs_in_the_terminal_of_the_user(job: JobHandle) -> None:
    terminal = UserTerminal()
    command = [sys.executable, "-m", "jupyter_pai", "terminal", job.id]
    with subprocess.Popen(
        command, stdin=terminal.device, stdout=terminal.device, stderr=terminal.device, start_new_session=True
    ) as process:
        try:
            terminal.read_until("To leave: exit")
            terminal.press("echo a''b; stty size\r")
            terminal.read_until("ab\r\n31 97\r\n")
            terminal.press("echo there > go; exit\r")
            assert process.wait(30) == 0
        finally:
            process.kill()
    assert job.wait().logs() == "there\n"


def test_missing_program_is_an_error_with_a_fix() -> None:
    with pytest.raises(Unsupported, match="`no-such-program` here: No such file") as caught:
        remote_shell.run(["no-such-program"])
    assert "Install it" in caught.value.fix
