"""Packages that a job installs by itself: never into the environment of the user's kernel."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import zipfile
from importlib.metadata import distributions
from pathlib import Path

import pytest

from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.client.job import JobHandle
from jupyter_pai.jobs.state_dir import Home
from jupyter_pai.source import script as scripts
from jupyter_pai.source.notebook import CodeCell

from ...conftest import submit
from .test_notebook_jobs import run, write

TINY = "tiny_pai_packages"


def make_wheel(folder: Path, version: str = "1", requires: str = "", more: str = "") -> Path:
    """Write a wheel with one module. Building one needs seconds."""
    path = folder / f"{TINY}-{version}-py3-none-any.whl"
    info = f"{TINY}-{version}.dist-info"
    files = {
        f"{TINY}.py": f"version = {version!r}\n{more}",
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {TINY}\nVersion: {version}\n{requires}",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": f"[console_scripts]\ntiny-pai = {TINY}:print\n",
    }
    with zipfile.ZipFile(path, "w") as wheel:
        for name, text in files.items():
            wheel.writestr(name, text)
        wheel.writestr(f"{info}/RECORD", "".join(f"{name},,\n" for name in files))
    return path


@pytest.fixture
def wheels(tmp_path: Path) -> Path:
    """A folder with two versions of a package, the second of which requires an installed one."""
    folder = tmp_path / "wheels"
    folder.mkdir()
    make_wheel(folder)
    make_wheel(folder, "2", "Requires-Dist: pydantic\n")
    return folder


@pytest.fixture(autouse=True)
def kernel_is_unchanged() -> object:
    """Compare the packages of this interpreter, which jobs share, before and after."""
    before = packages()
    yield
    assert packages() == before
    return None


def packages() -> list[str]:
    names = [one.name for one in distributions(path=[sysconfig.get_path("purelib")])]
    return sorted(names) + [name for name in os.listdir(sysconfig.get_path("purelib")) if TINY in name]


def check_end(handle: JobHandle, home: Home) -> None:
    assert handle.wait().status == "succeeded", handle.logs()
    assert not (home.job(handle.id).path / "packages").exists()


@pytest.mark.slow("cases")
@pytest.mark.parametrize("magic", ["!pip", "%pip", "!pip3"])
def test_notebook_installs_into_an_environment_of_the_job(
    engine: EmbeddedClient, home: Home, folder: Path, wheels: Path, monkeypatch: pytest.MonkeyPatch, magic: str
) -> None:
    options = f"--no-index --find-links {wheels}"
    write(
        folder / "a.ipynb",
        f"{magic} install {options} '{TINY}<2'",
        f"import {TINY}, sys\nprint('version', {TINY}.version)\n!python -c 'import {TINY}; print(\"child\")'",
        f"{magic} install --upgrade {options} {TINY}\n!python -c 'import {TINY}; print(\"now\", {TINY}.version)'",
        f"{magic} show {TINY}\n{magic} list\n{magic} freeze",
        f"{magic} uninstall -y pydantic\nimport pydantic",
    )
    handle = run(engine, folder, "a.ipynb", monkeypatch)
    check_end(handle, home)
    log = handle.logs().replace("\r", "")  # IPython runs `!` lines in a terminal.
    for words in ("version 1\n", "child\n", "now 2\n", f"Name: {TINY}", "pydantic", "for this job only"):
        assert words in log, words
    assert "outside environment" in log
    assert f"{TINY}==2" in log


@pytest.mark.slow("environment")
def test_script_of_a_notebook_and_command_install_into_it(
    engine: EmbeddedClient, home: Home, folder: Path, wheels: Path
) -> None:
    options = f"--no-index --find-links {wheels}"
    for magic in ("!pip", "%pip"):
        codes = (f'{magic} install {options} "{TINY}>=1"', f"import {TINY}\nprint({TINY}.version)")
        text = scripts.from_cells([CodeCell("", code) for code in codes]).text
        handle = submit(engine, entry_point="train.py", source={"files": {"train.py": text}})
        check_end(handle, home)
        assert handle.logs().endswith("2\n")
    command = f"pip list > before && pip install -q {options} {TINY} && python -c 'import {TINY}'"
    check_end(submit(engine, f"{command} && grep pydantic before"), home)


def test_environment_of_requirements_is_unchanged(
    engine: EmbeddedClient, home: Home, folder: Path, wheels: Path
) -> None:
    one = wheels / f"{TINY}-1-py3-none-any.whl"
    options = f"--no-index --find-links {wheels}"
    command = f"pip install {options} --upgrade {TINY} && python -c 'import {TINY}; print({TINY}.version)'"
    handle = submit(engine, command, requirements=[str(one)])
    check_end(handle, home)
    assert handle.logs().endswith("2\n")
    handle = submit(engine, f"python -c 'import {TINY}; print({TINY}.version)'", requirements=[str(one)])
    check_end(handle, home)
    assert handle.logs().endswith("1\n")


def test_changed_wheel_of_the_code_is_installed(engine: EmbeddedClient, home: Home, folder: Path) -> None:
    for text in ("one", "two"):
        wheel = make_wheel(folder, more=f"text = {text!r}\n")
        (folder / "requirements.txt").write_text(f"./{wheel.name}\n")
        handle = submit(engine, f"python -c 'import {TINY}; print({TINY}.text)'", folder=folder)
        check_end(handle, home)
        assert handle.logs().endswith(f"{text}\n")


@pytest.mark.slow("environment")
def test_conda_is_refused_with_the_fix(
    engine: EmbeddedClient, home: Home, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    conda = tools / "conda"
    conda.write_text(f'#!/bin/sh\necho conda "$@" | tee -a {tmp_path}/calls\n')
    conda.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:{os.environ['PATH']}")
    write(folder / "a.ipynb", "!conda list\n!conda install -y x", ("%conda install x", "raises-exception"))
    handle = run(engine, folder, "a.ipynb", monkeypatch)
    check_end(handle, home)
    assert handle.logs().count("`conda` would change the environment of your kernel. Pass --requirement instead.") == 2
    files = {"train.py": scripts.from_cells([CodeCell("", "%conda update x")]).text}
    assert "--requirement" in submit(engine, entry_point="train.py", source={"files": files}).wait().logs()
    assert (tmp_path / "calls").read_text() == "conda list\n"


@pytest.mark.slow("environment")
def test_other_interpreter_is_unchanged(
    engine: EmbeddedClient, home: Home, folder: Path, wheels: Path, tmp_path: Path
) -> None:
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "other"], check=True)
    python = tmp_path / "other/bin/python"
    install = f"pip install --no-index --find-links {wheels} '{TINY}<2'"
    handle = submit(engine, f"{install} && python -c 'import {TINY}, sys; print(sys.prefix)'", python=str(python))
    check_end(handle, home)
    assert handle.logs().endswith(f"{tmp_path}/other\n")
    done = subprocess.run([python, "-c", f"import {TINY}"], check=False, capture_output=True)
    assert done.returncode == 1
