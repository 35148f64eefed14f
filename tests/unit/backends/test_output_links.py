"""The part of the job script that makes links in outputs relative."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path

import pytest

from jupyter_pai.backends.runtime import launcher

PART = Path(launcher.__file__).with_name("script") / "output_links.sh"
SAY = 'say() {\n  echo "$1"\n}\n'


def run(ml: Path, *channels: str, shell: str = "/bin/sh", output: str = "", kept: str = "") -> str:
    """Run the part for pairs of a channel and its folder. Return its output."""
    variables = {"pai_ml": str(ml), "pai_output": output, "pai_kept": kept, "pai_lost_links": "lost:"}
    lines = [f"{name}={shlex.quote(value)}" for name, value in variables.items()]
    script = "\n".join([*lines, SAY, PART.read_text("utf-8"), f"make_all_relative {shlex.join(channels)}"])
    done = subprocess.run([shell, "-c", script], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout


@pytest.fixture
def ml(tmp_path: Path) -> Path:
    for path in ("model", "checkpoints/step 2", "checkpoints/runs/a"):
        (tmp_path / "ml/output" / path).mkdir(parents=True)
    return tmp_path / "ml"


@pytest.mark.parametrize("shell", ["/bin/dash", "/bin/bash"])
@pytest.mark.parametrize(
    ("path", "text", "relative"),
    [
        ("LATEST", "/ml/output/checkpoints/step 2", "step 2"),
        ("LATEST", "/ml//output/checkpoints//step 2/", "step 2"),
        ("LATEST", "{ml}/output/checkpoints/step 2", "step 2"),
        ("LATEST", "/opt/ml/output/checkpoints/step 2", "step 2"),
        (".hidden", "/ml/output/checkpoints/step 2", "step 2"),
        ("runs/a/last", "/ml/output/checkpoints/step 2/w", "../../step 2/w"),
        ("runs/a/last", "/ml/output/checkpoints/runs/b/w", "../b/w"),
        ("runs/a/last", "/ml/output/checkpoints/runs/a/w", "w"),
        ("runs/a/last", "/ml/output/checkpoints/runs/a", "."),
        ("runs/a/last", "/ml/output/checkpoints", "../.."),
        ("runs/a/-rf", "/ml/output/checkpoints/-x", "../../-x"),
        ("relative", "step 2", "step 2"),
        ("elsewhere", "/ml2/output/checkpoints/x", "/ml2/output/checkpoints/x"),
    ],
)
def test_link_into_its_channel_is_relative(ml: Path, shell: str, path: str, text: str, relative: str) -> None:
    link = ml / "output/checkpoints" / path
    link.symlink_to(text.format(ml=ml))
    assert run(ml, "model", "", "checkpoints", "", shell=shell) == ""
    assert os.readlink(link) == relative


@pytest.mark.parametrize(
    "text",
    ["/ml/output/checkpoints/x", "/ml/usercode/x", "/ml", "/opt/ml/code/x", "/ml/output/model/../x", "/ml/output"],
)
def test_link_out_of_its_channel_is_named(ml: Path, text: str) -> None:
    (ml / "output/model/best").symlink_to(text)
    assert run(ml, "model", "", "checkpoints", "") == f"lost: model/best → {text}\n"
    assert os.readlink(ml / "output/model/best") == text


@pytest.mark.parametrize("rank", ["", "/worker-2"])
def test_link_to_the_folder_of_the_code_is_relative_among_its_files(ml: Path, rank: str) -> None:
    folder = ml / f"output/files{rank}"
    (folder / "out").mkdir(parents=True)
    for n, text in enumerate(("/ml/usercode/out/step_2", "/ml/code/out/step_2", f"{Path.cwd()}/out/step_2")):
        (folder / f"out/{n}").symlink_to(text)
    assert run(ml, "files", "", kept=str(folder)) == ""
    assert [os.readlink(folder / f"out/{n}") for n in range(3)] == ["step_2"] * 3


def test_older_name_of_a_channel(ml: Path) -> None:
    (ml / "output/tensorboard").mkdir()
    (ml / "output/tensorboard/last").symlink_to("/ml/output/logs/run 1")
    (ml / "output/model/sdk").symlink_to("/opt/ml/model/a")
    assert run(ml, "tensorboard", "", "model", "") == ""
    assert os.readlink(ml / "output/tensorboard/last") == "run 1"
    assert os.readlink(ml / "output/model/sdk") == "a"


def test_folders_elsewhere(ml: Path, tmp_path: Path) -> None:
    own, outputs = tmp_path / "own", tmp_path / "outputs"
    (outputs / "checkpoints").mkdir(parents=True)
    own.mkdir()
    (own / "a").symlink_to("/ml/output/model/x")
    (own / "b").symlink_to(own / "y")
    (outputs / "checkpoints/c").symlink_to(outputs / "checkpoints/z")
    assert run(ml, "model", str(own), "checkpoints", "", output=str(outputs)) == ""
    assert [os.readlink(link) for link in (own / "a", own / "b", outputs / "checkpoints/c")] == ["x", "y", "z"]


def test_links_to_folders_are_not_followed(ml: Path, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/link").symlink_to("/ml/output/model/x")
    (ml / "output/model").rmdir()
    for path in ("model", "checkpoints/inner"):
        (ml / "output" / path).symlink_to(tmp_path / "outside")
    assert run(ml, "model", "", "checkpoints", "") == ""
    assert os.readlink(tmp_path / "outside/link") == "/ml/output/model/x"
