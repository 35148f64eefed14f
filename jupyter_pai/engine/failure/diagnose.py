"""Diagnosis of a failed job: a reason and a fix, from its exit code and the last lines of its log.

The log is searched line by line, and long lines are cut, so that every log is searched quickly.
"""

from __future__ import annotations

import json
import re
import signal
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from ...backends.runtime import launcher
from ...core.errors import DAMAGED
from ...core.i18n import Message, _
from ...core.text import printable
from ...jobs.state_dir import JobFolder
from . import known_errors, own_code

_HEADER = "Traceback (most recent call last):"
# Line prefixes: the rank of a torch process, the frame of an exception group.
_PREFIX = re.compile(r"^(?:\[[\w .:]{1,40}\]:? |\s*(?:\| |\+ (?=Exception Group )))")
_FRAME = re.compile(r'\s+File "([^"]{1,1000})", line (\d{1,9})')
_RAISED = re.compile(r"([A-Za-z_][\w.]{0,200})(?::(?: (.*))?)?$")
_CLASS = re.compile(r"(?:\w+\.)*_*[A-Z]\w*$")
# Folders of installed code, and names that are not files.
_FOREIGN = re.compile(r"/(?:site|dist)-packages/|/lib/python\d|/bin/[^/]+$|^<")
_MOST_LINES = 20
# Launchers whose traceback follows that of the failed process.
_LAUNCHERS = ("ChildFailedError", "CalledProcessError", "ProcessExitedException", "MultiprocessingException")
_REPORTED = re.compile(r'\[pai\] (\{"failure": .*\})$', re.MULTILINE)
_LONGEST = 300
_LINES = 400
# The last lines searched for a known error without a traceback.
_LAST = 40
_ROOT_CAUSE = re.compile(r"\s*exitcode\s*: (-?\d{1,5})\b")


def diagnose(exit_code: int, tail: str, folder: JobFolder | None = None) -> tuple[str, str]:
    """Return the reason, one line of at most 300 characters, and the fix for a command that ended with `exit_code`.
    `tail` is the end of its log. The code in the job's folder explains missing modules and files."""
    if failure := _failure(tail):
        reason, fix = _from_report(exit_code, *failure, folder)
    else:
        reason, fix = _diagnose(exit_code, printable(tail, _LINES), folder)
    return _one_line(reason), fix


def _known(exit_code: int, lines: Sequence[str], folder: JobFolder | None) -> tuple[str, str] | None:
    return (own_code.find(lines, folder) if folder else None) or known_errors.find(exit_code, lines)


def _diagnose(exit_code: int, rows: Sequence[str], folder: JobFolder | None) -> tuple[str, str]:
    if exit_code == 126:
        return _("The command could not be executed (exit code 126)."), _("Make the file executable: chmod +x …")
    tracebacks = list(_tracebacks(rows))
    # The traceback of a launched process precedes that of its launcher.
    own = [one for one in tracebacks if one.name not in _LAUNCHERS or one.place]
    traceback = (own or tracebacks)[-1] if tracebacks else None
    if traceback and exit_code > 128 and traceback.left > _LAST:
        traceback = None  # An earlier error that the job survived; the signal came much later.
    lines = f"{traceback.kind}: {traceback.message}".split("\n") if traceback else rows[-_LAST:]
    if answer := _known(exit_code, lines, folder):
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
    except DAMAGED:
        return None  # No such line, or a similar one of another program.


def _from_report(exit_code: int, error: str, cell: int, folder: JobFolder | None) -> tuple[str, str]:
    if not error:
        reason, fix = _from_signal(exit_code - 128) if exit_code > 128 else ("", "")
        died = _("The kernel died in cell {n}.").format(n=cell)
        return died + " " + reason if reason else died, fix
    reason, fix = _known(exit_code, [error], folder) or (error, "")
    return (_("cell {n}: {reason}").format(n=cell, reason=reason) if cell else reason), fix


def _raised(traceback: _Traceback) -> str:
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


def _from_launcher(rows: Sequence[str]) -> tuple[str, str]:
    """Diagnose torchrun's summary, which names the process that failed first. Its own output may be gone."""
    code = [1, *(int(match[1]) for match in map(_ROOT_CAUSE.match, rows) if match)][-1]
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


@dataclass(frozen=True)
class _Traceback:
    """A traceback: `kind` is the exception's class as it was printed, `message` the text after it, maybe in several
    lines. `place` is the innermost frame of the user's own code, like ``train.py, line 3``. `left` is the number of
    lines of the log after it."""

    kind: str
    message: str
    place: str
    left: int

    @property
    def name(self) -> str:
        """The class name without its module."""
        return self.kind.rpartition(".")[2]


def _tracebacks(rows: Sequence[str]) -> Iterator[_Traceback]:
    frames: list[tuple[str, str]] = []
    inside = False  # Inside the frames, which end at a line without indentation.
    rows = [_PREFIX.sub("", row) for row in rows]
    for number, row in enumerate(rows):
        if row.endswith(_HEADER):
            frames, inside = [], True
        elif frame := _FRAME.match(row):
            frames.append((frame[1], frame[2]))
            inside = True
        elif frames and row and not row[0].isspace() and (raised := _RAISED.match(row)):
            # Lines of other processes may come between the frames and the exception.
            if inside or _CLASS.match(raised[1]):
                yield _Traceback(
                    raised[1], _message(raised[2] or "", rows[number + 1 :]), _place(frames), len(rows) - number
                )
                frames = []
            inside = False
        elif row and not row[0].isspace():
            inside = False


def _message(first: str, rest: Sequence[str]) -> str:
    """Return the message up to a blank line or the next traceback."""
    lines = [first] if first.strip() else []
    for row in rest[:_MOST_LINES]:
        if row.endswith(_HEADER) or (lines and not row.strip()):
            break
        if row.strip():
            lines.append(row.strip())
    return "\n".join(lines)


def _place(frames: Sequence[tuple[str, str]]) -> str:
    for path, line in reversed(frames):
        if not _FOREIGN.search(path):
            name = own_code.CODE.sub("", path)
            return f"{name if not name.startswith('/') else name.rpartition('/')[2]}, line {line}"
    return ""
