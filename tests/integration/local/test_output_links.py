"""Links in outputs that point to paths of the job: valid after a download and in a resumed job, or named."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.client.job import JobHandle

from ...conftest import submit

CHECKPOINTS = """
cd $PAI_OUTPUT_CHECKPOINTS
mkdir -p step_2/shards runs/a
echo weights > step_2/w.pt
ln -s {root}/step_2 LATEST
ln -s {root}/step_2/w.pt best.pt
ln -s {root}/step_2/../step_2/w.pt runs/a/best.pt
ln -s {root} runs/a/top
ln -s step_2 relative
"""
# As the command sees the folder: by its path in the contract, that without links, and that of other SDKs.
ROOTS = ("/ml/output/checkpoints", "$(pwd -P)", "/opt/ml/output/checkpoints")


def outputs(job: JobHandle, channel: str) -> Path:
    return Path(job.outputs[channel].removeprefix("file://"))


def texts(folder: Path) -> dict[str, str]:
    """Return the texts of the links below a folder."""
    return {str(path.relative_to(folder)): os.readlink(path) for path in folder.rglob("*") if path.is_symlink()}


@pytest.mark.parametrize("root", ROOTS)
def test_links_into_their_channel_are_relative_at_the_end(engine: EmbeddedClient, tmp_path: Path, root: str) -> None:
    job = submit(engine, CHECKPOINTS.format(root=root)).wait()
    assert texts(outputs(job, "checkpoints")) == {
        "LATEST": "step_2",
        "best.pt": "step_2/w.pt",
        "runs/a/best.pt": "../../step_2/../step_2/w.pt",
        "runs/a/top": "../..",
        "relative": "step_2",
    }
    assert job.info["notes"] == []
    copy = job.download("checkpoints", tmp_path / "copy")
    assert (copy / "LATEST/w.pt").read_text() == (copy / "best.pt").read_text() == "weights\n"
    assert texts(copy) == {"LATEST": "step_2", "relative": "step_2", "runs/a/top": "../.."}
    resumed = job.rerun(resume=True, command="cat $PAI_INPUT_CHECKPOINTS/LATEST/w.pt $PAI_INPUT_CHECKPOINTS/best.pt")
    assert resumed.wait().logs() == "weights\nweights\n"


def test_failed_job_keeps_its_links(engine: EmbeddedClient) -> None:
    job = submit(engine, "cd $PAI_OUTPUT_MODEL; mkdir a; ln -s /ml/output/model/a last; kill -9 $$").wait()
    assert (job.status, texts(outputs(job, "model"))) == ("failed", {"last": "a"})


def test_links_that_lead_out_of_their_channel_are_named(engine: EmbeddedClient, tmp_path: Path) -> None:
    command = """
    touch $PAI_OUTPUT_CHECKPOINTS/c code.bin
    cd $PAI_OUTPUT_MODEL; echo 1 > m
    ln -s /ml/output/checkpoints/c best; ln -s /ml/usercode/code.bin code; ln -s /etc/hostname foreign
    """
    job = submit(engine, command).wait()
    (note,) = job.info["notes"]
    assert "model/best → /ml/output/checkpoints/c, model/code → /ml/usercode/code.bin" in note
    assert "foreign" not in note
    assert texts(outputs(job, "model")) == {
        "best": "/ml/output/checkpoints/c",
        "code": "/ml/usercode/code.bin",
        "foreign": "/etc/hostname",
    }
    copy = engine.call("download", job=job.id, body={"channel": "model", "folder": str(tmp_path / "copy")})
    assert (copy["files"], copy["left_out"]) == (1, 3)
    assert "foreign (a link that leads out of its folder)" in copy["skipped"]


def test_links_of_the_user_in_an_output_folder_are_left_alone(engine: EmbeddedClient, tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    (shared / "v1").mkdir(parents=True)
    (shared / "v1/w.pt").touch()
    (shared / "latest").symlink_to(shared / "v1")
    job = submit(engine, "true", outputs={"model": str(shared)}).wait()
    assert texts(shared) == {"latest": str(shared / "v1")}
    assert (job.download("model", tmp_path / "copy") / "latest/w.pt").exists()


def test_nothing_is_changed_behind_a_link(engine: EmbeddedClient, tmp_path: Path) -> None:
    """The job replaces a channel, and a folder in another one, by links to folders of others."""
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "link").symlink_to("/ml/output/model/x")
    command = "rmdir /ml/output/model; ln -s {0}/one /ml/output/model; ln -s {0}/two /ml/output/checkpoints/d"
    job = submit(engine, command.format(tmp_path)).wait()
    assert job.status == "succeeded"
    for name in ("one", "two"):
        assert texts(tmp_path / name) == {"link": "/ml/output/model/x"}
