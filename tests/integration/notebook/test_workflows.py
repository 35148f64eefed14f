"""Workflows in a notebook: cells that are gathered as steps, runs that are shown, and the Python API."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from binder.session import CellFailed, NotebookSession

from ...support.bad_workflows import FAILING, REFUSED, write
from ..server.real_server import RealServer

WRITES = "import os; os.makedirs('/ml/output/output_parameters', exist_ok=True)\n"
PREPARE = "%%pai_train --step prepare\nopen('/ml/output/model/data.txt', 'w').write('0.93')\n"
TRAIN = (
    "%%pai_train --step train --input data={{prepare.channel.model}} --hp bar={bar}\n"
    + WRITES
    + "text = open('/ml/input/data/data/data.txt').read()\n"
    "open('/ml/output/output_parameters/test-accuracy', 'w').write(text)\n"
)
PUBLISH = (
    "%%pai_train --step publish --needs prepare --when 'train.test-accuracy > {bar}' --retries 1\nprint('published')\n"
)


def json_of(notebook: NotebookSession, code: str) -> object:
    return json.loads(notebook.run(f"import json; print(json.dumps({code}))").text)


def test_gathered_cells_run_as_a_workflow(server: RealServer) -> None:
    notebook = server.notebook("digits.ipynb")
    notebook.run("bar = 0.9")
    assert "Step `prepare` gathered. 1 step: prepare" in notebook.run(PREPARE).text
    notebook.run(TRAIN.replace("data={{prepare.channel.model}}", "'data={{ prepare.channel.model }}'"))
    assert "Step `train` replaced. 2 steps: prepare, train" in notebook.run(TRAIN).text
    text = notebook.run(PUBLISH).text
    assert "%pai workflow run" in text
    assert server.rest("GET", "/pai/api/v1/jobs")["total"] == 0
    shown = notebook.run("%pai workflow show")
    assert "train.test-accuracy > 0.9" in shown.data[0]["text/plain"]  # The variable was substituted.
    assert "Nothing was submitted." in shown.text
    outputs = notebook.run("%pai workflow run --wait")
    assert "publish: succeeded" in outputs.text
    notebook.run("import jupyter_pai; run = jupyter_pai.get_workflow()")
    assert json_of(notebook, "[run.name, run.status, {s.name: s.status for s in run.steps}]") == [
        "digits",
        "succeeded",
        dict.fromkeys(("prepare", "train", "publish"), "succeeded"),
    ]
    assert notebook.run("print(run.step('publish').job.logs(), end='')").text == "published\n"
    assert json_of(notebook, "run.step('train').job.spec['hyperparameters']") == {"bar": "0.9"}
    bundle = notebook.run("run").data[0]
    identity = notebook.run("print(run.id, end='')").text
    assert bundle["application/vnd.jupyter-pai.workflow+json"]["workflow"] == identity
    assert "succeeded" in bundle["text/plain"]
    assert "prepare, train" in notebook.run("%pai workflow clear publish").text
    notebook.run("%pai workflow clear")
    assert identity in notebook.run("%pai workflow show").data[0]["text/plain"]  # The last run, as nothing is gathered.


@pytest.mark.slow("kernel")
def test_scripts_are_gathered_and_exported(server: RealServer) -> None:
    notebook = server.notebook("my digits.ipynb")
    (server.root / "my digits.ipynb").write_text('{"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}')
    (server.root / "code").mkdir()
    (server.root / "code/train.py").write_text("print('trained')\n")
    notebook.run("%pai submit train.py --source code --step train")
    notebook.run("%%pai_train --step after --needs train\nimport os; print(sorted(os.listdir()))\n")
    notebook.run("%pai workflow export --output workflow.yaml")
    text = (server.root / "workflow.yaml").read_text()
    assert "name: my-digits" in text
    assert "folder: code" in text
    assert "after: succeeded" in notebook.run("%pai workflow run workflow.yaml --wait").text
    log = notebook.run("import jupyter_pai; print(jupyter_pai.get_workflow().step('after').job.logs())").text
    assert log.strip() == "['code', 'pai_cell.py', 'workflow.yaml']"  # Without the notebook, which each save changes.


def test_run_returns_at_once_and_states_when_steps_start(server: RealServer, tmp_path: Path) -> None:
    notebook = server.notebook()
    wait = f"import os, time\nwhile not os.path.exists('{tmp_path}/go'): time.sleep(0.01)\n"
    notebook.run(f"%%pai_train --step slow\n{wait}")
    outputs = notebook.run("%pai workflow run named")
    assert "While it is off, jobs continue and the next step waits." in outputs.text
    assert "application/vnd.jupyter-pai.workflow+json" in outputs.data[-1]
    assert "<" in notebook.run("%pai workflow stop last").text
    with pytest.raises(CellFailed, match=r"named.*stopped"):
        notebook.run("import jupyter_pai; jupyter_pai.get_workflow('named').wait()")
    (tmp_path / "go").touch()
    assert "slow: succeeded" in notebook.run("%pai workflow resume last --wait").text


@pytest.mark.slow("kernel")
def test_python_builds_the_same_workflow(server: RealServer) -> None:
    notebook = server.notebook()
    (server.root / "train.py").write_text(
        WRITES + "open('/ml/output/output_parameters/test-accuracy', 'w').write('0.5')\n"
        "from jupyter_pai import report\nreport.metric('loss', 0.25)\nopen('/ml/output/model/m.txt', 'w').write('m')\n"
    )
    outputs = notebook.run(
        """
