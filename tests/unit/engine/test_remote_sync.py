"""Data of a remote job, fetched from a platform that a test scripts: each byte and point once, also after errors."""

from __future__ import annotations

import asyncio
import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from jupyter_pai.backends.base import Backend
from jupyter_pai.backends.reports import EventPage, LogPiece, PointPage, Report, Sample
from jupyter_pai.config.settings import ProfileSettings
from jupyter_pai.core.errors import NotFound, PaiError, Unreachable
from jupyter_pai.engine.watcher.remote_metrics import RemoteMetrics
from jupyter_pai.engine.watcher.remote_sync import RemoteLog, RemoteSync
from jupyter_pai.engine.watcher.timings import Timings
from jupyter_pai.jobs.events import MetricPoint, PlatformEvent
from jupyter_pai.jobs.instances import Instance, read_instances
from jupyter_pai.jobs.job import JobStatus
from jupyter_pai.jobs.limits import MOST_INSTANCES
from jupyter_pai.jobs.logs.file import LogFile
from jupyter_pai.jobs.metrics.query import ResourceUsage
from jupyter_pai.jobs.metrics.series import SeriesWriter
from jupyter_pai.jobs.state_dir import Home, JobFolder
from jupyter_pai.jobs.store.store import Store

from ..jobs.test_store import job

NOW = Timings(events=0, samples=0, event_files=0, points=0, log_quiet=0, optional_retries=(0, 0, 0))


class Platform(Backend):
    """Has logs in pieces of some bytes, events, samples and points. Raises each of `errors` once. Samples wait for the
    `gate`."""

    name = "scripted"
    capabilities = frozenset()

    def __init__(self, home: Home, piece: int = 5) -> None:
        super().__init__(ProfileSettings(backend="scripted"), home)
        self.piece = piece
        self.logs: dict[str, bytes] = {}
        self.retries: list[bytes] = []
        self.missing = 0
        self.known: dict[str, Any] = {}
        self.times: list[tuple[int, float]] = []
        self.steps, self.page = 0, 5000
        self.texts: list[str] = []
        self.used: list[Sample] = []
        self.values: dict[str, list[float]] = {}
        self.asked: dict[str, list[Any]] = defaultdict(list)
        self.errors: dict[str, list[PaiError]] = {}
        self.gate: asyncio.Event | None = None

    def _fail(self, kind: str) -> None:
        if errors := self.errors.get(kind):
            raise errors.pop()

    async def instances(self, remote_id: str) -> Sequence[Instance]:
        return [Instance(name, **self.known) for name in self.logs]

    async def log(self, remote_id: str, instance: str, cursor: str) -> LogPiece:
        self.asked["log"].append((instance, cursor))
        self._fail("log")
        attempts = [self.logs[instance], *self.retries]
        start = int(cursor or 0)
        # The cursor counts the bytes of all attempts.
        number, begin = 1, 0
        while number < len(attempts) and start >= begin + len(attempts[number - 1]):
            begin += len(attempts[number - 1])
            number += 1
        end = min(start + self.piece, begin + len(attempts[number - 1]))
        times = [(max(offset - start, 0), time) for offset, time in self.times if offset < end]
        times = times[max(sum(not offset for offset, _time in times) - 1, 0) :]
        data = attempts[number - 1][start - begin : end - begin]
        return LogPiece(data, str(end), end < sum(map(len, attempts)), times, number, self.missing)

    async def events(self, remote_id: str, cursor: str) -> EventPage:
        known = int(cursor or 0)
        self.asked["events"].append(known)
        self._fail("events")
        texts = self.texts[known : known + self.page]
        return EventPage([PlatformEvent(text) for text in texts], str(known + len(texts)), len(texts) == self.page)

    async def samples(self, remote_id: str, after: float) -> Sequence[Sample]:
        self.asked["samples"].append(after)
        if self.gate:
            await self.gate.wait()
        return [sample for sample in self.used if sample.time > after]

    async def metric_names(self, remote_id: str) -> Sequence[str]:
        return list(self.values)

    async def points(self, remote_id: str, name: str, known: int) -> PointPage:
        self.asked["points"].append((name, known))
        self._fail("points")
        rest = self.values[name][known:]
        points = [MetricPoint(name, self.steps * n, value, 10.0 + value) for n, value in enumerate(rest[:2], known)]
        return PointPage(points, len(rest) > 2, have_steps=bool(self.steps))

    async def check(self, spec: object, caller: object) -> Any: ...
    async def prepare(self, job: object, folder: object) -> Any: ...
    async def submit(self, job: object, folder: object, secrets: object) -> Any: ...
    async def poll(self, remote_ids: Sequence[str]) -> dict[str, Report]:
        return {}

    async def stop(self, remote_id: str) -> None: ...
    def examine(self) -> list[Any]:
        return []

    async def delete(self, remote_id: str) -> None: ...
    async def instance_types(self) -> list[Any]:
        return []


