"""Figures that a job shows are kept in its output channel `figures`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.client.job import JobHandle
from jupyter_pai.source import script as scripts
from jupyter_pai.source.notebook import CodeCell

from ...conftest import submit, until
from .test_notebook_jobs import run, write

PLOTS = """
import os, sys, time
import matplotlib.pyplot as plt

plt.plot([1, 2])
plt.show()
fig, (left, right) = plt.subplots(2)
fig.show()
plt.figure()
plt.show(block=False)
print(plt.get_backend(), plt.get_fignums(), flush=True)
while not os.path.exists(sys.argv[1]):
    time.sleep(0.01)
"""


def figures(job: JobHandle) -> list[str]:
    return [file["path"] for file in job.files("figures") if file["bytes"] > 1000]


def test_shown_figures_are_kept_while_the_job_runs(engine: EmbeddedClient, folder: Path, tmp_path: Path) -> None:
    (folder / "train.py").write_text(PLOTS)
    job = submit(engine, f"python train.py {tmp_path}/go", folder)
    until(lambda: "module://jupyter_pai_figures []" in job.logs())
    assert figures(job) == ["figure-1.png", "figure-2.png", "figure-3.png"]
    (tmp_path / "go").touch()
    assert job.wait().status == "succeeded"
    assert job.read_file("figure-1.png", "figures").startswith(b"\x89PNG")


@pytest.mark.slow("kernel")
def test_figures_of_notebooks_are_kept(engine: EmbeddedClient, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A notebook and the script of it keep the same figures: that of each cell, shown or not."""
    cells = "import matplotlib.pyplot as plt\nplt.plot([1, 2]);", "plt.plot([3, 1])\nplt.show()\nplt.plot([2]);", "1"
    write(folder / "a.ipynb", *cells)
    jobs = [run(engine, folder, "a.ipynb", monkeypatch)]
    text = scripts.from_cells([CodeCell("", code) for code in cells]).text
    jobs.append(
        submit(engine, folder=folder, entry_point="a.py", source={"folder": str(folder), "files": {"a.py": text}})
    )
    for job in jobs:
        assert job.wait().status == "succeeded", job.logs()
        assert figures(job) == ["figure-1.png", "figure-2.png", "figure-3.png"]
        assert job.read_file("figure-3.png", "figures").startswith(b"\x89PNG")


@pytest.mark.slow("cases", first=1)
@pytest.mark.parametrize("variables", [{"MPLBACKEND": "agg"}, {"MPLBACKEND": ""}])
def test_own_backend_is_used(engine: EmbeddedClient, folder: Path, variables: dict[str, str]) -> None:
    (folder / "train.py").write_text("import matplotlib.pyplot as plt; plt.figure(); print(plt.get_backend().lower())")
    job = submit(engine, "python train.py", folder, environment=variables).wait()
    assert job.logs() == "agg\n"
    assert figures(job) == []


def test_exported_backend_is_used(engine: EmbeddedClient, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MPLBACKEND", "svg")
    assert submit(engine, "echo $MPLBACKEND", folder, source={"files": {"a": ""}}).wait().logs() == "svg\n"


def test_other_interpreters_find_the_backend(engine: EmbeddedClient, folder: Path, tmp_path: Path) -> None:
    """A command may start any interpreter, one without this package too."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv"], check=True)
    command = f"{tmp_path}/venv/bin/python -c 'import jupyter_pai_figures'"
    assert "No module named 'matplotlib'" in submit(engine, command, folder, source={"files": {"a": ""}}).wait().logs()


@pytest.mark.slow("processes")
def test_notebook_shows_its_figures_itself(engine: EmbeddedClient, folder: Path) -> None:
    import nbformat

    cell = nbformat.v4.new_code_cell("import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()\nplt.get_backend()")
    nbformat.write(nbformat.v4.new_notebook(cells=[cell]), folder / "plots.ipynb")
    job = submit(engine, "", folder, entry_point="plots.ipynb").wait()
    assert job.status == "succeeded", job.logs()
    done = nbformat.reads(job.read_file("plots.ipynb", "notebook").decode(), as_version=4)
    assert any("image/png" in output.get("data", {}) for output in done.cells[0].outputs)
