"""Launch lines that a script certainly rejects are refused; none that runs is."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from jupyter_pai.jobs.spec import JobSpec, Source
from jupyter_pai.source.hyperparameters.discover import inspect

from .running_scripts import REFUSED, RUNNING, Launch


def spec(launch: Launch, folder: Path, **fields: str) -> JobSpec:
    (folder / "train.py").write_text(launch.text)
    return JobSpec(
        name="a",
        source=Source(folder=str(folder)),
        hyperparameters=launch.hyperparameters,
        args=launch.args,
        **({"entry_point": "train.py"} | fields),
    )


def run(request: JobSpec, folder: Path) -> subprocess.CompletedProcess[str]:
    line = request.command_line.replace("python", sys.executable, 1)
    return subprocess.run(line, shell=True, cwd=folder, check=False, capture_output=True, text=True)


def test_fifty_scripts_run() -> None:
    assert len(RUNNING) >= 50


@pytest.mark.parametrize("launch", RUNNING)
def test_script_that_runs_is_not_refused(launch: Launch, folder: Path) -> None:
    request = spec(launch, folder)
    result = run(request, folder)
    assert result.returncode == 0, result.stderr
    assert inspect(request).refused == {}


@pytest.mark.parametrize(("launch", "field"), REFUSED)
def test_script_that_exits_with_a_usage_error_is_refused(launch: Launch, field: str, folder: Path) -> None:
    request = spec(launch, folder)
    assert run(request, folder).returncode == 2
    assert [*inspect(request).refused] == [field]


def test_command_of_the_user_gets_notes_only(folder: Path) -> None:
    launch = Launch(REFUSED[1][0].text, {"lr": "fast"})
    inspection = inspect(spec(launch, folder, command="python train.py $PAI_USER_ARGS"))
    assert inspection.refused == {}
    assert inspection.notes == ("`lr`: `fast` is not a valid float (train.py, line 3).",)


def test_unusual_code_is_not_refused(folder: Path) -> None:
    nested = "x = " + "(" * 80 + "1" + ")" * 80
    launch = Launch(f"{REFUSED[0][0].text}\n{nested}\nprint(*[*[]], **{{}})\n(lambda: 0)()\n", {"lr": "1"})
    assert inspect(spec(launch, folder)).refused == {}