@pytest.fixture
def place(tmp_path: Path) -> JobFolder:
    home = Home(tmp_path / "state")
    path = home.job("aaaa").path
    path.mkdir(parents=True)
    return home.job("aaaa")


@pytest.fixture
def platform(place: JobFolder) -> Platform:
    return Platform(Home(place.path.parent.parent))


@pytest.fixture
def store(place: JobFolder) -> Iterator[Store]:
    opened = Store(place.path.parent.parent / "pai.sqlite3")
    opened.jobs.insert(job(), "key", "").result()
    yield opened
    opened.close()


def fetch(log: RemoteLog, platform: Platform) -> tuple[bool, bool]:
    return asyncio.run(log.fetch(platform, "r1"))


def test_log_is_appended_in_pieces(place: JobFolder, platform: Platform) -> None:
    platform.logs = {"master-0": b"hello, world\n", "worker/1": b""}
    log = RemoteLog(place)
    assert fetch(log, platform) == (True, True)
    assert fetch(log, platform) == (True, False)
    platform.logs["worker/1"] = b"two\n"
    assert fetch(RemoteLog(place), platform) == (True, True)
    assert {path.name: path.read_bytes() for path in place.log.iterdir() if "." not in path.name} == {
        "master-0": b"hello, world\n",
        "worker_1": b"two\n",
    }
    cursors = [cursor for instance, cursor in platform.asked["log"] if instance == "master-0"]
    assert cursors == ["", "5", "10", "13", "13"]
    assert json.loads((place.path / "log.cursors").read_text()) == {
        "master-0": [13, "13", 0, 1],
        "worker_1": [4, "4", 0, 1],
    }


@pytest.mark.parametrize(
    ("instance", "file"),
    [("a b", "a_b"), ("../x", "_x"), (".hidden", "hidden"), ("...", "instance"), ("x.index", "x.index_"),
     ("x.lines", "x.lines_"), ("x" * 300, "x" * 200), ("é" * 300, "_" * 200)],
)  # fmt: skip
def test_names_of_instances_are_names_of_files(place: JobFolder, platform: Platform, instance: str, file: str) -> None:
    platform.logs = {instance: b"1\n"}
    fetch(RemoteLog(place), platform)
    assert (place.log / file).read_bytes() == b"1\n"


def test_log_has_the_times_of_the_platform(place: JobFolder, platform: Platform) -> None:
    platform.logs, platform.times = {"master-0": b"one\ntwo\nthree\n"}, [(0, 10.0), (4, 20.0), (8, 30.0)]
    assert fetch(RemoteLog(place), platform) == (True, True)
    log = LogFile(place.log, "master-0")
    assert [log.time_at(n) for n in (0, 3, 4, 7, 8, 13)] == [10, 10, 20, 20, 30, 30]
    assert [log.offset_at(time) for time in (5, 10, 15, 30, 31)] == [0, 0, 4, 8, 14]


def test_one_fetch_is_limited(place: JobFolder, platform: Platform) -> None:
    platform.logs = {"master-0": b"x" * 1_000, "worker-1": b"short"}
    log = RemoteLog(place)
    assert fetch(log, platform) == (False, True)
    assert (place.log / "master-0").stat().st_size == 50 * 5
    assert (place.log / "worker-1").read_bytes() == b"short"
    while not fetch(log, platform)[0]:
        pass
    assert (place.log / "master-0").read_bytes() == platform.logs["master-0"]


