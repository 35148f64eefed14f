"""Why a job failed and what to do about it, told from its exit code and the last lines of its log.

What is looked for is looked for line by line, and lines are cut: no log takes long to read.
"""

from __future__ import annotations

import json
import re
import signal
from collections.abc import Sequence

from ...backends.runtime import launcher
from ...core.i18n import _
from ...core.text import printable
from . import known_errors as troubles
from .traceback import Traceback, last_traceback

_REPORTED = re.compile(r'\[pai\] (\{"failure": .*\})$', re.MULTILINE)
_LONGEST = 300
_LINES = 400
# The last lines searched for a known error without a traceback.
_LAST = 40
_ROOT_CAUSE = re.compile(r"\s*exitcode\s*: (-?\d{1,5})\b")


def diagnose(exit_code: int, tail: str) -> tuple[str, str]:
    """The reason, one line of at most 300 characters, and the fix for a command that ended with `exit_code`, `tail`
    being the end of its log."""
    if failure := _failure(tail):
        reason, fix = _from_report(exit_code, *failure)
    else:
        reason, fix = _diagnose(exit_code, printable(tail, _LINES))
    reason = " ".join(reason.split())
    return (reason if len(reason) <= _LONGEST else reason[: _LONGEST - 1] + "…"), fix


def _diagnose(exit_code: int, rows: Sequence[str]) -> tuple[str, str]:
    if exit_code == 126:
        return _("The command could not be executed (exit code 126)."), _("Make the file executable: chmod +x …")
    found = last_traceback(rows)
    if found and exit_code > 128 and found.left > _LAST:
        found = None  # An earlier error that the job survived; the signal came much later.
    said = f"{found.kind}: {found.message}".split("\n") if found else rows[-_LAST:]
    if known := troubles.find(exit_code, said):
        return known
    if exit_code == launcher.FAILED:
        return _("The requirements could not be installed."), _("See the log for their names; check names and network.")
    if found and found.name == "ChildFailedError":
        return _from_launcher(rows)
    if found:
        return _raised(found), ""
    if 128 < exit_code < 128 + 65:
        return _from_signal(exit_code - 128)
    return _("The command ended with exit code {code}.").format(code=exit_code), ""


def _failure(tail: str) -> tuple[str, int] | None:
    """Return the error that the job reported with `report.failure`, and its cell, if any."""
    try:
        said = json.loads((_REPORTED.findall(tail) or ["null"])[-1])
        return (str(said["failure"]), int(said["cell"])) if said else None
    except (ValueError, TypeError, KeyError):
        return None  # A similar line of another program.


def _from_report(exit_code: int, error: str, cell: int) -> tuple[str, str]:
    if not error:
        reason, fix = _from_signal(exit_code - 128) if exit_code > 128 else ("", "")
        return f"{_('The kernel died in cell {n}.').format(n=cell)} {reason}".strip(), fix
    reason, fix = troubles.find(exit_code, [error]) or (error, "")
    return (_("cell {n}: {reason}").format(n=cell, reason=reason) if cell else reason), fix


def _raised(found: Traceback) -> str:
    """Return ``ValueError: bad shape (train.py, line 12)``. Long messages are cut before the place."""
    if found.name == "KeyboardInterrupt":
        return _("Interrupted (KeyboardInterrupt).")
    place = f" ({found.place})" if found.place else ""
    message = found.message.partition("\n")[0]
    text = f"{found.kind}: {message}" if message else found.kind
    room = _LONGEST - len(place)
    return (text if len(text) <= room else text[: room - 1] + "…") + place


def _from_launcher(rows: Sequence[str]) -> tuple[str, str]:
    """Diagnose torchrun's summary, which names the process that failed first. Its own output may be gone."""
    codes = [int(match[1]) for row in rows if (match := _ROOT_CAUSE.match(row))]
    code = codes[-1] if codes else 1
    if code < 0:
        return _from_signal(-code)
    return _("One of the processes that were launched ended with exit code {code}.").format(code=code), _(
        "Its own words stand above in the log."
    )


def _from_signal(number: int) -> tuple[str, str]:
    try:
        name = signal.Signals(number).name
    except ValueError:
        name = str(number)
    fixes: dict[int, str] = {
        signal.SIGKILL: _("Often caused by a lack of memory: use a smaller batch or model."),
        signal.SIGSEGV: _("A crash in native code: check the versions of the packages that have some."),
        signal.SIGILL: _("A package is built for another processor than this machine's: install another build of it."),
        signal.SIGABRT: _("A crash in native code: the log's last lines may say why."),
        signal.SIGBUS: _("Often too little shared memory: use fewer data loader workers (num_workers=0)."),
    }
    return _("Ended by signal {name}.").format(name=name), fixes.get(number, "")
