"""What every backend promises. A new one adds itself to `BACKENDS` and is held to the same."""

from __future__ import annotations

import asyncio
import sys
import uuid
from collections.abc import Callable, Coroutine
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar

import pytest

from jupyter_pai import delivery, source, transport
from jupyter_pai.backends import load_backends
from jupyter_pai.backends.base import Backend, Caller, Capability, Report
from jupyter_pai.backends.remote import RemoteBackend
from jupyter_pai.errors import BadInput
from jupyter_pai.home import Home, JobFolder
from jupyter_pai.job import Job, JobStatus, Source, now, parse_spec
from jupyter_pai.secret import Secret
from jupyter_pai.storage.oss import OssStorage

from ..pai.conftest import IMAGE, platform  # noqa: F401  a fixture
from ..platforms.pai import StandIn

T = TypeVar("T")
BACKENDS = ["local", "pai"]


class Bench:
    """A backend, and jobs for it as the service makes them."""

    def __init__(self, backend: Backend, home: Home) -> None:
        self.backend = backend
        self.home = home

    async def submit(self, command: str, values: dict[str, Secret] | None = None, **fields: Any) -> tuple[Job, str]:
        defaults = self.backend.settings
        places = {"image": defaults.default_image, "instance_type": defaults.default_instance_type}
        spec = parse_spec({"name": "x", "command": command, "source": {"files": {"a.txt": "a"}}} | places | fields)
        spec, check = await self.backend.settle(spec, await self.backend.check(spec, Caller(sys.executable)))
        job = Job(
            id=uuid.uuid4().hex[:8], spec=spec, backend=self.backend.name, profile="p", status=JobStatus.STARTING,
            submitted_at=now(), python=check.python, source_digest=uuid.uuid4().hex,
        )  # fmt: skip
        folder = self.home.job(job.id)
        folder.path.mkdir(parents=True)
        packed = source.pack(source.scan(Source(files={"a.txt": "a"}), 10**6), self.home.sources)
        folder.source.write_bytes(packed.path.read_bytes())
        if isinstance(self.backend, RemoteBackend):
            uri = await self.backend.code_uri(job.source_digest)
            delivery.send_code(OssStorage.of(self.backend.settings, self.home.path), uri, folder.source, packed.hashes)
        prepared = await self.backend.prepare(job, folder)
        job = job.model_copy(update={"outputs": prepared.outputs, "remote_id": prepared.remote_id})
        return job, (await self.backend.submit(job, folder, values or {})).remote_id

    async def until(self, remote_id: str, wanted: Callable[[Report], bool]) -> Report:
        async with asyncio.timeout(60):
            while True:
                report = (await self.backend.poll([remote_id]))[remote_id]
                if wanted(report):
                    return report
                await asyncio.sleep(0.01)

    async def ended(self, remote_id: str) -> Report:
        return await self.until(remote_id, lambda report: report.status.ended)

    def folder(self, job: Job) -> JobFolder:
        return self.home.job(job.id)


@pytest.fixture(params=BACKENDS)
def bench(request: pytest.FixtureRequest, home: Home, monkeypatch: pytest.MonkeyPatch) -> Bench:
    kind, keys = load_backends()[request.param], {}
    if request.param == "pai":
        pai: StandIn = request.getfixturevalue("platform")
        keys = {"default_image": IMAGE, "default_instance_type": "ecs.c6.large", **pai.settings()}
        for name, value in pai.environment().items():
            monkeypatch.setenv(name, value)
    return Bench(kind(kind.settings_model(backend=request.param, **keys), home.create()), home)


def run(story: Coroutine[Any, Any, T]) -> T:
    async def to_its_end() -> T:
        try:
            return await story
        finally:
            await transport.close()

    return asyncio.run(to_its_end())


def test_all_installed_backends_are_held_to_this() -> None:
    assert sorted(load_backends()) == sorted(BACKENDS)


def test_a_job_that_succeeds(bench: Bench) -> None:
    async def story() -> None:
        job, remote_id = await bench.submit("cat a.txt; echo m > $PAI_OUTPUT_MODEL/m")
        report = await bench.ended(remote_id)
        assert (report.status, report.exit_code, report.reason) == (JobStatus.SUCCEEDED, 0, "")
        assert report.started_at
        assert report.ended_at
        # Platforms tell times in seconds.
        assert job.submitted_at - timedelta(seconds=1) <= report.started_at <= report.ended_at <= now()
        assert {"model", "checkpoints", "tensorboard"} <= job.outputs.keys()
        assert all(uri.endswith("/") for uri in job.outputs.values())

    run(story())


