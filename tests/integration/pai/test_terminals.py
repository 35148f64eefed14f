"""Terminals in jobs on PAI."""

from __future__ import annotations

import asyncio
import json
import shlex
import subprocess
import sys
import termios
from collections.abc import Callable
from typing import Any

import aiohttp
import pytest

from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.commands import remote_shell
from jupyter_pai.core.errors import Conflict, NotFound, Unsupported
from jupyter_pai.jobs.state_dir import Home

from ...conftest import PATIENCE, submit, until
from ...fakes.alibaba import StandIn
from ...support.user_terminal import UserTerminal

TRAIN = """
    import os, pathlib

    print("loss=0.25", flush=True)
    pathlib.Path(os.environ["PAI_OUTPUT_MODEL"], "model.txt").write_text("a model")
"""
LOSS = [{"name": "loss", "regex": r"loss=([\d.]+)"}]

ATTACH = "import sys; from jupyter_pai.commands.remote_shell import attach; attach(*sys.argv[1:])"


# Terminals.


def typed(url: str, line: str) -> str:
    """Return the reply of a terminal's shell to a line."""

    async def type_it() -> str:
        async with aiohttp.ClientSession() as session, session.ws_connect(url) as socket:
            await socket.send_json({"operation": "stdin", "data": f"{line}\nexit\n"})
            return "".join([message.json()["data"] async for message in socket])

    return asyncio.run(type_it())


def test_terminal_opens_in_a_running_job(
    engine: EmbeddedClient, pai: StandIn, home: Home, cli: Callable[..., Any]
) -> None:
    job = submit(engine, "echo here; echo x > /ml/output/model/x; sleep 1000", profile="pai")
    until(lambda: "here\n" in job.logs())
    url = job.terminal()
    assert "x\r\n42\r\n" in typed(url, "cat output/model/x; echo $((6 * 7))")
    with pytest.raises(aiohttp.WSServerHandshakeError):
        typed(url, "true")
    reply = json.loads(cli("terminal", job.id, "--json").stdout)
    assert "again\r\n" in typed(reply["url"], "echo ag''ain")
    assert reply["url"].split("?")[0] == url.split("?")[0]
    assert reply["instance"] in cli("terminal", job.id, "--instance", reply["instance"]).stdout
    with pytest.raises(NotFound, match="no instance `worker-7`") as caught:
        job.terminal("worker-7")
    assert reply["instance"] in caught.value.fix
    job.stop().wait()
    with pytest.raises(Conflict, match="has ended") as ended:
        job.terminal()
    assert f"jupyter pai logs {job.id}" in ended.value.fix
    tokens = [address.rpartition("Token=")[2].encode() for address in (url, reply["url"])]
    kept = [path for path in home.path.rglob("*") if path.is_file() and any(t in path.read_bytes() for t in tokens)]
    assert kept == []


def test_terminal_forwards_keys_and_size(engine: EmbeddedClient, pai: StandIn) -> None:
    job = submit(engine, "echo here; sleep 1000", profile="pai")
    until(lambda: "here\n" in job.logs())
    terminal = UserTerminal()
    before = termios.tcgetattr(terminal.device)
    command = [sys.executable, "-m", "jupyter_pai", "terminal", job.id]
    with subprocess.Popen(command, stdin=terminal.device, stdout=terminal.device, stderr=terminal.device) as process:
        try:
            terminal.read_until("To leave: exit")
            terminal.read_until("$ ")
            terminal.press("stty size; echo a''b; cat\r")
            terminal.read_until("31 97\r\nab\r\n")
            terminal.press("more\r")
            terminal.read_until("more\r\nmore\r\n")  # The second one is from `cat`: it runs in the foreground.
            terminal.press("\x03")  # Ctrl+C
            terminal.read_until("$ ")
            terminal.press("exit\r")
            assert process.wait(30) == 0
        finally:
            process.kill()
    assert termios.tcgetattr(terminal.device) == before
    job.stop()


def test_page_gets_the_command_that_attaches(engine: EmbeddedClient, pai: StandIn) -> None:
    """A page cannot attach, so no WebSocket is requested for it."""
    job = submit(engine, "echo here; sleep 1000", profile="pai")
    until(lambda: "here\n" in job.logs())
    reply = engine.call("open_terminal", job=job.id)
    assert (reply["kind"], reply["url"], reply["dialect"]) == ("command", "", "")
    assert shlex.split(reply["command"])[1:] == [
        "-m", "jupyter_pai", "terminal", job.id, "--instance", reply["instance"],
    ]  # fmt: skip
    assert pai.count("paistudio", "CreateInstanceWebTerminal") == 0
    job.stop()


def test_unknown_dialect_is_an_error_with_a_fix() -> None:
    with pytest.raises(Unsupported, match="`martian`") as caught:
        remote_shell.attach("ws://127.0.0.1:9/", "martian")
    assert "plug-in" in caught.value.fix


def test_expired_terminal_url_is_not_printed(engine: EmbeddedClient, pai: StandIn) -> None:
    job = submit(engine, "echo here; sleep 1000", profile="pai")
    until(lambda: "here\n" in job.logs())
    url = job.terminal()
    typed(url, "true")
    terminal = UserTerminal()
    process = subprocess.Popen(
        [sys.executable, "-c", ATTACH, url, "pai"],
        stdin=terminal.device, stdout=terminal.device, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    _out, wrong = process.communicate(timeout=PATIENCE)
    assert "BackendError: Cannot connect to the terminal: HTTP 403" in wrong
    assert "Token=" not in wrong
    job.stop()


def test_waiting_job_has_no_terminal(engine: EmbeddedClient, pai: StandIn) -> None:
    waiting = {"resource_id": "quota2empty", "instance_spec": {"cpu": 2, "memory": 4}}
    job = submit(engine, "true", profile="pai", instance_type="", options=waiting)
    with pytest.raises(Conflict, match="no instances yet") as caught:
        job.terminal()
    assert f"jupyter pai show {job.id}" in caught.value.fix
    job.stop()


def test_local_job_does_not_support_terminal(engine: EmbeddedClient, pai: StandIn) -> None:
    job = submit(engine, "true", profile="local").wait()
    with pytest.raises(Unsupported, match="`local` does not support: terminals"):
        job.terminal()
