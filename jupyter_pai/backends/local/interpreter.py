"""Which Python a job runs with: the submitting kernel's own, or one that the user named."""

from __future__ import annotations

import os
import shutil
import sys
from difflib import get_close_matches
from pathlib import Path

from ...core.errors import BadInput
from ...core.i18n import _

__all__ = ["find", "search_environment"]

# What must not reach a job: the server's tokens and addresses, and the contract of a job that we may be part of.
_DROPPED = ("JUPYTERHUB_", "JUPYTER_TOKEN", "JUPYTER_PAI_", "JUPYTER_SERVER_", "JPY_", "PAI_")


def find(asked: str, caller: str) -> str:
    """The absolute path of the interpreter that `asked` names: a path, a kernel, a conda environment.

    Empty: `caller`, the interpreter of the kernel or the command line that submits.

    Raises:
        BadInput: if there is none of that name.
    """
    if not asked:
        return caller or sys.executable
    if os.sep in asked:
        path = os.path.expanduser(asked)
        if os.path.isdir(path):
            path = os.path.join(path, "bin", "python")
        if os.access(path, os.X_OK):
            return os.path.abspath(path)
        raise BadInput(_("There is no interpreter at {path}.").format(path=path), fix=_fix([]))
    kernels = _kernels()
    found = kernels.get(asked) or _conda().get(asked) or shutil.which(asked)
    if found:
        return found
    names = [*kernels, *_conda()]
    raise BadInput(
        _("`{name}` is neither an interpreter nor a kernel nor a conda environment.").format(name=asked),
        fix=_fix(get_close_matches(asked, names, 1) or names),
    )


def _fix(names: list[str]) -> str:
    if not names:
        return _("Give the path of a Python, or leave --python out to use your kernel's own.")
    return _("Known here: {names}.").format(names=", ".join(f"`{name}`" for name in names))


def _kernels() -> dict[str, str]:
    from jupyter_client.kernelspec import KernelSpecManager

    found = {}
    for name, spec in KernelSpecManager().get_all_specs().items():
        argv = spec["spec"].get("argv") or [""]
        python = shutil.which(argv[0])
        if python and spec["spec"].get("language") == "python":
            found[name] = python
    return found


def _conda() -> dict[str, str]:
    """Conda notes every environment it makes in one file."""
    try:
        lines = Path("~/.conda/environments.txt").expanduser().read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return {}
    pythons = {os.path.basename(line.strip()): os.path.join(line.strip(), "bin", "python") for line in lines}
    return {name: python for name, python in pythons.items() if name and os.access(python, os.X_OK)}


def search_environment(python: str) -> dict[str, str]:
    """Our own environment, made fit for a job that runs with `python`."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(_DROPPED)}
    for name in ("PYTHONHOME", "VIRTUAL_ENV", "__PYVENV_LAUNCHER__"):
        environment.pop(name, None)
    if environment.get("MPLBACKEND", "").startswith("module://"):
        del environment["MPLBACKEND"]  # A kernel's: it draws into cells, of which a job has none.
    prefix = os.path.dirname(os.path.dirname(python))
    if os.path.exists(os.path.join(prefix, "pyvenv.cfg")):
        environment["VIRTUAL_ENV"] = prefix
    return environment
