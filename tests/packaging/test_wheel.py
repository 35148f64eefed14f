"""The wheel alone, in a fresh environment, without Node, as an ordinary user."""

from __future__ import annotations

import gzip
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from ..conftest import ROOT, OrdinaryUser


def test_wheel_has_exactly_the_needed_files(built: Path) -> None:
    wheel = next(built.glob("*.whl"))
    names = set(zipfile.ZipFile(wheel).namelist())
    for name in (
        "jupyter_pai/_labextension/package.json",
        "jupyter_pai/_widget/loader.js",
        "jupyter_pai/_widget/view.js",
        "jupyter_pai/_widget/view.css",
        "jupyter_pai/_widget/form.js",
        "jupyter_pai/_widget/form.css",
        *(f"jupyter_pai/_tutorial/{path.name}" for path in (ROOT / "binder/tutorials").glob("*.ipynb")),
        "jupyter_pai/locale/zh_CN/LC_MESSAGES/jupyter_pai.mo",
        "jupyter_pai/locale/zh_CN/LC_MESSAGES/jupyter_pai.json",
        "jupyter_pai/py.typed",
    ):
        assert name in names, name
    assert not [name for name in names if name.startswith(("tests", "labextension", "binder", "docs"))]
    assert not [name for name in names if "__pycache__" in name or name.endswith("hatch_build.py")]


def test_wheel_is_built_from_the_sdist_without_node(built: Path, tmp_path: Path) -> None:
    """The fixture `built` makes the wheel without Node; its source must contain the built bundles."""
    with tarfile.open(next(built.glob("*.tar.gz"))) as sdist:
        names = {name.partition("/")[2] for name in sdist.getnames()}
    for name in (
        "jupyter_pai/_labextension/package.json",
        "jupyter_pai/_widget/view.js",
        "jupyter_pai/_widget/form.js",
        "labextension/src/index.ts",
        "package.json",
        "LICENSE",
    ):
        assert name in names, name


@pytest.mark.slow("environment")
def test_both_extensions_work_from_the_wheel(ordinary_user: OrdinaryUser) -> None:
    jupyter = ordinary_user.python.parent / "jupyter"
    server = ordinary_user.run(jupyter, "server", "extension", "list")
    assert "jupyter_pai 0.1.0 OK" in (server.stdout + server.stderr).replace("\x1b[32m", "").replace("\x1b[0m", "")
    lab = ordinary_user.run(jupyter, "labextension", "list")
    text = (lab.stdout + lab.stderr).replace("\x1b[32m", "").replace("\x1b[0m", "")
    assert "jupyter-pai v0.1.0 enabled OK" in text


def test_command_line_and_tutorials_are_installed(ordinary_user: OrdinaryUser) -> None:
    jupyter = ordinary_user.python.parent / "jupyter"
    done = ordinary_user.run(jupyter, "pai", "tutorial", "somewhere")
    assert done.returncode == 0, done.stderr
    for path in (ROOT / "binder/tutorials").glob("*.ipynb"):
        assert (ordinary_user.folder / "somewhere" / path.name).read_bytes() == path.read_bytes()
    doctor = ordinary_user.run(jupyter, "pai", "doctor")
    assert doctor.returncode == 0, doctor.stdout + doctor.stderr


def test_messages_are_chinese_from_the_wheel(ordinary_user: OrdinaryUser) -> None:
    done = ordinary_user.run(ordinary_user.python, "-m", "jupyter_pai", "show", "nowhere", env={"LANG": "zh_CN.UTF-8"})
    assert "没有作业" in done.stderr


@pytest.mark.slow("environment")
def test_mypy_sees_types_of_the_wheel(tmp_path: Path) -> None:
    code = "import jupyter_pai\nreveal_type(jupyter_pai.get_job('x').status)\n"
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file=", "--cache-dir", str(tmp_path), "--strict", "-c", code],
        capture_output=True,
        text=True,
        check=False,
    )
    assert 'Revealed type is "str"' in done.stdout, done.stdout


def test_little_javascript_is_loaded_before_the_panel_opens(built: Path) -> None:
    """JupyterLab loads the entry, the plugins and their style at first; views are loaded later."""
    wheel = zipfile.ZipFile(next(built.glob("*.whl")))
    static = {
        path.rsplit("/", 1)[1]: wheel.read(path)
        for path in wheel.namelist()
        if path.startswith("jupyter_pai/_labextension/static/")
    }
    entry = next(name for name in static if name.startswith("remoteEntry"))
    first = {entry}
    for module in ("extension", "style"):
        loads = re.search(rf'"\./{module}":\(\)=>(.*?)\.then\(', static[entry].decode())
        assert loads
        pieces = re.findall(r'\.e\("?(\w+)"?\)', loads[1])
        assert pieces
        first |= {name for name in static for piece in pieces if name.startswith(f"{piece}.")}
    assert len(first) >= 3
    size = sum(len(gzip.compress(static[name])) for name in first)
    assert size < 30_000, f"{size} bytes, gzipped, of {sorted(first)}"
