"""The tutorials as on Binder: installed as in `binder/`, as uid 1000, under a base URL, without user namespaces."""

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

from binder.session import NotebookSession

from ..conftest import ROOT, OrdinaryUser, until
from ..support.confinement import no_namespaces

TOKEN = "binder-token"
BASE_URL = "/user/jupyter-pai-x1y2/"


@pytest.fixture(scope="module")
def binder_url(ordinary_user: OrdinaryUser) -> Iterator[str]:
    """A JupyterLab server as Binder starts it, on a copy of the folder."""
    work = ordinary_user.folder / "work"
    shutil.copytree(ROOT / "binder/tutorials", work)
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
    with (ordinary_user.folder / "lab.log").open("w") as log:
        process = ordinary_user.start(
            ordinary_user.python, "-m", "jupyterlab", *words,
            env={"JUPYTER_TOKEN": TOKEN}, preexec_fn=no_namespaces, stdout=log, stderr=log,
        )  # fmt: skip
    url = f"http://127.0.0.1:{port}{BASE_URL}"

    def answers() -> bool:
        assert process.poll() is None, Path(ordinary_user.folder / "lab.log").read_text()
        try:
            with urlopen(f"{url}api", timeout=5) as reply:
                return bool(reply.status == 200)
        except (URLError, OSError):
            return False

    until(answers)
    yield url
    process.terminate()
    process.wait()


