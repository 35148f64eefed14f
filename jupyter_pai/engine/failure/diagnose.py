"""Diagnosis of a failed job: a reason and a fix, from its exit code and the last lines of its log.

The log is searched line by line, and long lines are cut, so that every log is searched quickly.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import partial

from ...backends.runtime import launcher
from ...core.errors import DAMAGED
from ...core.i18n import Message, _
from ...core.text import printable
from ...jobs.state_dir import JobFolder
from . import known_errors, line_ends, own_code, signals
from .last_line import last_line
from .tracebacks import Traceback, cleaned, tracebacks

# Launchers whose traceback follows that of the failed process.
_LAUNCHERS = ("ChildFailedError", "CalledProcessError", "ProcessExitedException", "MultiprocessingException")
_REPORTED = re.compile(r'\[pai\] (\{"failure": .*\})$', re.MULTILINE)
_LONGEST = 300
_LINES = 400
# The last lines searched for a known error without a traceback.
_LAST = 40
_ROOT_CAUSE = re.compile(r"\s*exitcode\s*: (-?\d{1,5})\b")


def diagnose(
    exit_code: int, tail: str, folder: JobFolder | None = None, *, is_imported: bool = False
) -> tuple[str, str]:
    """Return the reason, one line of at most 300 characters, and the fix for a command that ended with `exit_code`.
    `tail` is the end of its log. The code in the job's folder explains missing modules and files. The last line of an
    imported job is not in its reason, since it may have a secret whose value is not known here."""
    if failure := _failure(tail):
        reason, fix = _from_report(exit_code, *failure, folder)
    else:
        reason, fix = _diagnose(exit_code, tail, folder, quotes=not is_imported)
    return _one_line(reason), fix


def _known(exit_code: int, lines: Sequence[str], folder: JobFolder | None) -> tuple[str, str] | None:
    if not (error := known_errors.find(exit_code, lines)):
        return None
    return (own_code.explain(error, folder) if folder else None) or (error.reason, error.fix)


def _diagnose(exit_code: int, tail: str, folder: JobFolder | None, *, quotes: bool) -> tuple[str, str]:
    rows = cleaned(printable(tail, _LINES))
    texts = [row.text for row in rows]
    found = tracebacks(rows)
    # The traceback of a launched process precedes that of its launcher.
    own = [one for one in found if one.name not in _LAUNCHERS or one.place]
    traceback = (own or found)[-1] if found else None
    if traceback and exit_code > 128 and len(rows) - traceback.end > _LAST:
        traceback = None  # An earlier error that the job survived; the signal came much later.
    if not traceback and (answer := line_ends.find(tail)):
        return answer
    if exit_code == 126:
        return _("The command could not be executed (exit code 126)."), _("Make the file executable: chmod +x …")
    lines = f"{traceback.kind}: {traceback.message}".split("\n") if traceback else texts[-_LAST:]
    if answer := _known(exit_code, lines, folder):
        return answer
    if exit_code == launcher.FAILED:
        return _("The requirements could not be installed."), _("See the log for their names; check names and network.")
    number = signals.find(lines)
    if traceback and traceback.name != "ChildFailedError":
        return _raised(traceback), line_ends.fix(lines) or (signals.fix(number) if number else "")
    if 128 < exit_code < 128 + 65:
        return signals.ended_by(exit_code - 128)
    if number:
        return signals.ended_by(number)
    if traceback:
        return _from_launcher(texts, last_line(texts[: traceback.begin]) if quotes else "")
    return _ended(exit_code, last_line(texts) if quotes else ""), ""


def _ended(exit_code: int, line: str) -> str:
    """Return the reason of a command that ended with an exit code. The text of ``sys.exit("…")`` is its last line."""
    reason = _("The command ended with exit code {code}.").format(code=exit_code)
    return reason + " " + _("Last line of the log: {line}").format(line=line) if line else reason


def _failure(tail: str) -> tuple[str, int] | None:
    """Return the error that the job reported with `report.failure`, and its cell, if any."""
    try:
        report = json.loads(_REPORTED.findall(tail)[-1])
        return str(report["failure"]), int(report["cell"])
    except DAMAGED:
        return None  # No such line, or a similar one of another program.


def _from_report(exit_code: int, error: str, cell: int, folder: JobFolder | None) -> tuple[str, str]:
    if not error:
        reason, fix = signals.ended_by(exit_code - 128) if exit_code > 128 else ("", "")
        died = _("The kernel died in cell {n}.").format(n=cell)
        return died + " " + reason if reason else died, fix
    reason, fix = _known(exit_code, [error], folder) or (error, "")
    return (_("cell {n}: {reason}").format(n=cell, reason=reason) if cell else reason), fix


def _raised(traceback: Traceback) -> str:
    """Return ``ValueError: bad shape (train.py, line 12)``. Long messages are cut before the place."""
    if traceback.name == "KeyboardInterrupt":
        return _("Interrupted (KeyboardInterrupt).")
    place = f" ({traceback.place})" if traceback.place else ""
    text = ": ".join(filter(None, [traceback.kind, traceback.message.partition("\n")[0]]))
    return _cut(text, _LONGEST - len(place)) + place


def _one_line(reason: str) -> str:
    """Return a reason in one line of limited length. A message stays translatable: its values are cut."""
    if not isinstance(reason, Message):
        return _cut(" ".join(reason.split()), _LONGEST)
    line = reason.mapped(lambda value: " ".join(value.split()) or " " * bool(value))  # A blank separates two texts.
    room = _LONGEST
    while len(line) > _LONGEST and room > 0:
        room -= len(line) - _LONGEST
        line = line.mapped(partial(_cut, room=max(room, 1)))
    return line


def _cut(text: str, room: int) -> str:
    return text if len(text) <= room else text[: room - 1] + "…"


def _from_launcher(rows: Sequence[str], line: str) -> tuple[str, str]:
    """Diagnose torchrun's summary, which names the process that failed first. `line` is the last one before it."""
    code = [1, *(int(match[1]) for match in map(_ROOT_CAUSE.match, rows) if match)][-1]
    if code < 0:
        return signals.ended_by(-code)
    reason = _("One of the processes that were launched ended with exit code {code}.").format(code=code)
    if line:
        reason += " " + _("Last line of the log: {line}").format(line=line)
    return reason, _("See its own output earlier in the log.")
