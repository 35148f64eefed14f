"""Environments with an official SDK that this one cannot have, and scripts that run in them."""

from __future__ import annotations

import atexit
import json
import os
import shutil
import subprocess
import sys
import tempfile
from functools import lru_cache
from pathlib import Path
from typing import Any

from uv import find_uv_bin

from .waiting import PATIENCE

__all__ = ["constraint", "group", "python_with", "run_script"]

ROOT = Path(__file__).parents[2]


def constraint(path: str = "constraints.txt") -> list[str]:
    """Return options of uv for the versions in a file of the repository. `make test-newest` uses the newest ones."""
    options = ["--constraint", str(ROOT / path), "--build-constraint", str(ROOT / "constraints.txt")]
    return options if os.environ.get("CONSTRAINTS", path) else []


def group(name: str) -> list[str]:
    """Return options of uv for a dependency group of `pyproject.toml`."""
    return ["--group", f"{ROOT / 'pyproject.toml'}:{name}"]


@lru_cache
def python_with(name: str) -> Path:
    """Return the interpreter of an environment that has only a dependency group, with the versions in
    `tests/fakes/NAME.txt`; made once a session, from uv's cache."""
    folder = Path(tempfile.gettempdir()) / f"jupyter-pai-{name}-{os.getuid()}-{os.getpid()}"
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    python = folder / "bin/python"
    versions = constraint(f"tests/fakes/{name}.txt")
    install = ["pip", "install", "-q", "--python", str(python), *group(name), *versions]
    for command in (["venv", "-q", "--python", sys.executable, str(folder)], install):
        done = subprocess.run([find_uv_bin(), *command], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    return python


def run_script(python: Path, script: str, arguments: dict[str, str], home: Path, **variables: str) -> dict[str, Any]:
    """Run a script, which fills `results`, with `arguments` and `begun` (the start, by `perf_counter`), in the folder
    `home`. Return `results` with `output`, the printed text."""
    text = "import json, sys, time\nbegun = time.perf_counter()\narguments, results = json.loads(sys.argv[1]), {}\n"
    text += f"{script}\nprint('\\n' + json.dumps(results))"
    home.mkdir(exist_ok=True)
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8", **variables}
    done = subprocess.run(
        [str(python), "-W", "ignore", "-c", text, json.dumps(arguments)],
        env=environment, cwd=home, capture_output=True, text=True, timeout=PATIENCE, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    output, _, last = done.stdout.rstrip().rpartition("\n")
    reply: dict[str, Any] = json.loads(last)
    return reply | {"output": output}
