"""The rule of the tests' runner: failed tests run once more, alone, and nothing else is forgiven."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ONCE = """
import os, pathlib

def first(name):
    mark = pathlib.Path(__file__).with_name(name)
    return not mark.exists() and not mark.touch()

def test_passes(): pass

def test_fails_once(): assert not first("failed")

def test_ends_its_worker_once():
    if first("ended"):
        os._exit(3)
"""
ALWAYS = "def test_fails(): assert False\n"
MANY = "import pytest\n@pytest.mark.parametrize('n', range(11))\ndef test_fails(n): assert False\n"
# Cannot be imported the first time.
BROKEN = "import pathlib\nmark = pathlib.Path(__file__).with_name('imported')\nassert mark.exists() or mark.touch()\n"
SKIPPED = "import pytest\ndef test_skips(): pytest.skip('no time')\n"


def run(folder: Path, **files: str) -> tuple[int, list[str]]:
    """Run the tests of a folder. Return the exit code, and the output after the second try."""
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text)
    # Other plug-ins take most of the time.
    options = ["-p", "xdist.plugin", "--numprocesses=1", "--rootdir", str(folder)]
    environment = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    command = [sys.executable, "-m", "tests", *options, str(folder)]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout.splitlines()


def test_test_that_passes_the_second_time_is_named(tmp_path: Path) -> None:
    code, lines = run(tmp_path, test_once=ONCE)
    assert code == 0
    assert lines[-6:] == [
        "",
        "passed only when run again: 2",
        "  test_once.py::test_ends_its_worker_once",
        "  test_once.py::test_fails_once",
        "",
        "3 passed, 0 failed, 0 skipped",
    ]


def test_test_that_fails_again_fails_the_run(tmp_path: Path) -> None:
    code, lines = run(tmp_path, test_once=ONCE, test_always=ALWAYS)
    assert (code, lines[-1]) == (1, "3 passed, 1 failed, 0 skipped")
    assert "passed only when run again: 2" in lines


@pytest.mark.parametrize(
    ("files", "end"),
    [
        ({"test_many": MANY}, "0 passed, 11 failed, 0 skipped"),
        (
            {"conftest": "from tests.conftest import pytest_sessionfinish\n", "test_skipped": SKIPPED, "test_x": ONCE},
            "1 passed, 2 failed, 1 skipped",
        ),
    ],
    ids=["many", "skipped"],
)
def test_nothing_else_is_forgiven(tmp_path: Path, files: dict[str, str], end: str) -> None:
    code, lines = run(tmp_path, **files)
    assert code != 0
    assert lines[-1] == end
    assert not any("run again" in line for line in lines)


def test_file_that_can_be_imported_the_second_time_only_fails_the_run(tmp_path: Path) -> None:
    code, lines = run(tmp_path, test_once=ONCE, test_broken=f"{BROKEN}def test_passes(): pass\n")
    assert code != 0
    assert lines[-1].split(", ")[1] == "1 failed"