def test_a_job_that_fails(bench: Bench) -> None:
    async def story() -> None:
        _job, remote_id = await bench.submit("exit 9")
        report = await bench.ended(remote_id)
        assert (report.status, report.exit_code) == (JobStatus.FAILED, 9)

    run(story())


def test_stop_ends_it_and_stop_again_does_nothing(bench: Bench) -> None:
    async def story() -> None:
        _job, remote_id = await bench.submit("sleep 1000")
        await bench.until(remote_id, lambda report: report.status is JobStatus.RUNNING)
        await bench.backend.stop(remote_id)
        report = await bench.ended(remote_id)
        assert report.status is JobStatus.STOPPED
        assert report.reason
        await bench.backend.stop(remote_id)
        assert (await bench.ended(remote_id)).status is JobStatus.STOPPED

    run(story())


def test_many_are_asked_for_in_one_call(bench: Bench) -> None:
    async def story() -> None:
        ids = [(await bench.submit(f"exit {n}"))[1] for n in range(5)]
        for remote_id in ids:
            await bench.ended(remote_id)
        reports = await bench.backend.poll(ids)
        assert [reports[remote_id].exit_code for remote_id in ids] == [0, 1, 2, 3, 4]
        assert await bench.backend.poll([]) == {}

    run(story())


def test_who_picks_by_sizes_gives_a_machine_that_there_is(bench: Bench) -> None:
    async def settled() -> str:
        spec = parse_spec({"name": "x", "command": "true", "image": bench.backend.settings.default_image, "cpu": 1})
        check = await bench.backend.check(spec, Caller(sys.executable))
        spec, again = await bench.backend.settle(spec, check)
        assert set(check.notes) <= set(again.notes)
        assert (await bench.backend.settle(spec, check))[0] == spec, "what is settled stays so"
        names = [kind.name for kind in await bench.backend.instance_types()]
        assert not spec.instance_type or spec.instance_type in names
        return spec.instance_type

    assert bool(run(settled())) == (Capability.SIZES in bench.backend.capabilities)


def test_check_refuses_before_anything_is_made(bench: Bench) -> None:
    async def story() -> None:
        with pytest.raises(BadInput):
            await bench.submit("true", inputs={"train": "nonsense://x y"})
        assert list(bench.home.jobs.iterdir()) == []

    run(story())


def test_a_job_that_was_never_started_has_failed(bench: Bench, home: Home) -> None:
    """What is left of a submit during which everything died."""

    async def story() -> None:
        home.job("gone").path.mkdir()
        if isinstance(bench.backend, RemoteBackend):
            assert await bench.backend.find("gone") == ""
            assert await bench.backend.poll(["gone"]) == {}
            return
        report = (await bench.backend.poll(["gone"]))["gone"]
        assert report.status is JobStatus.FAILED
        assert report.reason

    run(story())


def test_it_examines_itself(bench: Bench) -> None:
    for finding in bench.backend.examine():
        assert finding.state in ("ok", "warn", "bad")
        assert finding.what
        assert finding.text
        assert finding.state == "ok" or finding.fix


def test_it_says_whether_it_runs_tensorboards(bench: Bench) -> None:
    backend = bench.backend
    assert (backend.boards is not None) == (Capability.BOARDS in backend.capabilities)


def test_its_settings_are_documented_in_their_model(bench: Bench) -> None:
    for name, field in bench.backend.settings_model.model_fields.items():
        assert name == "backend" or field.description, name


def test_secrets_reach_the_job_and_not_its_log(bench: Bench) -> None:
    async def story() -> None:
        if Capability.SECRETS not in bench.backend.capabilities:
            return
        value = "it is a sec" + "ret, keep it"
        command = 'test ${#TOKEN} = 23; echo "$?"; echo "<$TOKEN>"'
        job, remote_id = await bench.submit(command, {"TOKEN": Secret(value)}, secrets={"TOKEN": "t"})
        await bench.ended(remote_id)
        assert (bench.folder(job).log / "worker-0").read_text() == "0\n<[secret TOKEN]>\n"

    run(story())


def test_output_parameters_come_back(bench: Bench, tmp_path: Path) -> None:
    async def story() -> None:
        if Capability.CODE_LAYOUT not in bench.backend.capabilities:
            return
        folder = "$(dirname $PAI_OUTPUT_MODEL)/output_parameters"
        _job, remote_id = await bench.submit(f"mkdir -p {folder}; printf 0.9 > {folder}/accuracy")
        assert (await bench.ended(remote_id)).output_parameters == {"accuracy": "0.9"}

    run(story())
