"""Every example of `--help` runs: on this machine, and against the stand-in of Alibaba PAI."""

from __future__ import annotations

import json
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from jupyter_pai.commands.parser.help import EXAMPLES, OVERVIEW
from jupyter_pai.commands.parser.parser import VERBS

from ...conftest import script, until
from ...fakes.alibaba import StandIn

Cli = Callable[..., "subprocess.CompletedProcess[str]"]

TRAIN = """
    import argparse
    import os
    import pathlib

    parser = argparse.ArgumentParser()
    parser.add_argument("--lr", type=float, default=0.1)
    parser.parse_args()
    print("loss=0.5")
    for channel, name in (("MODEL", "weights.txt"), ("CHECKPOINTS", "step-1.txt")):
        pathlib.Path(os.environ[f"PAI_OUTPUT_{channel}"], name).write_text("1")
"""
# Verbs with examples for jobs of the platform; verbs with examples for a Jupyter server or a notebook.
REMOTE = ("models", "terminal", "adopt")
ELSEWHERE = ("tensorboard", "form")
WORKFLOW = """
    name: example
    steps:
      - name: only
        spec: {{command: test -e {path}, source: {{files: {{a: ""}}}}}}
"""


@pytest.fixture
def run(cli: Cli, pai: StandIn) -> Callable[..., str]:
    """Run a line with the profile and bucket of the stand-in in place of those of the examples, and return its
    output."""

    def run(line: str, **options: Any) -> str:
        line = line.replace("--profile cluster", "--profile pai").replace("/shared/", f"oss://{pai.bucket}/")
        done = cli(*shlex.split(line), **options)
        assert done.returncode == 0, (line, done.stdout, done.stderr)
        return done.stdout

    return run


def lines(*verbs: str) -> list[str]:
    return [line for verb in verbs for _text, line in EXAMPLES[verb]]


@pytest.mark.slow("examples")
def test_examples_on_jobs_and_data_run(run: Callable[..., str], folder: Path) -> None:
    script(folder, TRAIN)
    (folder / "data").mkdir()
    (folder / "data/train.csv").write_text("1,2")
    run("profile default local")
    run("submit train.py --name baseline --metric loss=loss=(.+) --wait")
    # Data is uploaded before it is moved, and jobs are deleted last.
    first, last = ("mkdir", "put", "get", "ls", "mv", "rm"), ("delete", "prune")
    others = [verb for verb in VERBS if verb not in (*first, *last, *REMOTE, *ELSEWHERE, "secret", "workflow")]
    for line in [*(line for _text, line in OVERVIEW), *lines(*first, *others, *last)]:
        run(line)
    for line in lines("secret"):
        result = run(line, stdin=None, input="value\n")
    assert "HF_TOKEN" in result


def test_examples_on_workflows_run(cli: Cli, folder: Path) -> None:
    file = folder / "file"
    (folder / "workflow.yaml").write_text(dedent(WORKFLOW.format(path=file)))
    check, run, resume = (shlex.split(line) for line in lines("workflow"))
    assert cli(*check).returncode == 0
    assert cli(*run).returncode == 1
    file.touch()
    for words in (resume, ["workflow", "show", "last", "--wait"], run):
        done = cli(*words)
        assert done.returncode == 0, (words, done.stdout, done.stderr)


@pytest.mark.slow("examples")
def test_examples_on_data_run_with_a_shared_folder(cli: Cli, folder: Path, tmp_path: Path) -> None:
    (folder / "data").mkdir()
    (folder / "data/train.csv").write_text("1,2")
    for line in lines("mkdir", "put", "get", "ls", "mv", "rm"):
        done = cli(*shlex.split(line.replace("/shared/", f"{tmp_path}/shared/")))
        assert done.returncode == 0, (line, done.stdout, done.stderr)
    assert (folder / "downloads/train.csv").read_text() == "1,2"


@pytest.mark.slow("examples")
def test_examples_on_jobs_of_a_platform_run(run: Callable[..., str], cli: Cli, folder: Path) -> None:
    (folder / "code.py").touch()
    run("submit --command 'sleep 1000' --profile pai --name baseline --yes")
    until(lambda: "running" in run("show"))
    jobs = json.loads(run("adopt --backend pai --json"))["jobs"]
    for line in lines("terminal", "adopt"):
        run(line.replace("job-1234", jobs[0]["remote_id"]))
    run("stop last")
    until(lambda: "stopped" in run("show"))
    for line in lines("models"):
        run(line)
    for line, message in zip(lines(*ELSEWHERE), [*["requires a Jupyter server"] * 3, "in notebooks only"], strict=True):
        assert message in cli(*shlex.split(line)).stderr