@pytest.mark.parametrize("rest", [b"partly written", b""])
def test_bytes_of_an_interrupted_write_are_fetched_again(place: JobFolder, platform: Platform, rest: bytes) -> None:
    platform.logs = {"master-0": b"hello, world\n"}
    fetch(RemoteLog(place), platform)
    with (place.log / "master-0").open("ab") as file:
        file.write(rest)
    (place.log / "worker-7").write_bytes(b"of an instance without a cursor")
    platform.logs["master-0"] += b"more\n"
    same = RemoteLog(place)
    fetch(same, platform)
    assert (place.log / "master-0").read_bytes() == platform.logs["master-0"]
    assert (place.log / "worker-7").read_bytes() == b""
    # The same, in the process that failed to write.
    with (place.log / "master-0").open("ab") as file:
        file.write(rest)
    platform.logs["master-0"] += b"again\n"
    fetch(same, platform)
    assert (place.log / "master-0").read_bytes() == platform.logs["master-0"]


@pytest.mark.parametrize("text", ["{", "[]", '{"master-0": 5}', '{"master-0": ["x", 1]}'])
def test_damaged_cursors_fetch_all_lines_again(place: JobFolder, platform: Platform, text: str) -> None:
    platform.logs = {"master-0": b"hello, world\n"}
    fetch(RemoteLog(place), platform)
    (place.path / "log.cursors").write_text(text)
    fetch(RemoteLog(place), platform)
    assert (place.log / "master-0").read_bytes() == b"hello, world\n"


@pytest.mark.parametrize("end", [b"", b"\n"])
def test_log_of_another_attempt_follows_a_line_that_says_so(place: JobFolder, platform: Platform, end: bytes) -> None:
    platform.logs, platform.times = {"master-0": b"first"}, [(0, 10.0)]
    fetch(RemoteLog(place), platform)
    platform.logs, platform.retries = {"master-0": b"first" + end}, [b"", b"the third one\n"]
    platform.times += [(5, 20.0)]
    log = RemoteLog(place)
    fetch(log, platform)
    assert fetch(RemoteLog(place), platform) == (True, False)
    assert (
        place.log / "master-0"
    ).read_bytes() == b"first\n[jupyter-pai] Attempt 3 of master-0 starts.\nthe third one\n"
    assert [LogFile(place.log, "master-0").time_at(n) for n in (4, 20)] == [10, 20]
    platform.retries += [b"last"]
    fetch(log, platform)
    assert (place.log / "master-0").read_bytes().endswith(b"one\n[jupyter-pai] Attempt 4 of master-0 starts.\nlast")


def test_silent_attempt_has_its_line_too(place: JobFolder, platform: Platform) -> None:
    platform.logs, platform.retries = {"master-0": b"one\n"}, [b""]
    log = RemoteLog(place)
    assert fetch(log, platform) == (True, True)
    platform.retries = [b"two\n"]
    fetch(log, platform)
    assert (place.log / "master-0").read_bytes() == b"one\n[jupyter-pai] Attempt 2 of master-0 starts.\ntwo\n"


def test_cursors_of_an_earlier_version_are_of_the_first_attempt(place: JobFolder, platform: Platform) -> None:
    platform.logs = {"master-0": b"one\n"}
    fetch(RemoteLog(place), platform)
    (place.path / "log.cursors").write_text('{"master-0": [4, "4"]}')
    platform.retries = [b"two\n"]
    fetch(RemoteLog(place), platform)
    assert (place.log / "master-0").read_bytes() == b"one\n[jupyter-pai] Attempt 2 of master-0 starts.\ntwo\n"


def test_instances_are_kept_under_the_names_of_their_logs(place: JobFolder, platform: Platform) -> None:
    platform.logs, platform.known = {"a/0": b"1\n"}, {"role": "a", "rank": 0, "status": JobStatus.RUNNING}
    fetch(RemoteLog(place), platform)
    assert read_instances(place) == [Instance("a_0", "a", 0, JobStatus.RUNNING)]
    written = place.instances.stat().st_ino
    log = RemoteLog(place)
    fetch(log, platform)
    assert place.instances.stat().st_ino == written, "unchanged instances are not written"
    platform.known |= {"status": JobStatus.FAILED, "exit_code": 3}
    fetch(log, platform)
    kept = [Instance("a_0", "a", 0, JobStatus.FAILED, exit_code=3)]
    assert read_instances(place) == kept
    platform.logs = {}
    fetch(RemoteLog(place), platform)
    assert read_instances(place) == kept, "the platform has forgotten the job"


