"""Defaults of remote backends: what a platform with few methods gets."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from jupyter_pai.backends.base import Backend, Caller, Submission
from jupyter_pai.backends.check import Check
from jupyter_pai.backends.openpai.backend import OpenPaiBackend
from jupyter_pai.backends.openpai.options import OpenPaiSettings
from jupyter_pai.backends.pai.dlc.backend import DlcBackend
from jupyter_pai.backends.pai.site import PaiSettings
from jupyter_pai.backends.private_folder import SharedFolderSettings
from jupyter_pai.backends.remote import Candidate, RemoteBackend, SharedFolderBackend
from jupyter_pai.backends.reports import LogPiece, Report, whole_log
from jupyter_pai.backends.resources import InstanceType
from jupyter_pai.core.errors import BackendError, NotFound, Unreachable
from jupyter_pai.core.secret import Secret
from jupyter_pai.jobs.job import Job, JobStatus, now
from jupyter_pai.jobs.spec import JobSpec, parse_spec
from jupyter_pai.jobs.state_dir import Home, JobFolder

from ..jobs.test_store import job

BEGUN = now()


class Few(RemoteBackend):
    """A platform with the required methods only. Its ids are `r0`, `r1` and so on, of the newest job first."""

    name = "few"
    capabilities = frozenset()

    def __init__(self, home: Home, **reports: Report) -> None:
        super().__init__(SharedFolderSettings(backend="few", folder="/none"), home)
        self.reports = reports
        self.is_silent = False

    async def check(self, spec: JobSpec, caller: Caller) -> Check:
        return Check()

    async def submit(self, job: Job, folder: JobFolder, secrets: Mapping[str, Secret]) -> Submission:
        return Submission("r0")

    async def output_uri(self, job: Job) -> str:
        return job.spec.output_path

    async def input_uri(self) -> str:
        return ""

    async def candidates(self, job_id: str) -> AsyncIterator[Candidate]:
        for n, remote_id in enumerate(self.reports):
            yield Candidate(remote_id, "aaaa" if n else "", BEGUN - timedelta(minutes=n), name=f"job {n}")

    async def poll(self, remote_ids: Sequence[str]) -> dict[str, Report]:
        return {one: self.reports[one] for one in remote_ids if one in self.reports}

    async def log(self, remote_id: str, instance: str, cursor: str) -> LogPiece:
        return whole_log(cursor)

    async def stop(self, remote_id: str) -> None: ...

    async def instance_types(self) -> list[InstanceType]:
        if self.is_silent:
            raise Unreachable("No response.")
        return [InstanceType("small", 1, 1 << 30)]


def few(home: Home) -> Few:
    ended = Report(JobStatus.FAILED, exit_code=3, started_at=BEGUN, ended_at=now())
    return Few(home, r0=Report(JobStatus.QUEUED), r1=ended, r2=Report(JobStatus.RUNNING, started_at=BEGUN))


def test_a_remote_backend_must_have_ten_methods_at_most() -> None:
    assert len(RemoteBackend.__abstractmethods__) <= 10
    assert SharedFolderBackend.__abstractmethods__ < RemoteBackend.__abstractmethods__


async def _all(backend: Few) -> list[Any]:
    return [
        [(one.name, one.rank, one.status, one.exit_code) for one in await backend.instances(remote_id)]
        for remote_id in ("r0", "r1", "r2", "gone")
    ]


def test_started_job_has_one_instance_with_its_state(home: Home) -> None:
    found = asyncio.run(_all(few(home)))
    assert found == [[], [("worker-0", 0, JobStatus.FAILED, 3)], [("worker-0", 0, JobStatus.RUNNING, None)], []]


def test_jobs_are_the_candidates_without_an_id(home: Home) -> None:
    backend = few(home)
    found = asyncio.run(backend.jobs())
    assert [(one.remote_id, one.job_id, one.spec.name, one.report.status) for one in found] == [
        ("r0", "", "job 0", JobStatus.QUEUED),
        ("r1", "aaaa", "job 1", JobStatus.FAILED),
        ("r2", "aaaa", "job 2", JobStatus.RUNNING),
    ]
    assert [one.remote_id for one in asyncio.run(backend.jobs(limit=2))] == ["r0", "r1"]
    assert [one.remote_id for one in asyncio.run(backend.jobs(before=BEGUN))] == ["r1", "r2"]
    assert asyncio.run(backend.job("r1")) == found[1]
    with pytest.raises(NotFound, match="gone"):
        asyncio.run(backend.job("gone"))


def test_platform_is_examined_by_its_instance_types(home: Home) -> None:
    backend = few(home)
    assert [(one.state, one.text) for one in backend.examine()] == [("ok", "small")]
    backend.is_silent = True
    (finding,) = backend.examine()
    assert (finding.state, finding.text) == ("bad", "No response.")
    assert finding.fix


def test_other_data_is_empty(home: Home) -> None:
    backend = few(home)
    assert asyncio.run(backend.code_uri("d", 1)) == ""
    assert asyncio.run(backend.events("r1", "")).events == ()
    assert asyncio.run(backend.samples("r1", 0)) == ()
    assert backend.poll_interval(1, watched=True) < backend.poll_interval(1, watched=False)
    assert backend.poll_interval(100, watched=False) < backend.poll_interval(1000, watched=False)


def test_outputs_are_folders_of_their_channels(home: Home) -> None:
    kept = job(output_path="oss://b/out/", outputs={"model": "oss://b/m"})
    outputs = asyncio.run(few(home).prepare(kept, home.job("aaaa"))).outputs
    assert outputs["model"] == "oss://b/m/"
    assert outputs["checkpoints"] == "oss://b/out/checkpoints/"
    assert asyncio.run(few(home).prepare(job(), home.job("aaaa"))).outputs == {}


class Shared(Few, SharedFolderBackend):
    """The same platform, with a shared folder."""

    prepare, output_uri, input_uri = (
        SharedFolderBackend.prepare,
        SharedFolderBackend.output_uri,
        SharedFolderBackend.input_uri,
    )


@pytest.fixture
def shared(home: Home, tmp_path: Path) -> Shared:
    backend = Shared(home)
    backend.settings = SharedFolderSettings(backend="few", folder=str(tmp_path / "shared"))
    return backend


def test_code_inputs_and_outputs_are_private_in_the_shared_folder(shared: Shared, tmp_path: Path) -> None:
    folder = tmp_path / "shared"
    outputs = asyncio.run(shared.prepare(job(), shared.home.job("aaaa"))).outputs
    assert outputs["model"] == f"{folder.as_uri()}/outputs/aaaa/model/"
    assert asyncio.run(shared.code_uri("d1", 1)) == f"{folder.as_uri()}/code/d1/"
    assert asyncio.run(shared.input_uri()) == f"{folder.as_uri()}/inputs/"
    for name in ("", "code/d1", "inputs", "outputs/aaaa"):
        assert (folder / name).stat().st_mode & 0o777 == 0o700
    named = job(output_path=f"{tmp_path}/mine")
    assert asyncio.run(shared.output_uri(named)) == f"{tmp_path.as_uri()}/mine/"


def test_jobs_read_what_is_in_the_shared_folder(shared: Shared, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "shared")
    for path in ("shared/a b", "link/a", "shared/../shared/a"):
        assert shared.can_read(str(tmp_path / path))
    assert shared.can_read((tmp_path / "shared/a b").as_uri())
    for text in (str(tmp_path / "other"), f"{tmp_path}/shared/../other", "oss://b/shared"):
        assert not shared.can_read(text)


def test_jobs_see_what_they_read_or_mount(shared: Shared, home: Home, tmp_path: Path) -> None:
    (tmp_path / "shared/a").mkdir(parents=True)
    plain = parse_spec({"name": "a", "command": "true"})
    assert [shared.sees(f"{tmp_path}/{name}", plain) for name in ("shared/a", "other")] == [True, False]
    assert not Few(home).sees(str(tmp_path), plain)
    mounted = {"data_sources": [{"mount_path": "/mnt/data", "uri": "oss://b/data/"}]}
    dlc = DlcBackend(PaiSettings(backend="dlc", region_id="cn-hangzhou"), home)
    openpai = OpenPaiBackend(
        OpenPaiSettings(backend="openpai", endpoint="pai.example.com", mounts={"nfs": "/mnt/nfs"}), home
    )
    cases: list[tuple[Backend, dict[str, Any], str]] = [
        (dlc, mounted, "data"), (openpai, {"storages": ["data"]}, "data"), (openpai, {}, "nfs"),
    ]  # fmt: skip
    for backend, options, name in cases:
        spec = plain.model_copy(update={"options": options})
        assert [backend.sees(f"/mnt/{one}/x", spec) for one in (name, "more")] == [True, False]


def test_folder_of_another_machine_is_an_error_of_the_profile(home: Home, tmp_path: Path) -> None:
    backend = Shared(home)
    backend.settings = SharedFolderSettings(backend="few", folder=str(tmp_path / "none/shared"))
    with pytest.raises(BackendError, match="does not exist") as caught:
        asyncio.run(backend.input_uri())
    assert "`folder`" in caught.value.fix
