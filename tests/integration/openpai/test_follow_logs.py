"""Logs of jobs: by ranges, through rotation, retries, tokens that expire, and faults."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from jupyter_pai.core.errors import BackendError, NotFound
from jupyter_pai.jobs.job import JobStatus
from jupyter_pai.jobs.state_dir import Home

from ...fakes.openpai import OpenPai
from ...fakes.openpai_client import role
from ...support.waiting import PATIENCE
from .followed import Log, Process, follow, waiting_for

pytestmark = pytest.mark.usefixtures("private_ml", "engine")


def lines(first: int, last: int) -> bytes:
    return b"".join(b"line %d\n" % n for n in range(first, last))


def fetched(server: OpenPai) -> int:
    """Return the bytes of log files that were sent."""
    return sum(int(one["sent"]) for one in server.requests if one["action"] == "logs:read")


def test_log_is_read_once_and_again_from_an_earlier_cursor(server: OpenPai, home: Home, share: Path) -> None:
    async def story(process: Process) -> None:
        count = "for n in $(seq 0 999); do echo line $n; done"
        job = await process.submit("grows", waiting_for("go", between=count))
        await process.instance_names(job)
        begin = (await process.follower.log(job, "main-0", "")).cursor
        (share / "go").touch()
        log = await process.log_until(job, b"line 999\n", begin)
        assert log.data == lines(0, 1000)
        await process.ended(job)
        assert (await process.another().whole_log(job)).data == lines(0, 1000)
        assert (await process.another().whole_log(job, cursor=begin)).data == lines(0, 1000)
        rest = await process.another().whole_log(job, cursor=log.cursor)
        assert (rest.data, rest.cursor) == (b"", log.cursor)

    follow(home, story)


def test_no_log_yet_is_no_error(server: OpenPai, home: Home) -> None:
    async def story(process: Process) -> None:
        server.settings.room = False
        job = await process.submit("waits", "echo up")
        assert (await process.follower.log(job, "main-0", "")).data == b""
        await process.instance_names(job)
        piece = await process.follower.log(job, "main-0", "")
        assert (piece.data, piece.more) == (b"", False)
        assert server.count("rest:logs") == 0
        server.settings.room = True
        await process.ended(job)
        assert (await process.whole_log(job, cursor=piece.cursor)).data == b"up\n"

    follow(home, story)


def test_node_that_does_not_respond_delays_the_log(server: OpenPai, home: Home) -> None:
    async def story(process: Process) -> None:
        job = await process.submit("runs", waiting_for("go", between="echo last"))
        await process.until(job, lambda report: report.status is JobStatus.RUNNING)
        server.faults.add("500", "rest:logs")
        assert (await process.follower.log(job, "main-0", "")).data == b""
        (Path(server.settings.storages["nfs"]) / "go").touch()
        await process.ended(job)
        with pytest.raises(BackendError):
            await process.follower.log(job, "main-0", "")
        server.faults.clear()
        assert (await process.whole_log(job)).data == b"last\n"
        server.remove_logs(job, "main", 0)
        with pytest.raises(NotFound):
            await process.another().whole_log(job)

    follow(home, story)


def test_token_that_expires_is_replaced(server: OpenPai, home: Home, share: Path) -> None:
    async def story(process: Process) -> None:
        steps = waiting_for("go1", between="echo one") + "\n" + waiting_for("go2", between="echo two")
        job = await process.submit("long", steps)
        (share / "go1").touch()
        log = await process.log_until(job, b"one\n")
        listed = server.count("rest:logs")
        server.move_clock(121)
        (share / "go2").touch()
        log = await process.log_until(job, b"two\n", log.cursor)
        assert log.data == b"two\n"
        assert server.count("rest:logs") == listed + 1
        await process.ended(job)
        for _n in range(5):
            await process.whole_log(job, cursor=log.cursor)
        assert server.count("rest:logs") == listed + 1

    follow(home, story)


def test_log_goes_on_through_a_rotation(server: OpenPai, home: Home, share: Path) -> None:
    async def story(process: Process) -> None:
        server.settings.rotate_bytes = 8
        steps = "\n".join(waiting_for(f"go{n}", between=f"echo part {n}; echo and more of {n}") for n in range(3))
        job = await process.submit("rotated", steps)
        cursor = ""
        for n in range(3):
            (share / f"go{n}").touch()
            log = await process.log_until(job, b"more of %d\n" % n, cursor)
            cursor = log.cursor
            assert log.data == b"part %d\nand more of %d\n" % (n, n)
        await process.ended(job)

    follow(home, story)


@pytest.mark.slow("waits", first=1)
@pytest.mark.parametrize("line", ["line $n", "the same"])
def test_no_byte_is_lost_or_repeated_when_the_log_is_rotated_between_two_reads(
    server: OpenPai, home: Home, share: Path, line: str
) -> None:
    """The log is read up to each byte of its first part, then rotated, and grows beyond that byte."""

    async def story(process: Process) -> None:
        steps = [waiting_for("go", between=""), *(f"n={n}; echo {line}; sleep 0.05" for n in range(3, 6))]
        job = await process.submit("rotated", f"for n in 0 1 2; do echo {line}; done", *steps)
        whole = b"".join((line.replace("$n", str(n)) + "\n").encode() for n in range(6))
        first = whole[: whole.index(b"\n") * 3 + 3]
        log = await process.log_until(job, first)
        cursors = [log.cursor]
        folder = server.job(job).tasks[0].folder / "logs"
        # As if the log had been read when it was shorter.
        complete = (folder / "user-all").read_bytes()
        assert complete == first
        for size in range(0, len(first), 5):
            (folder / "user-all").write_bytes(first[:size])
            cursors.append((await process.follower.log(job, "main-0", "")).cursor)
        (folder / "user-all").write_bytes(first)
        server.settings.rotate_bytes = len(first)
        (share / "go").touch()
        await process.ended(job)
        assert (folder / "user-all.1").read_bytes() == first
        for size, cursor in zip([len(first), *range(0, len(first), 5)], cursors, strict=True):
            # Equal bytes are told apart when a list is fetched.
            for reader in (process, process.another()) if "$n" in line else (process.another(),):
                assert (await reader.whole_log(job, cursor=cursor)).data == whole[size:]

    follow(home, story)


def test_parts_that_are_gone_are_one_line(server: OpenPai, home: Home, share: Path) -> None:
    async def story(process: Process) -> None:
        wait = waiting_for("go", between="")
        job = await process.submit("rotated", "printf begun", wait, *(f"echo part {n}; sleep 0.05" for n in range(4)))
        log = await process.log_until(job, b"begun")
        server.settings.rotate_bytes = 4
        (share / "go").touch()
        await process.ended(job)
        rest = (await process.whole_log(job, cursor=log.cursor)).data
        first, said, *others = rest.split(b"\n")
        assert first == b""
        assert said.startswith(b"[jupyter-pai] Here a part of the log may be missing")
        assert others == [b"part 2", b"part 3", b""]

    follow(home, story)


_TWICE = """if [ -e /mnt/nfs/tried{place} ]; then echo second; else
touch /mnt/nfs/tried{place}; printf 'first\\n\\nend'; exit 200; fi"""


@pytest.mark.parametrize("scope", ["task", "job"])
def test_retries_are_attempts_of_one_log(server: OpenPai, home: Home, scope: str) -> None:
    async def story(process: Process) -> None:
        command = _TWICE.format(place="")
        of_task: dict[str, Any] = {"roles": {"main": role(command, taskRetryCount=1)}}
        of_job: dict[str, Any] = {"roles": {"main": role(command)}, "jobRetryCount": 1}
        fields = of_task if scope == "task" else of_job
        job = await process.submit("again", **fields, extras={"gangAllocation": False})
        log, other = Log(""), Log("")
        while not (await process.report(job)).status.ended:
            for name in [one.name for one in await process.follower.instances(job)]:
                log.add(await process.follower.log(job, name, log.cursor))
                other.add(await process.another().follower.log(job, name, other.cursor))
        for one in (log, other):
            while one.add(await process.follower.log(job, "main-0", one.cursor)):
                pass
            assert one.attempts == {1: b"first\n\nend", 2: b"second\n"}
        assert (await process.another().whole_log(job)).attempts == log.attempts
        (instance,) = await process.another().follower.instances(job)
        assert (instance.attempt, instance.status, instance.exit_code) == (2, JobStatus.SUCCEEDED, 0)

    follow(home, story)


def test_attempts_of_tasks_count_on_in_an_attempt_of_the_job(server: OpenPai, home: Home) -> None:
    async def story(process: Process) -> None:
        step = "n=$(ls /mnt/nfs | wc -l); touch /mnt/nfs/$n; echo try $n; [ $n = 3 ] || exit 200"
        fields: dict[str, Any] = {"roles": {"main": role(step, taskRetryCount=1)}, "jobRetryCount": 1}
        job = await process.submit("again", **fields, extras={"gangAllocation": False})
        await process.ended(job)
        log = await process.another().whole_log(job)
        assert log.attempts == {n + 1: b"try %d\n" % n for n in range(4)}
        (instance,) = await process.follower.instances(job)
        assert instance.attempt == 4

    follow(home, story)


def test_attempt_without_a_log_is_left_out_with_a_line(server: OpenPai, home: Home, share: Path) -> None:
    async def story(process: Process) -> None:
        command = _TWICE.format(place="")
        fields: dict[str, Any] = {"roles": {"main": role(command, taskRetryCount=1)}}
        job = await process.submit("again", **fields, extras={"gangAllocation": False})
        await process.ended(job)
        past = server.job(job).tasks[0].past[0].folder / "logs"
        for path in past.iterdir():
            path.unlink()
        past.rmdir()
        log = await process.whole_log(job)
        assert log.attempts[1].startswith(b"[jupyter-pai] The cluster has no further log of attempt 1.")
        assert log.attempts[2] == b"second\n"

    follow(home, story)


def test_bytes_are_fetched_once_and_lists_rarely(server: OpenPai, home: Home, share: Path) -> None:
    async def story(process: Process) -> None:
        size = 5 << 20
        job = await process.submit("large", f"head -c {size} /dev/urandom", waiting_for("go"))
        await process.instance_names(job)
        log, seen = Log(""), 0
        async with asyncio.timeout(PATIENCE):
            while seen < size:
                await process.report(job)
                while log.add(await process.follower.log(job, "main-0", log.cursor)):
                    pass
                seen = len(log.data)
        for _n in range(20):
            await process.follower.log(job, "main-0", log.cursor)
        (share / "go").touch()
        await process.ended(job)
        assert log.data == (server.job(job).tasks[0].folder / "logs" / "user-all").read_bytes()
        assert fetched(server) <= 1.02 * size
        assert server.count("rest:logs") == 1

    follow(home, story)


def test_logs_are_complete_although_requests_fail(server: OpenPai, home: Home) -> None:
    async def story(process: Process) -> None:
        jobs = [await process.submit(f"job{n}", "for n in $(seq 0 299); do echo line $n; done") for n in range(6)]
        for kind in ("500", "503", "reset", "cut", "throttled"):
            server.faults.add(kind, "*", probability=0.02, seconds=0)
        for job in jobs:
            await process.ended(job)
            log = Log("")
            async with asyncio.timeout(PATIENCE):
                while log.data != lines(0, 300):
                    try:
                        log.add(await process.follower.log(job, "main-0", log.cursor))
                    except BackendError:
                        continue
            assert log.data == lines(0, 300)
        assert server.faults.struck > 0

    follow(home, story)
