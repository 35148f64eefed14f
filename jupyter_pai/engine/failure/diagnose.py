"""Diagnosis of a failed job: a reason and a fix, from its exit code and the last lines of its log.

The log is searched line by line, and long lines are cut, so that every log is searched quickly.
"""

from __future__ import annotations

import json
import re
import signal
from collections.abc import Sequence

from ...backends.runtime import launcher
from ...core.i18n import _
from ...core.text import printable
from . import known_errors
from .traceback import Traceback, last_traceback

_REPORTED = re.compile(r'\[pai\] (\{"failure": .*\})$', re.MULTILINE)
_LONGEST = 300
_LINES = 400
# The last lines searched for a known error without a traceback.
_LAST = 40
_ROOT_CAUSE = re.compile(r"\s*exitcode\s*: (-?\d{1,5})\b")


def diagnose(exit_code: int, tail: str) -> tuple[str, str]:
    """Return the reason, one line of at most 300 characters, and the fix for a command that ended with `exit_code`.
    `tail` is the end of its log."""
    if failure := _failure(tail):
        reason, fix = _from_report(exit_code, *failure)
    else:
        reason, fix = _diagnose(exit_code, printable(tail, _LINES))
    return _cut(" ".join(reason.split()), _LONGEST), fix


def _diagnose(exit_code: int, rows: Sequence[str]) -> tuple[str, str]:
    if exit_code == 126:
        return _("The command could not be executed (exit code 126)."), _("Make the file executable: chmod +x …")
    traceback = last_traceback(rows)
    if traceback and exit_code > 128 and traceback.left > _LAST:
        traceback = None  # An earlier error that the job survived; the signal came much later.
    lines = f"{traceback.kind}: {traceback.message}".split("\n") if traceback else rows[-_LAST:]
    if answer := known_errors.find(exit_code, lines):
        return answer
    if exit_code == launcher.FAILED:
        return _("The requirements could not be installed."), _("See the log for their names; check names and network.")
    if traceback:
        return _from_launcher(rows) if traceback.name == "ChildFailedError" else (_raised(traceback), "")
    if 128 < exit_code < 128 + 65:
        return _from_signal(exit_code - 128)
    return _("The command ended with exit code {code}.").format(code=exit_code), ""


def _failure(tail: str) -> tuple[str, int] | None:
    """Return the error that the job reported with `report.failure`, and its cell, if any."""
    try:
        report = json.loads(_REPORTED.findall(tail)[-1])
        return str(report["failure"]), int(report["cell"])
    except (ValueError, TypeError, LookupError):
        return None  # No such line, or a similar one of another program.


def _from_report(exit_code: int, error: str, cell: int) -> tuple[str, str]:
    if not error:
        reason, fix = _from_signal(exit_code - 128) if exit_code > 128 else ("", "")
        return f"{_('The kernel died in cell {n}.').format(n=cell)} {reason}".strip(), fix
    reason, fix = known_errors.find(exit_code, [error]) or (error, "")
    return (_("cell {n}: {reason}").format(n=cell, reason=reason) if cell else reason), fix


def _raised(traceback: Traceback) -> str:
    """Return ``ValueError: bad shape (train.py, line 12)``. Long messages are cut before the place."""
    if traceback.name == "KeyboardInterrupt":
        return _("Interrupted (KeyboardInterrupt).")
    place = f" ({traceback.place})" if traceback.place else ""
    text = ": ".join(filter(None, [traceback.kind, traceback.message.partition("\n")[0]]))
    return _cut(text, _LONGEST - len(place)) + place


def _cut(text: str, room: int) -> str:
    return text if len(text) <= room else text[: room - 1] + "…"


def _from_launcher(rows: Sequence[str]) -> tuple[str, str]:
    """Diagnose torchrun's summary, which names the process that failed first. Its own output may be gone."""
    codes = [int(match[1]) for match in map(_ROOT_CAUSE.match, rows) if match]
    code = codes[-1] if codes else 1
    if code < 0:
        return _from_signal(-code)
    reason = _("One of the processes that were launched ended with exit code {code}.").format(code=code)
    return reason, _("See its own output earlier in the log.")


def _from_signal(number: int) -> tuple[str, str]:
    names = {one.value: one.name for one in signal.Signals}
    fixes: dict[int, str] = {
        signal.SIGKILL: _("Often caused by a lack of memory: use a smaller batch or model."),
        signal.SIGSEGV: _("A crash in native code: check the versions of packages with native code."),
        signal.SIGILL: _("A package was built for another processor: install a build for this one."),
        signal.SIGABRT: _("A crash in native code: see the last lines of the log."),
        signal.SIGBUS: _("Often too little shared memory: use fewer data loader workers (num_workers=0)."),
    }
    return _("Ended by signal {name}.").format(name=names.get(number, number)), fixes.get(number, "")
