"""The neighbour is held to what jupyter-pai demands of every backend: `pytest test_neighbour.py`, with it installed."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jupyter_pai_neighbour.backend import NeighbourSettings
from jupyter_pai_neighbour.place import Place
from jupyter_pai_neighbour.storage import NeighbourStorage

from jupyter_pai import Backend, Bench, Home, ProfileSettings, RemoteBackendPromises, Storage, StoragePromises, errors
from jupyter_pai.engine.profiles import Profiles
from jupyter_pai.engine.testing.harness import story

PASSWORD = "it rains " + "in the den"
FILE = ("a.neighbour.json", '{"run": "echo from the job file", "nice": 1}')


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder in which a neighbour works."""
    folder = tmp_path_factory.mktemp("shared")
    with start(folder) as process:
        yield folder
        process.terminate()
    assert not Place(folder).note.exists()


def start(folder: Path, *words: str, **environment: str) -> subprocess.Popen[str]:
    """A neighbour that listens."""
    command = [sys.executable, "-m", "jupyter_pai_neighbour.daemon", str(folder), *words]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ | environment)
    assert process.stdout
    assert "listens at" in process.stdout.readline()
    return process


class _Promises(RemoteBackendPromises):
    """The address of a neighbour is in its note."""

    @pytest.fixture
    def address(self, shared: Path) -> Iterator[str]:
        note = Place(shared).read()
        yield note.url
        Place(shared).announce(note)

    async def through(self, bench: Bench, keys: dict[str, Any], address: str, proxy: str) -> Backend:
        place = Place(keys["folder"])
        place.announce(place.read()._replace(url=proxy))
        return bench.another()


class TestNeighbour(_Promises):
    @pytest.fixture
    def keys(self, shared: Path) -> dict[str, Any]:
        return {"backend": "neighbour", "folder": str(shared)}

    @pytest.fixture
    def job_file(self) -> tuple[str, str]:
        return FILE

    @pytest.fixture
    def retrying(self) -> dict[str, Any] | None:
        return {"options": {"retries": 1}}

    @pytest.fixture
    def publishing(self) -> dict[str, Any] | None:
        return {"options": {"publish": True}}

    @story
    async def test_instances_have_two_roles(self, bench: Bench) -> None:
        roles = [{"name": "server", "command": 'echo "serve $RANK"'}, {"name": "worker", "count": 2}]
        job, remote_id, _report = await bench.finish('echo "work $RANK"', roles=roles)
        instances = await bench.backend.instances(remote_id)
        assert [(one.name, one.role) for one in instances] == [
            ("server-0", "server"),
            ("worker-0", "worker"),
            ("worker-1", "worker"),
        ]
        assert {(one.node, one.address, one.attempt) for one in instances} == {(socket.gethostname(), "127.0.0.1", 1)}
        await bench.log(job, remote_id, "server-0", b"serve 0\n")
        await bench.log(job, remote_id, "worker-1", b"work 2\n")

    @story
    async def test_input_in_the_shared_folder_is_not_copied(self, bench: Bench, shared: Path) -> None:
        (shared / "data.txt").write_text("here")
        assert bench.backend.can_read(str(shared / "data.txt"))
        assert bench.backend.can_read((shared / "data.txt").as_uri())
        assert not bench.backend.can_read("/etc/hosts")
        assert not bench.backend.can_read(f"{shared}/../elsewhere")

    @story
    async def test_submit_with_a_lost_reply_may_be_repeated(self, bench: Bench) -> None:
        job, remote_id = await bench.submit("echo once >> $PAI_OUTPUT_MODEL/runs")
        await bench.ended(remote_id)
        again = await bench.backend.submit(job, bench.folder(job), {})
        assert again.remote_id == remote_id
        await bench.ended(remote_id)
        assert bench.outputs(job, "model") == {"runs": b"once\n"}

    @story
    async def test_job_runs_on_the_processor_that_was_picked(self, bench: Bench) -> None:
        *_others, last = await bench.backend.choices("processors")
        command = "python3 -c 'import os; print(*os.sched_getaffinity(0))'"
        job, remote_id, _report = await bench.finish(command, options={"processor": last.value})
        await bench.only_log(job, remote_id, f"{last.value}\n".encode())
        with pytest.raises(errors.SpecError, match="no processor 99999"):
            await bench.submit("true", options={"processor": "99999"})

    @story
    async def test_wrong_token_is_rejected(self, bench: Bench, shared: Path) -> None:
        note = Place(shared).read()
        Place(shared).announce(note._replace(token="wrong"))
        try:
            (finding,) = await in_a_thread(bench)
            assert finding.state == "bad"
            assert "token" in finding.text
        finally:
            Place(shared).announce(note)


