"""Notebooks that submit jobs and run as jobs themselves: their cells and scripts run in place."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from jupyter_pai.backends.runtime.in_place import InPlaceJob
from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.client.job import JobHandle
from jupyter_pai.engine.tutorials import notebooks

from ...conftest import script
from .test_notebook_jobs import executed, run, write

pytestmark = pytest.mark.usefixtures("private_ml")


# The Chinese ones have the same code. A job cannot run a workflow.
TUTORIALS = [path for path in notebooks("en") if not path.stem.startswith("workflow")]


@pytest.mark.slow("cases", first=1)
@pytest.mark.parametrize("path", TUTORIALS, ids=lambda path: path.stem)
def test_tutorial_is_trained_as_a_notebook(
    engine: EmbeddedClient, folder: Path, monkeypatch: pytest.MonkeyPatch, path: Path
) -> None:
    shutil.copy(path, folder)
    handle = run(engine, folder, path.name, monkeypatch).wait()
    assert (handle.status, handle.reason) == ("succeeded", ""), handle.logs()
    assert engine.call("list_jobs")["total"] == 1
    code = [cell for cell in executed(handle, path.name).cells if cell.cell_type == "code"]
    assert all(cell.execution_count for cell in code)


CELL = """
%%pai_train --hp epochs=3 --hp lr={rate} --env GREETING=hello --input table=table.csv --metric 'loss=loss=([0-9.]+)' \
--as job
import os, sys, subprocess
from jupyter_pai import report
print(sys.argv[1:], os.environ["PAI_HPS_EPOCHS"], os.environ["GREETING"], open(os.environ["PAI_INPUT_TABLE"]).read())
for epoch in range(int(os.environ["PAI_HPS_EPOCHS"])):
    print(f"loss={1 / (epoch + 1)}")
    report.metric("accuracy", epoch / 10, step=epoch * 2)
report.progress(0.5)
!echo loss=0.125
with open(os.environ["PAI_OUTPUT_MODEL"] + "weights", "w") as file:
    file.write(os.environ["PAI_HPS_LR"])
sys.exit(0)
"""

# The results of cells as JSON in the output `model` of the job.
RESULT = """
import json, os
def result(name, **values):
    with open(os.environ["PAI_OUTPUT_MODEL"] + name + ".json", "w") as file:
        json.dump(values, file)