def test_further_instances_are_omitted_with_a_note(place: JobFolder, platform: Platform, store: Store) -> None:
    platform.logs = {f"w-{n}": b"" for n in range(MOST_INSTANCES + 1)}
    remote = RemoteSync(place, store, NOW)
    assert sync(remote, platform)
    assert len(read_instances(place)) == MOST_INSTANCES
    assert remote.notes == ["Only the first 2000 instances are kept."]


def sync(remote: RemoteSync, platform: Platform, *, ended: bool = False) -> bool:
    return asyncio.run(remote.sync(platform, "r1", ended=ended))


def test_events_and_samples_come_once(place: JobFolder, platform: Platform, store: Store) -> None:
    remote = RemoteSync(place, store, NOW)
    platform.texts = ["pulling", "started"]
    platform.used = [Sample(10.0, 1.0, 2.0, 3.0, 4.0), Sample(20.0, 1.5, 2.5, 3.5, 4.5)]
    assert sync(remote, platform)
    platform.texts.append("ended")
    platform.used.append(Sample(30.0, 5.0, 6.0, 7.0, 8.0))
    with place.usage.open("ab") as file:
        file.write(b"torn")  # Of a process that was killed.
    assert sync(remote, platform)
    assert [event.data["text"] for event in store.events.read() if event.kind == "platform"] == platform.texts
    usage = ResourceUsage(place.usage)
    assert [(point.time, point.value) for point in usage.read("system/cpu")] == [(10.0, 1.0), (20.0, 1.5), (30.0, 5.0)]
    assert [point.value for point in usage.read("system/gpu_memory")] == [4.0, 4.5, 8.0]
    assert platform.asked["events"] == [0, 2]
    assert platform.asked["samples"] == [0.0, 20.0]


def test_events_beyond_the_limit_are_not_fetched_for_ever(place: JobFolder, platform: Platform, store: Store) -> None:
    platform.page = 400
    platform.texts = [str(n) for n in range(3000)]
    remote = RemoteSync(place, store, NOW)

    async def run() -> None:
        assert await remote.sync(platform, "r1", ended=True)
        assert await remote.optional.settle(30)

    asyncio.run(run())
    assert platform.asked["events"] == [0, 400, 800, 1200]
    assert remote.notes == []


def test_requests_have_a_pace_and_a_last_one_at_the_end(place: JobFolder, platform: Platform, store: Store) -> None:
    remote = RemoteSync(place, store, Timings(log_quiet=0))
    for ended in (False, False, True, True):
        sync(remote, platform, ended=ended)
    assert (len(platform.asked["events"]), len(platform.asked["samples"])) == (2, 2)


def test_log_is_complete_after_a_quiet_time(place: JobFolder, platform: Platform, store: Store) -> None:
    platform.logs = {"master-0": b"1\n"}
    remote = RemoteSync(place, store, Timings(log_quiet=1000))
    assert sync(remote, platform)
    assert not sync(remote, platform, ended=True)
    assert remote._quiet_since is not None
    remote._quiet_since -= 1001
    assert sync(remote, platform, ended=True)
    platform.logs["master-0"] += b"2\n"
    assert not sync(remote, platform, ended=True)


def test_failed_request_is_repeated(place: JobFolder, platform: Platform, store: Store) -> None:
    remote = RemoteSync(place, store, NOW)
    platform.texts = ["started"]
    platform.errors["events"] = [Unreachable("no response")]
    assert sync(remote, platform)
    assert platform.asked["events"] == [0]
    platform.errors["events"] = [Unreachable("no response")] * 3
    assert sync(remote, platform, ended=True)
    assert [event.data["text"] for event in store.events.read() if event.kind == "platform"] == ["started"]
    assert remote.notes == []


@pytest.mark.parametrize(("error", "attempts"), [(NotFound("expired"), 1), (Unreachable("no response"), 4)])
def test_missing_data_of_a_finished_job_is_a_note(
    place: JobFolder, platform: Platform, store: Store, error: PaiError, attempts: int
) -> None:
    remote = RemoteSync(place, store, NOW)
    platform.errors["events"] = [error] * 9
    assert sync(remote, platform, ended=True)
    assert sync(remote, platform, ended=True)
    assert remote.notes == [f"Its events may be incomplete: {error.message}"]
    assert len(platform.asked["events"]) == attempts