import jupyter_pai

workflow = jupyter_pai.Workflow("digits")
train = workflow.step("train", "train.py", outputs=["test-accuracy"])
good = train.outputs["test-accuracy"] > 0.9
model = {"model": train.channel()}
workflow.step("publish", command="true", when=good, inputs=model)
workflow.step(
    "tune", command="cat /ml/input/data/model/m.txt", when=~good & (train.metrics["loss"] < 1), inputs=model,
    hyperparameters={"loss": train.metrics["loss"]},
)
workflow.save("made.yaml")
run = workflow.run(wait=True)
"""
    )
    assert "publish: skipped, The condition is false" in outputs.text
    assert json_of(notebook, "run.step('tune').job.spec['hyperparameters']") == {"loss": "0.25"}
    assert json_of(notebook, "jupyter_pai.Workflow.load('made.yaml').document == workflow.document") is True
    again = notebook.run("print(workflow.run(reuse=True, wait=True).steps)").text
    assert "of an earlier run" in again


def test_failed_step_raises_its_reason(server: RealServer) -> None:
    notebook = server.notebook()
    notebook.run("%%pai_train --step train\nprint('almost')\nraise SystemExit(7)\n")
    with pytest.raises(CellFailed) as caught:
        notebook.run("%pai workflow run --wait")
    for text in ("step `train`", "exit code 7", "almost", "%pai workflow resume"):
        assert text in str(caught.value)


@pytest.mark.slow("cases", first=1)
@pytest.mark.parametrize(
    ("line", "what", "fix"),
    [
        ("--step 1st", "`1st` is not a name", "begin with a letter"),
        ("--step a --when accuracy>0.9", "not valid at character", "blanks around the operator"),
        ("--step a --when 'b.kind < \"x\"'", "compares texts", "== or !="),
        ("--step a --needs 'b c'", "`b c` is not a name", ""),
        ("--step a --wait", "--wait does not apply to a step", "%pai workflow run"),
        ("--step a --backend local", "--backend does not apply", "--profile NAME"),
        ("--when 'b.c > 1'", "--when requires --step NAME", ""),
    ],
)
def test_wrong_steps_are_refused_at_their_cells(server: RealServer, line: str, what: str, fix: str) -> None:
    notebook = server.notebook()
    with pytest.raises(CellFailed) as caught:
        notebook.run(f"%%pai_train {line}\nprint(1)\n")
    assert what in str(caught.value)
    assert fix in str(caught.value)
    assert "No steps gathered" in str(notebook.run("%pai workflow run", check=False).error)


@pytest.mark.slow("kernel")
def test_wrong_files_are_refused(server: RealServer) -> None:
    """One kernel for all files."""
    notebook = server.notebook()
    for steps, what, fix in REFUSED:
        write(server.root, steps)
        with pytest.raises(CellFailed) as caught:
            notebook.run("%pai workflow run bad.yaml")
        assert what in str(caught.value)
        assert fix in str(caught.value)
    assert server.rest("GET", "/pai/api/v1/workflows")["total"] == 0


@pytest.mark.slow("kernel")
def test_steps_that_fail_state_the_reason(server: RealServer) -> None:
    notebook = server.notebook()
    for command, condition, what, fix in FAILING:
        write(
            server.root,
            f"- {{name: train, spec: {{command: '{command}'}}}}\n"
            f"- {{name: publish, when: {condition}, spec: {{command: 'true'}}}}\n",
        )
        with pytest.raises(CellFailed) as caught:
            notebook.run("%pai workflow run bad.yaml --wait")
        assert what in str(caught.value)
        assert fix in str(caught.value)


@pytest.mark.slow("kernel")
def test_profile_that_is_removed_meanwhile_is_named(server: RealServer, tmp_path: Path) -> None:
    notebook = server.notebook()
    notebook.run("%pai profile set other backend=local")
    notebook.run(
        f"%%pai_train --step a\nimport os, time\nwhile not os.path.exists('{tmp_path}/go'): time.sleep(0.01)\n"
    )
    notebook.run("%%pai_train --step b --needs a --profile other\nprint(1)\n")
    notebook.run("%pai workflow run")
    notebook.run("%pai profile remove other")
    (tmp_path / "go").touch()
    with pytest.raises(CellFailed, match=r"step `b`: .*`other`"):
        notebook.run("%pai workflow show last --wait")


@pytest.mark.slow("kernel")
def test_python_errors_name_parameters(server: RealServer) -> None:
    notebook = server.notebook()
    notebook.run("import jupyter_pai; workflow = jupyter_pai.Workflow('w')")
    for call, what, fix in (
        ("workflow.step('1a', command='true')", "`1a` is not a name", ""),
        ("workflow.step('a', command='true', when='b.c>1')", "not valid at character", "blanks around"),
        ("workflow.step('a', comand='true')", "Unknown parameter `comand`", "`command`"),
        ("workflow.step('a', command='true', backend='local')", "no `backend`", "profile="),
        ("0 < workflow.step('b', command='true').outputs['x'] < 1", "decided when the workflow runs", "&, | and ~"),
        ("workflow.step('b', command='true')", "Two steps have the name `b`", "Rename"),
        ("workflow.check() if workflow.step('d', command='true', needs='zz') else 0", "needs `zz`", ""),
    ):  # fmt: skip
        error = str(notebook.run(call, check=False).error)
        assert what in error, call
        assert fix in error, call
