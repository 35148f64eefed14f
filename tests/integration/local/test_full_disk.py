"""A full, inode-less or read-only disk: the product's own commands show it, and free it."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.jobs.state_dir import Home
from jupyter_pai.jobs.store.reserve import Reserve

from ...conftest import end_jobs, processes_of, submit, until
from ..server.real_server import RealServer
from .supervised_job import fill

CLI = Callable[..., subprocess.CompletedProcess[str]]


class Disk:
    """A small file system that can be filled, in bytes or in inodes."""

    def __init__(self, path: Path, lack: str) -> None:
        self.path = path
        self.lack = lack

    def fill(self) -> None:
        """Leave no room at all."""
        if self.lack == "bytes":
            fill(self.path)
            return
        (self.path / "files").mkdir(exist_ok=True)
        with pytest.raises(OSError, match="No space"):
            self._create_files()

    def _create_files(self) -> None:
        for number in range(100_000):  # Others may have removed some of theirs since the last call.
            os.close(os.open(self.path / f"files/{number}", os.O_CREAT | os.O_WRONLY))

    def free(self) -> None:
        """Remove the files that fill it."""
        (self.path / "ballast").unlink(missing_ok=True)
        for path in (self.path / "files").glob("*"):
            path.unlink()


def findings_of(cli: CLI) -> dict[str, dict[str, str]]:
    """Return the findings of `doctor`."""
    return {finding["what"]: finding for finding in json.loads(cli("doctor", "--json").stdout)}


def mounted(path: Path, options: str) -> Iterator[Path]:
    if os.getuid() != 0:
        pytest.skip("only root can mount a file system")
    path.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(path)], check=True)
    yield path
    subprocess.run(["umount", "--lazy", str(path)], check=True)


@pytest.fixture(params=["bytes", "inodes"])
def disk(home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: Any) -> Iterator[Disk]:
    """A disk that holds the state folder."""
    options = "size=8m" if request.param == "bytes" else "size=16m,nr_inodes=500"
    for path in mounted(tmp_path / "disk", options):
        monkeypatch.setenv("JUPYTER_PAI_HOME", str(path / "state"))
        yield Disk(path, request.param)
        end_jobs(Home(path / "state"))


@pytest.fixture
def jobs(disk: Disk) -> list[str]:
    """Five finished jobs and a running one, each with a model; their engine is closed."""
    engine = EmbeddedClient()
    try:
        model = "head -c 300000 /dev/urandom > $PAI_OUTPUT_MODEL/w"
        ended = [submit(engine, f"{model}; echo line {n}", name=f"job {n}").wait() for n in range(5)]
        running = submit(engine, f"{model}; echo up; exec sleep 1000", name="running")
        until(lambda: "up" in running.logs())
        return [*(job.id for job in ended), running.id]
    finally:
        engine.close()


@pytest.mark.slow("cases", first=1)
def test_commands_work_on_a_full_disk_and_free_it(disk: Disk, jobs: list[str], cli: CLI) -> None:
    def on_full_disk(*words: str) -> str:
        disk.fill()
        done = cli(*words)
        assert done.returncode == 0, (words, done.stderr)
        assert "Traceback" not in done.stderr
        return done.stdout

    assert all(job in on_full_disk("list") for job in jobs)
    assert "job 1" in on_full_disk("show", jobs[1])
    assert on_full_disk("logs", jobs[1]) == "line 1\n"
    assert {part["what"]: part["count"] for part in json.loads(on_full_disk("disk", "--json"))["parts"]}["jobs"] == 5
    disk.fill()
    findings = findings_of(cli)
    assert findings["state folder"]["text"] == f"{disk.path}/state cannot be written: No space left on device."
    # The reserve holds inodes on each disk, and bytes on larger ones only.
    assert findings["database"]["fix"] == (findings["state folder"]["fix"] if disk.lack == "bytes" else "")
    assert findings["state folder"]["fix"] == "Free disk space. To delete a job: %pai delete ID"
    on_full_disk("stop", jobs[5])
    until(lambda: not processes_of(jobs[5]))
    on_full_disk("delete", jobs[0], "--yes")
    on_full_disk("delete", jobs[5], "--yes")
    on_full_disk("prune", "--keep", "3", "--yes")
    disk.free()
    engine = EmbeddedClient()
    try:
        assert [job["id"] for job in engine.call("list_jobs")["jobs"]] == [jobs[4], jobs[3], jobs[2]]
        assert {path.name for path in (disk.path / "state/jobs").iterdir()} == {*jobs[2:5]}
        assert submit(engine, "echo new").wait().logs() == "new\n"
    finally:
        engine.close()


@pytest.mark.parametrize("disk", ["inodes"], indirect=True)
def test_database_is_changed_without_a_free_inode(disk: Disk, cli: CLI) -> None:
    """The reserve has files for the journal and the shared memory of SQLite, also on a small disk."""
    engine = EmbeddedClient()
    try:
        job = submit(engine, "true").wait()
    finally:
        engine.close()
    for number in range(10):
        disk.fill()
        done = cli("label", job.id, f"n={number}")
        assert done.returncode == 0, done.stderr
    assert json.loads(cli("show", job.id, "--json").stdout)["labels"] == {"n": "9"}


@pytest.mark.slow("cases")
def test_endpoints_work_on_a_full_disk_and_free_it(disk: Disk, jobs: list[str], tmp_path: Path) -> None:
    """With a server that starts on it."""
    (tmp_path / "notebooks").mkdir()
    disk.fill()
    server = RealServer(tmp_path / "notebooks")

    def rest(method: str, path: str, body: object = None) -> Any:
        disk.fill()
        return server.rest(method, f"/pai/api/v1/{path}", body)

    try:
        assert {job["id"] for job in rest("GET", "jobs")["jobs"]} == {*jobs}
        assert rest("GET", f"jobs/{jobs[1]}")["name"] == "job 1"
        assert "line 1" in json.dumps(rest("GET", f"jobs/{jobs[1]}/lines"))
        assert rest("GET", "disk")["parts"][0]["count"] == 5
        findings = {finding["what"]: finding for finding in rest("GET", "doctor")["findings"]}
        assert "No space left on device" in findings["state folder"]["text"]
        rest("POST", f"jobs/{jobs[5]}/stop")
        until(lambda: rest("GET", f"jobs/{jobs[5]}")["ended_at"])
        assert not processes_of(jobs[5])
        rest("DELETE", f"jobs/{jobs[0]}")
        rest("DELETE", f"jobs/{jobs[5]}")
        assert len(rest("POST", "prune", {"keep": 3})["jobs"]) == 1
        disk.free()
        assert [job["id"] for job in server.rest("GET", "/pai/api/v1/jobs")["jobs"]] == [jobs[4], jobs[3], jobs[2]]
    finally:
        server.stop()


@pytest.mark.slow("cases", first=1)
def test_stopped_job_ends_although_its_log_has_no_room(disk: Disk, jobs: list[str], cli: CLI) -> None:
    """A job that fills the disk itself can be stopped and deleted, with nothing else to delete."""
    engine = EmbeddedClient()
    try:
        filling = submit(engine, "yes", name="filling")
        until(filling.logs)
    finally:
        engine.close()
    disk.fill()
    assert cli("stop", filling.id).returncode == 0
    until(lambda: not processes_of(filling.id))
    done = cli("delete", filling.id, "--yes")
    assert done.returncode == 0, done.stderr
    disk.free()
    assert filling.id not in cli("list").stdout


@pytest.mark.slow("cases")
def test_read_only_disk_is_diagnosed_and_its_jobs_are_shown(disk: Disk, jobs: list[str], cli: CLI) -> None:
    cli("stop", jobs[5])
    until(lambda: not processes_of(jobs[5]))
    subprocess.run(["mount", "-o", "remount,ro", str(disk.path)], check=True)
    findings = findings_of(cli)
    assert findings["state folder"]["state"] == "bad"
    assert "Read-only file system" in findings["state folder"]["text"]
    assert "JUPYTER_PAI_HOME" in findings["state folder"]["fix"]
    assert "locks" not in findings
    assert all(job in cli("list").stdout for job in jobs)
    assert cli("logs", jobs[1]).stdout == "line 1\n"
    refused = cli("delete", jobs[1], "--yes")
    assert (refused.returncode, "Traceback" in refused.stderr) == (3, False)
    assert "JUPYTER_PAI_HOME" in refused.stderr
    subprocess.run(["mount", "-o", "remount,rw", str(disk.path)], check=True)
    assert cli("delete", jobs[1], "--yes").returncode == 0


@pytest.fixture
def larger_disk(home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Disk]:
    """A disk with enough space for a reserve, which holds the state folder."""
    for path in mounted(tmp_path / "disk", "size=48m"):
        monkeypatch.setenv("JUPYTER_PAI_HOME", str(path / "state"))
        yield Disk(path, "bytes")


def test_reserve_is_given_up_on_a_full_disk_and_made_again(larger_disk: Disk) -> None:
    reserve = Reserve(larger_disk.path / "state")

    def size() -> int:
        return sum(file.stat().st_blocks * 512 for file in reserve.folder.glob("*"))

    engine = EmbeddedClient()
    try:
        job = submit(engine, "true").wait()
        until(lambda: size() == 8 << 16)
        larger_disk.fill()
        changes = 0
        while size():
            engine.call("label", job=job.id, body={"n": str(changes)})
            changes += 1
            assert changes < 100
        assert engine.call("show", job=job.id)["labels"] == {"n": str(changes - 1)}
        assert size() == 0
        reserve.keep()
        assert size() == 0
        larger_disk.free()
        reserve.keep()
        assert size() == 8 << 16
    finally:
        engine.close()
