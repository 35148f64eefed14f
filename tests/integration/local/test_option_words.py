"""Hyperparameters of options that take several words: from the submit to the parser, and in a rerun."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.client.job import JobHandle
from jupyter_pai.core.errors import PaiError

from ...conftest import script, submit, until
from .test_notebook_jobs import run, write

PROGRAM = """
import argparse
parser = argparse.ArgumentParser()
parser.add_argument("--sizes", nargs="+", type=int)
parser.add_argument("files", nargs="*")
args = parser.parse_args()
print(args.sizes, args.files)
"""


def ended(job: JobHandle) -> str:
    assert job.wait().status == "succeeded", job.reason
    return job.logs()


def test_list_is_passed_as_words(engine: EmbeddedClient, folder: Path) -> None:
    script(folder, PROGRAM)
    first = submit(engine, "", folder, entry_point="train.py", hyperparameters={"sizes": [1, 2]}, args=["a.txt"])
    assert ended(first) == "[1, 2] ['a.txt']\n"
    assert first.spec["hyperparameters"] == {"sizes": "[1, 2]"}
    assert "nargs" not in str(engine.call("code", job=first.id))
    again = first.rerun(hyperparameters={"sizes": "3 4"})
    assert ended(again) == "[3, 4] ['a.txt']\n"
    command = submit(engine, "exec python train.py $PAI_USER_ARGS", folder, hyperparameters={"sizes": (5, 6)})
    assert ended(command) == "[5, 6] []\n"


def test_step_of_a_workflow_gets_words(engine: EmbeddedClient, folder: Path) -> None:
    script(folder, PROGRAM)
    spec = {"entry_point": "train.py", "source": {"folder": str(folder)}, "hyperparameters": {"sizes": [7, 8]}}
    body = {"workflow": {"name": "flow", "steps": [{"name": "train", "spec": spec}]}}
    run = engine.call("run_workflow", body=body)["run"]["id"]
    job = until(lambda: engine.call("show_workflow", run=run)["run"]["steps"][0]["job"])
    assert ended(JobHandle(engine.call("show", job=job), engine)) == "[7, 8] []\n"


@pytest.mark.usefixtures("private_ml")
def test_jobs_in_place_get_words(engine: EmbeddedClient, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The named interpreter receives copies of our modules."""
    script(folder, PROGRAM)
    write(
        folder / "a.ipynb",
        "%pai submit train.py --hp sizes='1 2'",
        "%pai rerun last --hp sizes=[3,4]",
        "%pai submit --command 'python train.py $PAI_USER_ARGS' --hp sizes='5 6'",
        f"%%pai_train --hp sizes='7 8'\n{PROGRAM}import os\nprint(os.environ['PAI_USER_ARGS'])",
    )
    log = ended(run(engine, folder, "a.ipynb", monkeypatch, python=sys.executable))
    assert [line for line in log.splitlines() if line.startswith(("[1, ", "[3, ", "[5, ", "[7, ", "--"))] == [
        "[1, 2] []", "[3, 4] []", "[5, 6] []", "[7, 8] []", "--sizes 7 8",
    ]  # fmt: skip


def test_value_of_another_form_is_refused(
    engine: EmbeddedClient, folder: Path, cli: Callable[..., CompletedProcess[str]]
) -> None:
    script(folder, PROGRAM)
    with pytest.raises(PaiError, match="`1,2` is not a valid int"):
        submit(engine, "", folder, entry_point="train.py", hyperparameters={"sizes": "1,2"})
    done = cli("submit", "train.py", "--hp", "sizes=[[1], 2]")
    assert (done.returncode, "is not a list of words" in done.stderr) == (2, True)
    shown = cli("submit", "train.py", "--hp", "sizes=(1, 2)", "--dry-run").stdout
    assert "--sizes 1 2" in shown
