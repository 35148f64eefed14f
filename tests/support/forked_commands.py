"""Commands in processes that are forked from one with the package imported, which takes most of the time to start."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from jupyter_pai.commands.terminal import main

_forks = multiprocessing.get_context("forkserver")
_forks.set_forkserver_preload(["jupyter_pai.commands.terminal", "jupyter_pai.client.embedded"])


def run(words: Sequence[str], folder: Path, errors: str = "strict") -> subprocess.CompletedProcess[str]:
    """Run `jupyter pai WORDS` in a folder, with the environment of this process and without input. `errors`: for bytes
    that are not UTF-8."""
    with tempfile.TemporaryDirectory() as name:
        out, err = Path(name, "out"), Path(name, "err")
        process = _forks.Process(target=_run, args=(words, folder, dict(os.environ), out, err))
        process.start()
        process.join()
        output = [path.read_bytes().decode(errors=errors) for path in (out, err)]
    return subprocess.CompletedProcess(words, process.exitcode or 0, *output)


def _run(words: Sequence[str], folder: Path, environment: dict[str, str], out: Path, err: Path) -> None:
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    for number, path in ((1, out), (2, err)):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT), number)
    sys.exit(main(words))
