"""Logs of jobs with secrets, under the supervisor alone, in every mode."""

from __future__ import annotations

import base64
import os
import signal
import stat
from pathlib import Path
from textwrap import dedent

import pytest

from jupyter_pai.backends.local.supervisor import namespaces
from jupyter_pai.core.secret import Secret

from ...conftest import processes_of, until
from .supervised_job import DAEMONS, MODES, Started

VALUE = "tok-" + "3n/Zt+9q" * 3
BLOCK = "one line of it\nand a second\n"
SECRETS = {"TOKEN": Secret(VALUE), "BLOCK": Secret(BLOCK)}


@pytest.fixture
def job_folder(tmp_path: Path) -> Path:
    return tmp_path / "job"


def python(folder: Path, text: str) -> str:
    """Return a command that runs a Python script."""
    path = folder.parent / "script.py"
    path.write_text("import os, sys, time, base64\ntoken = os.environ['TOKEN']\n" + dedent(text))
    return f"python3 -u {path}"


def without_released(log: bytes) -> bytes:
    """Remove the start of the secret, at most a quarter, that a pause in the output releases before its mask."""
    for n in range(len(VALUE) // 4, 0, -1):
        log = log.replace(VALUE[:n].encode() + b"[secret TOKEN]", b"[secret TOKEN]")
    return log


@pytest.mark.parametrize("tty", [False, True])
@pytest.mark.parametrize("mode", MODES)
def test_secret_is_masked_however_it_is_printed(job_folder: Path, mode: str, tty: bool) -> None:
    command = python(
        job_folder,
        """
        print("one", token)
        for part in ("split " + token[:9], token[9:] + "\\n"):
            sys.stdout.write(part)
            sys.stdout.flush()
        os.write(1, b"bytes "); [os.write(2, token[n:n+1].encode()) for n in range(len(token))]; os.write(1, b"\\n")
        print("base64", base64.b64encode(token.encode()).decode())
        print("basic", base64.b64encode(b"ada:" + token.encode()).decode())
        print(os.environ["BLOCK"], end="")
        print(sorted((k, v) for k, v in os.environ.items() if k in ("TOKEN", "BLOCK")))
        os.system("env | grep TOKEN")
        try:
            raise ValueError(f"401 for https://x/?token={token}")
        except ValueError:
            import traceback; traceback.print_exc()
        sys.stdout.write("end " + token)
        """,
    )
    started = Started(job_folder, command, mode, tty=tty, secrets=SECRETS)
    result = started.end()
    assert result and result.exit_code == 0, started.log
    log = without_released(started.log.replace(b"\r\n", b"\n"))
    for form in (VALUE, VALUE[:12], VALUE[-8:], base64.b64encode(VALUE.encode()).decode()[:12], "second", "one line"):
        assert form.encode() not in log
    lines = log.decode().split("\n")
    assert lines[0] == "one [secret TOKEN]"
    assert lines[1] == "split [secret TOKEN]"
    assert lines[2] == "bytes [secret TOKEN]"
    assert lines[3].startswith("base64 [secret TOKEN]")
    assert lines[4].startswith("basic YWRhO")
    assert lines[5] == "[secret BLOCK]"
    assert lines[6] == "[('BLOCK', '[secret BLOCK]\\n'), ('TOKEN', '[secret TOKEN]')]"
    assert "TOKEN=[secret TOKEN]" in lines
    assert "ValueError: 401 for https://x/?token=[secret TOKEN]" in lines
    assert lines[-1] == "end [secret TOKEN]"


@pytest.mark.parametrize("mode", MODES)
def test_secret_is_in_no_command_line_or_file(job_folder: Path, mode: str) -> None:
    started = Started(job_folder, 'echo "$TOKEN"; exec sleep 1000', mode, secrets=SECRETS)
    until(lambda: started.log)
    pids = processes_of(started.id)
    assert len(pids) >= 3  # supervisor, guard, command
    for pid in pids:
        assert VALUE.encode() not in Path(f"/proc/{pid}/cmdline").read_bytes()
        assert stat.S_IMODE(Path(f"/proc/{pid}/environ").stat().st_mode) == 0o400
    os.kill(started.pid(), signal.SIGTERM)
    started.end()
    for path in job_folder.rglob("*"):
        assert not path.is_file() or VALUE.encode() not in path.read_bytes(), path


@pytest.mark.parametrize("tty", [False, True])
def test_partial_line_is_logged_while_the_job_waits(job_folder: Path, tty: bool) -> None:
    command = f"printf 'epoch 1: t'; while [ ! -e {job_folder}/go ]; do sleep 0.01; done; echo en"
    started = Started(job_folder, command, namespaces.PRIVATE, tty=tty, secrets=SECRETS)
    until(lambda: started.log == b"epoch 1: t")
    (job_folder / "go").touch()
    started.end()
    assert started.log.replace(b"\r", b"") == b"epoch 1: ten\n"


@pytest.mark.parametrize("tty", [False, True])
@pytest.mark.parametrize("mode", MODES)
def test_last_bytes_are_logged_at_the_end(job_folder: Path, mode: str, tty: bool) -> None:
    started = Started(job_folder, "printf 'last: tok'", mode, tty=tty, secrets=SECRETS)
    started.end()
    assert started.log == b"last: tok"
    cut = Started(job_folder.with_name("cut"), f"printf 'last: {VALUE[:-1]}'", mode, tty=tty, secrets=SECRETS)
    cut.end()
    assert without_released(cut.log) == b"last: [secret TOKEN]"


def test_secret_written_in_chunks_reveals_at_most_a_quarter(job_folder: Path) -> None:
    command = python(
        job_folder,
        """
        for place in range(0, len(token), 9):
            os.write(1, token[place : place + 9].encode())
            time.sleep(0.2)
        """,
    )
    started = Started(job_folder, command, namespaces.PRIVATE, secrets=SECRETS)
    started.end()
    assert started.log == VALUE[: len(VALUE) // 4].encode() + b"[secret TOKEN]"


@pytest.mark.parametrize("mode", MODES)
def test_job_stopped_within_a_secret_reveals_at_most_a_quarter(job_folder: Path, mode: str) -> None:
    started = Started(job_folder, f"echo up; printf '{VALUE[:-1]}'; sleep 1000", mode, secrets=SECRETS)
    until(lambda: b"up\n" in started.log)
    os.kill(started.pid(), signal.SIGTERM)
    started.end()
    assert VALUE[: len(VALUE) // 4 + 1].encode() not in started.log


COUNTING = DAEMONS + 'i=0; while :; do echo "$i $TOKEN"; i=$((i+1)); done'


def numbered(log: bytes) -> None:
    """Assert that every line to the last but one is there, once and in order."""
    lines = log.split(b"\n")
    assert lines[:-1] == [b"%d [secret TOKEN]" % n for n in range(len(lines) - 1)]
    assert b"tok-" not in log


@pytest.mark.parametrize("mode", MODES)
def test_killed_supervisor_leaves_a_continuous_log(job_folder: Path, mode: str) -> None:
    started = Started(job_folder, COUNTING, mode, secrets=SECRETS)
    until(lambda: len(started.log) > 10_000)
    os.kill(started.pid(), signal.SIGKILL)
    assert started.end() is None
    assert processes_of(started.id) == []
    numbered(started.log)


@pytest.mark.parametrize("mode", MODES)
def test_killed_guard_leaves_a_continuous_log(job_folder: Path, mode: str) -> None:
    started = Started(job_folder, COUNTING, mode, secrets=SECRETS)
    until(lambda: len(started.log) > 10_000)
    os.kill(started.guard(), signal.SIGKILL)
    result = started.end()
    assert result and (result.exit_code, result.reason) == (None, "guard")
    assert processes_of(started.id) == []
    numbered(started.log)


def test_full_disk_pauses_masking_and_loses_nothing(small_disk: Path) -> None:
    (small_disk / "ballast").write_bytes(b"x" * 1_700_000)
    command = 'i=0; while [ $i -lt 15000 ]; do echo "$i $TOKEN"; i=$((i+1)); done'
    started = Started(small_disk / "job", command, namespaces.PRIVATE, secrets=SECRETS)
    until(lambda: len(started.log) > 100_000)
    (small_disk / "ballast").unlink()
    result = started.end()
    assert result and result.exit_code == 0
    numbered(started.log)
    assert started.log.count(b"\n") == 15_000


def test_kill_on_a_full_disk_leaves_a_continuous_log(small_disk: Path) -> None:
    """On a full disk the supervisor holds unwritten output, and is killed at that moment."""
    (small_disk / "ballast").write_bytes(b"x" * 1_700_000)
    started = Started(small_disk / "job", COUNTING, namespaces.PRIVATE, secrets=SECRETS)
    until(lambda: len(started.log) > 100_000)
    until(lambda: _is_full(small_disk))
    os.kill(started.pid(), signal.SIGKILL)
    (small_disk / "ballast").unlink()
    assert started.end() is None
    numbered(started.log)


def _is_full(disk: Path) -> bool:
    return os.statvfs(disk).f_bavail == 0


def test_time_index_matches_the_masked_log(job_folder: Path) -> None:
    from jupyter_pai.jobs.logs.file import LogFile

    command = 'echo "$TOKEN"; sleep 0.4; echo "$TOKEN"'
    started = Started(job_folder, command, namespaces.PRIVATE, secrets=SECRETS)
    started.end()
    log = LogFile(started.folder.log, "worker-0")
    first, second = log.time_at(0), log.time_at(len("[secret TOKEN]\n"))
    assert first is not None
    assert second is not None
    assert second - first > 0.3