def test_lines_that_the_platform_counts_and_does_not_return_are_a_note_and_a_warning(
    place: JobFolder, platform: Platform, store: Store
) -> None:
    platform.logs, platform.missing = {"worker-0": b"one\n", "worker-1": b"two\n"}, 7
    remote = RemoteSync(place, store, NOW)
    assert asyncio.run(remote.sync(platform, "r1", ended=False))
    assert remote.notes == []
    for _n in range(2):
        assert asyncio.run(remote.sync(platform, "r1", ended=True))
    assert remote.notes == ["Its log is incomplete. The platform counts 14 more lines, which it does not return."]
    warning = b"[jupyter-pai] The platform counts 7 more lines, which it does not return.\n"
    assert (place.log / "worker-0").read_bytes() == b"one\n" + warning
    platform.missing = 0
    later = RemoteSync(place, store, NOW)
    assert asyncio.run(later.sync(platform, "r1", ended=True))
    assert later.notes == []


def test_end_is_stored_although_the_log_is_gone(place: JobFolder, platform: Platform, store: Store) -> None:
    platform.logs = {"master-0": b"1\n"}
    remote = RemoteSync(place, store, NOW)
    platform.errors["log"] = [NotFound("expired")]
    assert sync(remote, platform, ended=True)
    assert remote.notes == ["Its log may be incomplete: expired"]
    remote = RemoteSync(place, store, NOW)
    platform.errors["log"] = [Unreachable("no response")] * 20
    for _attempt in range(19):
        with pytest.raises(Unreachable):
            sync(remote, platform, ended=True)
    assert sync(remote, platform, ended=True)
    assert remote.notes == ["Its log may be incomplete: no response"]


def test_unanswered_request_delays_neither_the_log_nor_other_data(
    place: JobFolder, platform: Platform, store: Store
) -> None:
    platform.logs, platform.texts = {"master-0": b"1\n"}, ["started"]
    platform.used = [Sample(10.0, 1.0, 2.0, 3.0, 4.0)]
    remote = RemoteSync(place, store, Timings(log_quiet=0, optional=0.01))

    async def run() -> None:
        platform.gate = asyncio.Event()
        assert await remote.sync(platform, "r1", ended=False)
        assert await remote.sync(platform, "r1", ended=True)
        assert not remote.is_settled
        assert (place.log / "master-0").read_bytes() == b"1\n"
        while store.events.cursor(place.id) != "1":
            await asyncio.sleep(0.01)
        platform.gate.set()
        assert await remote.optional.settle()
        # The last request follows the one that was running at the end.
        assert platform.asked["samples"] == [0.0, 10.0]

    asyncio.run(run())
    assert remote.notes == []


def nothing() -> None:
    """Read no log."""


class Points:
    """The points of a platform, with the series of a job."""

    def __init__(self, place: JobFolder, defined: Sequence[str] = (), read: Callable[[], None] = nothing) -> None:
        self.remote = RemoteMetrics(place, defined, read)
        self.writer = SeriesWriter(place.series)

    def sync(self, platform: Platform, *, ended: bool = False) -> bool:
        complete = asyncio.run(self.remote.sync(platform, "r1", ended=ended))
        while self.remote.has_news(self.writer.at):
            self.remote.advance(self.writer, ended=ended)
        return complete

    def values(self, name: str) -> list[tuple[int, float, float]]:
        return [(point.step, point.value, point.time) for point in self.writer.read(name)]


def test_points_are_appended_once(place: JobFolder, platform: Platform) -> None:
    platform.values = {"loss": [1.0, 2.0, 3.0], "acc": []}
    points = Points(place)
    assert points.sync(platform)
    platform.values["loss"] += [4.0]
    path = place.path / "platform.points"
    with path.open("ab") as file:
        file.write(b'["loss", 1')  # Of a process that was killed.
    again = Points(place)
    assert again.sync(platform)
    assert again.values("loss") == [(n, n + 1.0, n + 11.0) for n in range(4)]
    assert path.read_text().count("\n") == 4
    assert platform.asked["points"] == [("loss", 0), ("loss", 2), ("acc", 0), ("loss", 3), ("acc", 0)]
    assert again.writer.at.origins["loss"] == "platform"


def test_steps_of_the_platform_are_kept(place: JobFolder, platform: Platform) -> None:
    platform.values, platform.steps = {"loss": [3.0, 2.0, 1.0]}, 50
    points = Points(place)
    assert points.sync(platform)
    assert points.values("loss") == [(0, 3.0, 13.0), (50, 2.0, 12.0), (100, 1.0, 11.0)]


