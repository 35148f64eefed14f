"""Jobs from Python code: `submit` and `Estimator`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy
import pandas
import pytest

import jupyter_pai
from jupyter_pai.core.errors import BadInput, Conflict, NotebookError, SpecError, UsageError
from jupyter_pai.jobs.state_dir import Home
from jupyter_pai.sdk.estimator import Estimator

from ...conftest import script
from .test_notebook_jobs import write

PRINTS = """
import os, sys
print(sys.argv[1:], sorted(os.listdir()), os.environ.get("PAI_INPUT_TRAIN", "").split("/")[-1])
"""


@pytest.fixture(autouse=True)
def current(home: Home, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with code."""
    script(folder, PRINTS)
    script(folder, PRINTS, "sub/other.py")
    (folder / "table.csv").write_text("1,2")
    monkeypatch.chdir(folder)
    return folder


@pytest.mark.slow("cases", first=5)
@pytest.mark.parametrize(
    ("target", "source", "log"),
    [
        ("train.py", None, "['--lr', '0.1'] ['sub', 'table.csv', 'train.py'] table.csv\n"),
        (Path("sub/other.py"), None, "['--lr', '0.1'] ['other.py'] table.csv\n"),
        (Path("sub/other.py"), ".", "['--lr', '0.1'] ['sub', 'table.csv', 'train.py'] table.csv\n"),
        ("sub", None, "['--lr', '0.1'] ['other.py'] table.csv\n"),
        ("other.py", "sub", "['--lr', '0.1'] ['other.py'] table.csv\n"),
        ("", ".", "['--lr', '0.1'] ['sub', 'table.csv', 'train.py'] table.csv\n"),
        ("sub", ".", "['--lr', '0.1'] ['sub', 'table.csv', 'train.py'] table.csv\n"),
        ("", {"folder": ".", "exclude": ["sub"]}, "['--lr', '0.1'] ['table.csv', 'train.py'] table.csv\n"),
    ],
)
def test_target_and_paths_are_relative(target: str | Path, source: Any, log: str) -> None:
    job = jupyter_pai.submit(target, source=source, hyperparameters={"lr": 0.1}, inputs={"train": "table.csv"})
    assert (job.wait().status, job.logs()) == ("succeeded", log)


def test_values_are_those_of_python(current: Path) -> None:
    frame = pandas.DataFrame({"a": [1]})
    job = jupyter_pai.submit(
        command=["python", "train.py", "a b"],
        hyperparameters={"n": numpy.int64(3), "flag": True, "none": None, "list": [1, 2]},
        inputs={"train": frame},
        output_path=Path("results"),
        labels={"run": 7},
        wait=True,
    )
    assert job.logs().startswith("['a b']")
    assert job.spec["hyperparameters"] == {"n": "3", "flag": "True", "list": "[1, 2]"}
    assert job.labels == {"run": "7"}
    assert job.outputs["model"].startswith(f"file://{current}/results/code_")
    again = job.rerun(output_path="more", inputs={"train": "table.csv"}).wait()
    assert again.logs().endswith(" table.csv\n")
    assert again.outputs["model"].startswith(f"file://{current}/more/code_")


