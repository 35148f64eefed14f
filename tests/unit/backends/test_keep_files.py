"""The shell script that keeps the files that a job of a platform writes beside its code."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
from pathlib import Path

import pytest

from jupyter_pai.backends.runtime import launcher

from ...conftest import PATIENCE

PARTS = [
    Path(launcher.__file__).with_name("script") / f"{name}.sh" for name in ("keep_files", "wait_for", "run_command")
]
OLD = 315532800


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A working folder with packed code, which has an old time."""
    folder = tmp_path / "work"
    (folder / "sub").mkdir(parents=True)
    for name in ("train.py", "sub/config.json"):
        (folder / name).write_text("packed")
        os.utime(folder / name, (OLD, OLD))
    (tmp_path / "kept").mkdir()
    return folder


@pytest.fixture
def bare(tmp_path: Path) -> str:
    """A PATH with `sh` and `tar` only."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for program in ("sh", "tar"):
        (folder / program).symlink_to(f"/bin/{program}")
    return str(folder)


def script(work: Path, command: str, **variables: object) -> str:
    """Return the script for a command."""
    defaults: dict[str, object] = {
        "command": command,
        "kept": work.with_name("kept"),
        "most": 1_000_000,
        "seconds": 60,
        "never": ".env|*.pem|.git|__pycache__",
        "allowed": ".env.example",
        "too_large": "too large:",
        "taken": "taken:",
        "parent": work.parent,
        "too_slow": "too slow",
    }
    lines = [f"pai_{name}={shlex.quote(str(value))}" for name, value in (defaults | variables).items()]
    run = 'set -- sh -c "$pai_command"\n'
    return "\n".join([*lines, run, *(part.read_text("utf-8") for part in PARTS), 'exit "$pai_result"'])


def run(
    work: Path, command: str, shell: str = "sh", path: str = os.defpath, rank: int = 0, **variables: object
) -> tuple[int, str]:
    """Run a command, and return its exit code and output."""
    done = subprocess.run(
        [*shell.split(), "-c", script(work, command, **variables)],
        cwd=work,
        env={"PATH": path, "RANK": str(rank)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout


def kept(work: Path) -> dict[str, int]:
    """Return the kept files with their sizes."""
    folder = work.with_name("kept")
    return {str(path.relative_to(folder)): path.stat().st_size for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("shell", ["/bin/dash", "/bin/bash", "/bin/bash --posix"])
def test_new_and_changed_files_are_kept(work: Path, shell: str) -> None:
    command = (
        "echo 1 > model.npz; echo changed > sub/config.json; mkdir -p 'a b/c'; echo 22 > 'a b/c/图.png'; "
        "mkdir .git env conda conda/conda-meta; touch .git/HEAD .env .env.example k.pem env/pyvenv.cfg env/x conda/y; "
        "ln -s /etc link; ln -s train.py other; exit 7"
    )
    assert run(work, command, shell) == (7, "")
    assert kept(work) == {"model.npz": 2, "sub/config.json": 8, "a b/c/图.png": 3, ".env.example": 0}


@pytest.mark.parametrize("shell", ["/bin/dash", "/bin/bash", "/bin/bash --posix"])
def test_links_to_kept_files_are_kept(work: Path, shell: str) -> None:
    (work / "old").symlink_to("train.py")
    command = (
        "mkdir -p out/step_2; echo 1 > out/step_2/w; cd out; ln -s step_2 LATEST; "
        f"ln -s ../../out/step_2/w step_2/again; ln -s {work}/out/step_2/w best; "
        "ln -s ../../kept away; ln -s /etc etc; ln -s ../train.py code; ln -s nowhere no"
    )
    assert run(work, command, shell) == (0, "")
    folder = work.with_name("kept")
    links = {str(path.relative_to(folder)): os.readlink(path) for path in folder.rglob("*") if path.is_symlink()}
    assert links == {
        "out/LATEST": "step_2",
        "out/step_2/again": "../../out/step_2/w",
        "out/best": f"{work}/out/step_2/w",
    }


def test_shell_and_tar_suffice(work: Path, bare: str) -> None:
    command = "echo 1 > a; printf 22 > 'b c'; exit 3"
    assert run(work, command, path=bare, most=2) == (3, "too large: b c\n")
    assert kept(work) == {"a": 2}


def test_smallest_files_come_first(work: Path) -> None:
    command = "for n in 300000 900000 500 400000; do head -c $n /dev/zero > f$n; done"
    code, output = run(work, command)
    assert (code, output) == (0, "too large: f900000\n")
    assert kept(work) == {"f300000": 300_000, "f400000": 400_000, "f500": 500}


def test_many_files_are_kept(work: Path) -> None:
    assert run(work, "n=0; while [ $n -lt 405 ]; do echo $n > f$n; n=$((n + 1)); done") == (0, "")
    assert len(kept(work)) == 405


def test_fresh_files_of_the_platform_are_not_kept(work: Path) -> None:
    """Code that the platform mounts or unpacks may have a new time."""
    os.utime(work / "train.py")
    assert run(work, "touch new") == (0, "")
    assert kept(work) == {"new": 0}


def test_failed_copy_keeps_the_exit_code(work: Path) -> None:
    assert run(work, "echo 1 > a; exit 4", kept="/proc/nowhere")[0] == 4


def test_instances_have_folders_of_their_own(work: Path) -> None:
    assert run(work, "echo 1 > a", rank=2) == (0, "")
    assert kept(work) == {"worker-2/a": 2}


@pytest.mark.parametrize("shell", ["/bin/dash", "/bin/bash", "/bin/bash --posix"])
def test_files_in_new_folders_beside_the_code_are_kept_under_their_names(work: Path, shell: str) -> None:
    (work.parent / "input").mkdir()
    command = (
        "mkdir -p '../results/a b' ../.hidden results sub; echo 1 > '../results/a b/m'; echo 22 > ../one; "
        "touch ../.hidden/x; ln -s /etc ../link; touch ../input/new; echo own > results/m; echo other > ../results/m; "
        "mkdir -p ../sub; echo new > ../sub/config.json; exit 3"
    )
    assert run(work, command, shell) == (3, "taken: ../results/m\n")
    files = {"results/a b/m": 2, "one": 3, ".hidden/x": 0, "results/m": 4, "sub/config.json": 4}
    assert kept(work) == files


def test_folders_beside_the_code_of_others_are_not_read(work: Path) -> None:
    assert run(work, "echo 1 > ../one; echo 2 > two", parent="/ml") == (0, "")
    assert kept(work) == {"two": 2}


def test_limit_holds_for_files_beside_the_code_too(work: Path, bare: str) -> None:
    command = "printf 1 > a; printf 22 > ../b; printf 333 > ../c"
    assert run(work, command, path=bare, most=3) == (0, "too large: c\n")
    assert kept(work) == {"a": 1, "b": 2}


@pytest.mark.parametrize("shell", ["/bin/dash", "/bin/bash", "/bin/bash --posix"])
def test_event_files_are_copied_while_the_command_runs(work: Path, shell: str) -> None:
    (work / "old.tfevents").write_text("packed too late")
    command = (
        "mkdir -p runs/a; echo 1 > runs/a/events.out.tfevents.1; echo 2 > model.bin; "
        "until [ -s ../kept/runs/a/events.out.tfevents.1 ]; do sleep 0.01; done; ls -R ../kept; "
        "echo 3 >> runs/a/events.out.tfevents.1; "
        "until [ $(wc -c < ../kept/runs/a/events.out.tfevents.1) = 4 ]; do sleep 0.01; done; exit 3"
    )
    code, output = run(work, command, shell)
    assert (code, "model.bin" in output, "old.tfevents" in output) == (3, False, False)
    assert kept(work) == {"runs/a/events.out.tfevents.1": 4, "model.bin": 2}


@pytest.mark.parametrize("shell", ["/bin/dash", "/bin/bash", "/bin/bash --posix"])
def test_short_commands_end(work: Path, shell: str) -> None:
    """The copy of event files begins while such a command ends."""
    for number in range(100):
        assert run(work, f"exit {number}", shell) == (number, "")


def test_time_limit_ends_the_copy(work: Path, bare: str) -> None:
    started, gate = work.with_name("started"), work.with_name("gate")
    os.mkfifo(started)
    os.mkfifo(gate)
    (Path(bare) / "ls").symlink_to("/bin/ls")
    (Path(bare) / "tar").unlink()
    # The time is over when the copy has started, which never ends.
    programs = {
        "sleep": f"[ $1 = 77 ] || exec /bin/sleep $1; read -r _ <{started}",
        "tar": f"[ $1 = -xmf ] || echo >{started}; read -r _ <{gate}",
    }
    for name, line in programs.items():
        (Path(bare) / name).write_text(f"#!/bin/sh\n{line}\n")
        (Path(bare) / name).chmod(0o755)
    assert run(work, "echo 1 > a; exit 5", path=bare, seconds=77) == (5, "too slow\n")
    os.close(os.open(gate, os.O_RDWR))  # Lets it end.


def test_sigterm_reaches_the_command_and_its_files_are_kept(work: Path) -> None:
    command = "trap 'echo 1 > late; exit 9' TERM; echo up; while :; do sleep 0.05; done"
    with subprocess.Popen(["sh", "-c", script(work, command)], cwd=work, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert process.stdout.readline() == "up\n"
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 9
    assert kept(work) == {"late": 2}


@pytest.mark.parametrize("shell", ["/bin/dash", "/bin/bash"])
def test_exit_code_is_that_of_a_process_which_ends_at_a_signal(shell: str, tmp_path: Path) -> None:
    """The signal interrupts the wait for it, and it ends before the shell looks."""
    text = """
trap 'kill -TERM "$process"; sleep 0.02' TERM
for number in $(seq 20); do
  sh -c 'trap "exit 9" TERM; read -r _ <gate; kill -TERM "$1"; while :; do sleep 0.01; done' sh $$ &
  process=$!
  echo >gate
  wait_for "$process"
  echo $?
done
"""
    os.mkfifo(tmp_path / "gate")
    command = [shell, "-c", PARTS[1].read_text("utf-8") + text]
    done = subprocess.run(command, cwd=tmp_path, check=False, capture_output=True, text=True, timeout=PATIENCE)
    assert done.stdout.split() == ["9"] * 20
