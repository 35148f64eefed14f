"""The Python interpreter of a job: the submitting kernel's, or one chosen by name."""

from __future__ import annotations

import os
import shutil
import sys
from difflib import get_close_matches
from pathlib import Path

from ...core import contract
from ...core.errors import BadInput
from ...core.i18n import _
from .liveness import read_text

# Prefixes of variables that are not passed to jobs: tokens and addresses of the server, the contract of a surrounding
# job, this process's interpreter, and the backend of matplotlib (see `figure_backend`).
_DROPPED = (
    *("JUPYTERHUB_", "JUPYTER_TOKEN", "JUPYTER_PAI_", "JUPYTER_SERVER_", "JPY_", "PAI_"),
    *("PYTHONHOME", "VIRTUAL_ENV", "__PYVENV_LAUNCHER__", "MPLBACKEND"),
)

# In a job with a private /ml: the path of that folder outside of the job.
ML = "JUPYTER_PAI_ML"


def outside(path: str) -> str:
    """Return a path as other jobs see it. This process may be a job that submits another one, whose /ml is its own."""
    own = os.environ.get(ML)
    if own and path.startswith("/opt/ml/"):
        path = os.path.realpath(path)
    return own + path.removeprefix("/ml") if own and path.startswith("/ml/") else path


def find(name: str, caller: str) -> str:
    """Return the absolute path of an interpreter, given by path, kernel or conda environment.

    An empty name stands for `caller`, the interpreter of the submitting process.

    Raises:
        BadInput: if it finds no such interpreter.
    """
    if not name:
        return caller or sys.executable
    if os.sep in name:
        path = os.path.expanduser(name)
        if os.path.isdir(path):
            path = os.path.join(path, "bin", "python")
        if os.access(path, os.X_OK):
            return os.path.abspath(path)
        raise BadInput(_("No interpreter at {path}.").format(path=path), fix=_fix([]))
    pythons = _conda() | _kernels()
    if python := pythons.get(name) or shutil.which(name):
        return python
    raise BadInput(
        _("`{name}` is neither an interpreter nor a kernel nor a conda environment.").format(name=name),
        fix=_fix(get_close_matches(name, pythons, 1) or [*pythons]),
    )


def _fix(names: list[str]) -> str:
    if names:
        return _("Known here: {names}.").format(names=", ".join(f"`{name}`" for name in names))
    return _("Pass the path of an interpreter, or omit --python to use your kernel's.")


def _kernels() -> dict[str, str]:
    from jupyter_client.kernelspec import KernelSpecManager

    specs = {name: spec["spec"] for name, spec in KernelSpecManager().get_all_specs().items()}
    commands = {name: spec["argv"][0] for name, spec in specs.items() if spec.get("argv")}
    pythons = {name: shutil.which(command) for name, command in commands.items()}
    return {name: python for name, python in pythons.items() if python and specs[name].get("language") == "python"}


def _conda() -> dict[str, str]:
    """Return the interpreters of the environments in conda's own list."""
    lines = map(str.strip, read_text(Path("~/.conda/environments.txt").expanduser()).splitlines())
    pythons = {os.path.basename(line): os.path.join(line, "bin", "python") for line in lines}
    return {name: python for name, python in pythons.items() if name and os.access(python, os.X_OK)}


def search_environment(python: str) -> dict[str, str]:
    """Return the environment variables of this process, adapted to a job that runs with `python`."""
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(_DROPPED) and name not in contract.NODE_VARIABLES
    }
    prefix = os.path.dirname(os.path.dirname(python))
    if os.path.exists(os.path.join(prefix, "pyvenv.cfg")):
        environment["VIRTUAL_ENV"] = prefix
    return environment


def figure_backend() -> str:
    """Return the backend of matplotlib that the user has set, otherwise ours. A kernel sets one that needs cells."""
    own = os.environ.get("MPLBACKEND", "")
    return contract.MPLBACKEND if not own or own.startswith("module://") else own


def find_uv() -> str:
    """Return the path of uv; empty if it is not installed."""
    try:
        from uv import find_uv_bin

        return str(find_uv_bin())
    except (ImportError, FileNotFoundError):
        return shutil.which("uv") or ""
