"""What is promised beyond that by a backend whose jobs run elsewhere."""

from __future__ import annotations

import uuid
from datetime import timedelta

import pytest

from ...backends.base import Capability
from ...core.errors import NotFound, Unsupported
from ...jobs.job import JobStatus, now
from .backend import BackendPromises
from .harness import PROFILE, Bench, story

__all__ = ["RemoteBackendPromises"]


class RemoteBackendPromises(BackendPromises):
    """As `BackendPromises`."""

    @story
    async def test_its_folders_can_be_written_and_read(self, bench: Bench) -> None:
        digest = uuid.uuid4().hex
        code, inputs = await bench.remote.code_uri(digest), await bench.remote.input_uri()
        assert code.endswith(f"/{digest}/")
        for uri in (code, inputs):
            assert uri.endswith("/")
            storage = bench.storages.of(uri, PROFILE)
            storage.put(b"x", f"{uri}{digest}.txt")
            with storage.open(uri, f"{digest}.txt") as file:
                assert file.read(0, 9) == b"x"
            storage.delete(f"{uri}{digest}.txt")

    @story
    async def test_a_log_comes_whole_and_once_whoever_asks(self, bench: Bench) -> None:
        command = 'n=0; while [ $n -lt 500 ]; do echo "line $n"; n=$((n+1)); done; echo; echo 完'
        expected = "".join(f"line {n}\n" for n in range(500)).encode() + "\n完\n".encode()
        job, remote_id = await bench.submit(command)
        await bench.until(remote_id, lambda report: report.status.ended)
        (instance,) = await bench.remote.instances(remote_id)
        await bench.log(job, remote_id, instance, expected)

    @story
    async def test_a_job_is_found_by_our_id(self, bench: Bench) -> None:
        job, remote_id = await bench.submit("true")
        assert await bench.remote.find(job.id) == remote_id
        await bench.ended(remote_id)
        assert await bench.remote.find(job.id) == remote_id

    @story
    async def test_jobs_are_listed_newest_first_and_told(self, bench: Bench) -> None:
        ids = [(await bench.submit("true"))[1] for _n in range(2)]
        for remote_id in ids:
            await bench.ended(remote_id)
        found = await bench.remote.jobs()
        assert {one.remote_id for one in found} >= {*ids}
        times = [one.submitted_at for one in found]
        assert times == sorted(times, reverse=True)
        assert len(await bench.remote.jobs(limit=1)) == 1
        assert await bench.remote.jobs(before=min(times) - timedelta(days=1)) == []
        told = await bench.remote.job(ids[0])
        assert (told.remote_id, told.report.status) == (ids[0], JobStatus.SUCCEEDED)
        assert told.outputs.keys() >= {"model"}
        with pytest.raises(NotFound):
            await bench.remote.job("gone")

    @story
    async def test_events_go_on_where_they_were(self, bench: Bench) -> None:
        _job, remote_id = await bench.submit("true")
        await bench.ended(remote_id)
        events = list(await bench.remote.events(remote_id, 0))
        assert all(events)
        assert list(await bench.remote.events(remote_id, len(events))) == []
        assert list(await bench.remote.events(remote_id, 1)) == events[1:]

    @story
    async def test_samples_are_those_after_a_time(self, bench: Bench) -> None:
        _job, remote_id = await bench.submit("true")
        await bench.ended(remote_id)
        times = [sample.time for sample in await bench.remote.samples(remote_id, 0)]
        assert times == sorted(times)
        assert list(await bench.remote.samples(remote_id, now().timestamp() + 3600)) == []

    @story
    async def test_metrics_that_the_platform_reads_go_on_where_they_were(self, bench: Bench) -> None:
        _job, remote_id = await bench.submit("true")
        await bench.ended(remote_id)
        for name in await bench.remote.metric_names(remote_id):
            points = list((await bench.remote.points(remote_id, name, 0)).points)
            assert list((await bench.remote.points(remote_id, name, 1)).points) == points[1:]

    @story
    async def test_what_is_not_claimed_is_refused(self, bench: Bench) -> None:
        _job, remote_id = await bench.submit("true")
        if Capability.OUTPUT_MODELS not in bench.backend.capabilities:
            with pytest.raises(Unsupported):
                await bench.remote.output_models(remote_id)
        if Capability.TERMINAL not in bench.backend.capabilities:
            with pytest.raises(Unsupported):
                await bench.remote.terminal(remote_id, "")
        await bench.ended(remote_id)

    @story
    async def test_what_is_deleted_is_forgotten(self, bench: Bench) -> None:
        job, remote_id = await bench.submit("true")
        await bench.ended(remote_id)
        await bench.backend.delete(remote_id)
        await bench.backend.delete(remote_id)
        assert await bench.backend.poll([remote_id]) == {}
        assert await bench.remote.find(job.id) == ""

    def test_it_is_asked_the_more_often_the_fewer_there_are_and_if_somebody_waits(self, bench: Bench) -> None:
        assert 0 < bench.remote.pace(1, watched=True) <= bench.remote.pace(1, watched=False)
        assert bench.remote.pace(1, watched=False) <= bench.remote.pace(1000, watched=False)