class Tutorial:
    """A completed tutorial: the outputs of its cells, and its kernel."""

    def __init__(self, url: str, name: str) -> None:
        cells = json.loads((ROOT / "binder/tutorials" / name).read_text("utf-8"))["cells"]
        self.kernel = NotebookSession(url, TOKEN, name)
        code = {cell["id"]: "".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"}
        self.outputs = {cell: self.kernel.run(source, cell) for cell, source in code.items()}

    def text(self, cell: str) -> str:
        """Return the text that a cell printed."""
        return self.outputs[cell].text

    def shown(self, cell: str) -> str:
        """Return the text that a cell displayed."""
        return str(self.outputs[cell].data[0]["text/plain"])

    def says(self, code: str) -> str:
        """Run another cell and return its output."""
        return self.kernel.run(code).text


def first_job(tutorial: Tutorial) -> None:
    assert "application/vnd.jupyter-pai.job+json" in tutorial.outputs["submit"].data[0]
    assert "accuracy" in tutorial.shown("metrics")
    predicted, truth = tutorial.text("model").splitlines()
    same = sum(a == b for a, b in zip(predicted.split()[1:], truth.split()[2:], strict=True))
    assert same >= 8
    assert tutorial.says("import os; print(job.status, os.getuid())") == "succeeded 1000\n"


def folder(tutorial: Tutorial) -> None:
    assert "model.py" in tutorial.text("dry")
    assert re.search(r"rate +float +0\.1", tutorial.shown("dry"))
    assert re.search(r"hyperparameters\.rate +0\.02 +0\.5", tutorial.shown("diff"))
    files, price = tutorial.text("model").splitlines()
    assert files == "['line.json']"
    assert 170 < int(price.split()[-1]) < 210
    packed = (
        "import tarfile; from jupyter_pai.jobs.state_dir import Home; "
        "print(tarfile.open(Home().job(job.id).source).getnames())"
    )
    assert tutorial.says(packed) == "['.paiignore', 'model.py', 'train.py']\n"


def metrics(tutorial: Tutorial) -> None:
    assert all(metric in tutorial.shown("table") for metric in ("accuracy", "loss", "weights/largest"))
    slow, fast = (float(line.split()[-1]) for line in tutorial.text("compare").splitlines()[-2:])
    assert slow < fast
    assert "system/memory" in tutorial.shown("machine")
    assert "pai/tensorboard/" in tutorial.text("board") + str(tutorial.outputs["board"].data)


def notebook(tutorial: Tutorial) -> None:
    assert re.search(r"neighbours +int +3 ", tutorial.shown("dry"))
    executed = tutorial.text("executed").splitlines()
    assert executed[0] == "digits.html digits.ipynb"
    assert "In:  neighbours = 1" in executed
    assert re.fullmatch(r"1 neighbours: 0\.9\d+", executed[-1])
    one, other = tutorial.text("compare").splitlines()
    assert one.startswith("{'neighbours': '1'} 0.9")
    assert other.startswith("{'neighbours': '9', 'test_share': '0.5'} 0.9")
    assert tutorial.says("print(nbformat.read('digits.ipynb', 4).cells[1].outputs)") == "[]\n"


def pai(tutorial: Tutorial) -> None:
    assert "step 100 loss=0.0" in tutorial.text("fit")
    place, line = tutorial.text("model").splitlines()
    assert place.endswith("/output/model/")
    assert set(json.loads(line)) == {"slope", "base"}
    assert "loss" in tutorial.shown("metrics")
    assert '"slope": 2.' in tutorial.text("again")


def cluster(tutorial: Tutorial) -> None:
    status, files = tutorial.text("results").splitlines()
    assert status.startswith("succeeded {'test-accuracy': '0.")
    assert files == "['model.pkl']"
    assert tutorial.text("compare").count("test-accuracy") == 2


def tione(tutorial: Tutorial) -> None:
    status, *nodes = tutorial.text("trial-log").splitlines()
    assert (status, nodes[1]) == ("succeeded", "node 0 of 1: 1437 images")
    status, *nodes = tutorial.text("logs").splitlines()
    assert (status, nodes[0], nodes[2]) == ("succeeded", "node 0 of 2: 719 images", "node 1 of 2: 718 images")
    assert nodes[1].rpartition(" ")[2] == nodes[3].rpartition(" ")[2]
    assert "acc1" in tutorial.shown("metrics")
    assert re.fullmatch(r"\(64, 10\) right: 9\d%\n", tutorial.text("model"))


def workflow(tutorial: Tutorial) -> None:
    assert "Step `publish` gathered. 3 steps: prepare, train, publish" in tutorial.text("publish")
    assert "train.accuracy > 0.9" in tutorial.shown("check")
    statuses, decided, log = tutorial.text("results").splitlines()[:3]
    assert "'publish': 'succeeded', 'improve': 'skipped'" in statuses
    assert re.search(r"train\.accuracy <= 0\.9 \{'train\.accuracy': '0\.9\d+'\}", decided)
    assert log == "published a network with 64 inputs"
    assert "'publish': 'skipped', 'improve': 'succeeded'" in tutorial.text("compare")
    assert re.search(r"True 0\.\d\d is not enough", tutorial.text("compare"))


CHECKS = {
    "tutorial": first_job,
    "folder": folder,
    "metrics": metrics,
    "notebook": notebook,
    "cluster": cluster,
    "pai": pai,
    "tione": tione,
    "workflow": workflow,
}


@pytest.mark.slow("examples", first=1)
@pytest.mark.parametrize("language", ["", ".zh-CN"])
@pytest.mark.parametrize("name", CHECKS)
def test_tutorial_runs(binder_url: str, name: str, language: str) -> None:
    tutorial = Tutorial(binder_url, f"{name}{language}.ipynb")
    CHECKS[name](tutorial)
    tutorial.kernel.close()


def test_every_tutorial_is_tested() -> None:
    there = {path.name for path in (ROOT / "binder/tutorials").iterdir()}
    assert there == {f"{name}{language}.ipynb" for name in CHECKS for language in ("", ".zh-CN")}


@pytest.mark.slow("environment")
def test_failed_script_names_its_line_with_an_ml_path(binder_url: str) -> None:
    notebook = NotebookSession(binder_url, TOKEN, "tutorial.ipynb")
    notebook.run("%load_ext jupyter_pai")
    notebook.run("%%pai_train --as job\nprint('first')\nopen('/ml/output/model/m', 'w')\n")
    output = notebook.run("print(job.wait().status, job.info['notes'], job.logs())").text
    assert "failed" in output
    assert "pai_cell.py, line 3, uses a path below /ml" in output
    assert "Operation not permitted" in output
    notebook.close()
