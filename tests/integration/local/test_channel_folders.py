"""The folders of output channels: real folders at the place of the submit, also below links of the user."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.client.job import JobHandle
from jupyter_pai.core.errors import BadInput, NotFound
from jupyter_pai.jobs.state_dir import Home

from ...conftest import submit

WRITE = "echo 1 > $PAI_OUTPUT_MODEL/m; echo 2 > $PAI_OUTPUT_CHECKPOINTS/c; echo 3 > f"


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A folder that looks like the outputs of a job."""
    for name in ("model", "checkpoints"):
        (tmp_path / "outside" / name).mkdir(parents=True)
        (tmp_path / "outside" / name / "secret").write_text("outside")
    return tmp_path / "outside"


def check_unread(engine: EmbeddedClient, job: JobHandle) -> None:
    """Assert that neither the model nor the checkpoints of a job are read."""
    (model,) = engine.call("outputs", job=job.id, channel="model")["channels"]
    assert (model["state"], model["files"]) == ("unknown", [])
    with pytest.raises(NotFound):
        job.read_file("secret")
    with pytest.raises(NotFound, match="without following links"):
        engine.rerun(job.id, {}, resume=True)


def test_folders_below_links_of_the_user_are_used(home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "link").symlink_to("disk")
    monkeypatch.setenv("JUPYTER_PAI_HOME", str(tmp_path / "link/state"))
    engine = EmbeddedClient()
    for output in ("", str(tmp_path / "link/out")):
        job = submit(engine, WRITE, output_path=output).wait()
        assert (job.read_file("m"), job.read_file("f", "files")) == (b"1\n", b"3\n")
        resumed = engine.rerun(job.id, {"command": "cat $PAI_INPUT_CHECKPOINTS/c"}, resume=True)
        assert JobHandle(resumed["job"], engine).wait().logs() == "2\n"
    engine.close()


@pytest.mark.parametrize("is_earlier", [False, True])
def test_channel_replaced_by_a_link_is_not_read(
    engine: EmbeddedClient, home: Home, outside: Path, is_earlier: bool
) -> None:
    """A job of an earlier version has no note of its channels."""
    job = submit(engine, WRITE).wait()
    if is_earlier:
        home.job(job.id).channels.unlink()
    assert job.read_file("m") == b"1\n"
    for name in ("model", "checkpoints"):
        folder = home.job(job.id).output / name
        folder.rename(folder.with_name(f"{name}-before"))
        folder.symlink_to(outside / name)
    check_unread(engine, job)


def test_folder_above_a_channel_replaced_by_a_link_is_not_followed(
    engine: EmbeddedClient, tmp_path: Path, outside: Path
) -> None:
    job = submit(engine, WRITE, output_path=str(tmp_path / "runs/one")).wait()
    assert job.read_file("m") == b"1\n"
    (tmp_path / "runs/one").rename(tmp_path / "before")
    (tmp_path / "runs/one").symlink_to(outside)
    check_unread(engine, job)


def test_link_in_place_of_a_channel_is_rejected(engine: EmbeddedClient, tmp_path: Path, outside: Path) -> None:
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs/model").symlink_to(outside / "model")
    exact: dict[str, Any] = {"output_path": str(tmp_path / "runs"), "layout": "code"}
    with pytest.raises(BadInput, match="is a link, which is not followed") as caught:
        submit(engine, WRITE, **exact)
    assert "--output model=FOLDER" in caught.value.fix
    job = submit(engine, WRITE, **exact, outputs={"model": str(outside / "model")}).wait()
    assert job.status == "succeeded"
    assert (outside / "model/m").read_text() == "1\n"


def test_path_that_leads_upwards_is_not_a_file_of_the_channel(engine: EmbeddedClient) -> None:
    job = submit(engine, f"{WRITE}; ln -s ../checkpoints/c $PAI_OUTPUT_MODEL/up; ln -s m $PAI_OUTPUT_MODEL/in").wait()
    assert job.read_file("in") == b"1\n"
    for path in ("up", "../checkpoints/c", os.fspath("/etc/hostname")):
        with pytest.raises(NotFound):
            job.read_file(path)
