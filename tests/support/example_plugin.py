"""The example plug-in, installed beside this environment, and its daemon."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..conftest import ROOT, made_once

__all__ = ["EXAMPLE", "site", "running_daemon"]

EXAMPLE = ROOT / "docs/examples/plugin"


def site() -> Path:
    """Return a folder with the installed plug-in, for PYTHONPATH."""
    return made_once("neighbour", _install) / "site"


def _install(folder: Path) -> None:
    _python("-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(EXAMPLE))
    (wheel,) = folder.glob("*.whl")
    _python("-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target", str(folder / "site"), str(wheel))


def _python(*words: str) -> None:
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@contextmanager
def running_daemon(folder: Path, *words: str, **environment: str) -> Iterator[Path]:
    """Run the daemon of the example plug-in for a folder."""
    command = [sys.executable, "-m", "jupyter_pai_neighbour.daemon", str(folder), *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ | environment) as neighbour:
        assert neighbour.stdout
        assert "listens at" in neighbour.stdout.readline()
        try:
            yield folder
        finally:
            neighbour.terminate()