def test_one_fetch_of_points_is_limited(place: JobFolder, platform: Platform) -> None:
    platform.values = {"loss": [float(n) for n in range(100)]}
    points = Points(place)
    assert not points.sync(platform)
    assert len(points.values("loss")) == 40
    while not points.sync(platform):
        pass
    assert [value for _step, value, _time in points.values("loss")] == platform.values["loss"]


def test_metric_with_a_pattern_waits_for_the_end(place: JobFolder, platform: Platform) -> None:
    platform.values = {"loss": [1.0], "other": [2.0]}
    read: list[bool] = []
    points = Points(place, ["loss"], lambda: read.append(True))
    assert points.sync(platform)
    assert ({*points.writer.at.counts}, read) == ({"other"}, [])
    assert points.sync(platform, ended=True)
    assert ({*points.writer.at.counts}, read) == ({"loss", "other"}, [True])


def test_metric_of_our_own_reading_is_not_fetched(place: JobFolder, platform: Platform) -> None:
    from jupyter_pai.jobs.metrics.series import Piece, pack

    platform.values = {"loss": [1.0], "acc": [1.0], "seen": [1.0]}
    points = Points(place)
    points.writer.append(Piece("worker-0", 5, {"loss": pack(1.0, 0, 5.0)}, origins={"loss": "pattern"}))
    points.writer.append(Piece("worker-1", 5, {"acc@worker-1": pack(1.0, 0, 5.0)}, origins={"acc@worker-1": "report"}))
    points.writer.append(Piece("worker-0", 9, {"seen": pack(1.0, 0, 5.0)}, origins={"seen": "detected"}))
    assert points.sync(platform, ended=True)
    assert [name for name, _known in platform.asked["points"]] == ["seen"]
    assert points.values("seen") == [(0, 1.0, 11.0)]


@pytest.mark.parametrize("ended", [False, True])
def test_failed_points_are_a_note_or_repeated(
    place: JobFolder, platform: Platform, store: Store, *, ended: bool
) -> None:
    platform.values = {"loss": [1.0]}
    remote = RemoteSync(place, store, NOW)
    remote.optional.points = RemoteMetrics(place, (), nothing)
    platform.errors["points"] = [NotFound("expired")]
    assert sync(remote, platform, ended=ended)
    assert remote.notes == (["Its metrics may be incomplete: expired"] if ended else [])
    remote = RemoteSync(place, store, NOW)
    remote.optional.points = RemoteMetrics(place, (), nothing)
    platform.errors["points"] = [Unreachable("no response")]
    assert sync(remote, platform, ended=ended)
    assert sync(remote, platform, ended=ended)
    assert (place.path / "platform.points").read_text() == '["loss", 11.0, 1.0]\n'
    assert remote.notes == []


@pytest.mark.slow("counts")
def test_many_points_are_read_in_chunks(place: JobFolder, platform: Platform) -> None:
    """More than a chunk of the file with points."""
    platform.values = {"loss": [float(n) for n in range(60_000)]}
    points = Points(place)
    while not asyncio.run(points.remote.sync(platform, "r1", ended=True)):
        pass
    assert [points.remote.advance(points.writer, ended=True) for _chunk in range(2)] == [False, True]
    assert len(points.values("loss")) == 60_000


def test_details_without_a_viewer_are_fetched_once_at_the_end(
    place: JobFolder, platform: Platform, store: Store
) -> None:
    platform.values, platform.texts = {"loss": [1.0]}, ["started"]
    remote = RemoteSync(place, store, NOW)
    remote.optional.points = RemoteMetrics(place, (), nothing)
    for ended in (False, False, True, True):
        assert asyncio.run(remote.sync(platform, "r1", ended=ended, details=False))
    assert len(platform.asked["events"]) == 1
    assert platform.asked["samples"] == [0.0]
    assert platform.asked["points"] == [("loss", 0)]


def test_points_wait_for_a_complete_log(place: JobFolder, platform: Platform, store: Store) -> None:
    platform.values = {"loss": [1.0]}
    platform.logs = {"master-0": b"x" * 1_000}
    remote = RemoteSync(place, store, NOW)
    remote.optional.points = RemoteMetrics(place, (), nothing)
    while not sync(remote, platform, ended=True):
        assert not platform.asked["points"] or (place.log / "master-0").stat().st_size == 1_000
    assert platform.asked["points"] == [("loss", 0)]