class TestNeighbourWithAPassword(_Promises):
    """One that asks for a login."""

    @pytest.fixture
    def shared(self, tmp_path: Path) -> Iterator[Path]:
        with start(tmp_path / "shared", "--user", "ada", NEIGHBOUR_PASSWORD=PASSWORD) as process:
            yield tmp_path / "shared"
            process.terminate()

    @pytest.fixture
    def keys(self, shared: Path) -> dict[str, Any]:
        return {"backend": "neighbour", "folder": str(shared)}

    @pytest.fixture
    def job_file(self) -> tuple[str, str]:
        return FILE

    @pytest.fixture
    def login(self) -> dict[str, Any]:
        return {"user": "ada", "password": PASSWORD}

    @pytest.fixture
    def bench(
        self, keys: dict[str, Any], login: dict[str, Any], state: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> Bench:
        """A profile that has logged in."""
        monkeypatch.setenv("JUPYTER_PAI_CONFIG", str(tmp_path / "settings.toml"))
        monkeypatch.setenv("JUPYTER_CONFIG_DIR", str(tmp_path / "own"))
        monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.null.Keyring")
        Profiles(state).edit("bench", keys)
        bench = Bench(state)
        bench.run(bench.profiles.log_in("bench", login))
        bench.backend = bench.another()
        return bench

    @story
    async def test_wrong_password_is_told_at_its_field(self, bench: Bench) -> None:
        before = bench.profile
        with pytest.raises(errors.SpecError, match="not the user's password") as caught:
            await bench.profiles.log_in("bench", {"user": "ada", "password": "guessed it"})
        assert str(caught.value.details["faults"]).startswith("{'password': ")
        with pytest.raises(errors.SpecError) as caught:
            await bench.profiles.log_in("bench", {"user": "eve", "password": PASSWORD})
        assert str(caught.value.details["faults"]).startswith("{'user': ")
        assert bench.profile == before

    @story
    async def test_token_that_it_forgot_asks_for_a_login(self, bench: Bench, shared: Path) -> None:
        note = Place(shared).read()
        with start(shared, "--user", "ada", NEIGHBOUR_PASSWORD=PASSWORD) as process:
            for call in (bench.backend.instance_types(), bench.storages.at("neighbour://a/", "bench").storage.roots()):
                with pytest.raises(errors.CredentialsError, match="does not know this token") as caught:
                    await call
                assert "profile login" in caught.value.fix
            process.terminate()
        Place(shared).announce(note)
        bench.profiles.log_out("bench")
        with pytest.raises(errors.CredentialsError, match="asks for a login"):
            await bench.another().instance_types()


class TestShelves(StoragePromises):
    @pytest.fixture
    def storage(self, shared: Path) -> Storage:
        return NeighbourStorage(Place(shared))

    @pytest.fixture
    def account(self, shared: Path) -> ProfileSettings:
        return NeighbourSettings(backend="neighbour", folder=str(shared))

    @pytest.fixture
    def empty(self, tmp_path: Path) -> str:
        return f"neighbour://{tmp_path.name}/it's a/模型/"

    def test_paths_outside_the_shelves_are_rejected(self, storage: Storage, place: str, shared: Path) -> None:
        (shared / "precious").write_text("mine")
        for uri in ("neighbour://../precious", "neighbour://a/../../precious", "neighbour:///precious"):
            with pytest.raises(errors.NotFound):
                storage.stat(uri)
            with pytest.raises(errors.PaiError):
                storage.delete(uri)
        assert (shared / "precious").read_text() == "mine"


async def in_a_thread(bench: Bench) -> Any:
    import asyncio

    return await asyncio.to_thread(bench.backend.examine)


def test_jobs_outlive_the_neighbour(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is started again finds them, and who asks meanwhile learns what to do."""
    from jupyter_pai import JobStatus

    shared = tmp_path / "shared"
    monkeypatch.setenv("JUPYTER_PAI_CONFIG", str(tmp_path / "settings.toml"))
    Profiles(Home(tmp_path / "state")).edit("bench", {"backend": "neighbour", "folder": str(shared)})
    bench = Bench(Home(tmp_path / "state"))

    async def tell() -> None:
        with start(shared) as process:
            _job, remote_id = await bench.submit("until test -e go; do sleep 0.01; done")
            await bench.until(remote_id, lambda report: report.status is JobStatus.RUNNING)
            process.terminate()
        with pytest.raises(errors.Unreachable, match="Nobody is working") as caught:
            await bench.backend.poll([remote_id])
        assert str(shared) in caught.value.fix
        with start(shared) as process:
            assert (await bench.backend.poll([remote_id]))[remote_id].status is JobStatus.RUNNING
            (Place(shared).home / "jobs" / remote_id / "ml/usercode/go").touch()
            assert (await bench.ended(remote_id)).status is JobStatus.SUCCEEDED
            process.terminate()

    bench.run(tell())
