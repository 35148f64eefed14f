"""Why a job failed and what to do about it, told from its exit code and the last lines of its log."""

from __future__ import annotations

import re
import signal

from . import launcher
from .i18n import _

__all__ = ["diagnose"]

_MISSING_MODULE = re.compile(r"ModuleNotFoundError: No module named '([\w.]+)'")
_NOT_FOUND = re.compile(r"(?:^|\s)(?:sh|bash|/bin/sh)?:?\s*(?:line )?\d*:?\s*([^\s:]+): (?:command )?not found")
_NO_FILE = re.compile(r"can't open file '([^']+)': \[Errno 2\]")
_NO_INPUT = re.compile(r"EOFError: EOF when reading a line")
_NO_MEMORY = re.compile(r"MemoryError\b|OutOfMemoryError|CUDA out of memory|Cannot allocate memory|std::bad_alloc")

# Names under which packages are installed that differ from those under which they are imported.
_PACKAGES = {
    "sklearn": "scikit-learn",
    "cv2": "opencv-python",
    "PIL": "pillow",
    "yaml": "pyyaml",
    "skimage": "scikit-image",
}


def diagnose(exit_code: int, tail: str) -> tuple[str, str]:
    """The reason and the fix for a command that ended with `exit_code`, `tail` being the end of its log."""
    said = _from_log(exit_code, tail)
    if said:
        return said
    if 128 < exit_code < 128 + 65:
        return _from_signal(exit_code - 128)
    if exit_code == 126:
        return _("The command could not be executed (exit code 126)."), _("Is the file executable? chmod +x …")
    return _("The command ended with exit code {code}.").format(code=exit_code), ""


def _from_log(exit_code: int, tail: str) -> tuple[str, str] | None:
    if found := _last(_MISSING_MODULE, tail):
        module = found.split(".")[0]
        return _("The module `{name}` is missing.").format(name=found), _(
            "Add --requirement {package}, or a line to requirements.txt."
        ).format(package=_PACKAGES.get(module, module))
    if _NO_INPUT.search(tail):
        return _("The script asks for input, and a job has none (input() met the end)."), _(
            "Pass the value as a hyperparameter: --hp NAME=VALUE."
        )
    if exit_code == 127 and (found := _last(_NOT_FOUND, tail)):
        return _("There is no command `{name}`.").format(name=found), _(
            "Check its spelling; a program of your folder is called ./{name}, a package's needs --requirement."
        ).format(name=found)
    if found := _last(_NO_FILE, tail):
        name = found.rsplit("/", 1)[-1]
        return _("The script `{name}` is not in the folder that was packed.").format(name=name), _(
            "Is it left out? See what is packed with --dry-run."
        )
    if _NO_MEMORY.search(tail):
        return _("Out of memory."), _("Use a smaller batch or model, or a larger instance type.")
    if exit_code == launcher.FAILED:
        return _("The requirements could not be installed."), _("The log says which; check names and network.")
    return None


def _from_signal(number: int) -> tuple[str, str]:
    try:
        name = signal.Signals(number).name
    except ValueError:
        name = str(number)
    fixes: dict[int, str] = {
        signal.SIGKILL: _("Often the system's answer to a lack of memory: use a smaller batch or model."),
        signal.SIGSEGV: _("A crash in native code: check the versions of the packages that have some."),
    }
    return _("Ended by the signal {name}.").format(name=name), fixes.get(number, "")


def _last(pattern: re.Pattern[str], text: str) -> str:
    found = pattern.findall(text)
    return found[-1] if found else ""
