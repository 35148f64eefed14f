"""Sample projects are trained on the first try: from a cell, the command line and Python. The panel: `tests/e2e`."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from jupyter_pai.jobs.state_dir import Home

from ...support.projects import PROJECTS, Project, copy
from ..server.real_server import RealServer

NAMED = pytest.mark.parametrize("project", PROJECTS, ids=[project.name for project in PROJECTS])
CHECK = "assert job.wait().status == 'succeeded', job.logs()\n" + (
    "for channel, path in {results!r}:\n    assert job.read_file(path, channel), path\nprint('in hand')"
)


@pytest.mark.slow("cases", first=1)
@NAMED
def test_project_is_trained_from_a_cell(server: RealServer, project: Project) -> None:
    copy(project, server.root)
    notebook = server.notebook()
    notebook.run(f"job = %pai submit {project.target} {project.line}")
    assert "in hand" in notebook.run(CHECK.format(results=project.results)).text
    assert server.rest("GET", "/pai/api/v1/jobs")["total"] == 1


@pytest.mark.slow("cases", first=1)
@NAMED
def test_project_is_trained_from_the_command_line(
    cli: Callable[..., subprocess.CompletedProcess[str]], folder: Path, project: Project
) -> None:
    copy(project, folder)
    done = cli("submit", project.target, "--wait", *shlex.split(project.line))
    assert done.returncode == 0, done.stderr + done.stdout
    listed = cli("outputs").stdout
    for _channel, path in project.results:
        assert path in listed


@pytest.mark.slow("cases")
@NAMED
def test_project_is_trained_from_python(home: Home, folder: Path, project: Project) -> None:
    copy(project, folder)
    fields = {"source": ".", **project.fields}
    code = f"import jupyter_pai\njob = jupyter_pai.submit({project.target!r}, **{fields!r})\n"
    done = subprocess.run(
        [sys.executable, "-c", code + CHECK.format(results=project.results)],
        cwd=folder, env=os.environ, check=False, capture_output=True, text=True,
    )  # fmt: skip
    assert "in hand" in done.stdout, done.stderr


@pytest.mark.slow("kernel")
def test_cell_of_the_project_is_trained(server: RealServer) -> None:
    (project,) = [one for one in PROJECTS if one.name == "repository"]
    copy(project, server.root)
    notebook = server.notebook()
    cell = "import os\nfrom digits import load\nprint(len(load(os.environ['PAI_INPUT_DATA'])), 'rows')"
    assert "3 rows" in notebook.run(f"%%pai_train --input data=data --wait\n{cell}").text
