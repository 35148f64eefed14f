"""The folder that a TensorBoard reads: links to open files of the runs, never to files that a job linked."""

from __future__ import annotations

import os
import runpy
from pathlib import Path
from typing import Any

import pytest

from jupyter_pai.engine.tensorboard import launcher
from jupyter_pai.jobs.state_dir import Home

from ...support.diverted import FILES, Diversion


def runs_of(folder: Path, run: Path) -> Any:
    folder.mkdir(exist_ok=True)
    return launcher._Runs(str(folder), {"run": str(run)})


def content(folder: Path) -> dict[str, str]:
    return {path.relative_to(folder).as_posix(): path.read_text() for path in folder.rglob("*") if path.is_file()}


def test_runs_follow_their_folder(tmp_path: Path) -> None:
    run, folder = tmp_path / "run", tmp_path / "board"
    runs = runs_of(folder, run)
    runs.update()
    assert content(folder) == {}
    (run / "train").mkdir(parents=True)
    (run / "train/tfevents").write_text("1")
    (run / "config").write_text("x")
    os.mkfifo(run / "pipe")
    (run / "link").symlink_to(tmp_path / "run/config")
    runs.update()
    assert content(folder) == {"run/train/tfevents": "1", "run/config": "x"}
    with (run / "train/tfevents").open("a") as file:
        file.write("2")
    assert content(folder)["run/train/tfevents"] == "12"
    (run / "config").unlink()
    (run / "train").rename(tmp_path / "before")
    (run / "train").mkdir()
    (run / "train/tfevents").write_text("new")
    runs.update()
    assert content(folder) == {"run/train/tfevents": "new"}
    assert len(runs.files) == 1


@pytest.mark.parametrize("part", ["model", "model/sub", "model/a.txt"])
def test_runs_have_no_files_of_the_host(home: Home, tmp_path: Path, part: str) -> None:
    diversion = Diversion(home, tmp_path / "files", part)
    opened: list[Any] = []

    def use() -> object:
        runs = runs_of(tmp_path / f"board-{len(opened)}", diversion.model)
        opened.append(runs)
        runs.update()
        runs.update()
        return content(Path(runs.folder))

    assert content(diversion.model) == FILES
    assert diversion.at_each_step(use) > 1
    for runs in opened:
        for file in runs.files.values():
            os.close(file)


def test_launcher_needs_no_package(tmp_path: Path) -> None:
    names = runpy.run_path(launcher.__file__)
    (tmp_path / "run").mkdir()
    os.mkfifo(tmp_path / "run/pipe")
    with pytest.raises(OSError, match="not a regular file"):
        names["_open_file"](str(tmp_path / "run/pipe"))
