"""Copies of the sample projects in `tests/projects`, with the line that trains each."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any, NamedTuple

FOLDER = Path(__file__).parents[1] / "projects"


class Project(NamedTuple):
    """A sample project: the target, the options of a line, the same as fields of a spec, and its results as channel
    and path."""

    name: str
    target: str
    line: str
    fields: dict[str, Any]
    results: tuple[tuple[str, str], ...]


PROJECTS = (
    Project(
        "script",
        "train.py",
        "--hp epochs=3",
        {"hyperparameters": {"epochs": 3}},
        (("files", "model.npz"), ("files", "results.json"), ("files", "losses.png")),
    ),
    Project(
        "figures",
        "explore.ipynb",
        "--hp steps=40",
        {"hyperparameters": {"steps": 40}},
        (("files", "walk.bin"), ("notebook", "explore.ipynb")),
    ),
    Project(
        "repository",
        "train.py",
        "--input data=data -- 'data_dir=${oc.env:PAI_INPUT_DATA}' epochs=3",
        {"inputs": {"data": "data"}, "args": ["data_dir=${oc.env:PAI_INPUT_DATA}", "epochs=3"]},
        (("files", "model.json"),),
    ),
)


def copy(project: Project, folder: Path) -> None:
    """Copy a project into a folder that exists, with the data that its repository ignores."""
    shutil.copytree(FOLDER / project.name, folder, dirs_exist_ok=True)
    if project.name == "repository":
        (folder / "data").mkdir()
        (folder / "data/digits.csv").write_text("value\n1\n2\n3\n")
        with (folder / "data/images.bin").open("wb") as file:
            file.truncate(500_000_000)
