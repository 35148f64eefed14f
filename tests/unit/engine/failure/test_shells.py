"""Failures of shell scripts, as sh and bash report them: features of bash, Windows line ends, files and signals."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from jupyter_pai.engine.failure.diagnose import diagnose

SHELLS = [name for name in ("dash", "bash") if shutil.which(name)]


def reason_of(folder: Path, text: bytes, shell: str) -> tuple[str, str]:
    """Run a script in a folder; return the reason and the fix of its failure."""
    (folder / "train.sh").write_bytes(text)
    done = subprocess.run([shell, "train.sh"], cwd=folder, capture_output=True, check=False)
    code = done.returncode if done.returncode >= 0 else 128 - done.returncode
    assert code
    return diagnose(code, (done.stdout + done.stderr).decode("utf-8", "replace"))


FEATURES = ["source x.sh", "set -o pipefail", "a=(1 2)", "echo ${x^^}", "[[ 1 == 1 ]]", "cat <(echo a)", "cat <<< a",
            "for ((i=0; i<3; i++)); do echo; done", "function f { echo; }", "trap x ERR", "export -f f"]  # fmt: skip


@pytest.mark.parametrize("line", FEATURES)
def test_feature_of_bash_is_named(line: str, tmp_path: Path) -> None:
    reason, fix = reason_of(tmp_path, line.encode() + b"\n", SHELLS[0])
    assert reason.startswith("The command has a feature of bash, but sh runs it: ")
    assert "#!/bin/bash" in fix


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("line", [b"cd data", b"set -e", b"nvidia-smix", b"python3 x.py", b"cat x.csv", b"$(date"])
def test_windows_line_end_is_named(line: bytes, shell: str, tmp_path: Path) -> None:
    text = line + b"\r\n" + (b")\r\n" if b"(" in line else b"exit $?\r\n")
    reason, fix = reason_of(tmp_path, text, shell)
    assert reason.startswith("A line of a script ends with \\r\\n")
    assert "sed -i" in fix


def test_windows_line_end_in_an_exception_has_a_fix() -> None:
    reason, fix = diagnose(1, "Traceback (most recent call last):\n  File \"a.py\", line 1\nKeyError: 'label\\r'\n")
    assert reason == "KeyError: 'label\\r' (a.py, line 1)"
    assert "sed -i" in fix


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("line", ["cat {}", "ls {}", "cat < {}", "head -n 1 {}"])
@pytest.mark.parametrize(("path", "fix"), [("data/x.csv", "--input"), ("/nowhere/x.csv", "machine")])
def test_missing_file_is_named(line: str, shell: str, path: str, fix: str, tmp_path: Path) -> None:
    reason = reason_of(tmp_path, line.format(path).encode(), shell)
    assert reason[0] == f"File `{path}` not found."
    assert fix in reason[1]


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(("number", "name"), [(9, "SIGKILL"), (11, "SIGSEGV"), (7, "SIGBUS")])
def test_signal_is_named_if_the_script_goes_on(number: int, name: str, shell: str, tmp_path: Path) -> None:
    reason, fix = reason_of(tmp_path, f"sh -c 'kill -{number} $$'\nexit 1\n".encode(), shell)
    assert reason == f"Ended by signal {name}."
    assert fix


@pytest.mark.parametrize(
    ("tail", "reason"),
    [
        ("mpirun noticed that process rank 1 exited on signal 9 (Killed).\n" + "-" * 74, "SIGKILL"),
        ("srun: error: node1: task 0: Segmentation fault (core dumped)\n", "SIGSEGV"),
        ("subprocess.CalledProcessError: Command 'x' died with <Signals.SIGABRT: 6>.", "SIGABRT"),
        ("slurmstepd: error: Detected 1 oom_kill event in StepId=1.0.\n", "Killed by the system: out of memory"),
        ("RuntimeError: DataLoader worker (pid 7) is killed by signal: Killed.\n", "Killed by the system"),
        ("FATAL ERROR: Reached heap limit - JavaScript heap out of memory\n", "Out of memory"),
        ("jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying", "Out of memory"),
        ("Error: ENOENT: no such file or directory, open 'data/x.json'\n", "`data/x.json`"),
        ("2026/01/01 00:00:00 open data/x.csv: no such file or directory\n", "`data/x.csv`"),
        ("bash: line 1: ./run.sh: cannot execute: required file not found\n", "first line of `./run.sh`"),
        ("bash: ./run.sh: /bin/zsh: bad interpreter: No such file or directory\n", "first line of `./run.sh`"),
        ("CommandNotFoundError: Your shell has not been properly configured to use 'conda activate'.\n", "`conda`"),
    ],
)  # fmt: skip
def test_words_of_other_programs_are_read(tail: str, reason: str) -> None:
    assert reason in diagnose(1, tail)[0]


def test_missing_file_counts_in_the_last_lines_only() -> None:
    assert "`x`" not in diagnose(1, "cat: x: No such file or directory\n" + "a line\n" * 5)[0]
