"""Jobs that were submitted elsewhere: their list, and an import with their document."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from jupyter_pai.backends.openpai.follow import adoption
from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.client.job import JobHandle
from jupyter_pai.core.errors import NotFound
from jupyter_pai.jobs.state_dir import Home

from ...conftest import until
from ...fakes.openpai import OpenPai
from ...fakes.openpai_client import role
from .conftest import PROFILE, log_in, write_profile
from .followed import Process, follow, waiting_for
from .jobs import send

pytestmark = pytest.mark.usefixtures("private_ml")

_VALUE = "a value of" + " theirs"


def adopt(engine: EmbeddedClient, remote_id: str) -> JobHandle:
    return JobHandle(engine.call("adopt", body={"remote_id": remote_id, "profile": PROFILE}), engine)


def log_of(job: JobHandle, instance: str) -> str:
    """Return the log of an instance; empty before it is fetched."""
    try:
        return job.logs(instance=instance)
    except NotFound:
        return ""


def submitted(home: Home) -> str:
    """Submit a job of two roles and with a secret as another program does. Return the remote id."""

    async def story(process: Process) -> str:
        server = role("echo serve; sleep 1000", instances=2, resources={"cpu": 2, "memoryMB": 2048})
        train = role('echo train "<% $secrets.token %>"', waiting_for("go", between="exit 4"))
        job = await process.submit("theirs", roles={"ps": server, "main": train}, secrets={"token": _VALUE})
        await process.client.put(f"/jobs/{job}/tag", {"value": "best"})
        return job

    return follow(home, story)


def test_job_of_another_program_is_adopted_with_its_document(
    engine: EmbeddedClient, server: OpenPai, home: Home, share: Path
) -> None:
    remote_id = submitted(home)
    (listed,) = engine.call("remote_jobs", profile=PROFILE)["jobs"]
    assert (listed["remote_id"], listed["name"], listed["user"]) == (remote_id, "theirs", "me")
    job = adopt(engine, remote_id)
    assert (job.name, job.labels) == ("theirs", {"best": ""})
    assert job.info["console_url"] == f"{server.url}/job-detail.html?username=me&jobName=theirs"
    roles = {one["name"]: (one["count"], one["cpu"], one["memory"]) for one in job.spec["roles"]}
    assert roles == {"ps": (2, 2, "2048MiB"), "main": (1, 1, "1024MiB")}
    document = job.spec["options"]["document"]
    assert "sleep 1000" in document
    # The server hides the value, of which only the name is known.
    assert "token: '******'" in document or "token: ******" in document
    until(lambda: "train" in log_of(job, "main-0"))
    assert [one["name"] for one in job.instances()] == ["ps-0", "ps-1", "main-0"]
    (share / "go").touch()
    job.wait()
    assert (job.status, job.exit_code) == ("failed", 4)
    assert adopt(engine, remote_id).id == job.id


def test_nothing_secret_of_a_user_is_kept(engine: EmbeddedClient, server: OpenPai, home: Home, share: Path) -> None:
    remote_id = submitted(home)
    job = adopt(engine, remote_id)
    until(lambda: "train" in log_of(job, "main-0"))
    (share / "go").touch()
    job.wait()
    for path in home.path.rglob("*"):
        if path.is_file() and "log" not in path.parts[-2:]:
            data = path.read_bytes()
            assert _VALUE.encode() not in data, path
            assert b"private key of" not in data, path


def test_own_job_is_adopted_by_another_state_folder(
    engine: EmbeddedClient, server: OpenPai, tmp_path: Path, share: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_profile(server, storage="nfs", mounts={"nfs": str(share)})
    log_in(engine)
    roles = [{"name": "PS_1", "command": "true"}, {"name": "worker", "count": 2}]
    job = send(engine, "echo mine; [ $RANK = 0 ] || echo mine > $PAI_OUTPUT_MODEL/m$RANK", roles=roles).wait()
    assert job.status == "succeeded", job.reason
    monkeypatch.setenv("JUPYTER_PAI_HOME", str(Home(tmp_path / "other").path))
    with closing(EmbeddedClient()) as second:
        adopted = adopt(second, job.info["remote_id"]).wait()
        assert (adopted.status, adopted.name) == ("succeeded", "test")
        assert [one["name"] for one in adopted.instances()] == ["PS_1-0", "worker-0", "worker-1"]
        assert "mine\n" in adopted.logs(instance="worker-1")
        assert [file["path"] for file in adopted.files("model")] == ["m1", "m2"]


def test_jobs_are_listed_newest_first_in_pages(engine: EmbeddedClient, server: OpenPai, home: Home) -> None:
    async def story(process: Process) -> None:
        for n in range(4):
            await process.submit(f"job{n}", "true")
            server.move_clock(10)
        await process.submit("job_20240101", "true")
        found = await adoption.jobs(process.client, limit=3)
        assert [one.spec.name for one in found] == ["job_20240101", "job3", "job2"]
        older = await adoption.jobs(process.client, before=found[-1].submitted_at)
        assert [one.spec.name for one in older] == ["job1", "job0"]
        assert {one.user for one in older} == {"me"}

    follow(home, story)


def test_document_that_cannot_be_read_does_not_prevent_an_import(
    engine: EmbeddedClient, server: OpenPai, home: Home
) -> None:
    async def story(process: Process) -> str:
        return await process.submit("theirs", "true")

    remote_id = follow(home, story)
    server.job(remote_id).document["taskRoles"] = {}
    job = adopt(engine, remote_id)
    assert job.name == "theirs"
