"""`jupyter pai workflow`: a shell that runs a workflow to its end, and the errors of a file."""

from __future__ import annotations

import ast
import json
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from ...conftest import ROOT, script
from ...support.bad_workflows import FAILING, REFUSED, write

Cli = Callable[..., "subprocess.CompletedProcess[str]"]

WORKFLOW = """
name: digits
steps:
- name: prepare
  spec: {source: code, entry_point: prepare.py}
- name: train
  outputs: [test-accuracy]
  spec:
    source: code
    entry_point: train.py
    inputs: {data: "{{prepare.channel.model}}"}
    hyperparameters: {rows: "{{prepare.outputs.rows}}"}
- {name: publish, when: train.test-accuracy > 0.90, spec: {command: echo published}}
- {name: tune, when: train.test-accuracy <= 0.90, spec: {command: echo tuned}}
- {name: after, needs: tune, spec: {command: 'true'}}
"""


@pytest.fixture
def workflow(folder: Path) -> Path:
    script(
        folder / "code", "open('/ml/output/model/a.txt', 'w').write('0.93')\n" + parameter("rows", "7"), "prepare.py"
    )
    data = "import os, sys; text = open(os.environ['PAI_INPUT_DATA'] + '/a.txt').read(); print(sys.argv[1:])\n"
    script(folder / "code", data + parameter("test-accuracy", "' + text + '"), "train.py")
    (folder / "workflow.yaml").write_text(WORKFLOW)
    return folder


def parameter(name: str, value: str) -> str:
    return (
        "import os; os.makedirs('/ml/output/output_parameters', exist_ok=True)\n"
        f"open('/ml/output/output_parameters/{name}', 'w').write('{value}')\n"
    )


def test_shell_runs_a_workflow_to_its_end(cli: Cli, workflow: Path) -> None:
    """Paths of a file start at its folder, not at the current one."""
    (workflow / "elsewhere").mkdir()
    done = cli("workflow", "run", "../workflow.yaml", "--wait", cwd=workflow / "elsewhere")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert "publish: succeeded, job" in done.stdout
    skipped = "tune: skipped, The condition is false: train.test-accuracy <= 0.90 (train.test-accuracy = 0.93)"
    assert skipped in lines
    assert "succeeded, 5 of 5 steps ended" in lines[-1]
    (run,) = json.loads(cli("workflow", "list", "--json").stdout)
    assert (run["status"], run["counts"]) == ("succeeded", {"succeeded": 3, "skipped": 2})
    shown = json.loads(cli("workflow", "show", "--json").stdout)
    steps = {step["name"]: step for step in shown["steps"]}
    assert "['--rows', '7']" in cli("logs", steps["train"]["job"]).stdout
    assert steps["after"]["status"] == "skipped"


def test_failed_step_is_named_and_resumed(cli: Cli, folder: Path, tmp_path: Path) -> None:
    (folder / "workflow.yaml").write_text(
        "steps:\n- {name: first, spec: {command: echo once}}\n"
        f"- {{name: second, needs: first, spec: {{command: test -e {tmp_path}/go}}}}\n"
    )
    done = cli("workflow", "run", "workflow.yaml", "--wait")
    assert done.returncode == 1
    assert "second: failed, job" in done.stdout
    assert "exit code 1" in done.stdout
    run = json.loads(cli("workflow", "list", "--json").stdout)[0]["id"]
    assert f"jupyter pai workflow resume {run}" in done.stdout
    before = {step["name"]: step["job"] for step in json.loads(cli("workflow", "show", "--json").stdout)["steps"]}
    (tmp_path / "go").touch()
    done = cli("workflow", "resume", "last", "--wait", "--json")
    assert done.returncode == 0, done.stderr
    assert "second: succeeded" in done.stderr  # The progress; standard output is JSON.
    after = {step["name"]: step["job"] for step in json.loads(done.stdout)["steps"]}
    assert after["first"] == before["first"]
    assert after["second"] != before["second"]
    again = cli("workflow", "resume", "last")
    assert (again.returncode, "Traceback" in again.stderr) == (2, False)
    reused = cli("workflow", "run", "workflow.yaml", "--reuse", "--wait")
    assert "first: succeeded, of an earlier run" in reused.stdout


@pytest.mark.slow("processes")
def test_run_without_waiting_continues_with_the_next_engine(cli: Cli, folder: Path) -> None:
    (folder / "workflow.yaml").write_text(
        "steps:\n- {name: a, spec: {command: 'true'}}\n- {name: b, needs: a, spec: {command: 'true'}}\n"
    )
    started = cli("workflow", "run", "workflow.yaml").stdout
    run = json.loads(cli("workflow", "show", "--json").stdout)["id"]
    assert f"jupyter pai workflow show {run} --wait" in started
    done = cli("workflow", "show", run, "--wait")
    assert done.returncode == 0
    assert "b: succeeded" in done.stdout
    assert cli("workflow", "delete", run).returncode == 2  # Not without confirmation.
    assert "Deleted" in cli("workflow", "delete", run, "--yes").stdout
    assert json.loads(cli("workflow", "list", "--json").stdout) == []
    # The first process may have ended between the storing and the start of a job: then it is `failed`, and the step has
    # another one.
    jobs = json.loads(cli("list", "--json").stdout)
    assert sorted(job["name"] for job in jobs if job["status"] != "failed") == ["workflow-a", "workflow-b"]


@pytest.mark.slow("processes")
def test_dry_run_lists_steps_and_runs_nothing(cli: Cli, workflow: Path) -> None:
    done = cli("workflow", "run", "workflow.yaml", "--dry-run")
    assert done.returncode == 0, done.stderr
    assert "train.test-accuracy > 0.90" in done.stdout
    assert "Nothing was submitted." in done.stdout
    plan = json.loads(cli("workflow", "run", "workflow.yaml", "--dry-run", "--json").stdout)
    assert [step["dependencies"] for step in plan["steps"] if step["name"] == "train"] == [["prepare"]]
    assert json.loads(cli("workflow", "list", "--json").stdout) == []


