"""Project folders as they are: packages below `src/`, excluded data, and errors about both."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.core.errors import Unconfirmed

from ...conftest import script, submit

Cli = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def project(folder: Path) -> Path:
    """A repository with a package below `src/`, a script in a folder, and ignored data."""
    script(folder, "def load(path): return open(path).read()", "src/digits/__init__.py")
    script(folder, "import digits; print(digits.load('data/train.csv'), digits.__file__)", "scripts/train.py")
    script(folder, "1,2", "data/train.csv")
    script(folder, "data/\n", ".gitignore")
    script(folder, "[project]\nname = 'digits'\n", "pyproject.toml")
    return folder


def test_packages_of_the_folder_are_imported_from_it(engine: EmbeddedClient, project: Path) -> None:
    (project / ".gitignore").unlink()
    job = submit(engine, folder=project, entry_point="scripts/train.py").wait()
    assert job.status == "succeeded", job.logs()
    assert "/usercode/src/digits/__init__.py" in job.logs()


def test_packages_come_before_the_path_of_kernel_and_user(
    engine: EmbeddedClient, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script(tmp_path, "raise SystemExit('not the packed one')", "other/digits.py")
    script(tmp_path, "name = 'from the environment'", "other/extra.py")
    script(project, "import digits, extra; print(extra.name)", "scripts/train.py")
    (project / ".gitignore").unlink()
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "other"))
    assert "from the environment" in submit(engine, folder=project, entry_point="scripts/train.py").wait().logs()
    monkeypatch.delenv("PYTHONPATH")
    variables = {"PYTHONPATH": str(tmp_path / "other")}
    job = submit(engine, folder=project, entry_point="scripts/train.py", environment=variables).wait()
    assert "from the environment" in job.logs()


def test_own_packages_are_imported_by_another_interpreter(engine: EmbeddedClient, project: Path) -> None:
    (project / ".gitignore").unlink()
    base = str(Path(sys.base_prefix) / "bin/python3")
    job = submit(engine, folder=project, entry_point="scripts/train.py", python=base).wait()
    assert job.status == "succeeded", job.logs()


def test_excluded_path_in_the_code_is_asked_about_before_a_submit(engine: EmbeddedClient, project: Path) -> None:
    with pytest.raises(Unconfirmed, match=r"names `data/train.csv` \(scripts/train.py, line 1\)"):
        submit(engine, folder=project, entry_point="scripts/train.py")
    assert engine.call("list_jobs")["total"] == 0


def test_missing_file_names_the_rule_and_the_fixes(cli: Cli, project: Path) -> None:
    result = cli("submit", "scripts/train.py", "--source", ".", "--wait", "--yes")
    assert "note: Excluded: data/ (3 B, .gitignore)" in result.stdout
    assert "File `data/train.csv` not found: it was excluded (.gitignore: data/)." in result.stdout
    assert f"add the line `!data/` to {project}/.paiignore" in result.stdout
    assert f"--input data={project}/data" in result.stdout
    script(project, "!data/\n", ".paiignore")
    assert cli("submit", "scripts/train.py", "--source", ".", "--wait").returncode == 0


@pytest.mark.parametrize(
    ("module", "code", "reason", "fix"),
    [
        ("lib/tools.py", "import tools", "is in the job's code (`lib/tools`)", "--env PYTHONPATH=lib"),
        ("lib/tools/io.py", "import tools.io", "is in the job's code (`lib/tools`)", "--env PYTHONPATH=lib"),
        ("tools.py", "import tools", "is in the job's code (`tools`)", "--env PYTHONPATH=."),
        ("tools/a.py", "import sys; sys.path.append('.'); import tools.b", "has `tools` without it", "spelling"),
        ("src/hidden/a.py", "import hidden.a", "was excluded (.gitignore: hidden/)", "`!src/hidden/`"),
    ],
)
def test_missing_module_of_the_own_code_is_not_to_be_installed(
    engine: EmbeddedClient, folder: Path, module: str, code: str, reason: str, fix: str
) -> None:
    script(folder, "", module)
    script(folder, "hidden/", ".gitignore")
    script(folder, "", "src/other.py")
    script(folder, code, "scripts/train.py")
    job = submit(engine, folder=folder, entry_point="scripts/train.py").wait()
    assert reason in job.info["reason"]
    assert fix in job.info["fix"]
    assert "requirement" not in job.info["fix"]


def test_rerun_keeps_the_packages_on_the_path(engine: EmbeddedClient, project: Path) -> None:
    (project / ".gitignore").unlink()
    again = submit(engine, folder=project, entry_point="scripts/train.py").wait().rerun().wait()
    assert again.status == "succeeded", again.logs()


def test_script_runs_where_its_paths_start(engine: EmbeddedClient, folder: Path) -> None:
    script(folder, "import os; print(open('../data/x.csv').read(), os.getcwd())", "scripts/train.py")
    script(folder, "rows", "data/x.csv")
    job = submit(engine, folder=folder, entry_point="scripts/train.py").wait()
    again = job.rerun().wait()
    assert {one.logs().split()[0] for one in (job, again)} == {"rows"}
    assert {Path(one.logs().split()[1]).name for one in (job, again)} == {"scripts"}
    (folder / "data/x.csv").unlink()
    assert "No such file" in again.rerun(source={"folder": str(folder)}).wait().logs()


def test_missing_module_is_named_from_the_folder_of_the_script(engine: EmbeddedClient, folder: Path) -> None:
    script(folder, "open('../data/x.csv'); import tools", "scripts/train.py")
    script(folder, "rows", "data/x.csv")
    script(folder, "", "lib/tools.py")
    job = submit(engine, folder=folder, entry_point="scripts/train.py").wait()
    assert job.info["fix"].endswith("--env PYTHONPATH=../lib")
    assert job.rerun(environment={"PYTHONPATH": "../lib"}).wait().status == "succeeded"


def test_excluded_path_is_found_from_the_folder_of_the_script(engine: EmbeddedClient, folder: Path) -> None:
    script(folder, "open('../data/x.csv')", "scripts/train.py")
    script(folder, "rows", "data/x.csv")
    script(folder, "data/", ".gitignore")
    with pytest.raises(Unconfirmed, match=r"names `../data/x.csv` .* which is excluded"):
        submit(engine, folder=folder, entry_point="scripts/train.py")
    inputs = {"data": str(script(folder.parent, "", "other/y.csv"))}
    job = submit(engine, folder=folder, entry_point="scripts/train.py", inputs=inputs, confirmed=True).wait()
    assert "it was excluded (.gitignore: data/)" in job.info["reason"]
    assert job.info["fix"].endswith(f"To pass it as an input: --input data_2={folder}/data.")


def test_code_is_parsed_once_by_a_preview_and_by_a_submit(
    engine: EmbeddedClient, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = "open('../data/x.csv')"
    script(folder, code, "scripts/train.py")
    script(folder, "rows", "data/x.csv")
    script(folder, "data/", ".gitignore")
    parsed, parse = [], ast.parse

    def counting(text: Any, *args: Any, **options: Any) -> Any:
        parsed.append(text)
        return parse(text, *args, **options)

    monkeypatch.setattr(ast, "parse", counting)
    source = {"folder": str(folder)}
    preview = engine.preview({"name": "a", "entry_point": "scripts/train.py", "source": source})
    assert (preview["spec"]["script_folder"], parsed.count(code)) == ("scripts", 1)
    with pytest.raises(Unconfirmed):
        submit(engine, folder=folder, entry_point="scripts/train.py")
    assert parsed.count(code) == 2


def test_path_outside_of_the_folder_is_asked_about_and_named_as_the_reason(
    engine: EmbeddedClient, folder: Path
) -> None:
    script(folder, "open('../data/x.csv')", "scripts/train.py")
    script(folder, "rows", "data/x.csv")
    with pytest.raises(Unconfirmed, match=r"names `../data/x.csv` .* outside of the packed folder .*/scripts\."):
        submit(engine, folder=folder / "scripts", entry_point="train.py")
    assert engine.call("list_jobs")["total"] == 0
    job = submit(engine, folder=folder / "scripts", entry_point="train.py", confirmed=True).wait()
    assert "it is outside of the packed folder" in job.info["reason"]
    assert job.info["fix"].startswith(
        f"To pack it too: --source {folder}. To pass it as an input: --input x={folder}/data"
    )
    (folder / "data/x.csv").unlink()
    gone = submit(engine, folder=folder / "scripts", entry_point="train.py").wait()
    assert "--source FOLDER" in gone.info["fix"]


def test_files_beside_the_code_are_announced(engine: EmbeddedClient, folder: Path) -> None:
    script(folder, "import os; os.mkdir('../results'); open('../results/m', 'w').write('1')")
    job = submit(engine, folder=folder, entry_point="train.py").wait()
    assert any("It becomes `results/m` in the channel `files`" in note for note in job.info["notes"])
    assert job.read_file("results/m", "files") == b"1"
