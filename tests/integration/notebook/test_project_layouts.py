"""Projects with paths and packages beside their scripts and notebooks are trained from a cell, the command line, Python
and by the requests of the panel. Each way packs the same folder."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import nbformat
import pytest

from jupyter_pai.jobs.state_dir import Home

from ..server.real_server import RealServer

LOAD = """
from pathlib import Path
def load(folder):
    return [int(one) for one in Path(folder, "x.csv").read_text().split()]
"""
PACKAGE = """
import argparse, os
import digits
import yaml
p = argparse.ArgumentParser()
p.add_argument("--data", default=os.environ.get("PAI_INPUT_DATA", "data"))
p.add_argument("--steps", type=int, default=3)
args = p.parse_args()
conf = yaml.safe_load(open("conf/train.yaml"))
os.makedirs("runs", exist_ok=True)
open("runs/model.txt", "w").write(str(sum(digits.load(args.data)) * conf["lr"] * args.steps))
"""
NOTEBOOK = """
import sys
sys.path.append("..")
import json, os
import helpers
from tools import scale
rows = [int(one) for one in open("../data/x.csv").read().split()]
os.makedirs("../results", exist_ok=True)
json.dump(helpers.fit(rows) * scale, open("../results/fit.json", "w"))
"""
SCRIPT = """
import os, sys
from pathlib import Path
HERE = Path(__file__).resolve().parent
rows = [int(one) for one in open("../data/x.csv").read().split()]
os.makedirs("../results", exist_ok=True)
open("../results/model.txt", "w").write(str(sum(rows)))
(HERE.parent / "plots").mkdir(exist_ok=True)
(HERE.parent / "plots" / "a.png").write_bytes(b"png")
"""


class Project(NamedTuple):
    """A project: its files, the target, options as words and as fields, the results in the channel `files`, and whether
    the root is offered by a question."""

    name: str
    files: dict[str, str]
    target: str
    line: str
    fields: dict[str, Any]
    results: dict[str, str]
    is_asked: bool = False


PROJECTS = (
    Project(
        "package",
        {
            "pyproject.toml": "[project]\nname = 'digits'\n",
            ".gitignore": "data/\n",
            "src/digits/__init__.py": LOAD,
            "conf/train.yaml": "lr: 2\n",
            "data/x.csv": "1 2 3",
            "scripts/train.py": PACKAGE,
        },
        "scripts/train.py",
        "--input data=data --hp steps=2",
        {"inputs": {"data": "data"}, "hyperparameters": {"steps": 2}},
        {"runs/model.txt": "24"},
    ),
    Project(
        "notebook",
        {
            ".git/HEAD": "ref: refs/heads/main\n",
            "tools.py": "scale = 10\n",
            "data/x.csv": "1 2 3",
            "notebooks/helpers.py": "def fit(rows):\n    return sum(rows)\n",
        },
        "notebooks/explore.ipynb",
        "",
        {},
        {"results/fit.json": "60"},
        is_asked=True,
    ),
    Project(
        "scripts",
        {".git/HEAD": "ref: refs/heads/main\n", "data/x.csv": "1 2 3", "scripts/train.py": SCRIPT},
        "scripts/train.py",
        "",
        {},
        {"results/model.txt": "6", "plots/a.png": "png"},
    ),
)
NAMED = pytest.mark.parametrize("project", PROJECTS, ids=[project.name for project in PROJECTS])
SOURCE = re.compile(r"--source (\S+?)\.? ")


def write(project: Project, folder: Path) -> None:
    for name, text in project.files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    if project.is_asked:
        cell = nbformat.v4.new_code_cell(NOTEBOOK)
        nbformat.write(nbformat.v4.new_notebook(cells=[cell]), folder / project.target)


def check(project: Project, files: dict[str, str]) -> None:
    """Check the files of a job by path in the channel `files`."""
    assert {name: files.get(name) for name in project.results} == project.results


def kept(job: dict[str, Any]) -> dict[str, str]:
    channel = Path(job["outputs"]["files"].removeprefix("file://"))
    return {str(path.relative_to(channel)): path.read_text() for path in channel.rglob("*") if path.is_file()}


@pytest.mark.slow("cases", first=1)
@NAMED
def test_layout_is_trained_from_the_command_line(
    cli: Callable[..., subprocess.CompletedProcess[str]], folder: Path, project: Project
) -> None:
    write(project, folder)
    place = (folder / project.target).parent
    options = shlex.split(project.line.replace("=data", "=../data"))
    words = ["submit", Path(project.target).name, "--json", "--wait", *options]
    done = cli(*words, cwd=place)
    if project.is_asked:
        (source,) = {*SOURCE.findall(done.stderr)}
        assert (done.returncode, source) == (2, str(folder))
        done = cli(*words, "--source", source, cwd=place)
    assert done.returncode == 0, done.stderr + done.stdout
    job = json.loads(done.stdout)
    assert job["status"] == "succeeded"
    check(project, kept(job))


@pytest.mark.slow("cases", first=1)
@NAMED
def test_layout_is_trained_from_python(home: Home, folder: Path, project: Project) -> None:
    write(project, folder)
    code = f"""
