"""The Python interpreter of a job, the submitting kernel's or one chosen by name, and that of a script's first line."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from difflib import get_close_matches
from pathlib import Path

from ...core import contract
from ...core.errors import BadInput
from ...core.i18n import _
from ...jobs.spec import JobSpec
from ...source.entry_point import programs
from ..runtime import launcher
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


def check_program(spec: JobSpec, python: str) -> None:
    """Check that the programs in the first line of a job's script are here. A job may install those without a path.

    Raises:
        BadInput: if one is not here.
    """
    folder = spec.source.folder
    installs = bool(spec.requirements) or "requirements.txt" in spec.source.files
    installs = installs or os.path.isfile(os.path.join(folder or os.devnull, "requirements.txt"))
    path = launcher.search_path("", python, spec.environment.get("PATH") or os.environ.get("PATH", os.defpath))
    for program in programs(spec.interpreter) if spec.interpreter else ():
        is_path = os.sep in program
        if program == "python" or (installs and not is_path):
            continue
        if shutil.which(os.path.join(folder, program) if is_path else program, path=path):
            continue
        text = _("{file}, line 1: the interpreter `{program}` does not exist on this machine.")
        found = shutil.which(os.path.basename(program), path=path) if is_path else None
        line = " ".join(["#!" + (found or ""), *shlex.split(spec.interpreter)[1:]])
        raise BadInput(
            text.format(file=spec.entry_point, program=program),
            fix=_("Write: {line}").format(line=line) if found else _("Install it, or name another one in that line."),
        )


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