"""


def result(handle: JobHandle, name: str) -> Any:
    return json.loads(handle.read_file(f"{name}.json"))


@pytest.mark.slow("cases")
@pytest.mark.parametrize("python", ["", sys.executable], ids=["own", "named"])
def test_cell_has_a_job_of_its_own(
    engine: EmbeddedClient, folder: Path, monkeypatch: pytest.MonkeyPatch, python: str
) -> None:
    """The named interpreter receives copies of our modules."""
    (folder / "table.csv").write_text("1,2")
    write(
        folder / "a.ipynb",
        RESULT + "\nrate = 0.5",
        CELL,
        """
        print("later")
        done = job.wait(timeout=180)
        values = {name: columns["value"] for name, columns in done.metrics().to_dict().items()}
        steps = [point.step for point in job.metrics()["accuracy"]]
        result("first", same=done is job, status=job.status, ended=job.ended, code=job.exit_code, id=f"{job}",
               log=job.logs(), last=job.tail(), lines=job.logs(line=1, lines=1), progress=job.progress, values=values,
               steps=steps, best=job.info["metrics"]["accuracy"]["value"], hps=job.spec["hyperparameters"],
               table=repr(job.metrics()), outputs=sorted(job.outputs), environment="GREETING" in os.environ)
        """,
        """
        folder = job.download("model", "copy")
        try:
            job.download("model", "copy")
        except Exception as error:
            refused = f"{type(error).__name__}: {error}"
        result("files", files=[file["path"] for file in job.files("model")], text=job.read_file("weights").decode(),
               copied=sorted(os.listdir(folder)), refused=refused)
        """,
        "%pai rerun {job} --hp lr=2 --as other",
        "again = other.rerun(hyperparameters={'epochs': 1, 'greeting': None})",
        """
        result("again", text=again.read_file("weights").decode(), count=len(again.metrics()["loss"]),
               hps=[one.spec["hyperparameters"] for one in (job, other, again)], ids=len({job.id, other.id, again.id}))
        """,
        ("%%pai_train --as broken\nraise ValueError('坏')", "raises-exception"),
        "result('broken', status=broken.status, code=broken.exit_code, reason=broken.reason, lines=broken.logs())",
        "%%pai_train --as never --dry-run\nraise SystemExit(3)",
    )
    handle = run(engine, folder, "a.ipynb", monkeypatch, python=python, hyperparameters={"epochs": 2}).wait()
    assert (handle.status, handle.reason) == ("succeeded", ""), handle.logs()
    first = result(handle, "first")
    assert first["log"].startswith("['--epochs', '2', '--lr', '0.5'] 2 hello 1,2\nloss=1.0\n[pai] {")
    assert "later" not in first["log"]
    assert first["lines"] == "loss=1.0\n"
    assert first["values"] == {"accuracy": [0.0, 0.1], "loss": [1.0, 0.5, 0.125]}
    assert first["table"].splitlines()[0].split() == ["name", "step", "value", "time"]
    assert {"model", "checkpoints", "tensorboard", "notebook"} <= set(first["outputs"])
    assert {name: first[name] for name in ("same", "status", "ended", "code", "progress", "steps", "best", "hps")} == {
        "same": True,
        "status": "succeeded",
        "ended": True,
        "code": 0,
        "progress": 0.5,
        "steps": [0, 2],
        "best": 0.1,
        "hps": {"epochs": "2", "lr": "0.5"},
    }
    assert not first["environment"]
    files = result(handle, "files")
    assert files["files"] == files["copied"] == ["first.json", "weights"]
    assert files["text"] == "0.5"
    assert files["refused"].startswith(
        "Conflict: Files with these names already exist in /ml/usercode/copy: first.json"
    )
    assert result(handle, "again") == {
        "text": "2",
        "count": 2,
        "hps": [{"epochs": "2", "lr": "0.5"}, {"epochs": "2", "lr": "2"}, {"epochs": "1", "lr": "2"}],
        "ids": 3,
    }
    broken = result(handle, "broken")
    assert (broken["status"], broken["code"], broken["reason"]) == ("failed", 1, "ValueError: 坏")
    # The metrics of the cells are those of the job, too.
    assert [point.value for point in handle.metrics()["accuracy"]] == [0.0, 0.1, 0.0, 0.1, 0.0]


@pytest.mark.slow("processes")
def test_script_and_command_run_in_place(engine: EmbeddedClient, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script(
        folder / "code",
        """
        import sys, os, pathlib
        print(sys.argv[1:], pathlib.Path.cwd().name, f"loss={os.environ['PAI_HPS_LR']}")
        pathlib.Path(os.environ["PAI_OUTPUT_MODEL"], "weights").write_text("w")
        """,
    )
    write(folder / "inner.ipynb", ("depth = 1", "parameters"), "print('depth', depth)\n%pai submit a.ipynb")
    write(
        folder / "a.ipynb",
        RESULT,
        "%pai submit train.py --source code --hp lr=0.5 --metric 'loss=loss=([0-9.]+)' --as job",
        "other = %pai rerun last --hp lr=0.25 -- --fast",
        "%%pai_train --as cell -- --own --step 2 --help\nimport sys\nprint(sys.argv[1:])",
        "note = %pai submit inner.ipynb --hp depth=7",
        "bad = %pai submit --command 'echo gone >&2; exit 3'",
        ("%pai submit --command false --wait", "raises-exception"),
        "%pai submit a.ipynb\n%pai list\n%pai submit train.py --source code --dry-run",
        "%%pai_train --step=never --when 'a.loss > 0'\nraise SystemExit(4)",
        "%%pai_train --step last --source code\nraise SystemExit(4)\n%pai workflow run",
        """
        result("all", logs=[one.logs() for one in (job, other, cell)],
               states=[one.status for one in (job, other, note, bad)],
               codes=[job.exit_code, bad.exit_code], reason=bad.reason, gone=bad.logs(), files=len(job.files("model")),
               loss=other.metrics()["loss"][0].value, depth="depth 7" in note.logs(),
               inner=note.logs().count("skipped"))
        """,
    )
    handle = run(engine, folder, "a.ipynb", monkeypatch, hyperparameters={"a": "1"}).wait()
    assert (handle.status, handle.reason) == ("succeeded", ""), handle.logs()
    assert result(handle, "all") == {
        "logs": [
            "['--lr', '0.5'] code loss=0.5\n",
            "['--lr', '0.25', '--fast'] code loss=0.25\n",
            "['--a', '1', '--own', '--step', '2', '--help']\n",
        ],
        "states": ["succeeded", "succeeded", "succeeded", "failed"],
        "codes": [0, 3],
        "reason": "The exit code is 3.",
        "gone": "gone\n",
        "files": 1,
        "loss": 0.25,
        "depth": True,
        "inner": 1,
    }
    assert handle.logs().count("is skipped inside a job") == 6
    assert "The step `last` is skipped inside a job, which cannot run a workflow.\n" in handle.logs()
    assert "failed: The exit code is 1." in handle.logs()


def test_stand_in_has_the_names_of_a_job() -> None:
    public = {name for name in dir(JobHandle) if not name.startswith("_")}
    fields = {
        "name": "a",
        "labels": {},
        "metric_definitions": [],
        "hyperparameters": {},
        "inputs": {},
        "environment": {},
        "args": [],
    }
    job = InPlaceJob(1, fields, lambda changed: job)
    assert public - {name for name in dir(job) if not name.startswith("_")} == set()
