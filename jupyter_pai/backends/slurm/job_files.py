"""Batch scripts of Slurm as job files. The script runs unchanged, once, on the first node of its allocation.

Its directives become fields and options of the spec. What `srun` needs within the script, such as the number of tasks,
is passed on to `sbatch`.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ...core.errors import SpecError
from ...core.i18n import _
from ..job_files import JobFile
from . import directives
from .directives import Directive

__all__ = ["has_directives", "read"]

# Bytes in which the first directive of a shell script is searched.
_HEAD = 16_384

_SECONDS = {"days": 86_400, "hours": 3_600, "minutes": 60, "seconds": 1}
_TIMES = (
    r"(?P<minutes>\d+)",
    r"(?P<minutes>\d+):(?P<seconds>\d+)",
    r"(?P<hours>\d+):(?P<minutes>\d+):(?P<seconds>\d+)",
    r"(?P<days>\d+)-(?P<hours>\d+)(:(?P<minutes>\d+)(:(?P<seconds>\d+))?)?",
)
_UNITS = {"": "MiB", "K": "KiB", "M": "MiB", "G": "GiB", "T": "TiB"}


def has_directives(path: Path) -> bool:
    """Return whether a shell script begins with directives."""
    if path.suffix != ".sh":
        return False
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD).decode("utf-8", "replace")
    except OSError:
        return False
    return any(line.startswith(directives.MAGIC) for line in directives.head(head))


def read(path: Path, text: str) -> JobFile:
    """Return the spec of a batch script with this text.

    Raises:
        SpecError: naming the line that `sbatch` would not accept, or that would run something else here.
    """
    first = text.partition("\n")[0]
    if not first.startswith("#!") or not first[2:].strip():
        raise SpecError(
            _("Line 1: {path} does not begin with `#!` and an interpreter.").format(path=path.name),
            fix=_("Begin it with: #!/bin/bash"),
        )
    if "\r" in text:
        raise SpecError(
            _("{path} has line breaks of DOS, which Slurm refuses.").format(path=path.name),
            fix=_("Convert it: dos2unix {path}").format(path=shlex.quote(path.name)),
        )
    found = directives.read(text)
    spec: dict[str, Any] = {
        "command": _command(first, path.name),
        "source": {"folder": str(path.parent)},
        "options": {},
    }
    notes: list[str] = []
    passed_on = [one for one in found if not _add(spec, one, path, notes)]
    words = [one.argument for one in passed_on]
    if not any(one.name in directives.COUNTS for one in passed_on):
        words.append("--ntasks=1")  # As `sbatch` does. It also says that the script runs once.
    spec["options"]["sbatch"] = words
    return JobFile(spec, tuple(notes))


def _command(first: str, name: str) -> str:
    """Return the command of a script with this first line. As in the kernel, the interpreter has one argument at most.

    A batch script has no rank: its `srun` gives each task its own.
    """
    interpreter = " ".join(map(shlex.quote, first[2:].strip().split(None, 1)))
    variables = "unset RANK LOCAL_RANK WORLD_SIZE; export SLURM_SUBMIT_DIR=$PWD"
    return f"{variables}; exec {interpreter} {shlex.quote('./' + name)} $PAI_USER_ARGS"


def _add(spec: dict[str, Any], one: Directive, path: Path, notes: list[str]) -> bool:
    """Add a directive to the spec. Return whether a field or a note has it; otherwise it is passed on.

    Raises:
        SpecError: if it would run something else here.
    """
    name, value, options = one.name, one.value, spec["options"]
    if name in directives.IGNORED:
        text = _("Line {n}: {option} is ignored. The log is shown with the job.")
        notes.append(text.format(n=one.line, option=f"--{name}"))
    elif name == "chdir" and (path.parent / value).resolve() == path.parent.resolve():
        return True  # The folder of the code.
    elif name in directives.REFUSED:
        raise _refused(one)
    elif name == "job-name":
        spec["name"] = value
    elif name in ("partition", "account", "qos", "reservation", "constraint"):
        options[name] = value
    elif name in ("requeue", "no-requeue"):
        options["requeue"] = name == "requeue"
    elif name == "time":
        spec["max_run_time"] = _seconds(one)
    elif name == "cpus-per-task":
        spec["cpu"] = _number(one)
    elif name == "gres":
        match = re.fullmatch(r"(?:gres[:/])?gpu(?::(\d+))?", value)
        spec |= {"gpu": int(match[1] or 1)} if match else {}
        options |= {} if match else {"gres": value}
    elif name == "mem" and (match := re.fullmatch(r"0*([1-9]\d*)([KMGT]?)B?", value.upper())):
        spec["memory"] = match[1] + _UNITS[match[2]]
    elif (name == "signal" and value.upper().startswith("B:")) or (name == "dependency" and "singleton" in value):
        raise _refused(one)
    else:
        return False
    return True


def _refused(one: Directive) -> SpecError:
    fixes = {
        "array": _("Submit a job for each value, with a hyperparameter."),
        "chdir": _("Write `cd FOLDER` into the script. It starts in the folder of the code."),
        "wrap": _("Write the command into the script."),
        "input": _("Write `exec <FILE` into the script."),
        "signal": _("Omit `B:`: the steps of `srun` get the signal."),
        "dependency": _("Name the jobs: --dependency=afterok:ID"),
        "clusters": _("Add a profile for the other cluster."),
    }
    text = _("{option} is not supported.").format(option=one.argument)
    return one.error(text, fixes.get(one.name, _("Remove the line.")))


def _seconds(one: Directive) -> int:
    """Return a time in the forms of Slurm in seconds; 0 for no limit."""
    if one.value.upper() in ("INFINITE", "UNLIMITED", "-1"):
        return 0
    matches: Sequence[re.Match[str]] = [found for form in _TIMES if (found := re.fullmatch(form, one.value))]
    if not matches:
        text = _("{option} is not a time.").format(option=one.argument)
        raise one.error(text, _("Write minutes, HH:MM:SS or DAYS-HH:MM:SS."))
    return sum(int(number) * _SECONDS[unit] for unit, number in matches[0].groupdict().items() if number)


def _number(one: Directive) -> int:
    if not re.fullmatch(r"0*[1-9]\d{0,8}", one.value):
        raise one.error(_("{option} is not a number from 1.").format(option=one.argument), _("Correct the number."))
    return int(one.value)
