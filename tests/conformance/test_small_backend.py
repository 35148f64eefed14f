"""A backend with the required methods only, and without any storage, passes the conformance tests."""

from __future__ import annotations

import tarfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from jupyter_pai import Bench, Candidate, Home, Job, JobFolder, RemoteBackendPromises, Secret, Submission, errors
from jupyter_pai.backends import load_backends
from jupyter_pai.engine.testing.harness import story
from jupyter_pai.engine.testing.lossy_proxy import LossyProxy
from jupyter_pai.engine.testing.lost_replies import check_lost_reply, check_no_reply

from ..fakes.small_platform import SmallBackend, SmallPlatform, SmallSettings, small_platform
from ..support.connections import run_and_close
from ..unit.jobs.test_store import job

_ENTRY_POINTS = "[jupyter_pai.backends]\nsmall = tests.fakes.small_platform:SmallBackend\n"


@pytest.fixture(scope="module")
def platform() -> Iterator[SmallPlatform]:
    with small_platform() as running:
        yield running


class TestSmall(RemoteBackendPromises):
    patience = 90.0

    @pytest.fixture
    def keys(
        self, platform: SmallPlatform, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> Iterator[dict[str, Any]]:
        installed = tmp_path / "site/small-1.0.dist-info"
        installed.mkdir(parents=True)
        (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: small\nVersion: 1.0\n")
        (installed / "entry_points.txt").write_text(_ENTRY_POINTS)
        monkeypatch.syspath_prepend(installed.parent)
        load_backends.cache_clear()
        yield {"backend": "small", "url": platform.url}
        monkeypatch.undo()
        load_backends.cache_clear()

    @story
    async def test_waits_last_as_long_as_the_class_says(self, bench: Bench) -> None:
        assert bench.patience == 90
        bench.patience = 0.05
        _job, remote_id = await bench.submit("sleep 1000")
        with pytest.raises(TimeoutError):
            await bench.ended(remote_id)
        await bench.backend.stop(remote_id)


class Repeats(SmallBackend):
    """Lets the transport send a submit again, although the platform makes a job of each request."""

    async def _send(self, method: str, path: str, body: object = None, *, repeat: bool = True) -> Any:
        return await super()._send(method, path, body)


class Insists(SmallBackend):
    """Submits until there is a reply."""

    async def submit(self, job: Job, folder: JobFolder, secrets: Mapping[str, Secret]) -> Submission:
        while True:
            with suppress(errors.ReplyLost):
                return await super().submit(job, folder, secrets)


class Forgets(SmallBackend):
    """Does not find its jobs."""

    async def candidates(self, job_id: str) -> AsyncIterator[Candidate]:
        async for one in super().candidates(job_id):
            yield one._replace(job_id="")


Losing = Callable[[SmallBackend, LossyProxy], Awaitable[object]]


def lose(platform: SmallPlatform, home: Home, kind: type[SmallBackend], losing: Losing, *, executed: bool) -> None:
    """Call a check with a backend whose platform is behind a lossy proxy."""

    async def work() -> None:
        async with LossyProxy(platform.url, "aaaa", executed=executed) as proxy:
            await losing(kind(SmallSettings(backend="small", url=proxy.url), home), proxy)

    folder = home.job("aaaa")
    folder.path.mkdir(parents=True)
    with tarfile.open(folder.source, "w:gz"):
        pass
    run_and_close(work)


@pytest.mark.parametrize(("kind", "error"), [(Repeats, "other jobs with our id"), (Forgets, "lead to 2 requests: 1")])
def test_second_job_after_a_lost_reply_fails_the_suite(home: Home, kind: type[SmallBackend], error: str) -> None:
    async def losing(backend: SmallBackend, proxy: LossyProxy) -> None:
        await check_lost_reply(backend, job(), home.job("aaaa"), executed=True, proxy=proxy, patience=0.2)

    with small_platform() as platform, pytest.raises(AssertionError, match=error):
        lose(platform, home, kind, losing, executed=True)


def test_submits_without_end_fail_the_suite(home: Home) -> None:
    async def losing(backend: SmallBackend, proxy: LossyProxy) -> None:
        await check_no_reply(backend, job(), home.job("aaaa"), proxy, patience=1)

    with small_platform() as platform, pytest.raises(AssertionError, match="without end"):
        lose(platform, home, Insists, losing, executed=False)
