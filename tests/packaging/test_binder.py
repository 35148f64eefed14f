"""The tutorial where Binder runs it: made as `binder/` says, as uid 1000, under a base URL, without user namespaces."""

from __future__ import annotations

import json
import shutil
import socket
from collections.abc import Iterator
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import pytest

from binder.session import NotebookSession

from ..confinement import no_namespaces
from ..conftest import ROOT, Stranger, until

TOKEN = "binder-token"
BASE_URL = "/user/jupyter-pai-x1y2/"


@pytest.fixture(scope="module")
def binder_url(stranger: Stranger) -> Iterator[str]:
    """A JupyterLab server as Binder starts it, on a copy of the folder."""
    work = stranger.folder / "work"
    shutil.copytree(ROOT / "binder", work, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.chown(work, 1000, 1000)
    for path in work.iterdir():
        shutil.chown(path, 1000, 1000)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    words = [
        "--no-browser",
        f"--ServerApp.port={port}",
        f"--ServerApp.base_url={BASE_URL}",
        f"--ServerApp.root_dir={work}",
    ]
    with (stranger.folder / "lab.log").open("w") as log:
        process = stranger.start(
            stranger.python, "-m", "jupyterlab", *words,
            env={"JUPYTER_TOKEN": TOKEN}, preexec_fn=no_namespaces, stdout=log, stderr=log,
        )  # fmt: skip
    url = f"http://127.0.0.1:{port}{BASE_URL}"

    def answers() -> bool:
        assert process.poll() is None, Path(stranger.folder / "lab.log").read_text()
        try:
            with urlopen(f"{url}api", timeout=5) as reply:
                return bool(reply.status == 200)
        except (URLError, OSError):
            return False

    until(answers)
    yield url
    process.terminate()
    process.wait()


@pytest.mark.parametrize("name", ["tutorial.ipynb", "tutorial.zh-CN.ipynb"])
def test_the_tutorial_runs(binder_url: str, name: str) -> None:
    notebook = NotebookSession(binder_url, TOKEN, name)
    outputs = {}
    for cell in json.loads((ROOT / "binder" / name).read_text("utf-8"))["cells"]:
        if cell["cell_type"] == "code":
            outputs[cell["id"]] = notebook.run("".join(cell["source"]), cell["id"])
    assert "application/vnd.jupyter-pai.job+json" in outputs["submit"].data[0]
    assert "accuracy" in outputs["metrics"].data[0]["text/plain"]
    predicted, truth = outputs["model"].text.splitlines()
    same = sum(a == b for a, b in zip(predicted.split()[1:], truth.split()[2:], strict=True))
    assert same >= 8
    assert notebook.run("import os; print(job.status, os.getuid())").text == "succeeded 1000\n"
    notebook.close()


def test_a_script_that_spells_ml_is_told_its_line(binder_url: str) -> None:
    notebook = NotebookSession(binder_url, TOKEN, "tutorial.ipynb")
    notebook.run("%load_ext jupyter_pai")
    notebook.run("%%pai_train --as job\nprint('first')\nopen('/ml/output/model/m', 'w')\n")
    said = notebook.run("print(job.wait().status, job.info['notes'], job.logs())").text
    assert "failed" in said
    assert "pai_cell.py, line 3, spells a path below /ml" in said
    assert "Operation not permitted" in said
    notebook.close()
