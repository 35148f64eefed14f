"""Run All: an unchanged cell keeps its job, and a changed file of any kind makes a new one."""

from __future__ import annotations

from pathlib import Path

import pytest

from binder.session import NotebookSession

from ..server.real_server import RealServer
from .test_magics import job_of

PREPARE = "import pathlib, random\npathlib.Path('data.csv').write_text(str(random.random()))"
TRAIN = "%%pai_train --wait --as job\nprint('trained on', open('data.csv').read())"


def trained_on(notebook: NotebookSession) -> str:
    return notebook.run(TRAIN).text


def test_unseeded_data_above_the_cell_is_never_stale(server: RealServer) -> None:
    notebook = server.notebook()
    for _round in range(2):
        notebook.run(PREPARE)
        output = trained_on(notebook)
        assert f"trained on {(server.root / 'data.csv').read_text()}" in output
    assert "data.csv changed. To ignore a data file, exclude it: --exclude data.csv" in output
    job = job_of(notebook)
    assert f"attached to its job {job}" in trained_on(notebook)
    notebook.run("pathlib.Path('notes.bin').write_bytes(b'1')")
    excluded = TRAIN.replace("--wait", "--wait --exclude notes.bin")
    notebook.run(excluded)
    job = job_of(notebook)
    notebook.run("pathlib.Path('notes.bin').write_bytes(b'2')")
    assert f"attached to its job {job}" in notebook.run(excluded).text


@pytest.mark.slow("cases", first=1)
@pytest.mark.parametrize("name", ["config.json", "model.gin", "table.csv", "weights.bin", "sub/a.txt"])
def test_every_packed_file_counts(server: RealServer, name: str) -> None:
    path = server.root / name
    path.parent.mkdir(exist_ok=True)
    path.write_text("1")
    (server.root / "data.csv").write_text("x")
    notebook = server.notebook()
    notebook.run(TRAIN)
    first = job_of(notebook)
    path.write_text("2")
    notebook.run(TRAIN)
    second = job_of(notebook)
    assert second != first
    path.unlink()
    notebook.run(TRAIN)
    assert job_of(notebook) not in (first, second)


@pytest.mark.slow("kernel")
def test_files_of_jobs_and_the_notebook_do_not_count(server: RealServer, tmp_path: Path) -> None:
    (server.root / "data.csv").write_text("x")
    notebook = server.notebook()
    notebook.run("%%pai_train --wait --output-path results\nopen('/ml/output/model/a.bin', 'w').write('1')")
    notebook.run(TRAIN)
    first = job_of(notebook)
    (written,) = (server.root / "results").rglob("a.bin")
    written.write_text("another job")
    notebook.run("%%pai_train --wait --as made\nopen('/ml/output/model/b.bin', 'w').write('1')")
    notebook.run("made.download('model', 'models')")
    saved = server.root / "work.ipynb"
    saved.write_text(saved.read_text().replace('"cells": []', '"cells": [ ]'))
    assert f"attached to its job {first}" in trained_on(notebook)
    # A downloaded file that the user changes counts.
    (server.root / "models/b.bin").write_text("mine")
    notebook.run(TRAIN)
    assert job_of(notebook) != first
