"""Environments for requirements, created inside the job."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from jupyter_pai.backends.runtime import launcher, uv_install

LAUNCHER = Path(launcher.__file__)


@pytest.mark.parametrize(
    ("text", "met"),
    [
        ("", True),
        ("# nothing\n\n", True),
        ("pydantic\n", True),
        ("pydantic>=2 # a comment\nrich\n", True),
        ('no-such-package; python_version < "3"\n', True),
        ("pydantic<1\n", False),
        ("no-such-package\n", False),
        ("-r more.txt\n", False),
        ("./wheel.whl\n", False),
        ("pydantic[email]\n", False),
        ("x @ https://example.com/x.whl\n", False),
    ],
)
def test_satisfied_requirements_are_detected(text: str, met: bool) -> None:
    assert launcher.satisfied(text) == met


def test_environment_key_depends_on_the_requirements() -> None:
    assert launcher.key("a") == launcher.key("a")
    assert launcher.key("a") != launcher.key("b")


@pytest.mark.parametrize(
    ("line", "path"),
    [
        ("./ours.whl", "ours.whl"),
        ("ours @ file://{folder}/ours.whl  # a comment", "ours.whl"),
        ("{folder}/ours.whl[extra]; python_version > '3'", "ours.whl"),
        (".", "src/ours/code.py"),
        ("./vendored", "vendored/code.py"),
        ("-e .", "pyproject.toml"),
        ("--editable=./vendored", "vendored/setup.py"),
        ("-r base.txt", "base.txt"),
        ("-rmore/base.txt", "more/base.txt"),
        ("--requirement more/nested.txt", "more/base.txt"),
        ("-c constraints.txt", "constraints.txt"),
        ("ours.whl", "ours.whl"),
        ("--find-links=./more", "more/ours.whl"),
    ],
)
def test_environment_key_depends_on_local_files(tmp_path: Path, line: str, path: str) -> None:
    (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / path).write_text("rich")
    (tmp_path / "more").mkdir(exist_ok=True)
    (tmp_path / "more/nested.txt").write_text("-r base.txt\n-r nested.txt\n")
    (tmp_path / "requirements.txt").write_text(f"rich\n{line.format(folder=tmp_path)}\n")
    keys = [key_of(tmp_path) for _ in range(2)]
    (tmp_path / path).write_text("rich<99")
    assert keys == [keys[0]] * 2 != [key_of(tmp_path)] * 2


def key_of(code: Path) -> str:
    return launcher.key(launcher.merged("", str(code)), folder=str(code))


def test_environment_key_depends_on_variables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "requirements.txt").write_text("rich==${RICH}\n")
    monkeypatch.setenv("RICH", "1")
    first = key_of(tmp_path)
    monkeypatch.setenv("RICH", "2")
    assert key_of(tmp_path) != first


def test_environment_key_is_the_same_for_other_code(tmp_path: Path) -> None:
    (tmp_path / "rich").mkdir()
    (tmp_path / "pyproject.toml").write_text("[project]")
    for line in ("-e .", "rich", "rich @ https://example.com/rich.whl", "-r missing.txt", "-f ."):
        (tmp_path / "rich/code.py").write_text("1")
        before = launcher.key(line, folder=str(tmp_path))
        (tmp_path / "rich/code.py").write_text("2")
        assert launcher.key(line, folder=str(tmp_path)) == before


def test_shims_run_the_given_interpreter(tmp_path: Path) -> None:
    odd = tmp_path / "it's here"
    odd.mkdir()
    python = odd / "my python"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    python.chmod(0o755)
    launcher.write_shims(str(tmp_path / "bin"), str(python), str(tmp_path / "packages"), "")
    for name in ("python", "python3"):
        command = [str(tmp_path / "bin" / name), "-c", "import sys; print(sys.argv[1:])", "a b", ""]
        assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "['a b', '']\n"


def test_search_path_begins_with_shims_and_interpreter() -> None:
    assert launcher.search_path("/shims", "/env/bin/python", "/usr/bin:/env/bin") == "/shims:/env/bin:/usr/bin"


def launch(tmp_path: Path, requirements: str, command: str, uv: str) -> subprocess.CompletedProcess[str]:
    (tmp_path / "requirements.txt").write_text(requirements)
    code = tmp_path / "code"
    code.mkdir(exist_ok=True)
    words = [
        f"code={code}",
        f"requirements={tmp_path}/requirements.txt",
        f"environments={tmp_path}/environments",
        f"shims={tmp_path}/bin",
        f"packages={tmp_path}/packages",
        f"uv={uv}",
    ]
    line = [sys.executable, "-I", str(LAUNCHER), *words, "--", "/bin/sh", "-c", command]
    return subprocess.run(line, capture_output=True, text=True, check=False)


def find_uv() -> str:
    from uv import find_uv_bin

    return str(find_uv_bin())


@pytest.mark.parametrize("with_uv", [True, False], ids=["uv", "pip"])
def test_environment_is_created_once_and_sees_parent_packages(tmp_path: Path, with_uv: bool) -> None:
    package = tmp_path / "tiny"
    package.mkdir()
    (package / "pyproject.toml").write_text(
        "[build-system]\nrequires = ['hatchling']\nbuild-backend = 'hatchling.build'\n"
        "[project]\nname = 'tiny-pai-test'\nversion = '1'\n"
        "[tool.hatch.build.targets.wheel]\npackages = ['tiny_pai_test']\n"
    )
    (package / "tiny_pai_test").mkdir()
    (package / "tiny_pai_test" / "__init__.py").write_text("value = 7\n")
    wheels = tmp_path / "wheels"
    subprocess.run(
        [sys.executable, "-m", "build", "-q", "--wheel", "--no-isolation", "-o", wheels, package], check=True
    )
    requirements = f"{next(wheels.iterdir())}\n"
    command = "python -c 'import sys, tiny_pai_test, pydantic; print(tiny_pai_test.value, sys.prefix)'"
    uv = find_uv() if with_uv else ""
    first = launch(tmp_path, requirements, command, uv)
    assert first.returncode == 0, first.stderr + first.stdout
    environment = tmp_path / "environments" / launcher.key(requirements, folder=f"{tmp_path}/code")
    assert first.stdout.splitlines()[-1] == f"7 {environment}"
    assert "installing" in first.stdout
    second = launch(tmp_path, requirements, command, uv)
    assert second.stdout == f"7 {environment}\n"


def test_failed_installation_ends_the_job(tmp_path: Path) -> None:
    done = launch(tmp_path, "/nowhere/to/be-found.whl\n", "echo never", find_uv())
    assert done.returncode == launcher.FAILED
    assert "installing the requirements failed" in done.stdout
    assert "never" not in done.stdout
    assert [path.name for path in (tmp_path / "environments").iterdir() if path.is_dir()] == []


def test_satisfied_requirements_create_no_environment(tmp_path: Path) -> None:
    done = launch(tmp_path, "pydantic\n", "python -c 'import sys; print(sys.executable)'", "")
    assert done.stdout == f"{sys.executable}\n"
    assert not os.path.exists(tmp_path / "environments")


def test_index_of_a_variable_precedes_that_of_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For uv, which does not read pip's configuration."""
    config = tmp_path / "pip.conf"
    config.write_text("[global]\nindex-url = https://file.example/simple\ntrusted-host = file.example\n")
    monkeypatch.setenv("PIP_CONFIG_FILE", str(config))
    monkeypatch.setenv("PIP_INDEX_URL", "https://variable.example/simple")
    settings = uv_install.pip_settings()
    assert settings["UV_DEFAULT_INDEX"] == "https://variable.example/simple"
    assert settings["UV_INSECURE_HOST"] == "file.example"