@pytest.mark.slow("processes")
def test_notebook_is_submitted(current: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTEST_CURRENT_TEST")
    write(current / "a.ipynb", "print('here')")
    for as_script in (False, True):
        job = jupyter_pai.submit("a.ipynb", as_script=as_script)
        assert job.wait().status == "succeeded"
        assert "here\n" in job.logs()
        assert ("notebook" in job.outputs) != as_script
    (current / "b.ipynb").write_text("{}")
    with pytest.raises(NotebookError, match=r"b\.ipynb"):
        jupyter_pai.submit("b.ipynb")


@pytest.mark.parametrize(
    ("fields", "kind", "words"),
    [
        ({"instance_typ": "x"}, SpecError, "Did you mean `instance_type`?"),
        ({"hp": {"lr": 1}}, SpecError, "Did you mean `hyperparameters`?"),
        ({"confirm": True}, SpecError, "Did you mean `confirmed`?"),
        ({"instance_count": 999}, jupyter_pai.errors.Unsupported, "Request fewer: `instance_count=`."),
        ({"options": {"container": "podman"}}, BadInput, '`image="NAME"`'),
        ({"inputs": {"train": "nothing.csv"}}, BadInput, "nothing.csv"),
        ({"source": "nowhere"}, BadInput, "nowhere. Relative paths start at"),
        ({"source": {"folder": ".", "exclude": ["*"]}}, BadInput, "`source=`"),
        ({"hyperparameters": ["lr"]}, SpecError, "hyperparameters: must be a mapping"),
        ({"source": 3}, SpecError, "source: "),
        ({"target": "sub/none.py"}, UsageError, "sub/none.py does not exist."),
        ({"target": "table.csv"}, UsageError, "pass `command=`."),
        ({"target": "empty"}, UsageError, '`command="python SCRIPT $PAI_USER_ARGS"`'),
    ],
)
def test_errors_name_parameters(current: Path, fields: dict[str, Any], kind: type[Exception], words: str) -> None:
    (current / "empty").mkdir()
    fields = {"command": "" if "target" in fields else "true"} | fields
    with pytest.raises(kind) as raised:
        jupyter_pai.submit(fields.pop("target", ""), **fields)
    assert words in str(raised.value)
    assert "--" not in str(raised.value)


def test_methods_name_parameters(current: Path) -> None:
    job = jupyter_pai.submit(command="echo w > $PAI_OUTPUT_MODEL/w", wait=True)
    job.download("model", "copy")
    with pytest.raises(Conflict, match="`overwrite=True`"):
        job.download("model", "copy")
    with pytest.raises(SpecError, match="Did you mean `hyperparameters`"):
        job.rerun(hp={"lr": 1})
    with pytest.raises(jupyter_pai.errors.Unsupported, match="`instance_count=`"):
        job.rerun(instance_count=999)


def test_estimator_agrees_with_submit(current: Path) -> None:
    estimator = Estimator(instance_type="local", hyperparameters={"lr": 0.1}, source_dir={"exclude": ["sub"]}, cpu=1)
    job = estimator.fit({"train": "table.csv"}, show_logs=False)
    assert job.logs() == "['--lr', '0.1'] ['table.csv', 'train.py'] table.csv\n"
    assert job.spec["cpu"] == 1
    with pytest.raises(SpecError, match="Did you mean `instance_type`"):
        Estimator(instance_typ="local")  # type: ignore[call-arg]
    for name, meant in (("image", "image_uri"), ("env", "environments"), ("source", "source_dir"), ("hp", "hyperp")):
        with pytest.raises(SpecError, match=f"Did you mean `{meant}"):
            Estimator(**{name: "x"})  # type: ignore[arg-type]
    refused = Estimator(command="true", source_dir={"exclude": ["*"]}, instance_type="local")
    with pytest.raises(BadInput, match="`source_dir=`"):
        refused.fit()
    failed = Estimator(command="python -c 'import nonsense_package'", instance_type="local")
    with pytest.raises(jupyter_pai.JobFailed, match=r'`requirements=\["nonsense_package"\]`'):
        failed.fit(show_logs=False)


def test_jobs_are_listed_by_one_text_or_several(current: Path) -> None:
    jobs = [jupyter_pai.submit("train.py", labels={"run": name}, wait=True) for name in ("one", "two", "three")]
    assert [job.id for job in jupyter_pai.list_jobs(label="run=one", status="succeeded")] == [jobs[0].id]
    assert [job.id for job in jupyter_pai.list_jobs(label=["run=one"], backend="local")] == [jobs[0].id]
    assert jupyter_pai.list_jobs(status="failed") == []
