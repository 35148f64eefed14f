"""Metric points that are sent to a platform: each once and in order, also after errors, and by another process."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from pathlib import Path

import pytest

from jupyter_pai.core.errors import NotFound, PaiError, ReplyLost, Unreachable, Unsupported
from jupyter_pai.engine.watcher.publisher import Publisher
from jupyter_pai.engine.watcher.timings import Timings
from jupyter_pai.jobs.events import MetricPoint
from jupyter_pai.jobs.metrics.series import DETECTED, PLATFORM, REPORT, Piece, SeriesWriter, Source, pack
from jupyter_pai.jobs.state_dir import Home

from .test_remote_sync import Platform

NOW = Timings(publish=0, optional_retries=(0, 0, 0))


class Console(Platform):
    """Keeps the points that are sent. Raises each of `errors["publish"]` once, before or after it keeps them."""

    def __init__(self, home: Home) -> None:
        super().__init__(home)
        self.kept: list[MetricPoint] = []
        self.sends: list[tuple[int, bool]] = []
        self.keeps_first = False
        self.entered, self.opened = asyncio.Event(), asyncio.Event()
        self.opened.set()

    async def publish(self, remote_id: str, points: Sequence[MetricPoint], *, again: bool) -> None:
        self.sends.append((len(points), again))
        self.entered.set()
        await self.opened.wait()
        if not self.keeps_first:
            self._fail("publish")
        known = self.kept if again else []
        self.kept += [point for point in points if point not in known]
        self._fail("publish")

    def sent_of(self, name: str) -> list[float]:
        return [point.value for point in self.kept if point.name == name]


class Process:
    """A process that watches one job."""

    def __init__(self, home: Home) -> None:
        self.home = home
        self.folder = home.job("aaaa")
        self.publisher = self.another()

    def another(self) -> Publisher:
        self.publisher = Publisher(self.folder, self.home.unpublished / "aaaa", NOW)
        return self.publisher

    def write(self, name: str, *values: float, origin: Source = REPORT, begin: float = 0) -> None:
        """Add points of a metric after its last point, or after `begin`."""
        writer = SeriesWriter(self.folder.series)
        place = writer.at.place(name, origin)
        assert place
        stored, count = place
        points = [pack(begin + 1 + count + n, count + n, value) for n, value in enumerate(values)]
        end = writer.at.offsets.get("worker-0", 0) + 1
        writer.append(Piece("worker-0", end, {stored: b"".join(points)}, origin))

    async def send(self, console: Console) -> None:
        """Send what there is, as while the job is active."""
        self.publisher.start(console, "r1")
        while self.publisher.is_running:
            await asyncio.sleep(0)

    async def finish(self, console: Console) -> str:
        """Send the rest. Return the note."""
        await self.publisher.finish(console, "r1")
        return self.publisher.note


@pytest.fixture
def process(tmp_path: Path) -> Process:
    home = Home(tmp_path / "state")
    home.job("aaaa").path.mkdir(parents=True)
    return Process(home)


@pytest.fixture
def console(process: Process) -> Console:
    return Console(process.home)


def test_points_are_sent_once_and_in_order(process: Process, console: Console) -> None:
    async def run() -> None:
        process.write("loss", 3.0, 2.0)
        process.write("acc", 0.1)
        await process.send(console)
        await process.send(console)
        process.write("loss", 1.0, math.nan)
        assert await process.finish(console) == ""

    asyncio.run(run())
    assert console.sends == [(3, False), (2, False)]
    assert console.sent_of("acc") == [0.1]
    assert console.sent_of("loss")[:3] == [3.0, 2.0, 1.0]
    assert [point.step for point in console.kept if point.name == "loss"] == [0, 1, 2, 3]
    assert not process.publisher.mark.exists()


def test_points_of_several_metrics_are_sent_in_the_order_of_their_times(process: Process, console: Console) -> None:
    process.write("loss", *range(4))
    process.write("acc", *range(4))
    asyncio.run(process.send(console))
    assert [(point.name, point.step) for point in console.kept] == [
        (name, n) for n in range(4) for name in ("loss", "acc")
    ]


def test_many_points_take_several_sends(process: Process, console: Console) -> None:
    process.write("loss", *range(2500))
    for n in range(150):
        process.write(f"m{n}", 1.0)
    asyncio.run(process.finish(console))
    assert console.sent_of("loss") == [*range(2500)]
    assert len(console.kept) == 2650
    assert max(size for size, _again in console.sends) <= 1000


def test_another_process_continues(process: Process, console: Console) -> None:
    async def run() -> None:
        process.write("loss", 3.0, 2.0)
        await process.send(console)
        process.another()
        process.write("loss", 1.0)
        await process.send(console)
        process.another()
        await process.finish(console)

    asyncio.run(run())
    assert console.sent_of("loss") == [3.0, 2.0, 1.0]
    assert console.sends == [(2, False), (1, True)], "the first process may have been killed during a send"


def test_process_that_ends_during_a_send_leaves_it_to_another(process: Process, console: Console) -> None:
    async def run() -> None:
        process.write("loss", 3.0, 2.0)
        console.opened.clear()
        process.publisher.start(console, "r1")
        await console.entered.wait()
        process.publisher.cancel()
        await process.finish(console)
        assert process.publisher.mark.exists()
        console.opened.set()
        process.another()
        await process.finish(console)

    asyncio.run(run())
    assert console.sends == [(2, False), (2, True)]
    assert console.sent_of("loss") == [3.0, 2.0]


@pytest.mark.parametrize("keeps_first", [False, True])
def test_failed_send_is_repeated_with_later_points(process: Process, console: Console, keeps_first: bool) -> None:
    async def run() -> None:
        process.write("loss", 3.0)
        console.keeps_first = keeps_first
        console.errors = {"publish": [ReplyLost("no reply")]}
        await process.send(console)
        process.write("loss", 2.0)
        await process.send(console)
        assert await process.finish(console) == ""

    asyncio.run(run())
    assert console.sends == [(1, False), (2, True)]
    assert console.sent_of("loss") == [3.0, 2.0]


@pytest.mark.parametrize(
    ("errors", "sends"),
    [([Unreachable("none")] * 3, 4), ([Unreachable("none")] * 4, 4), ([Unsupported("not offered")], 1)],
)
def test_rest_is_sent_with_some_retries(process: Process, console: Console, errors: list[PaiError], sends: int) -> None:
    process.write("loss", 1.0)
    console.errors = {"publish": [*errors]}
    note = asyncio.run(process.finish(console))
    assert len(console.sends) == sends
    if len(errors) == 3:
        assert (note, console.sent_of("loss")) == ("", [1.0])
    else:
        assert note == f"Not all of its metrics were sent to the platform: {errors[0].message}"
        assert console.kept == []
    assert not process.publisher.mark.exists()


def test_better_source_continues_after_the_points_that_were_sent(process: Process, console: Console) -> None:
    async def run() -> None:
        process.write("loss", 3.0, 2.0, origin=DETECTED)
        await process.send(console)
        process.write("loss", 3.0, 2.0, 1.0, origin=REPORT)
        process.another()
        await process.send(console)
        process.write("loss", 0.5)
        await process.finish(console)

    asyncio.run(run())
    assert console.sent_of("loss") == [3.0, 2.0, 1.0, 0.5]


def test_points_of_the_platform_are_not_sent_back(process: Process, console: Console) -> None:
    process.write("theirs", 1.0, origin=PLATFORM)
    assert asyncio.run(process.finish(console)) == ""
    assert console.sends == []


def test_damaged_record_is_read_as_empty(process: Process, console: Console) -> None:
    process.write("loss", 1.0)
    process.folder.published.write_text("{")
    asyncio.run(process.finish(console))
    assert console.sent_of("loss") == [1.0]


def test_folder_that_is_gone_is_not_an_error_of_the_job(
    process: Process, console: Console, caplog: pytest.LogCaptureFixture
) -> None:
    process.write("loss", 1.0)
    console.errors = {"publish": [NotFound("no such task")]}
    process.home.unpublished.write_text("in the way")
    asyncio.run(process.send(console))
    asyncio.run(process.send(console))
    assert console.sends == []
    assert len(caplog.records) == 1