def test_exported_file_is_the_same_workflow(cli: Cli, workflow: Path) -> None:
    exported = cli("workflow", "export", "workflow.yaml", "--output", "copy.yaml")
    assert exported.returncode == 0, exported.stderr
    assert "folder: code" in (workflow / "copy.yaml").read_text()
    assert cli("workflow", "export", "copy.yaml").stdout == cli("workflow", "export", "workflow.yaml").stdout
    again = cli("workflow", "export", "workflow.yaml", "--output", "copy.yaml")
    assert (again.returncode, "--overwrite" in again.stderr) == (2, True)


@pytest.mark.slow("examples")
def test_examples_of_the_guide_run(cli: Cli, folder: Path) -> None:
    text = (ROOT / "docs/guide/workflows.md").read_text("utf-8")
    blocks = dict(re.findall(r"^```(\w+)\n(.*?)^```", text, re.MULTILINE | re.DOTALL))
    measure = (
        "open('/ml/output/model/a.txt', 'w').write('a')\n"
        + parameter("accuracy", "0.95")
        + parameter("test-accuracy", "0.95")
        + parameter("rows", "7")
    )
    for name in ("prepare.py", "train.py", "publish.py"):
        script(folder / "code", measure + "from jupyter_pai import report; report.metric('loss', 0.1)", name)
        shutil.copy(folder / "code" / name, folder / name)
    (folder / "workflow.yaml").write_text(blocks["yaml"])
    assert cli("workflow", "run", "workflow.yaml", "--dry-run").returncode == 0
    done = subprocess.run(
        [sys.executable, "-c", blocks["python"]], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    expected = {"prepare": "succeeded", "train": "succeeded", "publish": "succeeded", "improve": "skipped"}
    assert ast.literal_eval(re.search(r"^succeeded (\{.*\})$", done.stdout, re.MULTILINE)[1]) == expected  # type: ignore[index]
    assert "jupyter pai workflow show" in done.stdout  # How to continue after the end of this process.


@pytest.mark.slow("processes")
def test_interrupted_wait_leaves_the_run_going(cli: Cli, folder: Path) -> None:
    (folder / "workflow.yaml").write_text("steps:\n- {name: a, spec: {command: sleep 600}}\n")
    command = [sys.executable, "-m", "jupyter_pai", "workflow", "run", "workflow.yaml", "--wait"]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout
    assert any("a: running" in line for line in iter(process.stdout.readline, ""))
    process.send_signal(signal.SIGINT)
    error = process.communicate()[1]
    run = json.loads(cli("workflow", "show", "--json").stdout)
    assert (process.returncode, run["status"]) == (130, "running")
    assert f"To stop it: jupyter pai workflow stop {run['id']}" in error
    assert f"jupyter pai workflow show {run['id']} --wait" in error
    assert "stopped" in cli("workflow", "stop", "last").stdout
    assert cli("workflow", "show", "last", "--wait").returncode == 1
    assert json.loads(cli("workflow", "show", "--json").stdout)["status"] == "stopped"


@pytest.mark.slow("cases", first=10)
@pytest.mark.parametrize(("steps", "what", "fix"), REFUSED)
def test_wrong_workflows_are_refused(cli: Cli, folder: Path, steps: str, what: str, fix: str) -> None:
    write(folder, steps)
    done = cli("workflow", "run", "bad.yaml")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("Error: ")
    assert what in done.stderr
    assert fix in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow("cases", first=1)
@pytest.mark.parametrize(("command", "condition", "what", "fix"), FAILING)
def test_steps_that_fail_state_the_reason(
    cli: Cli, folder: Path, command: str, condition: str, what: str, fix: str
) -> None:
    write(
        folder,
        f"- {{name: train, spec: {{command: '{command}'}}}}\n"
        f"- {{name: publish, when: {condition}, spec: {{command: 'true'}}}}\n",
    )
    done = cli("workflow", "run", "bad.yaml", "--wait")
    assert done.returncode == 1
    assert what in done.stdout
    assert fix in done.stdout


@pytest.mark.slow("processes")
def test_profile_that_is_removed_meanwhile_is_named(cli: Cli, folder: Path, tmp_path: Path) -> None:
    cli("profile", "set", "other", "backend=local")
    wait = f"while ! test -e {tmp_path}/go; do sleep 0.01; done"
    (folder / "workflow.yaml").write_text(
        f"steps:\n- {{name: a, spec: {{command: '{wait}'}}}}\n"
        "- {name: b, needs: a, spec: {command: 'true', profile: other}}\n"
    )
    cli("workflow", "run", "workflow.yaml")
    cli("profile", "remove", "other")
    (tmp_path / "go").touch()
    done = cli("workflow", "show", "last", "--wait")
    assert done.returncode == 1
    assert "`other`" in done.stdout


@pytest.mark.parametrize(
    ("words", "what", "fix"),
    [
        (["run"], "No file named.", "workflow run workflow.yaml"),
        (["run", "digits"], "`digits`", "workflow run workflow.yaml"),
        (["run", "nowhere.yaml"], "nowhere.yaml", ""),
        (["stop"], "No run named.", "workflow stop last"),
        (["show", "nothing"], "nothing", ""),
        (["clear"], "notebooks only", "workflow delete"),
        (["start"], "unknown name `start`", "run"),
    ],
)
def test_wrong_lines_are_refused(cli: Cli, words: list[str], what: str, fix: str) -> None:
    done = cli("workflow", *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert what in done.stderr
    assert fix in done.stderr
