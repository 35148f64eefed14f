"""The conformance suite of backends of remote platforms."""

from __future__ import annotations

import asyncio
import math
import re
import uuid
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from datetime import timedelta
from typing import Any, ClassVar

import pytest

from ...backends.base import Capability
from ...backends.registry import ModelVersion, Registration, Registry
from ...backends.remote import RemoteBackend, check_is_same
from ...backends.reports import LogPiece
from ...backends.terminals import TerminalCommand, TerminalSocket
from ...core.errors import Conflict, NotFound, Unsupported
from ...jobs.events import MetricPoint
from ...jobs.instances import read_instances
from ...jobs.job import JobStatus, now
from ...jobs.state_dir import new_id
from ..watcher.remote_sync import RemoteLog
from ..watcher.stopping import check_remote
from .harness import PROFILE, Bench, read, story
from .lost_replies import LostReplyPromises

__all__ = ["RemoteBackendPromises"]

# Lines of a job script among those of the command.
_OWN_LINES = re.compile(rb"\[(?:jupyter-)?pai\] [^\n]*\n")


class RemoteBackendPromises(LostReplyPromises):
    """Further tests for a backend of a remote platform."""

    is_remote: ClassVar[bool] = True

    @pytest.fixture
    def retrying(self) -> dict[str, Any] | None:
        """The fields of a spec whose task the platform starts once more if it fails; None if it cannot."""
        return None

    @pytest.fixture
    def publishing(self) -> dict[str, Any] | None:
        """The fields of a spec whose metrics are sent to the platform; None to test no such job."""
        return None

    @pytest.fixture
    def registering(self) -> dict[str, Any]:
        """The fields that the registry requires of a version, such as `format`."""
        return {}

    @pytest.fixture
    def small_pages(self) -> Callable[[int], AbstractContextManager[None]]:
        """A function that returns a context in which the platform returns at most so many lines of a log at once; none
        if it has no pages of lines."""
        return lambda size: nullcontext()

    @pytest.fixture
    def with_terminal(self) -> dict[str, Any]:
        """The fields of a spec in whose instances terminals can be opened."""
        return {}

    @story
    async def test_its_folders_can_be_written_and_read(self, bench: Bench) -> None:
        digest = uuid.uuid4().hex
        code, inputs = await bench.backend.code_uri(digest, 1), await bench.backend.input_uri()
        assert not code or code.endswith(f"/{digest}/")
        for uri in filter(None, (code, inputs)):
            assert uri.endswith("/")
            place = bench.storages.at(uri, PROFILE)
            assert place.uri == uri
            file = place.join(f"{digest}.txt")
            place.storage.put(b"x", file.uri)
            assert read(place.storage, uri, f"{digest}.txt") == b"x"
            place.storage.delete(file.uri)

    @story
    async def test_a_log_is_read_completely_and_once_by_several_processes(self, bench: Bench) -> None:
        command = 'n=0; while [ $n -lt 500 ]; do echo "line $n"; n=$((n+1)); done; echo; echo 完'
        expected = "".join(f"line {n}\n" for n in range(500)).encode() + "\n完\n".encode()
        job, remote_id, _report = await bench.finish(command)
        await bench.only_log(job, remote_id, expected)

    @story
    async def test_a_log_is_complete_whatever_the_size_of_a_page(
        self, bench: Bench, small_pages: Callable[[int], AbstractContextManager[None]]
    ) -> None:
        expected = "".join(f"line {n}\n" for n in range(2500)).encode()
        # The times of the lines differ, for platforms that list them by time.
        command = 'n=0; while [ $n -lt 2500 ]; do echo "line $n"; n=$((n+1)); [ $((n % 1000)) -ne 0 ] || sleep 1; done'
        job, remote_id, _report = await bench.finish(command)
        for size in (100, 1000, 2000):
            with small_pages(size):
                await bench.only_log(job, remote_id, expected)

    @story
    async def test_log_continues_with_another_attempt(self, bench: Bench, retrying: dict[str, Any] | None) -> None:
        if retrying is None or not bench.backend.stores_outputs:
            return  # The second attempt needs a place that remains from the first one.
        tried = "$PAI_OUTPUT_MODEL/tried"
        command = f"if [ -e {tried} ]; then printf 'second\n'; else touch {tried}; printf 'first\n\nend'; exit 3; fi"
        job, remote_id = await bench.submit(command, **retrying)
        log, pieces = RemoteLog(bench.folder(job)), [LogPiece(b"", "")]
        is_ended = is_complete = False
        while not is_ended or pieces[-1].more or not is_complete:
            # Both read while the attempts run: one in a single process, and one in another process for each piece.
            is_ended = (await bench.backend.poll([remote_id]))[remote_id].status.ended
            is_complete, _news = await log.fetch(bench.backend, remote_id)
            for instance in await bench.backend.instances(remote_id):
                pieces.append(await bench.another().log(remote_id, instance.name, pieces[-1].cursor))
        report = await bench.ended(remote_id)
        assert (report.status, report.exit_code) == (JobStatus.SUCCEEDED, 0)
        assert [piece.attempt for piece in pieces] == sorted(piece.attempt for piece in pieces)
        texts = {n: b"".join(piece.data for piece in pieces if piece.attempt == n) for n in (1, 2)}
        assert {n: _OWN_LINES.sub(b"", text) for n, text in texts.items()} == {1: b"first\n\nend", 2: b"second\n"}
        (instance,) = await bench.backend.instances(remote_id)
        assert instance.attempt == 2
        stored = (bench.folder(job).log / read_instances(bench.folder(job))[0].name).read_bytes()
        said = stored.removeprefix(texts[1]).removesuffix(texts[2])
        assert stored == texts[1] + said + texts[2]
        assert said.lstrip(b"\n").startswith(b"[jupyter-pai] ")
        assert said.count(b"\n", 1) == 1

    @story
    async def test_a_log_is_the_same_from_an_earlier_cursor(self, bench: Bench) -> None:
        """The engine fetches the end of a log again, if it might have begun a secret."""
        _job, remote_id = await bench.submit("echo one; sleep 1000")
        await bench.until(remote_id, lambda report: report.status is JobStatus.RUNNING)
        first, *_others = await bench.instances(remote_id)
        early = b""
        async with asyncio.timeout(bench.patience):
            while not early:
                early = (await bench.backend.log(remote_id, first.name, "")).data
        await bench.backend.stop(remote_id)
        await bench.ended(remote_id)
        (instance,) = await bench.backend.instances(remote_id)
        assert (await bench.another().log(remote_id, instance.name, "")).data.startswith(early)

    @story
    async def test_times_of_a_log_are_those_of_the_job(self, bench: Bench) -> None:
        job, remote_id, report = await bench.finish("echo first; sleep 1.5; echo second")
        (instance,) = await bench.backend.instances(remote_id)
        log = await bench.log(job, remote_id, instance.name, b"second\n")
        piece = await bench.backend.log(remote_id, instance.name, "")
        if not piece.times:
            return
        offsets, times = zip(*piece.times, strict=True)
        assert offsets[0] == 0
        assert list(offsets) == sorted(offsets)
        assert offsets[-1] < len(piece.data)
        assert list(times) == sorted(times)
        assert report.started_at
        assert report.started_at.timestamp() - 1 <= times[0] <= now().timestamp()
        assert log.index(b"second") in offsets

    @story
    async def test_job_of_another_is_neither_stopped_nor_deleted(self, bench: Bench) -> None:
        job, remote_id = await bench.submit("sleep 1000")
        other, other_id = await bench.submit("true")
        imported = job.model_copy(update={"id": new_id(), "source_digest": ""})
        await check_remote(bench.backend, job, remote_id)
        await check_remote(bench.backend, imported, remote_id)
        await check_remote(bench.backend, job, "gone")
        with pytest.raises(Conflict, match=job.id):
            await check_remote(bench.backend, other, remote_id)
        found = await bench.backend.job(remote_id)
        assert (found.remote_id, found.job_id) == (remote_id, job.id)
        with pytest.raises(Conflict, match=re.escape(remote_id)):
            check_is_same(found, other_id)
        await bench.backend.stop(remote_id)
        await bench.ended(remote_id)

    @story
    async def test_jobs_are_listed_newest_first_and_told(self, bench: Bench) -> None:
        ids = [(await bench.finish("true"))[1] for _n in range(2)]
        jobs = await bench.backend.jobs()
        assert {one.remote_id for one in jobs} >= {*ids}
        times = [one.submitted_at for one in jobs]
        assert times == sorted(times, reverse=True)
        assert len(await bench.backend.jobs(limit=1)) == 1
        assert await bench.backend.jobs(before=min(times) - timedelta(days=1)) == []
        job = await bench.backend.job(ids[0])
        assert (job.remote_id, job.report.status) == (ids[0], JobStatus.SUCCEEDED)
        if bench.backend.stores_outputs and type(bench.backend).job is not RemoteBackend.job:
            assert job.outputs.keys() >= {"model"}
        with pytest.raises(NotFound):
            await bench.backend.job("gone")

    @story
    async def test_events_go_on_where_they_were(self, bench: Bench) -> None:
        _job, remote_id, _report = await bench.finish("true")
        events, cursor, _more = await bench.backend.events(remote_id, "")
        assert all(event.text for event in events)
        assert all(event.time <= now() for event in events if event.time)
        again, last, more = await bench.another().events(remote_id, cursor)
        assert {event.key for event in again} <= {event.key for event in events if event.key}
        assert not more
        assert bool(last) == bool(cursor)

    @story
    async def test_samples_are_those_after_a_time(self, bench: Bench) -> None:
        _job, remote_id, _report = await bench.finish("true")
        times = [sample.time for sample in await bench.backend.samples(remote_id, 0)]
        assert times == sorted(times)
        assert list(await bench.backend.samples(remote_id, now().timestamp() + 3600)) == []

    @story
    async def test_metrics_that_the_platform_reads_go_on_where_they_were(self, bench: Bench) -> None:
        _job, remote_id, _report = await bench.finish("true")
        for name in await bench.backend.metric_names(remote_id):
            points = list((await bench.backend.points(remote_id, name, 0)).points)
            assert list((await bench.backend.points(remote_id, name, 1)).points) == points[1:]

    @story
    async def test_metrics_are_taken_in_order_and_once(self, bench: Bench, publishing: dict[str, Any] | None) -> None:
        if publishing is None:
            return
        job, remote_id = await bench.submit("true", **publishing)
        assert bench.backend.publishes(job.spec)
        assert not bench.backend.publishes(job.spec.model_copy(update={"options": {}})), "it was not asked for"
        loss = [MetricPoint("loss", step, 1 / (step + 1), 1_700_000_000.0 + step) for step in range(25)]
        others = [MetricPoint("acc/验证", step, step / 25, 1_700_000_000.0 + step) for step in range(25)]
        infinite = [MetricPoint("loss", 99, value, 1_700_000_099.0) for value in (math.nan, math.inf, -math.inf)]
        await bench.backend.publish(remote_id, [*loss[:15], *others], again=False)
        await bench.another().publish(remote_id, loss[10:20], again=True)
        await bench.ended(remote_id)
        await bench.backend.publish(remote_id, infinite, again=False)
        await bench.backend.publish(remote_id, [*infinite, *loss[20:]], again=False)
        for name in await bench.another().metric_names(remote_id):  # None if the platform does not list them.
            page = await bench.another().points(remote_id, name, 0)
            sent = loss if name == "loss" else others
            assert [point.step for point in page.points] == [point.step for point in sent]
            assert [point.value for point in page.points] == pytest.approx([point.value for point in sent])

    @story
    async def test_what_is_not_claimed_is_refused(self, bench: Bench) -> None:
        _job, remote_id = await bench.submit("true")
        if Capability.TERMINAL not in bench.backend.capabilities:
            with pytest.raises(Unsupported):
                await bench.backend.terminal(remote_id, "")
        await bench.ended(remote_id)

    @story
    async def test_models_are_registered_in_versions_and_deleted(
        self, bench: Bench, registering: dict[str, Any]
    ) -> None:
        registry = bench.backend.registry
        assert (registry is not None) == (Capability.REGISTRY in bench.backend.capabilities)
        if registry is None or not bench.backend.stores_outputs:
            return
        job, remote_id, _report = await bench.finish("echo x > $PAI_OUTPUT_MODEL/a.txt")
        assert all(version.uri for version in await registry.of_job(remote_id))
        name, uri = f"m-{uuid.uuid4().hex[:8]}", job.outputs["model"]
        request = Registration(name, uri, remote_id=remote_id, metrics={"loss": 0.25}, **registering)
        assert registry.fields.keys() >= registering.keys()
        assert registry.has_room(request.metrics)
        versions = [await _imported(bench, registry, await registry.register(request))]
        model_id = versions[0].model_id
        versions.append(await _imported(bench, registry, await registry.register(replace(request, model_id=model_id))))
        assert {(one.status, one.model_id, one.model) for one in versions} == {("ready", model_id, name)}
        assert versions[0].metrics == {"loss": 0.25}
        others = bench.another().registry
        assert others is not None
        (model,) = [one for one in await others.all([model_id]) if one.id == model_id]
        for word in (name, model_id):
            found = await others.find(word, [model_id])
            assert found is not None
            assert (found.id, found.name) == (model_id, name)
        assert await others.find(f"{name}-", [model_id]) is None
        assert [one.id for one in await others.versions(model)] == [versions[1].id, versions[0].id]
        assert len({one.version for one in versions}) == 2
        for _n in range(2):
            await others.delete(model, versions[0].id)
        with pytest.raises(NotFound):
            await others.get(model_id, versions[0].id)
        assert [one.id for one in await others.versions(model)] == [versions[1].id]
        if not registry.deletes_files:
            with pytest.raises(Unsupported):
                await registry.delete(model, files=True)
        for _n in range(2):
            await others.delete(model, files=registry.deletes_files)
        assert [one for one in await registry.all([model_id]) if one.id == model_id] == []
        assert await registry.find(name, [model_id]) is None
        if not registry.deletes_files:
            assert bench.outputs(job, "model") == {"a.txt": b"x\n"}

    @story
    async def test_a_terminal_is_of_a_kind_that_can_be_opened(
        self, bench: Bench, with_terminal: dict[str, Any]
    ) -> None:
        if Capability.TERMINAL not in bench.backend.capabilities:
            return
        _job, remote_id = await bench.submit("sleep 1000", **with_terminal)
        await bench.until(remote_id, lambda report: report.status is JobStatus.RUNNING)
        first, *_others = await bench.instances(remote_id)
        terminal = await bench.backend.terminal(remote_id, first.name)
        if isinstance(terminal, TerminalCommand):
            assert terminal.arguments
            assert all(word.isprintable() for word in terminal.arguments), "a terminal obeys control characters"
        else:
            assert terminal.url not in repr(terminal)
            is_socket = isinstance(terminal, TerminalSocket)
            assert terminal.url.startswith(("ws://", "wss://") if is_socket else ("http://", "https://"))
        if isinstance(terminal, TerminalSocket):
            dialect = bench.backend.terminal_dialects[terminal.dialect]()
            assert dialect.keys("é".encode()[:1] + "é".encode()[1:])
        else:
            assert bench.backend.terminal_dialects == {}, "it names dialects only for WebSockets"
        await bench.backend.stop(remote_id)
        await bench.ended(remote_id)

    @story
    async def test_what_is_deleted_is_forgotten(self, bench: Bench) -> None:
        job, remote_id, _report = await bench.finish("true")
        if Capability.DELETE not in bench.backend.capabilities:
            with pytest.raises(Unsupported):
                await bench.backend.delete(remote_id)
            return
        await bench.backend.delete(remote_id)
        await bench.backend.delete(remote_id)
        assert await bench.backend.poll([remote_id]) == {}
        assert await bench.backend.find(job.id) == ""

    def test_the_poll_interval_is_shorter_for_few_or_watched_jobs(self, bench: Bench) -> None:
        assert 0 < bench.backend.poll_interval(1, watched=True) <= bench.backend.poll_interval(1, watched=False)
        assert bench.backend.poll_interval(1, watched=False) <= bench.backend.poll_interval(1000, watched=False)


async def _imported(bench: Bench, registry: Registry, version: ModelVersion) -> ModelVersion:
    """Return a version when the platform has imported it."""
    async with asyncio.timeout(bench.patience):
        while version.status == "importing":
            await asyncio.sleep(0.05)
            version = await registry.get(version.model_id, version.id)
    return version
