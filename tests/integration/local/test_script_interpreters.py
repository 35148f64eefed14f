"""Scripts that run by their first line: on the command line, from Python, in a cell of a job, and from the form."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import jupyter_pai
from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.client.job import JobHandle
from jupyter_pai.core.errors import BadInput

from ...conftest import script, submit
from .test_notebook_jobs import run, write

Cli = Callable[..., "subprocess.CompletedProcess[str]"]

BASH = '#!/bin/bash -e\nwords=("$@")\necho "${#words[@]} ${words[1]} ${BASH_VERSION:+bash} $-"\n'
PYTHON = "#!/usr/bin/env -S python3 -u -W error\nimport sys\nprint(sys.executable, sys.warnoptions, sys.argv[1:])\n"
SHELL = 'echo "shell $*"\n'


def executable(path: Path) -> Path:
    path.chmod(0o755)
    return path


def ended(handle: JobHandle) -> str:
    handle.wait()
    assert handle.status == "succeeded", (handle.reason, handle.logs())
    return handle.logs()


@pytest.mark.slow("cases", first=3)
@pytest.mark.parametrize(
    ("name", "text", "mode", "log"),
    [
        ("train.sh", BASH, 0o644, "2 0.1 bash ehB\n"),
        ("train", PYTHON, 0o755, f"{sys.executable} ['error'] ['--lr', '0.1']\n"),
        ("run", SHELL, 0o755, "shell --lr 0.1\n"),
        ("train", BASH, 0o644, "2 0.1 bash ehB\n"),
        ("train.py", PYTHON, 0o644, f"{sys.executable} ['error'] ['--lr', '0.1']\n"),
        ("train.py", BASH, 0o755, "2 0.1 bash ehB\n"),
    ],
)
def test_script_is_run_by_its_first_line(cli: Cli, folder: Path, name: str, text: str, mode: int, log: str) -> None:
    script(folder, text, name).chmod(mode)
    done = cli("submit", name, "--hp", "lr=0.1", "--wait")
    assert (done.returncode, done.stdout.splitlines(keepends=True)[0]) == (0, log), done.stderr


def test_every_rerun_has_the_interpreter_of_its_code(engine: EmbeddedClient, folder: Path) -> None:
    script(folder, BASH, "train.sh")
    executable(script(folder, PYTHON, "other"))
    first = submit(engine, folder=folder, entry_point="train.sh", hyperparameters={"lr": "1"})
    assert ended(first) == "2 1 bash ehB\n"
    assert "interpreter" not in str(engine.call("code", job=first.id))
    shutil.rmtree(folder)
    assert ended(first.rerun()) == "2 1 bash ehB\n"
    assert ended(first.rerun(entry_point="other")) == f"{sys.executable} ['error'] ['--lr', '1']\n"
    script(folder, SHELL, "train.sh")
    again = first.rerun(source={"folder": str(folder)})
    assert (ended(again), again.spec.get("interpreter", "")) == ("shell --lr 1\n", "")
    # A value of the user does not count.
    given = submit(engine, folder=folder, entry_point="train.sh", interpreter="/no/such")
    assert ended(given) == "shell \n"


@pytest.mark.slow("processes")
def test_first_line_counts_for_each_role_without_a_command(engine: EmbeddedClient, folder: Path) -> None:
    script(folder, BASH, "train.sh")
    roles: list[dict[str, Any]] = [{"name": "chief"}, {"name": "server", "command": "echo served"}]
    job = submit(engine, folder=folder, entry_point="train.sh", args=["a", "b"], roles=roles)
    assert ended(job)
    assert (job.logs(instance="chief-0"), job.logs(instance="server-0")) == ("2 b bash ehB\n", "served\n")


@pytest.mark.parametrize(
    ("line", "program", "fix"),
    [
        ("#!/no/such/bash -e", "/no/such/bash", f"Write: #!{shutil.which('bash')} -e"),
        ("#!/usr/bin/env no-such-shell", "no-such-shell", "Install it, or name another one in that line."),
        ("#!/usr/bin/env -S no-such-shell -e", "no-such-shell", "Install it, or name another one in that line."),
        ("#!bin/missing", "bin/missing", "Install it, or name another one in that line."),
    ],
)
def test_missing_interpreter_is_named_with_the_fix(cli: Cli, folder: Path, line: str, program: str, fix: str) -> None:
    script(folder, f"{line}\necho ran\n", "train.sh")
    done = cli("submit", "train.sh")
    assert (done.returncode, done.stdout) == (2, "")
    assert f"train.sh, line 1: the interpreter `{program}` does not exist on this machine." in done.stderr
    assert fix in done.stderr
    assert json.loads(cli("list", "--json").stdout) == []
    if fix.startswith("Write: "):
        script(folder, f"{fix.removeprefix('Write: ')}\necho ran\n", "train.sh")
        assert cli("submit", "train.sh", "--wait").stdout.startswith("ran\n")


def test_line_ends_of_windows_are_refused_before_the_submit(cli: Cli, folder: Path) -> None:
    (folder / "train.sh").write_bytes(BASH.replace("\n", "\r\n").encode())
    done = cli("submit", "train.sh", "--wait", "--", "a", "b")
    assert (done.returncode, done.stdout) == (2, "")
    assert "train.sh, line 1: the line ends with \\r\\n" in done.stderr
    command = next(line for line in done.stderr.splitlines() if "sed -i" in line).partition(": ")[2]
    subprocess.run(["/bin/sh", "-c", command], check=True)
    assert cli("submit", "train.sh", "--wait", "--", "a", "b").stdout.startswith("2 b bash ehB\n")


@pytest.mark.slow("processes")
def test_interpreter_that_the_job_installs_is_not_refused(engine: EmbeddedClient, folder: Path) -> None:
    script(folder, "#!/usr/bin/env no-such-shell\n", "train.sh")
    script(folder, "# nothing\npip\n", "requirements.txt")
    preview = engine.preview({"name": "x", "entry_point": "train.sh", "source": {"folder": str(folder)}})
    assert preview["command"] == "/usr/bin/env no-such-shell train.sh"


def test_script_without_a_suffix_is_a_target_of_python_and_form(
    engine: EmbeddedClient, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    executable(script(folder, BASH, "train"))
    script(folder, "1,2\n", "data.csv")
    monkeypatch.chdir(folder)
    job = jupyter_pai.submit("train", hyperparameters={"lr": 1})
    assert ended(job) == "2 1 bash ehB\n"
    form = engine.call("form", path=str(folder / "train"))
    spec = form["request"]["spec"]
    assert (form["kind"], spec["entry_point"], spec["hyperparameters"]) == ("script", "train", {"lr": "1"})
    assert "interpreter" not in spec
    assert engine.preview({"name": "x", **spec})["command"] == "/bin/bash -e train --lr 1"
    for refuse in (lambda: jupyter_pai.submit("data.csv"), lambda: engine.call("form", path=str(folder / "data.csv"))):
        with pytest.raises(BadInput, match="begins with `#!`"):
            refuse()


@pytest.mark.slow("kernel")
@pytest.mark.usefixtures("private_ml")
def test_script_runs_in_place_by_its_first_line(
    engine: EmbeddedClient, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    executable(script(folder, BASH, "train"))
    (folder / "bad.sh").write_bytes(b"#!/bin/bash\r\n")
    write(
        folder / "a.ipynb",
        "%pai submit train --as job -- a b",
        "print(job.status, job.logs())",
        ("%pai submit bad.sh", "raises-exception"),
    )
    handle = run(engine, folder, "a.ipynb", monkeypatch).wait()
    assert (handle.status, handle.reason) == ("succeeded", ""), handle.logs()
    assert "succeeded 2 b bash ehB" in handle.logs()
    assert "bad.sh, line 1: the line ends with" in handle.logs()


@pytest.mark.slow("processes")
def test_step_has_the_interpreter_of_its_packed_code(cli: Cli, folder: Path) -> None:
    script(folder / "code", BASH, "train.sh")
    steps = [{"name": "train", "spec": {"source": "code", "entry_point": "train.sh", "args": ["a", "b"]}}]
    (folder / "workflow.yaml").write_text(json.dumps({"name": "one", "steps": steps}))
    done = cli("workflow", "run", "workflow.yaml", "--wait")
    assert done.returncode == 0, done.stdout + done.stderr
    assert cli("logs", "last").stdout == "2 b bash ehB\n"
