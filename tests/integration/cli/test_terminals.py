"""Output of hostile jobs on a real terminal: nothing that sets its title or clipboard, or types into the shell."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from jupyter_pai.client.embedded import EmbeddedClient

from ...conftest import script, submit

CLIPBOARD, TITLE, ASKS = "\x1b]52;c;ZXZpbA==\x07", "\x1b]0;evil\x1b\\", "\x1b[6n\x9b6n"
ORDER = "\u202egpj"
HOSTILE = CLIPBOARD + TITLE + ASKS + ORDER
JOB = f"""
import json, os, pathlib
evil = {HOSTILE!r}
model = pathlib.Path(os.environ["PAI_OUTPUT_MODEL"])
(model / f"weights{{evil}}").touch()
(model / os.fsdecode(b"bytes\\x9b\\xff")).touch()
(model.parent / "output_parameters").mkdir()
(model.parent / "output_parameters" / f"best{{evil}}").write_text(evil)
print(f"log{{evil}}\\x1b[31mred\\x1b[0m 10%\\r 20%")
print("[pai] " + json.dumps({{"metric": f"loss{{evil}}", "value": 1, "step": 1}}))
print("[pai] " + json.dumps({{"failure": f"failed{{evil}}"}}))
raise SystemExit(3)
"""

Shown = Callable[..., str]


@pytest.fixture
def shown(engine: EmbeddedClient, folder: Path) -> Shown:
    """Run a program on a terminal, and return the bytes that the terminal receives, as text."""

    def run(*words: str, program: tuple[str, ...] = ("-m", "jupyter_pai")) -> str:
        master, slave = pty.openpty()
        variables = os.environ | {"TERM": "xterm", "COLUMNS": "200"}
        command = [sys.executable, *program, *words]
        process = subprocess.Popen(
            command, cwd=folder, stdin=subprocess.DEVNULL, stdout=slave, stderr=slave, env=variables
        )
        os.close(slave)
        received = b""
        while data := _read(master):
            received += data
        process.wait()
        os.close(master)
        return received.decode("utf-8", "backslashreplace")

    return run


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 1 << 16)
    except OSError:
        return b""  # The program has ended.


@pytest.fixture
def hostile(engine: EmbeddedClient, folder: Path) -> str:
    """The id of a hostile job that has ended."""
    script(folder, JOB)
    spec: dict[str, Any] = {"hyperparameters": {"a": f"x{HOSTILE}"}, "labels": {"who": f"eve{HOSTILE}"}}
    return submit(engine, folder=folder, entry_point="train.py", **spec).wait().id


def without_colours(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def assert_harmless(text: str) -> None:
    """Fail if a terminal would obey a part of the text, apart from colours and progress bars."""
    rest = without_colours(text.replace(f"log�6n{ORDER}", ""))
    assert not re.search(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202e]", rest), repr(text)


@pytest.mark.slow("processes")
def test_commands_pass_no_control_characters_to_a_terminal(engine: EmbeddedClient, hostile: str, shown: Shown) -> None:
    other = submit(engine, "true").wait().id
    for words, expected in {
        ("list",): "loss",
        ("list", "--json"): '"loss\\u001b]52;',
        ("show", hostile): "failed",
        ("show", hostile, "--json"): "\\u009b6n",
        ("logs", hostile): "log",
        ("logs", hostile, "--follow"): "red",
        ("metrics", hostile): "loss",
        ("metrics", hostile, "none\x1b[2J"): "Error: ",
        ("outputs", hostile): "weights",
        ("label", hostile): "eve",
        ("diff", hostile, other): "x",
        ("disk",): hostile,
        ("prune", "--larger-than", "0B", "--dry-run"): hostile,
        ("rerun", hostile, "--wait"): "red",
        ("rerun", hostile, "--wait", "--json"): "red",
    }.items():
        text = shown(*words)
        assert_harmless(text)
        assert expected in text, words


def test_python_passes_no_control_characters_to_a_terminal(hostile: str, shown: Shown) -> None:
    code = f"""
import jupyter_pai
job = jupyter_pai.get_job({hostile!r})
print(job, job.text(), job.labels, job.output_parameters, sep="\\n")
jupyter_pai.client.job.wait_for_success(job, "stop")
"""
    text = shown(program=("-c", code))
    assert_harmless(text)
    assert "\x1b[31mred\x1b[0m 10%\r 20%" in text
    assert "JobFailed: Job" in without_colours(text)  # Python 3.13 and newer colour a traceback.


def test_log_on_a_terminal_keeps_colours_and_progress_bars(hostile: str, shown: Shown) -> None:
    assert shown("logs", hostile).startswith(f"log�6n{ORDER}\x1b[31mred\x1b[0m 10%\r 20%\r\n")


@pytest.mark.slow("processes")
def test_raw_log_and_piped_log_are_the_bytes_of_the_job(hostile: str, shown: Shown, folder: Path) -> None:
    line = f"log{HOSTILE}\x1b[31mred\x1b[0m 10%\r 20%"
    assert shown("logs", hostile, "--raw").startswith(line + "\r\n")
    command = [sys.executable, "-m", "jupyter_pai", "logs", hostile]
    piped = subprocess.run(command, cwd=folder, capture_output=True, check=True).stdout
    assert piped.startswith(line.encode() + b"\n")


@pytest.mark.slow("processes")
def test_json_on_a_terminal_has_all_characters(hostile: str, shown: Shown) -> None:
    info = json.loads(shown("show", hostile, "--json"))
    assert info["labels"] == {"who": f"eve{HOSTILE}"}
    files = json.loads(shown("outputs", hostile, "model", "--json"))[0]["files"]
    assert "bytes\udc9b\udcff" in [file["path"] for file in files]


def test_names_with_control_characters_are_not_completed(engine: EmbeddedClient, folder: Path) -> None:
    for name in ("train.py", f"train{TITLE}.py", "train\x9b.py"):
        (folder / name).touch()
    variables = {
        "_ARGCOMPLETE": "1", "_ARGCOMPLETE_STDOUT_FILENAME": str(folder.parent / "out"), "_ARGCOMPLETE_IFS": "\n",
        "COMP_LINE": "jupyter-pai submit tr", "COMP_POINT": "21", "_ARGCOMPLETE_COMP_WORDBREAKS": "",
    }  # fmt: skip
    subprocess.run([sys.executable, "-m", "jupyter_pai"], cwd=folder, env=os.environ | variables, check=False)
    assert (folder.parent / "out").read_text().split() == ["train.py"]