import re, jupyter_pai
from jupyter_pai.core.errors import Unconfirmed
fields = {project.fields!r}
try:
    job = jupyter_pai.submit({project.target!r}, **fields)
except Unconfirmed as error:
    source = re.search('source="([^"]+)"', str(error))[1]
    print("asked", source == {str(folder)!r})
    job = jupyter_pai.submit({project.target!r}, source=source, **fields)
assert job.wait().status == "succeeded", job.logs()
print([job.read_file(path, "files").decode() for path in {[*project.results]!r}])
"""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, env=os.environ, check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    *lines, values = done.stdout.splitlines()
    assert ("asked True" in lines, values) == (project.is_asked, str([*project.results.values()]))


@pytest.mark.slow("cases", first=1)
@NAMED
def test_layout_is_trained_from_a_cell(server: RealServer, project: Project) -> None:
    write(project, server.root)
    (server.root / "notebooks").mkdir(exist_ok=True)
    notebook = server.notebook("notebooks/work.ipynb")
    line = project.line.replace("=data", "=../data")
    cell = f"%pai submit ../{project.target} {line} --as job --wait"
    if project.is_asked:
        cell = f"%%pai_train --as job --wait\n{NOTEBOOK}"
        error = notebook.run(cell, check=False).error
        (source,) = {*SOURCE.findall(error.replace("\n", " "))}
        assert source == str(server.root)
        cell = cell.replace("--as job", f"--as job --source {source}", 1)
    notebook.run(cell)
    code = f"print([job.read_file(path, 'files').decode() for path in {[*project.results]!r}])"
    assert notebook.run(code).text.strip() == str([*project.results.values()])


@pytest.mark.slow("cases", first=1)
@NAMED
def test_layout_is_trained_by_the_requests_of_the_panel(server: RealServer, project: Project) -> None:
    write(project, server.root)
    form = server.rest("GET", f"/pai/api/v1/form?path={project.target}")
    request = form["request"]
    for field, value in project.fields.items():
        request["spec"][field] = {name: str(text) for name, text in value.items()}
    preview = server.rest("POST", "/pai/api/v1/preview", request)
    assert bool(preview["questions"]) == project.is_asked
    if project.is_asked:
        # The action of the panel for the option.
        (source,) = {*SOURCE.findall(" ".join(preview["questions"]))}
        request["spec"] |= {"source": {"folder": source}, "entry_point": project.target}
        assert server.rest("POST", "/pai/api/v1/preview", request)["questions"] == []
    assert request["spec"]["source"]["folder"] == str(server.root)
    job = server.rest("POST", "/pai/api/v1/jobs", request)["job"]
    job = server.rest("GET", f"/pai/api/v1/jobs/{job['id']}?wait=30")
    assert job["status"] == "succeeded", job["reason"]
    check(project, kept(job))
