"""States, instances, events, terminals, stop and search of tasks."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from jupyter_pai.backends.tione.follow.follower import Follower, poll_interval
from jupyter_pai.core.errors import Conflict, CredentialsError, NotFound, PaiError
from jupyter_pai.jobs.job import JobStatus
from jupyter_pai.jobs.state_dir import Home

from ...fakes.tione import TiOne
from ...fakes.tione_client import Client
from ...support.waiting import PATIENCE
from .followed import Process, follow

_LIST, _DETAIL = "DescribeTrainingTasks", "DescribeTrainingTask"


def added(server: TiOne, count: int = 1, **fields: Any) -> list[str]:
    return server.add_tasks(count, **fields)


def test_task_waits_runs_and_ends(tione: TiOne, home: Home, tmp_path: Any) -> None:
    tione.settings.room = False
    task = Client(tione).submit("train", f"until [ -e {tmp_path}/go ]; do sleep 0.02; done; exit 7")

    async def story(process: Process) -> None:
        waiting = await process.until(task, lambda report: report.platform_status == "PENDING")
        assert (waiting.status, waiting.started_at) == (JobStatus.QUEUED, None)
        assert waiting.console_url.endswith(f"/tione/v2/job/detail/{task}?regionId=1")
        events = await process.follower.events(task, "")
        assert any(event.warning and event.text.startswith("FailedScheduling") for event in events.events)
        assert (await process.report(task)).reason.startswith("FailedScheduling")
        tione.settings.room = True
        running = await process.until(task, lambda report: report.status is JobStatus.RUNNING)
        assert (running.reason, bool(running.started_at)) == ("", True)
        (tmp_path / "go").touch()
        ended = await process.ended(task)
        assert (ended.status, ended.exit_code, ended.is_general) == (JobStatus.FAILED, 7, True)
        (instance,) = await process.follower.instances(task)
        assert (instance.name, instance.status, instance.exit_code) == ("worker-0", JobStatus.FAILED, 7)
        assert instance.started_at and instance.ended_at and instance.address.startswith("127.")

    follow(home, story)


def test_first_instance_that_failed_is_named(tione: TiOne, home: Home) -> None:
    task = Client(tione).submit("train", "exit $((INDEX * 7))", nodes=2)

    async def story(process: Process) -> None:
        report = await process.ended(task)
        assert (report.exit_code, report.instance) == (7, "worker-1")
        first, second = await process.another().follower.instances(task)
        assert (first.exit_code, second.exit_code) == (0 if first.status is JobStatus.SUCCEEDED else None, 7)

    follow(home, story)


@pytest.mark.parametrize("count", [1, 10])
def test_task_that_the_platform_does_not_have_is_left_out(tione: TiOne, home: Home, count: int) -> None:
    tasks = added(tione, count)

    async def story(process: Process) -> None:
        assert [*await process.follower.poll([*tasks, "train-1", "gone"])] == tasks
        assert await process.follower.poll([]) == {}
        assert await process.follower.instances("train-1") == ()
        assert (await process.follower.events("train-1", "")).events == ()
        tione.remove_task(tasks[0])
        assert tasks[0] not in await process.another().follower.poll(tasks)

    follow(home, story)


@pytest.mark.parametrize("count", [1, 10])
def test_workspace_that_is_gone_loses_no_task(tione: TiOne, home: Home, count: int) -> None:
    tasks = added(tione, count)

    async def story(process: Process) -> None:
        tione.faults.add("refused", "tione:Describe*", code="ResourceNotFound")
        with pytest.raises(NotFound):
            await process.follower.poll(tasks)
        tione.faults.clear()
        assert [*await process.follower.poll(tasks)] == tasks

    follow(home, story)


def test_a_list_serves_fifty_tasks_and_details_those_that_have_ended(tione: TiOne, home: Home) -> None:
    tasks = added(tione, 120)

    async def story(process: Process) -> None:
        reports = await process.follower.poll(tasks)
        assert {report.status for report in reports.values()} == {JobStatus.RUNNING}
        assert (tione.count(_LIST), tione.count(_DETAIL)) == (3, 0)
        await process.follower.poll(tasks)
        assert tione.count(_LIST) == 3
        for number, status in enumerate(("SUCCEED", "FAILED", "STOPPED")):
            tione.set_task(tasks[number], status, "exit code: 3")
        ended = await process.another().follower.poll(tasks)
        assert [ended[one].status for one in tasks[:4]] == [
            JobStatus.SUCCEEDED, JobStatus.FAILED, JobStatus.STOPPED, JobStatus.RUNNING
        ]  # fmt: skip
        assert [ended[one].exit_code for one in tasks[:3]] == [0, 3, None]
        assert tione.count(_DETAIL) == 3

    follow(home, story)


def test_many_tasks_that_end_together_are_told_one_after_the_other(tione: TiOne, home: Home) -> None:
    tasks = added(tione, 60)

    async def story(process: Process) -> None:
        await process.follower.poll(tasks)
        for one in tasks:
            tione.set_task(one, "SUCCEED")
        reports = await process.another().follower.poll(tasks)
        assert {*reports} == {*tasks}
        assert 0 < sum(report.status.ended for report in reports.values()) < 60
        left, reader = tasks, process.another()
        while left:
            reports = await reader.follower.poll(left)
            left = [one for one in left if not reports[one].status.ended]

    follow(home, story)


@pytest.mark.slow("platform")
def test_tasks_that_are_polled_apart_share_their_lists(tione: TiOne, home: Home) -> None:
    """The watcher polls the tasks that are due: other ones each time."""
    tasks, now = added(tione, 500), [0.0]

    async def story(process: Process) -> None:
        follower = Follower(process.api, clock=lambda: now[0])
        for start in (100, 111, 122):
            tione.forget_requests()
            for place in range(0, 500, 10):
                now[0] = start + place / 50
                await follower.poll(tasks[place : place + 10])
        assert tione.count(_LIST) <= 12

    follow(home, story)


def test_platform_that_refuses_so_many_ids_is_asked_one_by_one(tione: TiOne, home: Home) -> None:
    tasks = added(tione, 45)

    async def story(process: Process) -> None:
        tione.faults.add("refused", f"tione:{_LIST}", code="InvalidParameterValue")
        assert {*await process.follower.poll(tasks)} == {*tasks}
        assert tione.count(_DETAIL) == 40

    follow(home, story)


def test_a_thousand_tasks_take_less_than_two_requests_a_second() -> None:
    for jobs in (1, 50, 100, 1000, 5000):
        pages = -(-jobs // 50)
        assert pages / poll_interval(jobs, watched=False) < 2
        assert poll_interval(jobs, watched=True) <= poll_interval(jobs, watched=False)
    # With the age of a row, a new status is seen within 15 seconds.
    assert poll_interval(1000, watched=False) < 13


def test_events_go_on_and_count_up(tione: TiOne, home: Home) -> None:
    (task,) = added(tione, status="PENDING")
    tione.add_event(task, "no room")

    async def story(process: Process) -> None:
        page = await process.follower.events(task, "")
        assert "no room" in [event.text for event in page.events]
        (event,) = [event for event in page.events if event.text == "no room"]
        assert (event.warning, event.instance) == (True, "worker-0")
        assert (await process.another().follower.events(task, page.cursor)).events == []
        tione.move_clock(2)
        tione.add_event(task, "no room")
        (again,) = (await process.another().follower.events(task, page.cursor)).events
        assert (again.text, again.key) == ("no room (2 times)", event.key)

    follow(home, story)


def test_events_of_a_task_of_last_week_are_all_there(tione: TiOne, home: Home) -> None:
    (task,) = added(tione)
    for number in range(230):
        tione.add_event(task, f"event {number}", is_warning=False)
    tione.set_task(task, "SUCCEED")
    tione.age_task(task, 7 * 86_400)

    async def story(process: Process) -> None:
        page, texts = await process.follower.events(task, ""), list[str]()
        texts += [event.text for event in page.events]
        while page.more:
            page = await process.another().follower.events(task, page.cursor)
            texts += [event.text for event in page.events]
        assert len(texts) == len({*texts}) == 232

    follow(home, story)


def test_terminal_is_the_page_of_a_pod(tione: TiOne, home: Home) -> None:
    (task,) = added(tione)

    async def story(process: Process) -> None:
        page = await process.follower.terminal(task, "worker-0")
        assert page.url.startswith(f"{tione.url}/webshell/{tione.task(task).run.pods[0].name}?token=")
        assert "token" not in repr(page)
        with pytest.raises(NotFound):
            await process.follower.terminal(task, "worker-1")
        tione.set_task(task, "STOPPED")
        with pytest.raises(PaiError):
            await process.another().follower.terminal(task, "worker-0")

    follow(home, story)


def test_stop_ends_a_task_and_stop_again_does_nothing(tione: TiOne, home: Home) -> None:
    task = Client(tione).submit("long", "sleep 1000")

    async def story(process: Process) -> None:
        await process.until(task, lambda report: report.status is JobStatus.RUNNING)
        await process.follower.stop(task)
        ended = await process.ended(task)
        assert (ended.status, ended.reason) == (JobStatus.STOPPED, "Stopped on the platform.")
        await process.another().follower.stop(task)
        await process.follower.stop("train-1")

    follow(home, story)


def test_task_that_is_being_submitted_is_stopped_as_soon_as_it_can_be(tione: TiOne, home: Home) -> None:
    tione.settings.controller = False
    task = Client(tione).submit("new", "sleep 1000")

    async def story(process: Process) -> None:
        stopping = asyncio.create_task(process.follower.stop(task))
        async with asyncio.timeout(PATIENCE):
            while not tione.count("StopTrainingTask"):
                await asyncio.sleep(0.02)
        tione.settings.controller = True
        await stopping
        assert (await process.ended(task)).status is JobStatus.STOPPED

    follow(home, story)


def test_task_that_stops_is_billed_until_then(tione: TiOne, home: Home) -> None:
    (task,) = added(tione)

    async def story(process: Process) -> None:
        tione.task(task).charge = "BILLING"
        tione.set_task(task, "STOPPING")
        report = await process.report(task)
        assert (report.status, report.platform_status) == (JobStatus.RUNNING, "STOPPING")
        assert "billed until" in report.reason
        tione.set_task(task, "STOPPED")
        (note,) = (await process.report(task)).notes
        assert "元/小时" in note
        tione.task(task).charge = "ARREARS_STOP"
        assert "arrears" in (await process.report(task)).reason

    follow(home, story)


def test_task_that_runs_is_stopped_before_it_is_deleted(tione: TiOne, home: Home) -> None:
    task = Client(tione).submit("long", "sleep 1000")

    async def story(process: Process) -> None:
        await process.until(task, lambda report: report.status is JobStatus.RUNNING)
        await process.follower.delete(task)
        assert await process.follower.poll([task]) == {}
        await process.follower.delete(task)

    follow(home, story)


def test_task_is_found_by_the_end_of_its_name(tione: TiOne, home: Home) -> None:
    first = added(tione, Name="train-abcdefgh")[0]
    added(tione, Name="train-abcdefgh-more")

    async def story(process: Process) -> None:
        assert await process.ours("abcdefgh") == {first}
        assert await process.ours("abcdefgi") == set()
        assert await process.follower.lists_any({first})
        assert not await process.follower.lists_any({"train-1"})
        tione.remove_task(first)
        assert await process.ours("abcdefgh") == set()

    follow(home, story)


def test_keys_that_end_are_named(tione: TiOne, home: Home) -> None:
    (task,) = added(tione)

    async def story(process: Process) -> None:
        await process.report(task)
        tione.change_key(tione.key.id, active=False)
        with pytest.raises(CredentialsError):
            await process.report(task)
        tione.change_key(tione.key.id, active=True)
        assert (await process.report(task)).status is JobStatus.RUNNING

    follow(home, story)


def test_stop_that_the_platform_refuses_is_told(tione: TiOne, home: Home) -> None:
    (task,) = added(tione)

    async def story(process: Process) -> None:
        tione.faults.add("refused", "tione:StopTrainingTask", code="FailedOperation.UnSubmitNotAllowToStop")
        with pytest.raises(Conflict) as caught:
            await Follower(process.api, pauses=(0.01,)).stop(task)
        assert "still submitting" in caught.value.message

    follow(home, story)
