"""Missing files that the user's machine has: the reason and the fixes name them, whatever program reports the error."""

from __future__ import annotations

from pathlib import Path

import pytest

from jupyter_pai.core.i18n import Message
from jupyter_pai.engine.failure.diagnose import diagnose
from jupyter_pai.jobs.spec import JobSpec, Source
from jupyter_pai.jobs.state_dir import ExcludedPath, JobFolder, Packing

from ....conftest import script

PYTHON = "FileNotFoundError: [Errno 2] No such file or directory: '{path}'"
PROGRAMS = [PYTHON, "cat: {path}: No such file or directory", "a.sh: 1: cannot open {path}: No such file"]


@pytest.fixture
def failed(folder: Path, tmp_path: Path) -> JobFolder:
    """A job that runs `scripts/count.py` of a project with a folder `data` beside it, and one in it that is excluded.
    It has the file `words.txt` as an input."""
    for path in ("data/x.csv", "data/words.txt", "project/scripts/count.py", "project/raw/y.csv"):
        script(folder, "", path)
    source = Source(folder=str(folder / "project"))
    inputs = {"words": f"{folder}/data/words.txt"}
    spec = JobSpec(name="a", entry_point="scripts/count.py", source=source, inputs=inputs)
    job = JobFolder(tmp_path / "job")
    job.path.mkdir()
    job.spec.write_text(spec.model_dump_json(), "utf-8")
    Packing((ExcludedPath("raw/", "--exclude: raw", "--exclude"),)).write(job)
    return job


@pytest.mark.parametrize("error", PROGRAMS)
@pytest.mark.parametrize("path", ["../data/x.csv", "../../data/x.csv"])
def test_file_beside_the_project_is_named_from_each_folder(
    failed: JobFolder, folder: Path, error: str, path: str
) -> None:
    reason, fix = diagnose(1, error.format(path=path), failed)
    assert reason == f"File `{path}` not found: it is outside of the packed folder."
    assert fix == (
        f"To pack it too: --source {folder}. To pass it as an input: --input x={folder}/data/x.csv. "
        "The code finds it at $PAI_INPUT_X."
    )


@pytest.mark.parametrize("path", ["/ml/data/x.csv", "/home/me/jobs/7x6n24n4/ml/data/x.csv"])
def test_file_beside_the_code_of_the_job_is_one_beside_the_project(failed: JobFolder, folder: Path, path: str) -> None:
    reason, fix = diagnose(1, PYTHON.format(path=path), failed)
    assert reason == f"File `{path}` not found: it is outside of the packed folder."
    assert fix.startswith(f"To pack it too: --source {folder}. ")
    (folder / "data/x.csv").unlink()
    assert "--source FOLDER" in diagnose(1, PYTHON.format(path=path), failed)[1]
    assert "outside" not in diagnose(1, PYTHON.format(path="/ml/input/data/none.csv"), failed)[0]


@pytest.mark.parametrize("error", PROGRAMS)
def test_file_that_an_input_has_is_named_with_its_place(failed: JobFolder, error: str) -> None:
    _reason, fix = diagnose(1, error.format(path="../../data/words.txt"), failed)
    assert fix == "The job has it as the input `words`. The code finds it at $PAI_INPUT_WORDS."


@pytest.mark.parametrize("error", PROGRAMS)
def test_excluded_file_is_named_with_its_rule(failed: JobFolder, error: str) -> None:
    reason, fix = diagnose(1, error.format(path="raw/y.csv"), failed)
    assert reason == "File `raw/y.csv` not found: it was excluded (--exclude: raw)."
    assert fix.startswith("To include it, omit --exclude raw. To pass it as an input: --input raw=")
    assert isinstance(fix, Message), "it is stored, and shown in the language of its reader"


@pytest.mark.parametrize("error", PROGRAMS)
def test_file_of_this_machine_is_named_with_its_fix(failed: JobFolder, user_data: Path, error: str) -> None:
    reason, fix = diagnose(1, error.format(path=f"{user_data}/x.csv"), failed)
    assert reason == f"File `{user_data}/x.csv` not found: the job does not see this path of your machine."
    assert fix.endswith(f"--input x={user_data}/x.csv. The code finds it at $PAI_INPUT_X.")


@pytest.mark.parametrize("error", PROGRAMS)
@pytest.mark.parametrize(("path", "fix"), [("none.csv", "--input NAME=PATH"), ("/etc/none", "machine where the job")])
def test_file_that_is_nowhere_has_a_general_fix(failed: JobFolder, error: str, path: str, fix: str) -> None:
    assert diagnose(1, error.format(path=path), failed)[0] == f"File `{path}` not found."
    assert fix in diagnose(1, error.format(path=path), failed)[1]
