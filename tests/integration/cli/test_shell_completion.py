"""Tab completion in bash, as a user enables it: with the script of `register-python-argcomplete`."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pexpect
import pytest

from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.client.workflow_run import WorkflowHandle
from jupyter_pai.commands.parser.parser import VERBS
from jupyter_pai.config.toml_file import user_file
from jupyter_pai.jobs.choices import StoredChoices, store_choices
from jupyter_pai.jobs.state_dir import Home

from ...conftest import PATIENCE, submit

ENABLE = 'eval "$(register-python-argcomplete jupyter jupyter-pai)"'
# Calls the function that the user's bash calls for Tab, and prints its results and its exit status.
PRESS_TAB = """
%s
COMP_LINE={line} COMP_POINT={point} COMP_TYPE=9 COMP_WORDS=({line}) COMP_CWORD=1
_python_argcomplete {program}
printf '%%s\\n' "${{COMPREPLY[@]}}"
""".replace("%s", ENABLE, 1).replace("%%", "%")

Complete = Callable[..., list[str]]


@pytest.fixture
def path(monkeypatch: pytest.MonkeyPatch) -> None:
    """The programs of this environment come first, as in an activated one."""
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")


@pytest.fixture
def complete(home: Home, folder: Path, path: None) -> Complete:
    """Complete a line in bash, and return the words that bash would offer. Fail if anything else is printed."""

    def complete(line: str) -> list[str]:
        text = PRESS_TAB.format(line=shlex.quote(line), point=len(line.encode()), program=line.split()[0])
        command = ["bash", "--norc", "--noprofile", "-c", text]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
        assert done.stderr == ""
        return [word.rstrip() for word in done.stdout.splitlines() if word]

    return complete


@pytest.mark.slow("cases", first=1)
@pytest.mark.parametrize("program", ["jupyter pai", "jupyter-pai"])
def test_verbs_and_options_are_completed(complete: Complete, program: str) -> None:
    assert complete(f"{program} ") == [*VERBS]
    assert complete(f"{program} su") == ["submit"]
    assert complete(f"{program} submit --inst") == ["--instance-type", "--instance-count"]
    assert complete(f"{program} submit --as") == ["--as-script"]  # `--as` is for notebooks.
    assert complete(f"{program} disk ") == ["--help", "--json"]


@pytest.mark.slow("processes")
def test_jobs_are_completed_by_id_and_name(complete: Complete, engine: EmbeddedClient) -> None:
    assert complete("jupyter pai show ") == ["last"]
    first = submit(engine, "true", name="baseline").wait()
    second = submit(engine, "sleep 1000", name="base two")
    assert complete("jupyter pai logs ") == [second.id, first.id, "baseline", "base\\ two", "last"]
    assert complete(f"jupyter pai logs {first.id[:7]}") == [first.id]
    assert complete("jupyter pai diff baseline la") == ["last"]
    assert complete("jupyter pai stop base") == ["base\\ two"]
    assert complete("jupyter pai delete base") == ["baseline"]
    second.stop()


@pytest.mark.slow("processes")
def test_runs_and_files_of_workflows_are_completed(complete: Complete, engine: EmbeddedClient, folder: Path) -> None:
    for name in ("workflow.yaml", "train.py"):
        (folder / name).touch()
    step = {"name": "a", "spec": {"command": "true"}}
    run = engine.run_workflow({"name": "digits", "steps": [step]})["id"]
    assert complete("jupyter pai workflow st") == ["stop"]
    assert complete("jupyter pai workflow run ") == ["workflow.yaml"]
    assert complete("jupyter pai workflow stop ") == ["digits", run, "last"]
    assert complete("jupyter pai workflow export wo") == ["workflow.yaml"]
    WorkflowHandle(engine.call("show_workflow", run=run)["run"], engine).wait(progress=False)


@pytest.mark.slow("processes")
def test_values_are_completed(complete: Complete, engine: EmbeddedClient) -> None:
    submit(engine, "true", instance_type="ecs.c6.large").wait()
    engine.call("set_secret", secret="HF_TOKEN", body={"value": "a secret value"})
    user_file().write_text('[profiles.work]\nbackend = "local"\n[profiles.pai]\nregion_id = "cn-shanghai"\n')
    assert complete("jupyter pai submit --profile ") == ["local", "pai", "work"]
    assert complete("jupyter pai list --backend ") == ["local", "pai"]
    assert complete("jupyter pai profile show w") == ["work"]
    assert complete("jupyter pai profile se") == ["set"]
    assert complete("jupyter pai submit --instance-type e") == ["ecs.c6.large"]
    assert complete("jupyter pai submit --secret ") == ["HF_TOKEN"]
    assert complete("jupyter pai secret remove H") == ["HF_TOKEN"]
    assert complete("jupyter pai list --status s") == ["starting", "succeeded", "stopped"]
    assert complete("jupyter pai submit --name ") == []


@pytest.mark.slow("processes")
def test_values_that_a_form_has_listed_are_completed(complete: Complete, engine: EmbeddedClient, home: Home) -> None:
    assert complete("jupyter pai profile set local default") == []
    (*_others, last) = engine.call("choices", name="instance_types", profile="local")["choices"]
    assert complete("jupyter pai profile set local ") == ["default_instance_type="]
    assert complete("jupyter pai profile set ") == ["local"]
    assert last["value"] in complete("jupyter pai profile set local default_instance_type=")
    assert last["value"] in complete(f"jupyter pai submit --instance-type {last['value'][:3]}")
    lists = {"work": ["day", "night shift"], "home": ["dawn"]}
    for profile, queues in lists.items():
        found = StoredChoices(0.0, dict.fromkeys(queues, "a queue"), 0, ["room.queue"], [])
        store_choices(home.choices, profile, "", "queues", found)
    assert complete("jupyter pai submit --profile work --option ") == ["room.queue="]
    assert complete("jupyter pai submit --profile work --option room.queue=") == ["day", "night\\ shift"]
    assert complete("jupyter pai submit --profile work --option room.queue=n") == ["night\\ shift"]
    assert complete("jupyter pai submit --profile work --name home --option other=") == []
    assert complete("jupyter pai submit --option room.queue=da") == ["dawn", "day"]
    user_file().parent.mkdir(exist_ok=True)
    user_file().write_text('default = "home"\n')
    assert complete("jupyter pai submit --option room.queue=da") == ["dawn"]
    assert complete("jupyter pai rerun --profile work --option room.queue=da") == ["day"]


@pytest.mark.slow("processes")
def test_paths_are_completed(complete: Complete, folder: Path) -> None:
    for name in ("train.py", "tune.ipynb", "table.csv", "job.toml", ".hidden.py", "data/my file.csv"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).touch()
    assert complete("jupyter pai submit ") == ["data/", "train.py", "tune.ipynb"]
    assert complete("jupyter pai submit .") == [".hidden.py"]
    assert complete("jupyter pai submit --spec ") == ["data/", "job.toml"]
    assert complete("jupyter pai submit --source ") == ["data/"]
    assert complete("jupyter pai submit --input train=da") == ["data/"]
    assert complete("jupyter pai put data/") == ["data/my\\ file.csv"]
    assert complete(f"jupyter pai inspect {folder}/tr") == [f"{folder}/train.py"]
    assert complete("jupyter pai ls oss://") == []  # A request to a storage takes too long.


@pytest.mark.slow("cases", first=1)
@pytest.mark.parametrize("damaged", ["pai.sqlite3", "jupyter_pai.toml", "jupyter_pai_secrets.json", "state"])
def test_damaged_files_complete_nothing(complete: Complete, home: Home, damaged: str) -> None:
    folder = home.path.parent if damaged == "state" else home.path if damaged == home.database.name else None
    path = (folder or user_file().parent) / damaged
    path.parent.mkdir(exist_ok=True)
    path.write_text("[[not this")
    assert complete("jupyter pai show ") == ["last"]
    assert complete("jupyter pai submit --profile ") == ["local"]
    assert complete("jupyter pai submit --secret ") == []


def test_completion_loads_neither_engine_nor_network(home: Home, folder: Path, engine: EmbeddedClient) -> None:
    submit(engine, "true", name="baseline").wait()
    output = folder / "completions"
    for line in ("jupyter-pai show baselin", "jupyter-pai submit --profile l", "jupyter-pai submit --option q"):
        protocol = {"_ARGCOMPLETE": "1", "_ARGCOMPLETE_STDOUT_FILENAME": str(output)}
        protocol |= {"COMP_LINE": line, "COMP_POINT": str(len(line))}
        command = [sys.executable, "-X", "importtime", "-m", "jupyter_pai"]
        done = subprocess.run(command, env=os.environ | protocol, capture_output=True, text=True, check=True)
        assert done.stdout == ""
        modules = {row.rpartition("|")[2].strip() for row in done.stderr.splitlines()}
        assert "jupyter_pai.commands.completion" in modules
        assert {name for name in modules if name.startswith("jupyter_pai.engine")} == set()
        assert modules & {"pydantic", "numpy", "asyncio", "http.client", "httpx", "ssl", "IPython", "rich"} == set()
        if "show" in line:
            assert output.read_text() == "baseline "


@pytest.mark.slow("processes")
def test_tab_completes_a_line_in_bash(home: Home, folder: Path, path: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HISTFILE", "/dev/null")  # Else the commands are added to the developer's history.
    shell = pexpect.spawn("bash", ["--norc", "--noprofile", "-i"], cwd=str(folder), encoding="utf-8", timeout=PATIENCE)
    shell.sendline("bind 'set bell-style none'; PS1='>'; " + ENABLE + "; echo re''ady")
    shell.expect_exact("ready")
    shell.send("jupyter pai profile li\t")
    shell.expect_exact("profile list ")
    shell.sendline("--js\t")
    shell.expect_exact("--json")
    shell.expect_exact('"default": "local"')
    shell.sendline("exit")
    shell.expect(pexpect.EOF)
