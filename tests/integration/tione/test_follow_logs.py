"""Logs of tasks: in order, once, with their times, past the limits of the platform."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from jupyter_pai.core.errors import BackendError, PaiError, Refused
from jupyter_pai.jobs.state_dir import Home

from ...fakes.tione import TiOne
from ...support.waiting import PATIENCE
from .followed import Log, Process, follow

_YESTERDAY = 86_400


def lines(first: int, last: int, text: str = "line") -> bytes:
    return b"".join(f"{text} {n}\n".encode() for n in range(first, last))


def grow(server: TiOne, task: str, first: int, last: int, moment: float | None = None, rank: int = 0) -> None:
    """Add lines with one time."""
    server.add_lines(task, *lines(first, last).decode().splitlines(), moment=moment, rank=rank)


def ended_task(server: TiOne, seconds: float = _YESTERDAY) -> str:
    """Return a task that has ended some time ago."""
    (task,) = server.add_tasks()
    server.set_task(task, "SUCCEED")
    server.age_task(task, seconds)
    return task


def test_large_log_of_yesterday_is_read_completely_with_few_requests(tione: TiOne, home: Home) -> None:
    task = ended_task(tione)
    begun = tione.now() - _YESTERDAY - 10
    for n in range(0, 100_000, 50):
        grow(tione, task, n, n + 50, begun + n / 10_000)
    tione.forget_requests()

    async def story(process: Process) -> None:
        log = await process.whole_log(task)
        assert log.data == lines(0, 100_000)
        assert log.times == pytest.approx([begun + n // 50 * 50 / 10_000 for n in range(100_000)])
        assert len(log.cursor) < 10_000

    follow(home, story)
    assert tione.count() < 130


@pytest.mark.slow("cases", first=1)
@pytest.mark.parametrize("server_settings", [{"calls_a_window": 1000, "log_limit": 40}])
@pytest.mark.parametrize("at_once", [1, 7, 40, 41, 450])
def test_log_goes_on_after_the_limit_of_the_platform(tione: TiOne, home: Home, at_once: int) -> None:
    """Lines of one time may be more than the platform returns in one list, and than a position knows."""
    task = ended_task(tione)
    for n in range(0, 450, at_once):
        grow(tione, task, n, min(n + at_once, 450), tione.now() - _YESTERDAY + n / 100)

    async def story(process: Process) -> None:
        assert (await process.whole_log(task)).data == lines(0, 450)
        # Each page is read by another process.
        log = Log()
        while log.add(await process.another().follower.log(task, "worker-0", log.cursor)):
            pass
        assert log.data == lines(0, 450)

    follow(home, story)


@pytest.mark.parametrize("server_settings", [{"calls_a_window": 1000, "log_limit": 40, "log_offsets": False}])
@pytest.mark.parametrize("at_once", [1, 7, 39])
def test_log_goes_on_where_offsets_do_not_count(tione: TiOne, home: Home, at_once: int) -> None:
    task = ended_task(tione)
    for n in range(0, 200, at_once):
        grow(tione, task, n, min(n + at_once, 200), tione.now() - _YESTERDAY + n * 60)

    async def story(process: Process) -> None:
        assert (await process.whole_log(task)).data == lines(0, 200)

    follow(home, story)


@pytest.mark.parametrize("server_settings", [{"calls_a_window": 1000, "log_limit": 40, "log_offsets": False}])
def test_lines_that_the_platform_does_not_return_are_told(tione: TiOne, home: Home) -> None:
    task = ended_task(tione)
    grow(tione, task, 0, 100, tione.now() - _YESTERDAY)
    grow(tione, task, 100, 110, tione.now() - _YESTERDAY + 1)

    async def story(process: Process) -> None:
        data = (await process.whole_log(task)).data
        said = data.removeprefix(lines(0, 40)).removesuffix(lines(100, 110))
        assert data == lines(0, 40) + said + lines(100, 110)
        assert said.startswith(b"[jupyter-pai] Here lines may be missing")
        assert said.count(b"\n") == 1

    follow(home, story)


def test_more_lines_of_one_time_than_a_list_has(tione: TiOne, home: Home) -> None:
    task = ended_task(tione)
    grow(tione, task, 0, 25_000, tione.now() - _YESTERDAY)
    grow(tione, task, 25_000, 25_010, tione.now() - _YESTERDAY + 1)

    async def story(process: Process) -> None:
        log = await process.whole_log(task)
        assert log.data == lines(0, 25_010)
        assert len(log.cursor) < 10_000

    follow(home, story)


def test_each_cursor_is_followed_by_the_rest(tione: TiOne, home: Home) -> None:
    task = ended_task(tione)
    for n in range(0, 4500, 5):
        grow(tione, task, n, n + 5, tione.now() - _YESTERDAY + n)

    async def story(process: Process) -> None:
        log, cursors = Log(), [(0, "")]
        while log.add(await process.follower.log(task, "worker-0", log.cursor)):
            cursors.append((len(log.data), log.cursor))
        cursors.append((len(log.data), log.cursor))
        for size, cursor in cursors:
            rest = await process.another().whole_log(task, cursor)
            assert rest.data == log.data[size:]
            assert rest.cursor == log.cursor

    follow(home, story)


def test_growing_log_is_read_once(tione: TiOne, home: Home) -> None:
    (task,) = tione.add_tasks()

    async def story(process: Process) -> None:
        log = await process.whole_log(task)
        assert (log.data, log.cursor) == (b"", (await process.whole_log(task, log.cursor)).cursor)
        for n in range(0, 1200, 60):
            # Some lines have the time of earlier ones.
            grow(tione, task, n, n + 60, tione.now() - (0 if n % 120 else 0.001))
            while log.add(await process.follower.log(task, "worker-0", log.cursor)):
                pass
            assert log.data.count(b"\n") == n + 60
            again = await process.another().follower.log(task, "worker-0", log.cursor)
            assert (again.data, again.cursor, again.more) == (b"", log.cursor, False)
        assert sorted(log.data.splitlines()) == sorted(lines(0, 1200).splitlines())

    follow(home, story)


def test_line_that_is_found_late_is_not_lost(tione: TiOne, home: Home) -> None:
    (task,) = tione.add_tasks()
    moment = tione.now()

    async def story(process: Process) -> None:
        grow(tione, task, 0, 5, moment)
        log = await process.whole_log(task)
        grow(tione, task, 5, 10, moment - 8)
        assert (await process.another().whole_log(task, log.cursor)).data == lines(5, 10)
        log = await process.whole_log(task, log.cursor)
        assert (await process.whole_log(task, log.cursor)).data == b""

    follow(home, story)


@pytest.mark.parametrize("was_followed", [True, False])
def test_lines_that_are_found_after_the_end_belong_to_the_log(tione: TiOne, home: Home, was_followed: bool) -> None:
    (task,) = tione.add_tasks()
    moment = tione.now()

    async def story(process: Process) -> None:
        if was_followed:
            await process.report(task)
        tione.add_lines(task, "late", found=moment + 2)
        tione.set_task(task, "SUCCEED")
        assert (await process.ended(task)).status.ended
        assert (await process.follower.log(task, "worker-0", "")).more
        assert (await process.whole_log(task)).data == b"late\n"

    follow(home, story)


def test_end_of_the_job_script_is_the_end_of_the_log(tione: TiOne, home: Home) -> None:
    (task,) = tione.add_tasks()

    async def story(process: Process) -> None:
        await process.report(task)
        tione.add_lines(task, "last", '[pai] {"exit_code": 0}')
        tione.set_task(task, "SUCCEED")
        await process.ended(task)
        log = await process.whole_log(task)
        for reader in (process, process.another()):
            assert not (await reader.follower.log(task, "worker-0", log.cursor)).more

    follow(home, story)


def test_pods_have_logs_of_their_own(tione: TiOne, home: Home) -> None:
    task = tione.add_tasks(ResourceConfigInfos=_nodes(12))[0]
    for rank in range(12):
        grow(tione, task, rank, rank + 1, rank=rank)

    async def story(process: Process) -> None:
        names = [one.name for one in await process.follower.instances(task)]
        assert names == [f"worker-{n}" for n in range(12)]
        for rank, name in enumerate(names):
            assert (await process.whole_log(task, instance=name)).data == lines(rank, rank + 1)
        assert (await process.whole_log(task, instance="worker-12")).data == b""

    follow(home, story)


def test_task_that_is_started_again_has_another_attempt(tione: TiOne, home: Home) -> None:
    (task,) = tione.add_tasks()
    grow(tione, task, 0, 1500)

    async def story(process: Process) -> None:
        log = Log()
        log.add(await process.follower.log(task, "worker-0", ""))
        tione.set_task(task, "FAILED", "stopped")
        await process.report(task)
        tione.restart_task(task)
        grow(tione, task, 1500, 1510)
        await process.report(task)
        while log.add(await process.follower.log(task, "worker-0", log.cursor)) or log.data.count(b"\n") < 1510:
            pass
        assert log.attempts == {1: lines(0, 1500), 2: lines(1500, 1510)}

    follow(home, story)


def test_context_that_the_platform_has_forgotten_is_no_end(tione: TiOne, home: Home) -> None:
    task = ended_task(tione)
    for n in range(0, 3000, 100):
        grow(tione, task, n, n + 100, tione.now() - _YESTERDAY + n)

    async def story(process: Process) -> None:
        log = Log()
        log.add(await process.follower.log(task, "worker-0", ""))
        assert '"' in log.cursor
        for code in ("InvalidParameterValue", "FailedOperation.ContextLimitError", "FailedOperation"):
            tione.faults.add("refused", "tione:DescribeLogs", code=code, count=1)
            rest = await process.another().whole_log(task, log.cursor)
            assert log.data + rest.data == lines(0, 3000)

    follow(home, story)


@pytest.mark.parametrize("server_settings", [{"calls_a_window": 1000, "cls": False}])
def test_log_service_that_is_not_activated_is_named(tione: TiOne, home: Home) -> None:
    (task,) = tione.add_tasks()

    async def story(process: Process) -> None:
        with pytest.raises(Refused) as caught:
            await process.whole_log(task)
        assert "CLS" in caught.value.message
        assert caught.value.fix

    follow(home, story)


def test_no_log_yet_is_no_error(tione: TiOne, home: Home) -> None:
    (task,) = tione.add_tasks(status="PENDING")

    async def story(process: Process) -> None:
        assert (await process.whole_log(task)).data == b""
        assert (await process.whole_log("train-1")).data == b""
        tione.faults.add("refused", "tione:DescribeLogs", code="ResourceNotFound")
        assert (await process.whole_log(task)).data == b""
        tione.set_task(task, "FAILED")
        await process.report(task)
        with pytest.raises(PaiError):
            await process.whole_log(task)

    follow(home, story)


@pytest.mark.slow("platform")
def test_logs_are_complete_although_requests_fail(tione: TiOne, home: Home) -> None:
    task = ended_task(tione)
    for n in range(0, 30_000, 100):
        grow(tione, task, n, n + 100, tione.now() - _YESTERDAY + n)
    for kind in ("500", "503", "reset", "cut", "throttled"):
        tione.faults.add(kind, "*", probability=0.04, seconds=0)

    async def story(process: Process) -> None:
        log = Log()
        more = True
        async with asyncio.timeout(PATIENCE):
            while more:
                try:
                    more = log.add(await process.follower.log(task, "worker-0", log.cursor))
                except BackendError:
                    continue
        assert log.data == lines(0, 30_000)

    follow(home, story)
    assert tione.faults.struck


def _nodes(count: int) -> list[dict[str, Any]]:
    return [{"Role": "WORKER", "InstanceType": "TI.S.MEDIUM.POST", "InstanceNum": count}]
