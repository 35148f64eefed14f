"""TensorBoards on PAI: found, started, opened when ready, and five at most."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.client.job import JobHandle
from jupyter_pai.core.errors import NotFound, QuotaExceeded, SpecError, Unsupported

from ...conftest import submit, until
from ...fakes.alibaba import StandIn
from ..notebook.test_job_widget import Page


def job_of(engine: EmbeddedClient, pai: StandIn, name: str = "curves") -> JobHandle:
    return submit(engine, "true", name=name, profile="pai")


def opened(engine: EmbeddedClient, job: str) -> dict[str, Any]:
    """Start a TensorBoard as a view does, and poll until it can be opened."""
    result: dict[str, Any] = engine.call("open_platform_board", body={"job": job})

    def starts() -> bool:
        (board,) = engine.call("platform_boards", job=job)["boards"]
        result.update(board)
        return bool(result["status"] == "starting")

    until(lambda: not starts())
    return result


@pytest.fixture(autouse=True)
def none_left(engine: EmbeddedClient) -> None:
    for board in engine.call("platform_boards", backend="pai")["boards"]:
        engine.call("stop_platform_board", board=board["id"], backend="pai", delete=True)


def test_tensorboard_opens_when_its_page_is_ready(engine: EmbeddedClient, pai: StandIn) -> None:
    job = job_of(engine, pai)
    assert job.info["platform_boards"]
    first = engine.call("open_platform_board", body={"job": job.id})
    assert (first["status"], first["url"], first["name"]) == ("starting", "", "curves")
    board = opened(engine, job.id)
    assert board["id"] == first["id"]
    with urllib.request.urlopen(board["url"]) as page:
        assert b"TensorBoard" in page.read()
    listed = engine.call("platform_boards", job=job.id)
    assert (listed["boards"], listed["most"], listed["minutes"]) == ([board], 5, 240)
    assert engine.call("platform_boards", job=job_of(engine, pai).id)["boards"] == []
    assert pai.count("dlc", "CreateTensorboard") == 1


def test_stopped_tensorboard_is_started_again(engine: EmbeddedClient, pai: StandIn) -> None:
    job = job_of(engine, pai)
    board = opened(engine, job.id)
    (stopped,) = engine.call("stop_platform_board", board=board["id"], backend="pai")["boards"]
    assert (stopped["status"], stopped["url"]) == ("stopped", "")
    assert opened(engine, job.id)["id"] == board["id"]
    assert (pai.count("dlc", "CreateTensorboard"), pai.count("dlc", "StartTensorboard")) == (1, 1)
    assert engine.call("stop_platform_board", board=board["id"], backend="pai", delete=True)["boards"] == []


def test_lost_create_reply_creates_no_second_tensorboard(engine: EmbeddedClient, pai: StandIn) -> None:
    job = job_of(engine, pai)
    pai.faults.add("lost", "dlc:CreateTensorboard", count=1)
    opened(engine, job.id)
    assert pai.count("dlc", "CreateTensorboard") == 1
    assert len(engine.call("platform_boards", backend="pai")["boards"]) == 1


def test_sixth_tensorboard_is_rejected_with_a_list(
    engine: EmbeddedClient, pai: StandIn, cli: Callable[..., Any], folder: Path
) -> None:
    for number in range(5):
        engine.call("open_platform_board", body={"job": job_of(engine, pai, f"number-{number}").id})
    sixth = job_of(engine, pai, "number-5")
    with pytest.raises(QuotaExceeded, match=r"number-4 .*number-0") as caught:
        engine.call("open_platform_board", body={"job": sixth.id})
    assert caught.value.details["code"] == "TensorboardLimitExceeded"
    boards = caught.value.details["boards"]
    assert isinstance(boards, list)
    assert {board["user"] for board in boards} == {"ada"}
    oldest = boards[-1]["id"]
    assert caught.value.fix == f"Stop one: jupyter pai tensorboard --on-platform --stop {oldest}"
    # The fix of the error works.
    assert "stopped" in cli("tensorboard", "--on-platform", "--stop", oldest).stdout
    assert opened(engine, sixth.id)["name"] == "number-5"


def test_failed_tensorboard_is_reported_and_not_retried(
    engine: EmbeddedClient, pai: StandIn, cli: Callable[..., Any]
) -> None:
    job = job_of(engine, pai)
    pai.fail_next_board("no room")
    (board,) = json.loads(cli("tensorboard", "--on-platform", job.id, "--json").stdout)
    assert (board["status"], board["reason"]) == ("failed", "PodFailed: no room")
    assert pai.count("dlc", "CreateTensorboard") == 1
    # Asked for again, another one is.
    engine.call("open_platform_board", body={"job": job.id})
    assert pai.count("dlc", "CreateTensorboard") == 2


def test_limit_reached_by_other_users_is_reported(engine: EmbeddedClient, pai: StandIn) -> None:
    pai.faults.add("refused", "dlc:CreateTensorboard", count=1, status=400, code="TensorboardLimitExceeded")
    with pytest.raises(QuotaExceeded) as caught:
        engine.call("open_platform_board", body={"job": job_of(engine, pai).id})
    assert "boards" not in caught.value.details
    assert caught.value.fix


@pytest.mark.slow("tensorboard")
def test_tensorboard_command_starts_stops_and_deletes(
    engine: EmbeddedClient, pai: StandIn, cli: Callable[..., Any]
) -> None:
    job = job_of(engine, pai, "shown")
    (board,) = json.loads(cli("tensorboard", "--on-platform", job.id, "--json").stdout)
    assert (board["status"], board["name"]) == ("running", "shown")
    shown = cli("tensorboard", "--on-platform").stdout
    assert board["url"] in shown
    assert "stopped" in cli("tensorboard", "--on-platform", "--stop", job.id).stdout
    assert board["id"] not in cli("tensorboard", "--on-platform", "--delete", board["id"]).stdout
    refused = cli("tensorboard", "--on-platform", "--stop")
    assert (refused.returncode != 0, "No TensorBoard named." in refused.stderr) == (True, True)


def test_widget_view_receives_tensorboards_and_errors(engine: EmbeddedClient, pai: StandIn) -> None:
    page, job = Page(engine), job_of(engine, pai)
    page.tell("call", id=1, verb="open_platform_board", body={"job": job.id})
    until(lambda: page.of("result"))
    (board,) = page.call("platform_boards", job=job.id)["value"]["boards"]
    assert page.call("stop_platform_board", board=board["id"], profile="pai", delete=True)["value"]["boards"] == []
    for number in range(5):
        engine.call("open_platform_board", body={"job": job_of(engine, pai, f"number-{number}").id})
    page.tell("call", id=2, verb="open_platform_board", body={"job": job.id})
    until(lambda: page.of("error"))
    (refused,) = page.of("error")
    assert (refused["code"], len(refused["details"]["boards"])) == ("QuotaExceeded", 5)


def test_impossible_tensorboards_are_rejected(engine: EmbeddedClient, pai: StandIn) -> None:
    with pytest.raises(NotFound, match="nowhere"):
        engine.call("stop_platform_board", board="nowhere", backend="pai")
    with pytest.raises(Unsupported, match="`local` does not run TensorBoards"):
        engine.call("platform_boards", profile="local")
    local = submit(engine, "true", profile="local").wait()
    assert not local.info["platform_boards"]
    with pytest.raises(Unsupported, match="`local` does not run TensorBoards"):
        engine.call("open_platform_board", body={"job": local.id})
    elsewhere = submit(engine, "true", profile="pai", outputs={"tensorboard": "nas://fs.cn-shanghai/x/"})
    with pytest.raises(SpecError, match="is not in OSS"):
        engine.call("open_platform_board", body={"job": elsewhere.id})
