"""The files that a job writes beside its code are its output channel `files`."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.client.job import JobHandle
from jupyter_pai.jobs.state_dir import Home

from ...conftest import submit, until
from .supervised_job import power_off

SAVES = """
import pathlib, sys
pathlib.Path("model.npz").write_bytes(b"weights")
pathlib.Path("config.json").write_text("changed")
pathlib.Path("outputs/run 1").mkdir(parents=True)
pathlib.Path("outputs/run 1/图.png").write_bytes(b"picture")
"""


@pytest.fixture
def code(folder: Path) -> Path:
    """A folder with packed files."""
    for name in ("config.json", "sub/data.csv", "unread.txt"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("as packed")
    return folder


def kept(job: JobHandle) -> list[str]:
    """Return the paths in the channel."""
    return sorted(file["path"] for file in job.files("files"))


@pytest.mark.parametrize(("end", "status"), [("", "succeeded"), ("sys.exit(3)", "failed")])
def test_new_and_changed_files_are_an_output(engine: EmbeddedClient, code: Path, end: str, status: str) -> None:
    (code / "train.py").write_text(f"{SAVES}\n{end}")
    job = submit(engine, "", code, entry_point="train.py").wait()
    assert job.status == status
    assert kept(job) == ["config.json", "model.npz", "outputs/run 1/图.png"]
    assert job.read_file("model.npz", "files") == b"weights"
    channel = Path(job.outputs["files"].removeprefix("file://"))
    assert (channel / "model.npz").stat().st_nlink == 2  # Not a copy.


BESIDE = """
mkdir -p ../results ../output/plots ../input/more results
echo 1 > ../results/model.txt; echo 2 > ../one.txt; echo 3 > ../output/plots/a; echo 4 > ../input/more/b
echo own > results/log; echo other > ../results/log; echo 5 > ../output/model/m; ln -s /etc ../link
"""


def test_files_in_folders_beside_the_code_are_kept_under_their_names(engine: EmbeddedClient, code: Path) -> None:
    job = submit(engine, BESIDE, code, inputs={"train": str(code)}).wait()
    files = ["input/more/b", "one.txt", "output/plots/a", "parent/results/log", "results/log", "results/model.txt"]
    assert kept(job) == files
    assert (job.read_file("results/log", "files"), job.read_file("parent/results/log", "files")) == (
        b"own\n",
        b"other\n",
    )
    assert [file["path"] for file in job.files("model")] == ["m"]


def test_links_to_kept_files_are_kept(engine: EmbeddedClient, code: Path, tmp_path: Path) -> None:
    command = """
    mkdir -p out/step_2 ../results/a; echo 1 > out/step_2/w; echo 2 > ../results/a/b; ln -s a ../results/last
    ln -s $PWD/out/step_2 out/LATEST; ln -s $(pwd -P)/out/step_2/w best; ln -s ../out/step_2/w out/again
    ln -s unread.txt packed; ln -s ../../output/model out/away; ln -s /etc/hostname foreign; ln -s nowhere out/broken
    """
    job = submit(engine, command, code).wait()
    channel = Path(job.outputs["files"].removeprefix("file://"))
    links = {str(path.relative_to(channel)): os.readlink(path) for path in channel.rglob("*") if path.is_symlink()}
    assert links == {
        "out/LATEST": "step_2",
        "best": "out/step_2/w",
        "out/again": "step_2/w",
        "results/last": "a",
    }
    copy = job.download("files", tmp_path / "copy")
    assert (copy / "out/LATEST/w").read_text() == (copy / "best").read_text() == "1\n"


def test_stopped_job_keeps_its_files(engine: EmbeddedClient, code: Path) -> None:
    job = submit(engine, "echo 1 > part.txt; echo up; sleep 1000", folder=code)
    until(lambda: "up" in job.logs())
    job.stop()
    assert kept(job.wait()) == ["part.txt"]


def test_job_with_killed_supervisor_keeps_its_files(engine: EmbeddedClient, code: Path) -> None:
    job = submit(engine, "echo 1 > part.txt; echo up; sleep 1000", folder=code)
    until(lambda: "up" in job.logs())
    power_off(job.id)
    assert kept(job.wait()) == ["part.txt"]


def test_files_that_are_never_sent_are_not_kept(engine: EmbeddedClient, code: Path) -> None:
    command = (
        "mkdir -p .git env/lib __pycache__ conda/conda-meta; touch .env id_rsa .git/HEAD env/pyvenv.cfg env/lib/a.py "
        "__pycache__/a.pyc conda/conda-meta/history conda/b; ln -s /etc/passwd link; touch kept"
    )
    job = submit(engine, command, folder=code).wait()
    assert kept(job) == ["kept"]


def test_file_that_cannot_be_kept_hides_no_other(engine: EmbeddedClient, code: Path, tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    (shared / "files/b").mkdir(parents=True)  # Where a file of the job would be.
    job = submit(engine, "echo 1 > a; echo 2 > b; echo 3 > c", code, output_path=str(shared), layout="code").wait()
    assert kept(job) == ["a", "c"]


def test_inputs_are_not_kept(engine: EmbeddedClient, code: Path, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data/big.bin").write_bytes(b"x")
    command = "ln -s $PAI_INPUT_TRAIN data; cat data/big.bin > copy"
    job = submit(engine, command, code, inputs={"train": str(tmp_path / "data")}).wait()
    assert kept(job) == ["copy"]


def test_own_channel_of_that_name_wins(engine: EmbeddedClient, code: Path, tmp_path: Path) -> None:
    command = "echo 1 > beside; echo 2 > $PAI_OUTPUT_FILES/own"
    job = submit(engine, command, code, outputs={"files": str(tmp_path / "own")}).wait()
    assert kept(job) == ["own"]
    assert (tmp_path / "own/own").read_text() == "2\n"


def test_files_reach_an_output_folder_on_another_disk(engine: EmbeddedClient, code: Path, small_disk: Path) -> None:
    job = submit(engine, "echo 1 > model.txt", code, output_path=str(small_disk / "out")).wait()
    assert kept(job) == ["model.txt"]
    assert [path.read_text() for path in small_disk.glob("out/*/files/model.txt")] == ["1\n"]


def test_event_files_beside_the_code_are_followed_live(engine: EmbeddedClient, code: Path, tmp_path: Path) -> None:
    (code / "train.py").write_text(f"""
import os, pathlib, time
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.summary.writer.event_file_writer import EventFileWriter
writer = EventFileWriter("lightning_logs/version_0")
value = Summary.Value(tag="loss", simple_value=0.5)
writer.add_event(Event(wall_time=time.time(), step=1, summary=Summary(value=[value])))
writer.flush()
while not os.path.exists({str(tmp_path / "go")!r}):
    time.sleep(0.01)
""")
    job = submit(engine, "", code, entry_point="train.py")
    until(lambda: "lightning_logs/version_0/loss" in job.info["metrics"])
    (tmp_path / "go").touch()
    assert len(kept(job.wait())) == 1


def test_state_folder_of_an_earlier_version_is_left_alone(engine: EmbeddedClient, code: Path, home: Home) -> None:
    """Its packed files have the time of their job, and it has no such channel."""
    job = submit(engine, "sleep 1000", folder=code)
    until(lambda: job.status == "running")
    (home.job(job.id).output / "files").rmdir()
    (home.job(job.id).path / "ml/usercode/unread.txt").touch()
    job.stop()
    job.wait()
    assert not (home.job(job.id).output / "files").exists()
