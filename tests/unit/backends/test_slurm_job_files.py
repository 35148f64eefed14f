"""Batch scripts of Slurm as specs: the forms of their directives, and what cannot be meant."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from jupyter_pai.backends.slurm import allocation, directives
from jupyter_pai.backends.slurm.backend import SlurmBackend
from jupyter_pai.core.errors import SpecError

FILE = Path("/code/job.sbatch")


def spec_of(*lines: str, first: str = "#!/bin/bash") -> dict[str, Any]:
    text = "\n".join([first, *(f"#SBATCH {line}" for line in lines), "srun hostname", ""])
    return SlurmBackend.read_job_file(FILE, text).spec


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("--nodes=2", ["--nodes=2"]),
        ("--nodes 2", ["--nodes=2"]),
        ("-N2", ["--nodes=2"]),
        ("-N 2 -n 8", ["--nodes=2", "--ntasks=8"]),
        ("--node=2", None),  # `nodes` or `nodelist`
        ("--ntasks-per-n=2", ["--ntasks-per-node=2"]),
        ("--nodes=2 # two", ["--nodes=2"]),
        ("--nodes=2#two", ["--nodes=2"]),
        ("--mail-user='a b' -n1", ["--mail-user=a b", "--ntasks=1"]),
        ("-n1 --exclusive", ["--ntasks=1", "--exclusive"]),
        ("-n1 --exclusive=user", ["--ntasks=1", "--exclusive=user"]),
        ("-n1 -H", ["--ntasks=1", "--hold"]),
        ("-n1 --mem-per-cpu=2G", ["--ntasks=1", "--mem-per-cpu=2G"]),
        ("-n1 --mem=0", ["--ntasks=1", "--mem=0"]),
        ("--gpus=2", ["--gpus=2", "--ntasks=1"]),
        ("", ["--ntasks=1"]),
    ],
)  # fmt: skip
def test_directives_are_read_as_sbatch_does(line: str, words: list[str] | None) -> None:
    if words is None:
        with pytest.raises(SpecError, match="Line 2"):
            spec_of(line)
    else:
        assert spec_of(line)["options"]["sbatch"] == words


@pytest.mark.parametrize(
    ("line", "fields"),
    [
        ("-J hello", {"name": "hello"}),
        ("-c 4", {"cpu": 4}),
        ("--mem=16G", {"memory": "16GiB"}),
        ("--mem=4000", {"memory": "4000MiB"}),
        ("--gres=gpu:2", {"gpu": 2}),
        ("-t 90", {"max_run_time": 5400}),
        ("-t 1:30", {"max_run_time": 90}),
        ("-t 1:00:01", {"max_run_time": 3601}),
        ("-t 2-1", {"max_run_time": 2 * 86_400 + 3600}),
        ("-t 1-0:30", {"max_run_time": 86_400 + 1800}),
        ("-t UNLIMITED", {"max_run_time": 0}),
        ("--chdir=.", {}),
        ("-D /code", {}),
    ],
)  # fmt: skip
def test_directives_become_fields(line: str, fields: dict[str, Any]) -> None:
    spec = spec_of(line)
    assert spec["options"] == {"sbatch": ["--ntasks=1"]}
    assert {name: value for name, value in spec.items() if name not in ("command", "source", "options")} == fields


def test_directives_become_options() -> None:
    options = spec_of("-p gpu -A lab -q high", "--reservation=r -C 'a&b' --requeue", "--gres=gpu:a100:2")["options"]
    assert options == {
        "partition": "gpu", "account": "lab", "qos": "high", "reservation": "r", "constraint": "a&b", "requeue": True,
        "gres": "gpu:a100:2", "sbatch": ["--ntasks=1"],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("--array=1-9", "--array=1-9 is not supported"),
        ("--wrap=id", "--wrap=id is not supported"),
        ("-D /other", "--chdir=/other is not supported"),
        ("-i data", "--input=data is not supported"),
        ("--signal=B:USR1@60", "Omit `B:`"),
        ("-d singleton", "afterok"),
        ("hetjob", "several components"),
        ("--nodes", "--nodes has no value"),
        ("--no-such-option=1", "not known here"),
        ("--partitoin=x", "partition"),
        ("stray", "`stray` is not an option"),
        ("-t soon", "--time=soon is not a time"),
        ("-c many", "--cpus-per-task=many is not a number"),
        ("--comment='open", "a quote is not closed"),
    ],
)  # fmt: skip
def test_what_cannot_be_meant_is_named_with_its_line(line: str, text: str) -> None:
    with pytest.raises(SpecError, match="Line 3") as caught:
        spec_of("-N 2", line)
    assert text in str(caught.value)


@pytest.mark.parametrize("line", ["--output=x-%j.out", "-e x.err", "--open-mode=append", "--comment='a job'", "-v"])
def test_what_changes_nothing_is_a_note(line: str) -> None:
    read = SlurmBackend.read_job_file(FILE, f"#!/bin/sh\n#SBATCH {line}\n")
    (note,) = read.notes
    assert note.startswith("Line 2: --")


def test_directives_after_the_first_command_do_not_count() -> None:
    text = "#!/bin/sh\n# a comment\n\n#SBATCH -N2\n #SBATCH -N3\n##SBATCH -N4\ntrue\n#SBATCH --array=1-9\n"
    assert SlurmBackend.read_job_file(FILE, text).spec["options"]["sbatch"] == ["--nodes=2"]
    assert directives.read("#!/bin/sh\n#SBATCH -N2\n#SBATCH -N3\n") == [directives.Directive(3, "nodes", "3")]


def test_interpreter_is_that_of_the_first_line() -> None:
    assert "exec /bin/bash '-l -e' ./job.sbatch $PAI_USER_ARGS" in spec_of(first="#!/bin/bash  -l -e")["command"]
    for text in ("", "echo\n", "#!\n"):
        with pytest.raises(SpecError, match="does not begin with"):
            SlurmBackend.read_job_file(FILE, text)
    with pytest.raises(SpecError, match="dos2unix"):
        SlurmBackend.read_job_file(FILE, "#!/bin/sh\r\ntrue\r\n")


def test_shell_script_is_a_job_file_only_with_directives(tmp_path: Path) -> None:
    for name, text, expected in [
        ("a.sbatch", "", True),
        ("a.slurm", "", True),
        ("a.sh", "#!/bin/sh\n#SBATCH -n2\n", True),
        ("b.sh", "#!/bin/sh\ntrue\n#SBATCH -n2\n", False),
        ("a.py", "#SBATCH -n2\n", False),
    ]:
        (tmp_path / name).write_text(text)
        assert SlurmBackend.is_job_file(tmp_path / name) == expected
    assert not SlurmBackend.is_job_file(tmp_path / "absent.sh")


def test_arguments_of_the_user_replace_ours_of_the_same_meaning() -> None:
    ours = ["--parsable", "--nodes=1", "--ntasks=1", "--ntasks-per-node=1", "--mem=1M", "--export=ALL"]
    assert allocation.merged(ours, ["--ntasks=4", "--mem-per-cpu=1G"]) == [
        "--parsable", "--export=ALL", "--ntasks=4", "--mem-per-cpu=1G",
    ]  # fmt: skip
    assert allocation.merged(ours, ["--exclusive"]) == [*ours, "--exclusive"]
