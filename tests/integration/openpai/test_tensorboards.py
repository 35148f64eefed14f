"""TensorBoards in jobs: at a port that is reserved, beside the command, and never in its way."""

from __future__ import annotations

import asyncio
import json
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from jupyter_pai.backends.reports import EventPage
from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.client.job import JobHandle
from jupyter_pai.jobs.state_dir import Home

from ...conftest import PATIENCE, until
from ...fakes.openpai import OpenPai
from .followed import Process, follow, waiting_for
from .jobs import change_profile, ended, log, preview, send, there
from .test_follow_engine import events_of

pytestmark = pytest.mark.usefixtures("private_ml")

ON = {"tensorboard": True}
WORD = "Everyone on the cluster's network can open the TensorBoard"


@pytest.fixture
def engine(engine: EmbeddedClient, server: OpenPai, share: Path) -> EmbeddedClient:
    """An engine whose profile has a storage."""
    change_profile(engine, server, mounts={"nfs": str(share)})
    return engine


def page(address: str) -> str:
    """Return the folder that a TensorBoard shows; empty if it does not respond."""
    try:
        with urllib.request.urlopen(f"{address}data/environment", timeout=5) as response:
            return str(json.load(response)["data_location"])
    except OSError:
        return ""


def address_of(engine: EmbeddedClient, job: JobHandle) -> str:
    """Return the address that the events of a job name; empty before."""
    (text,) = [text for text in events_of(engine, job) if "TensorBoard" in text] or [""]
    assert not text or text.startswith(WORD)
    return text.rpartition(" ")[2]


def test_tensorboard_runs_beside_the_command(engine: EmbeddedClient, server: OpenPai, share: Path) -> None:
    job = send(engine, waiting_for("go"), options=ON, instance_count=2)
    ports = there(server, job).document["taskRoles"]["worker"]["resourcePerInstance"]["ports"]
    assert ports == {"master": 1, "tensorboard": 1}
    with engine._context.service.watcher.watch(job.id):  # As a page does.
        address = until(lambda: address_of(engine, job))
    (port,) = [task.ports["tensorboard"] for task in there(server, job).tasks if task.index == 0]
    assert address == f"http://127.0.0.1:{port}/"
    assert until(lambda: page(address)).endswith(f"/outputs/{job.id}/tensorboard")
    (share / "go").touch()
    assert ended(server, job).state == "SUCCEEDED", log(server, job)
    assert until(lambda: not page(address))
    assert "TensorBoard has ended" not in log(server, job)


def image(folder: Path, *without: str, **scripts: str) -> str:
    """Return the PATH of an image with the programs of this machine but for some, and with some scripts."""
    folder.mkdir()
    for place in (Path("/usr/bin"), Path("/bin")):
        for program in place.iterdir():
            if not program.name.startswith(without) and not (folder / program.name).exists():
                (folder / program.name).symlink_to(program)
    for name, text in scripts.items():
        (folder / name).write_text(f"#!/bin/sh\n{text}\n")
        (folder / name).chmod(0o755)
    return str(folder)


@pytest.mark.parametrize(
    ("scripts", "why"),
    [
        ({}, "python3"),  # Neither TensorBoard nor pip.
        ({"tensorboard": "echo no such display >&2; exit 3"}, "no such display"),
        ({"python3": "trap '' TERM; echo fetching; while :; do sleep 1; done"}, ""),  # pip, without a network.
    ],
    ids=["missing", "broken", "hanging"],
)
def test_tensorboard_that_does_not_start_is_not_in_the_way(
    engine: EmbeddedClient, server: OpenPai, share: Path, tmp_path: Path, scripts: dict[str, str], why: str
) -> None:
    server.settings.path = image(tmp_path / "image", "python", "pip", "tensorboard", **scripts)
    job = send(engine, f"echo begun; {waiting_for('go', between='echo done')}", options=ON)
    until(lambda: "begun" in log(server, job))
    if why:
        until(lambda: "TensorBoard has ended: " in log(server, job))
        (line,) = [line for line in log(server, job).splitlines() if "TensorBoard has ended: " in line]
        assert why in line
    (share / "go").touch()
    assert ended(server, job).state == "SUCCEEDED", log(server, job)
    assert "done" in log(server, job)


def addresses(events: EventPage) -> list[str]:
    """Return the addresses of TensorBoards in events."""
    return [event.text.rpartition(" ")[2] for event in events.events if event.key == "tensorboard"]


def test_address_is_named_once_while_the_job_runs(server: OpenPai, home: Home, engine: EmbeddedClient) -> None:
    async def story(process: Process) -> None:
        role = {"resourcePerInstance": {"cpu": 1, "memoryMB": 100, "gpu": 0, "ports": {"tensorboard": 2}}}
        roles = {"main": {"dockerImage": "image", "commands": [waiting_for("go")], **role}}
        job = await process.submit("board", roles=roles)
        await process.until(job, lambda report: report.status == "running")
        async with asyncio.timeout(PATIENCE):  # The ports of a task may be assigned a little later.
            while not addresses(first := await process.follower.events(job, "")):
                await asyncio.sleep(0.02)
        port = server.job(job).tasks[0].ports["tensorboard"].partition(",")[0]
        assert addresses(first) == [f"http://127.0.0.1:{port}/"]
        assert addresses(await process.another().follower.events(job, first.cursor)) == []
        await process.follower.stop(job)
        await process.ended(job)
        assert addresses(await process.follower.events(job, "")) == []

    follow(home, story)


@pytest.mark.parametrize(("mounted", "options"), [(True, ON), (True, {}), (False, ON)])
def test_local_tensorboard_is_offered_where_event_files_come_back(
    engine: EmbeddedClient, server: OpenPai, share: Path, mounted: bool, options: dict[str, Any]
) -> None:
    if not mounted:
        change_profile(engine, server)
    notes = preview(engine, command="true", options=options)["notes"]
    assert any("%pai tensorboard" in note for note in notes) == (mounted and bool(options))
