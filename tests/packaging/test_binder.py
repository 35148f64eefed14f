"""The tutorial where Binder runs it: made as `binder/` says, as uid 1000, under a base URL, without user namespaces."""

from __future__ import annotations

import json
import re
import shutil
import socket
from collections.abc import Iterator
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import pytest

from binder.session import NotebookSession, Outputs

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


def told(notebook: NotebookSession, name: str) -> dict[str, Outputs]:
    """What each cell gives when all are run."""
    cells = json.loads((ROOT / "binder" / name).read_text("utf-8"))["cells"]
    code = {cell["id"]: "".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"}
    return {cell: notebook.run(source, cell) for cell, source in code.items()}


LANGUAGES = pytest.mark.parametrize("language", ["", ".zh-CN"])


@LANGUAGES
def test_the_tutorial_runs(binder_url: str, language: str) -> None:
    name = f"tutorial{language}.ipynb"
    notebook = NotebookSession(binder_url, TOKEN, name)
    outputs = told(notebook, name)
    assert "application/vnd.jupyter-pai.job+json" in outputs["submit"].data[0]
    assert "accuracy" in outputs["metrics"].data[0]["text/plain"]
    predicted, truth = outputs["model"].text.splitlines()
    same = sum(a == b for a, b in zip(predicted.split()[1:], truth.split()[2:], strict=True))
    assert same >= 8
    assert notebook.run("import os; print(job.status, os.getuid())").text == "succeeded 1000\n"
    notebook.close()


@LANGUAGES
def test_the_tutorial_of_a_folder_runs(binder_url: str, language: str) -> None:
    name = f"folder{language}.ipynb"
    notebook = NotebookSession(binder_url, TOKEN, name)
    outputs = told(notebook, name)
    assert "model.py" in outputs["dry"].text
    assert re.search(r"rate +float +0\.1", outputs["dry"].data[0]["text/plain"])
    assert re.search(r"hyperparameters\.rate +0\.02 +0\.5", outputs["diff"].data[0]["text/plain"])
    files, price = outputs["model"].text.splitlines()
    assert files == "['line.json']"
    assert 170 < int(price.split()[-1]) < 210
    packed = (
        "import tarfile; from jupyter_pai.home import Home; print(tarfile.open(Home().job(job.id).source).getnames())"
    )
    assert notebook.run(packed).text == "['.paiignore', 'model.py', 'train.py']\n"
    notebook.close()


@LANGUAGES
def test_the_tutorial_of_metrics_runs(binder_url: str, language: str) -> None:
    name = f"metrics{language}.ipynb"
    notebook = NotebookSession(binder_url, TOKEN, name)
    outputs = told(notebook, name)
    table = outputs["table"].data[0]["text/plain"]
    assert all(metric in table for metric in ("accuracy", "loss", "weights/largest"))
    slow, fast = (float(line.split()[-1]) for line in outputs["compare"].text.splitlines()[-2:])
    assert slow < fast
    assert "system/memory" in outputs["machine"].data[0]["text/plain"]
    assert "pai/tensorboard/" in outputs["board"].text + str(outputs["board"].data)
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
